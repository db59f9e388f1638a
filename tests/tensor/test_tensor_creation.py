"""How tensors are made: kinds, dtypes, streams, and what is refused."""

from __future__ import annotations

from typing import assert_type

import numpy as np
import pytest

from minburn.backends import Autodiff, Distribution, NumPy
from minburn.dtype import DType
from minburn.tensor import (
    BoolTensor,
    DeviceError,
    DTypeError,
    FloatTensor,
    IntTensor,
    KindError,
    ShapeError,
    Tensor,
    TensorData,
)

plain = NumPy(seed=1)
auto = Autodiff(plain)


def test_the_kind_follows_the_data_for_readers_and_type_checkers() -> None:
    assert_type(Tensor.from_data([[1.0, 2.0]], plain), FloatTensor)
    assert_type(Tensor.from_data([1, 2], plain), IntTensor)
    assert_type(Tensor.from_data([True], plain), BoolTensor)
    singles = np.ones(2, np.float32)
    assert_type(Tensor.from_data(singles, plain), FloatTensor)
    assert_type(Tensor.from_data([1.0], plain) > 0, BoolTensor)
    assert_type(Tensor.from_data([1.0], plain).int(), IntTensor)
    assert_type(Tensor.zeros([2], plain), FloatTensor)
    assert_type(IntTensor.zeros([2], plain), IntTensor)
    for data, kind, dtype in [
        ([[1.0, 2.0]], FloatTensor, DType.F32),
        ([1, 2.5], FloatTensor, DType.F32),
        ([[1], [2]], IntTensor, DType.I32),
        ([True, False], BoolTensor, DType.Bool),
        (np.arange(3), IntTensor, DType.I32),
        (np.arange(3.0), FloatTensor, DType.F32),
        (np.float64(3.0), FloatTensor, DType.F32),
        (np.array([True]), BoolTensor, DType.Bool),
        (TensorData.from_nested([1, 2]), IntTensor, DType.I32),
    ]:
        tensor = Tensor.from_data(data, plain)
        assert type(tensor) is kind
        assert tensor.dtype == dtype
        assert np.array_equal(
            tensor.numpy(), np.asarray(data.numpy() if isinstance(data, TensorData) else data).reshape(tensor.shape)
        )


def test_a_dtype_decides_kind_and_backend() -> None:
    wide = Tensor.from_data([1, 2], plain, dtype=DType.F64)
    assert isinstance(wide, FloatTensor)
    assert wide.numpy().dtype == np.float64
    assert wide.backend.float_dtype == DType.F64
    assert wide.backend.streams is plain.streams
    assert (wide * 2.0 + wide.mean()).dtype == DType.F64
    bytes_ = Tensor.from_data([1.9, 255.0], plain, dtype=DType.U8)
    assert isinstance(bytes_, IntTensor)
    assert bytes_.numpy().tolist() == [1, 255]
    assert Tensor.from_data([0.0, 0.5, np.nan], plain, dtype=DType.Bool).numpy().tolist() == [False, True, True]
    assert Tensor.from_data([True, False], plain, dtype=DType.BoolU8).dtype == DType.Bool
    doubles = NumPy(float_dtype=DType.F64, int_dtype=DType.I64)
    assert Tensor.from_data([1.0], doubles).dtype == DType.F64
    assert Tensor.from_data([2**40], doubles).item() == 2**40


