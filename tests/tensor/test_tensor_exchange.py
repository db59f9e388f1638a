"""Copies, pickles, arrays and DLPack: what is shared, what is kept apart, what cannot be written through."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from minburn import DType, FloatTensor, Tensor, TensorData
from minburn.backends import Autodiff, NumPy
from minburn.tensor import GradError, KindError

plain = NumPy(seed=7)
auto = Autodiff(plain)
twice = Autodiff(auto)


def leaf(*values: float) -> FloatTensor:
    return Tensor.from_data(list(values), auto).require_grad()


def pickled(value: Any, protocol: int = pickle.HIGHEST_PROTOCOL) -> Any:
    return pickle.loads(pickle.dumps(value, protocol))


EVERY_KIND = [
    Tensor.from_data([[1.5, -0.0], [float("nan"), 3.0]], plain),
    Tensor.from_data([1.0], plain, dtype=DType.F64),
    Tensor.from_data([1.0, 2.0], auto, dtype=DType.F16),
    Tensor.from_data([1, -2], plain),
    Tensor.from_data([1, 2], auto, dtype=DType.U8),
    Tensor.from_data([True, False], auto),
    Tensor.zeros((0, 2), plain),
    Tensor.from_data(np.array(2.0), twice),
    Tensor.from_data([[1.0, 2.0], [3.0, 4.0]], plain).transpose(),
]


@pytest.mark.parametrize("tensor", EVERY_KIND, ids=repr)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_holds_the_value_its_kind_and_its_backend(tensor: Tensor, protocol: int) -> None:
    loaded = pickled(tensor, protocol)
    assert type(loaded) is type(tensor)
    assert loaded.into_data() == tensor.into_data()  # NaN and -0.0 too
    assert loaded.ops is tensor.ops  # so it meets the tensors of this process
    assert repr(loaded.backend) == repr(tensor.backend)
    assert copy.copy(tensor) is tensor
    assert copy.deepcopy(tensor) is tensor


def test_tensors_that_were_pickled_together_share_a_backend_that_goes_on_with_its_streams() -> None:
    backend = NumPy(seed=3)
    a = Tensor.random([2], backend)
    b = Tensor.random([2], backend, dtype=DType.F64)
    loaded_a, loaded_b = pickled((a, b))
    assert loaded_a.backend is not backend
    assert loaded_a.backend.streams is loaded_b.backend.streams
    expected = Tensor.random([4], backend).numpy().tolist()
    assert Tensor.random([4], loaded_a.backend).numpy().tolist() == expected
    assert copy.deepcopy([a])[0].backend is backend
    assert copy.deepcopy(auto) is auto


def test_a_copied_leaf_is_a_leaf_of_its_own() -> None:
    x = leaf(1.0, 2.0)
    assert copy.copy(x) is x
    pair = copy.deepcopy([x, x])
    assert pair[0] is pair[1] is not x
    for other in (pair[0], pickled(x)):
        assert other.is_require_grad
        gradients = (x * other * other).sum().backward()
        assert x.grad(gradients).numpy().tolist() == [1.0, 4.0]  # type: ignore[union-attr]
        assert other.grad(gradients).numpy().tolist() == [2.0, 8.0]
    assert pair[0].backend is auto
    outer = Tensor.from_data([1.0], twice).require_grad()
    assert pickled(outer).is_require_grad
    assert not pickled(outer).inner().is_tracked


def test_what_was_computed_from_leaves_cannot_be_copied_without_them() -> None:
    result = leaf(1.0) * 2
    lifted = leaf(1.0).autodiff(twice)  # untracked above, a leaf below
    for tensor in (result, result.autodiff(twice), lifted, lifted.require_grad()):
        with pytest.raises(GradError, match=r"deepcopy: .*shape \[1\].*detach\(\)"):
            copy.deepcopy({"a": tensor})
        with pytest.raises(GradError, match="pickle: "):
            pickle.dumps(tensor)
    assert pickled(result.detach()).numpy().tolist() == [2.0]
    assert copy.copy(result) is result


def test_arrays() -> None:
    x = Tensor.from_data([[1.0, 2.0], [3.0, 4.0]], plain)
    for tensor in (x, Tensor.from_data(x.into_data(), auto).require_grad() * 1):  # recorded or not
        view = np.asarray(tensor)
        assert (view.dtype, view.flags.writeable) == (np.float32, False)
        assert np.shares_memory(view, np.asarray(tensor, copy=False))
        assert np.asarray(tensor, np.float64).dtype == np.float64
        mine = np.array(tensor)
        mine[0, 0] = 9.0
        assert tensor.numpy()[0, 0] == 1.0
    with pytest.raises(ValueError, match="needs a copy"):
        np.asarray(x, np.float64, copy=False)
    with pytest.raises(ValueError, match="row by row"):
        np.asarray(x.transpose(), copy=False)
    assert np.asarray(x.transpose()).tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert np.asarray(Tensor.zeros((0, 2), plain), copy=False).shape == (0, 2)
    assert (np.concatenate([x, x]).shape, np.isfinite(np.asarray(x > 1)).dtype) == ((4, 2), np.bool_)  # type: ignore[list-item]


@pytest.mark.parametrize("tensor", EVERY_KIND, ids=repr)
def test_dlpack_gives_a_copy_or_a_view_that_is_read_only(tensor: Any) -> None:
    copied = np.from_dlpack(tensor)
    assert TensorData.from_numpy(copied) == tensor.into_data()
    if copied.size:
        copied.flat[0] = 1  # its own memory
        assert not np.shares_memory(copied, tensor.numpy())
    assert tensor.__dlpack_device__() == (1, 0)
    back = Tensor.from_data(Foreign(tensor.numpy()), plain)
    assert back.kind == tensor.kind
    assert back.shape == tensor.shape


class Foreign:
    """An array of another library: it knows DLPack only."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array.copy()

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def test_dlpack_shares_memory_only_with_who_promises_not_to_write() -> None:
    x = Tensor.from_data([1.0, 2.0], plain)
    view = np.from_dlpack(x, copy=False)  # type: ignore[call-arg]
    assert np.shares_memory(view, x.numpy())
    assert not view.flags.writeable
    with pytest.raises(BufferError, match="max_version"):
        x.__dlpack__(copy=False)
    with pytest.raises(BufferError, match="host memory"):
        x.__dlpack__(dl_device=(2, 0))
    half = Tensor.from_data([1.0], plain, dtype=DType.F16)
    assert np.from_dlpack(half).dtype == np.float16


def test_data_of_another_library_is_copied() -> None:
    theirs = Foreign(np.array([[1.0, 2.0]]))
    x = Tensor.from_data(theirs, auto)
    theirs.array[0, 0] = 9.0
    assert (x.dtype, x.numpy().tolist()) == (DType.F32, [[1.0, 2.0]])
    assert Tensor.from_ints(theirs, plain).numpy().tolist() == [[9, 2]]


def test_what_dlpack_cannot_read_is_explained() -> None:
    class OnAGpu(Foreign):
        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("it is on a GPU.")

    with pytest.raises(KindError, match=r"this OnAGpu cannot be read through DLPack: it is on a GPU\..*NumPy array"):
        Tensor.from_data(OnAGpu(np.ones(1)), plain)
