"""Sorting, top k, medians, running extremes and sums, bits: against NumPy and against what order means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.tensor import IndexOutOfBounds, IntTensor, KindError, ShapeError, Tensor

plain = NumPy(seed=1)
auto = Autodiff(plain)
ARRAY = np.random.default_rng(3).integers(-3, 4, size=(3, 4, 2)).astype(np.float32)
values = st.lists(st.floats(width=32) | st.sampled_from([0.0, -0.0, 1.0, float("nan"), -float("nan")]), max_size=12)


def bits(array: Any) -> list[int]:
    return np.where(np.isnan(array), np.float32(np.nan), array).view(np.int32).tolist()


@given(values)
def test_floats_sort_with_minus_zero_below_zero_and_nan_at_the_large_end(numbers: list[float]) -> None:
    array = np.array(numbers, np.float32)
    x = Tensor.from_data(array, plain)
    keys = [(True, 0.0, True) if np.isnan(v) else (False, v, not np.signbit(v)) for v in array]
    up = sorted(range(len(keys)), key=lambda at: keys[at])
    down = sorted(range(len(keys)), key=lambda at: keys[at], reverse=True)  # Python keeps the order of equals here too
    for order, (found, indices) in ((up, x.sort_with_indices(0)), (down, x.sort_descending_with_indices(0))):
        assert indices.numpy().tolist() == order
        assert bits(found.numpy()) == bits(array[order])


@pytest.mark.parametrize("dtype", [DType.I64, DType.I32, DType.I8, DType.U8, DType.U64])
def test_ints_sort_up_to_their_bounds(dtype: DType) -> None:
    info = np.iinfo(str(dtype).replace("I", "int").replace("U", "uint"))
    x = Tensor.from_data(np.array([3, info.min, info.max, 3, 0], info.dtype), plain, dtype)
    assert x.sort(0).numpy().tolist() == sorted(x.numpy().tolist())
    assert x.sort_descending(0).numpy().tolist() == sorted(x.numpy().tolist(), reverse=True)
    assert x.argsort_descending(0).numpy()[1:3].tolist() == [0, 3]
    assert x.topk(2, 0).dtype == dtype and x.topk(2, 0).numpy().tolist() == [info.max, 3]


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_a_dimension_is_sorted_by_itself(dim: int) -> None:
    x = Tensor.from_data(ARRAY, auto)
    assert np.array_equal(x.sort(dim).numpy(), np.sort(ARRAY, dim))
    assert np.array_equal(x.argsort(dim).numpy(), np.argsort(ARRAY, dim, kind="stable"))
    assert np.array_equal(x.sort_descending(dim).numpy(), np.flip(np.sort(ARRAY, dim), dim))
    top, places = x.topk_with_indices(2, dim)
    assert np.array_equal(top.numpy(), np.take(np.flip(np.sort(ARRAY, dim), dim), [0, 1], dim))
    assert np.array_equal(np.take_along_axis(ARRAY, places.numpy(), dim), top.numpy())
    assert isinstance(places, IntTensor) and places.dtype == DType.I32
    middle, where = x.median_with_indices(dim)
    lower = np.take(np.sort(ARRAY, dim), [(ARRAY.shape[dim] - 1) // 2], dim)
    assert np.array_equal(middle.numpy(), lower)
    assert np.array_equal(np.take_along_axis(ARRAY, where.numpy(), dim), lower)


def test_running_along_a_dimension() -> None:
    x = Tensor.from_data(ARRAY, plain)
    assert np.array_equal(x.cumsum(1).numpy(), ARRAY.cumsum(1))
    assert np.array_equal(x.cumprod(-1).numpy(), ARRAY.cumprod(-1))
    assert np.array_equal(x.cummax(0).numpy(), np.maximum.accumulate(ARRAY, 0))
    assert np.array_equal(x.cummin(0).numpy(), np.minimum.accumulate(ARRAY, 0))
    bad = Tensor.from_data([1.0, float("nan"), 3.0], plain)
    for scan in (bad.cummax(0), bad.cummin(0)):
        assert np.array_equal(scan.numpy(), [1, np.nan, np.nan], equal_nan=True)
    small = Tensor.from_data([100, 100], plain, DType.I8)
    assert small.cumsum(0).numpy().tolist() == [100, -56] and small.cumsum(0).dtype == DType.I8
    ones = Tensor.full((4096,), 1.0, plain, DType.F16)
    assert ones.cumsum(0).numpy()[-1] == 4096  # a sum of halves would stop at 2048
    assert Tensor.zeros((0, 2), plain).cummax(0).shape == (0, 2)


def slopes(x: Any, result: Any) -> list[float]:
    """The gradient of Σ k · result_k, k = 1, 2, …"""
    weights = Tensor.from_floats(np.arange(1, result.num_elements() + 1).reshape(result.shape), result.backend)
    gradient: list[float] = x.grad((result * weights).sum().backward()).numpy().tolist()
    return gradient


def test_gradients_go_to_what_was_picked() -> None:
    x = Tensor.from_data([3.0, 1.0, 3.0, 2.0], auto).require_grad()
    assert slopes(x, x.sort(0)) == [3, 1, 4, 2]
    assert slopes(x, x.sort_descending(0)) == [1, 4, 2, 3]
    assert slopes(x, x.topk(2, 0)) == [1, 0, 2, 0]
    assert slopes(x, x.median(0)) == [0, 0, 0, 1]
    assert slopes(x, x.cummax(0)) == [3, 0, 7, 0]  # the latest of those that are equal
    assert slopes(x, x.cummin(0)) == [1, 9, 0, 0]
    assert slopes(x, x.cumsum(0)) == [10, 9, 7, 4]
    zeros = Tensor.from_data([2.0, 0.0, 3.0, 0.0], auto).require_grad()
    assert slopes(zeros, zeros.cumprod(0)) == [1, 2 * 2 + 3 * 6, 0, 0]


def test_what_cannot_be_ordered() -> None:
    x = Tensor.from_data(ARRAY, plain)
    with pytest.raises(IndexOutOfBounds, match=r"topk: k is 5, but dimension 1 of \[3, 4, 2\] has size 4"):
        x.topk(5, 1)
    with pytest.raises(IndexOutOfBounds, match="topk: k is -1"):
        x.argtopk(-1, 1)
    assert x.topk(0, 1).shape == (3, 0, 2)
    with pytest.raises(IndexOutOfBounds, match="cumsum: dimension 3"):
        x.cumsum(3)
    with pytest.raises(ShapeError, match=r"median: dimension 0 of .* is empty"):
        Tensor.zeros((0,), plain).median(0)


def test_powers_and_remainders() -> None:
    x = Tensor.from_data([2.0, -3.0, 0.0], plain)
    powers = Tensor.from_data([3, 2, 0], plain)
    assert x.powi(powers).numpy().tolist() == [8, 9, 1] and x.powi(2).numpy().tolist() == [4, 9, 0]
    assert Tensor.from_data([2.0], auto).powi(Tensor.from_data([2], auto)).numpy().tolist() == [4]
    ints = Tensor.from_data([2, 1, -1, 0], plain)
    assert ints.powi(Tensor.from_data([-1, -3, -3, -1], plain)).numpy().tolist() == [0, 1, -1, 0]
    assert (ints**3).numpy().tolist() == [8, 1, -1, 0]
    y = Tensor.from_data([7.0, -7.0, 1e-20, 3.0], plain)
    assert y.fmod_scalar(3.0).numpy().tolist() == [1, -1, np.float32(1e-20), 0]
    assert y.fmod(Tensor.from_data([-3.0, -3.0, -3.0, float("inf")], plain)).numpy().tolist()[::3] == [1, 3]
    with pytest.raises(ShapeError, match="powi: shapes"):
        ints.powi(Tensor.from_data([1, 2], plain))


def test_bits() -> None:
    a, b = Tensor.from_data([12, -7, 255], plain), Tensor.from_data([10, 3, 15], plain)
    assert (a & b).numpy().tolist() == [8, 1, 15] and (a | 1).numpy().tolist() == [13, -7, 255]
    assert (a ^ b).numpy().tolist() == [6, -6, 240] and (~a).numpy().tolist() == [-13, 6, -256]
    assert (a << 2).numpy().tolist() == [48, -28, 1020] and (a >> b).numpy().tolist() == [0, -1, 0]
    assert (a << 33).numpy().tolist() == (a << 1).numpy().tolist()  # modulo the bits of the dtype
    assert (a.cast(DType.U8) >> 1).numpy().tolist() == [6, 124, 127]  # no sign to keep
    assert a.bitwise_and_scalar(4).numpy().tolist() == [4, 0, 4]
    with pytest.raises(KindError, match="bitwise_and: an int tensor and the float"):
        a.bitwise_and(1.5)  # type: ignore[arg-type]