@pytest.mark.parametrize(
    ("data", "dtype", "error", "text"),
    [
        ([[1, 2], [3]], None, ShapeError, "ragged: entry [1] has length 1, entry [0] has 2"),
        ([[[1], [2, 3]]], None, ShapeError, "entry [0][1] has length 2"),
        ([1, [2]], None, ShapeError, "nested deeper"),
        ([1, 3_000_000_000], None, DTypeError, "3000000000 (at [1]) does not fit I32"),
        ([2**70], None, DTypeError, str(2**70)),
        ([float("nan")], DType.I32, DTypeError, "nan (at [0]) does not fit I32"),
        ([-1], DType.U8, DTypeError, "-1 (at [0]) does not fit U8, which holds 0 to 255"),
        ([[0.0, 256.0]], DType.U8, DTypeError, "256.0 (at [0, 1])"),
        ("text", None, KindError, "str 'text'"),
        (None, None, KindError, "NoneType"),
        ([object()], None, KindError, "object"),
        ([1j], None, KindError, "complex"),
        (np.array(["a"]), None, KindError, "NumPy array of <U1"),
    ],
)
def test_what_is_refused(data: object, dtype: DType | None, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        Tensor.from_data(data, plain, dtype=dtype)
    assert text in str(caught.value)


def test_tensors_are_no_data() -> None:
    x = Tensor.from_data([1.0], plain)
    with pytest.raises(KindError, match=r"Tensor\.stack"):
        Tensor.from_data([x, x], plain)


def test_shapes() -> None:
    assert Tensor.from_data(3.0, plain).shape == (1,)
    assert Tensor.from_data(np.array(3.0), plain).shape == ()
    assert Tensor.from_data([], plain).shape == (0,)
    assert Tensor.from_data([[], []], plain).shape == (2, 0)
    x = Tensor.zeros([2, 3, 4], plain)
    assert (x.shape, x.dims, x.rank, x.num_elements(), len(x), str(x.device)) == ((2, 3, 4), (2, 3, 4), 3, 24, 2, "cpu")
    assert Tensor.zeros(3, plain).shape == (3,)
    with pytest.raises(ShapeError, match="negative size"):
        Tensor.zeros([2, -1], plain)
    with pytest.raises(KindError, match=r"float 2\.0"):
        Tensor.zeros([2.0], plain)  # type: ignore[list-item]


def test_numpy_is_read_only_and_data_are_copied() -> None:
    array = np.ones((2, 2), np.float32)
    x = Tensor.from_data(array, plain)
    array[0, 0] = 5
    assert x.numpy()[0, 0] == 1
    for tensor in (x, x + 1, x.transpose(), x[0], x.int(), x > 0, Tensor.from_data([1.0], auto).require_grad()):
        with pytest.raises(ValueError, match="read-only"):
            tensor.numpy()[...] = 0
        with pytest.raises(TypeError):
            tensor.into_data().bytes[0] = 0  # type: ignore[index]
        with pytest.raises(TypeError, match="slice_assign"):
            tensor[0] = 0
    assert np.asarray(x).dtype == np.float32
    assert np.asarray(x, dtype=np.float64).dtype == np.float64


def test_constructors() -> None:
    assert Tensor.ones([2], plain).numpy().tolist() == [1, 1]
    assert Tensor.full([2], 2, plain).numpy().tolist() == [2.0, 2.0]
    assert Tensor.full([1], 2, plain).dtype == DType.F32
    assert Tensor.eye(2, plain).numpy().tolist() == [[1, 0], [0, 1]]
    assert Tensor.arange(5, 0, plain, step=-2).numpy().tolist() == [5, 3, 1]
    assert Tensor.arange(3, 3, plain).shape == (0,)
    assert IntTensor.ones([1], plain).dtype == DType.I32
    assert IntTensor.full([1], 7, plain).item() == 7
    assert IntTensor.zeros([1], plain, dtype=DType.U8).dtype == DType.U8
    assert BoolTensor.zeros([2], plain).numpy().tolist() == [False, False]
    assert BoolTensor.full([2], True, plain).all().item() is True
    assert Tensor.zeros([2], plain, dtype=DType.I64).dtype == DType.I64
    assert isinstance(Tensor.ones([2], plain, dtype=DType.Bool), BoolTensor)
    assert Tensor.from_floats([1], plain).dtype == DType.F32
    assert Tensor.from_ints([1.7], plain).item() == 1
    x = Tensor.from_data([[1.0, 2.0]], plain, dtype=DType.F64)
    for like in (x.zeros_like(), x.ones_like(), x.full_like(3), x.random_like()):
        assert like.shape == x.shape
        assert like.dtype == DType.F64


def test_constructors_refuse() -> None:
    with pytest.raises(DTypeError, match="3000000000 does not fit I32"):
        IntTensor.full([1], 3_000_000_000, plain)
    with pytest.raises(KindError, match=r"float 0\.5"):
        IntTensor.full([1], 0.5, plain)  # type: ignore[arg-type]
    with pytest.raises(KindError, match="dtype F32"):
        IntTensor.zeros([1], plain, dtype=DType.F32)
    with pytest.raises(KindError, match="dtype F32"):
        BoolTensor.zeros([1], plain, dtype=DType.F32)
    with pytest.raises(KindError, match="True or False"):
        Tensor.full([1], 2, plain, dtype=DType.Bool)
    with pytest.raises(ShapeError, match="step is 0"):
        Tensor.arange(0, 3, plain, step=0)
    with pytest.raises(DTypeError, match="does not fit I32"):
        Tensor.arange(0, 2**40, plain, step=2**39)
    with pytest.raises(KindError, match="no random bools"):
        Tensor.random([1], plain, dtype=DType.Bool)
    with pytest.raises(KindError, match="expected a Distribution"):
        Tensor.random([1], plain, "normal")  # type: ignore[call-overload]


def test_random_is_a_function_of_seed_stream_and_position() -> None:
    first, second = NumPy(seed=9), NumPy(seed=9)
    draws = [Tensor.random([3, 5], first).numpy() for _ in range(2)]
    assert not np.array_equal(draws[0], draws[1])
    assert np.array_equal(Tensor.random([3, 5], second).numpy(), draws[0])
    Tensor.random([7], second, stream="dropout")  # another stream does not advance this one
    assert np.array_equal(Tensor.random([3, 5], Autodiff(second)).numpy(), draws[1])
    position = first.streams.state()
    after = Tensor.random([4], first, Distribution.Normal(0.0, 1.0)).numpy()
    first.streams.load_state(position)
    assert np.array_equal(Tensor.random([4], first, Distribution.Normal(0.0, 1.0)).numpy(), after)


def test_random_distributions() -> None:
    backend = NumPy(seed=3)
    uniform = Tensor.random([4000], backend).numpy()
    assert uniform.dtype == np.float32
    assert uniform.min() >= 0
    assert uniform.max() < 1
    assert abs(uniform.mean() - 0.5) < 0.03
    normal = Tensor.random([4000], backend, Distribution.Normal(2.0, 3.0)).numpy()
    assert abs(normal.mean() - 2) < 0.3
    assert abs(normal.std() - 3) < 0.3
    coins = Tensor.random([4000], backend, Distribution.Bernoulli(0.25)).numpy()
    assert set(np.unique(coins)) == {0.0, 1.0}
    assert abs(coins.mean() - 0.25) < 0.05
    dice = IntTensor.random([4000], backend, Distribution.Uniform(0, 6))
    assert dice.dtype == DType.I32
    assert set(np.unique(dice.numpy())) == set(range(6))


def test_into_data_and_back() -> None:
    for data in ([[1.5, -0.0], [float("inf"), float("nan")]], [1, -2], [True, False], np.zeros((2, 0, 3))):
        tensor = Tensor.from_data(data, plain)
        assert tensor.to_data() == tensor.into_data()
        again = Tensor.from_data(tensor.into_data(), plain)
        assert again.into_data() == tensor.into_data()
        assert type(again) is type(tensor)
    view = Tensor.from_data([[1, 2], [3, 4]], plain).transpose()
    assert view.into_data().numpy().tolist() == [[1, 3], [2, 4]]


def test_item() -> None:
    assert type(Tensor.from_data([2.5], plain).item()) is float
    assert type(Tensor.from_data([[2]], plain).item()) is int
    assert type(Tensor.from_data([True], plain).into_scalar()) is bool
    with pytest.raises(ShapeError, match="2 elements"):
        Tensor.from_data([1, 2], plain).item()


def test_bf16_data_are_cast_unless_the_dtype_is_asked_for() -> None:
    data = TensorData.from_nested([1.0, -2.5], DType.BF16)
    assert Tensor.from_data(data, plain).numpy().tolist() == [1.0, -2.5]  # cast to F32
    assert Tensor.from_data(data, plain, dtype=DType.BF16).into_data() == data


def test_to_device() -> None:
    other = NumPy(seed=7)
    x, tracked = Tensor.from_data([1.0], plain, dtype=DType.F64), Tensor.from_data([1.0], auto).require_grad()
    assert x.to_device(other).backend.streams is other.streams
    assert x.to_device(other).dtype == DType.F64
    assert not x.to_device(Autodiff(other)).is_autodiff
    moved = tracked.to_device(Autodiff(other))
    assert moved.is_require_grad
    assert moved.backend.streams is other.streams
    assert Tensor.from_data([1], plain).to_device(other).backend.streams is other.streams
    with pytest.raises(DeviceError, match=r"call inner\(\)"):
        tracked.to_device(other)


def test_the_class_is_not_called() -> None:
    for arguments in ([[1.0]], [[1.0], NumPy()], [1, 2, 3]):
        with pytest.raises(TypeError, match=r"Use Tensor\.from_data\(\[1\.0, 2\.0\], backend\)"):
            Tensor(*arguments)
