"""Mathematics, statistics, comparison with tolerance, casts: against NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.tensor import BoolTensor, FloatTensor, IntTensor, Tensor

plain = NumPy(seed=1)
auto = Autodiff(plain)
POINTS = np.array([[-2.5, -1.0, -0.5, 0.0], [0.3, 0.5, 1.0, 2.5]], np.float32)

UNARY = {
    "exp": np.exp,
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "recip": np.reciprocal,
    "cos": np.cos,
    "sin": np.sin,
    "tan": np.tan,
    "cosh": np.cosh,
    "sinh": np.sinh,
    "tanh": np.tanh,
    "acos": np.arccos,
    "asin": np.arcsin,
    "atan": np.arctan,
    "acosh": np.arccosh,
    "asinh": np.arcsinh,
    "atanh": np.arctanh,
    "erf": np.vectorize(math.erf, otypes=[np.float32]),
    "round": np.round,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "abs": np.abs,
    "neg": np.negative,
    "square": np.square,
    "deg2rad": np.deg2rad,
    "rad2deg": np.rad2deg,
}


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("backend", [plain, auto])
def test_elementwise_functions(name: str, backend: Any) -> None:
    result = getattr(Tensor.from_data(POINTS, backend), name)()
    with np.errstate(all="ignore"):
        expected = UNARY[name](POINTS)
    assert isinstance(result, FloatTensor)
    assert result.shape == POINTS.shape
    assert result.numpy().dtype == np.float32
    assert np.allclose(result.numpy(), expected, rtol=1e-5, atol=1e-6, equal_nan=True)
    assert getattr(Tensor.zeros([0, 2], backend), name)().shape == (0, 2)


def test_binary_functions() -> None:
    x, y = Tensor.from_data(POINTS, auto), Tensor.from_data(POINTS[::-1, :1].copy(), auto)
    assert np.allclose(x.atan2(y).numpy(), np.arctan2(POINTS, y.numpy()))
    assert np.allclose(x.hypot(y).numpy(), np.hypot(POINTS, y.numpy()))
    assert np.allclose(x.abs().powf(y).numpy(), np.abs(POINTS) ** y.numpy())
    assert np.allclose(x.abs().powf_scalar(1.5).numpy(), np.abs(POINTS) ** 1.5)


def test_variance() -> None:
    x = Tensor.from_data(POINTS, auto)
    for dim in (0, -1):
        variance, mean = x.var_mean(dim)
        assert np.allclose(variance.numpy(), POINTS.var(axis=dim, ddof=1, keepdims=True))
        assert np.allclose(mean.numpy(), POINTS.mean(axis=dim, keepdims=True))
        biased, _ = x.var_mean_bias(dim)
        assert np.allclose(biased.numpy(), POINTS.var(axis=dim, keepdims=True))
    assert math.isnan(Tensor.from_data([1.0], plain).var(0).item())


def test_questions() -> None:
    inf, nan = math.inf, math.nan
    x = Tensor.from_data([1.0, inf, -inf, nan], plain)
    assert x.is_nan().numpy().tolist() == [False, False, False, True]
    assert x.is_inf().numpy().tolist() == [False, True, True, False]
    assert x.is_finite().numpy().tolist() == [True, False, False, False]
    assert x.contains_nan().item() is True
    y = Tensor.from_data([1.0 + 5e-6, inf, inf, nan], plain)
    assert x.is_close(y).numpy().tolist() == [True, True, False, False]
    assert x.is_close(y, rtol=1e-7).numpy().tolist() == [False, True, False, False]
    assert x[:2].all_close(y[:2]) is True
    assert x.all_close(y) is False
    assert Tensor.from_data([0.0], plain).is_close(Tensor.from_data([math.inf], plain)).item() is False


def test_casts() -> None:
    x = Tensor.from_data([1.9, -1.9, 3e9, -3e9, math.nan, math.inf], plain)
    assert x.int().numpy().tolist() == [1, -1, 2**31 - 1, -(2**31), 0, 2**31 - 1]
    assert x.cast(DType.U8).numpy().tolist() == [1, 0, 255, 0, 0, 255]
    assert x.float() is x
    assert x.cast(DType.F32) is x
    half = x.cast(DType.F16)
    assert half.dtype == DType.F16
    assert half.backend.float_dtype == DType.F16
    assert (half + 1).numpy().dtype == np.float16
    assert isinstance(x.cast(DType.Bool), BoolTensor)
    ints = Tensor.from_data([300, -1], plain)
    assert ints.cast(DType.U8).numpy().tolist() == [44, 255]
    assert ints.cast(DType.F64).dtype == DType.F64
    assert ints.float().dtype == DType.F32
    assert ints.int() is ints
    assert ints.cast(DType.I64).float().dtype == DType.F32
    assert isinstance(ints.cast(DType.Bool), BoolTensor)
    lifted = Tensor.from_data([1], Autodiff(auto)).float()
    assert (lifted * Tensor.from_data([2.0], Autodiff(auto))).item() == 2.0
    with pytest.raises(ValueError, match="storage format"):
        x.cast(_quantized())


def _quantized() -> DType:
    from minburn.dtype import QuantScheme

    return DType.qfloat(QuantScheme("Q8S"))


def test_half_precision_stays_half() -> None:
    backend = NumPy(float_dtype=DType.F16)
    x = Tensor.from_data([[1.0, 2.0], [3.0, 4.0]], backend)
    for result in (x + 1, x @ x, x.sum(), x.mean_dim(0), x.exp(), x.var(0), x.float(), x.triu(), x.one_hot(5)):
        assert result.dtype == DType.F16
        assert result.numpy().dtype == np.float16
    many = Tensor.ones([4096], backend)
    assert many.sum().item() == 4096.0  # accumulated in F32: F16 counts to 2048


def test_nothing_is_promoted_to_float64() -> None:
    x = Tensor.from_data(POINTS, auto).require_grad()
    y = ((x * 2 + np.float64(1.5)) ** 2 / 3).tanh().mean_dim(1).clamp(-1, 1).pad([(0, 1)], value=0.5).sum()
    assert y.numpy().dtype == np.float32
    gradient = x.grad(y.backward())
    assert gradient is not None
    assert gradient.numpy().dtype == np.float32
    assert isinstance(x.argmax(0), IntTensor)
