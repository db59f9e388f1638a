"""Operators against NumPy, Burn's rules about ranks, kinds and dtypes, and what the errors say."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.tensor import (
    DeviceError,
    DTypeError,
    IntTensor,
    KindError,
    ShapeError,
    Tensor,
    TensorError,
)

plain = NumPy(seed=1)
auto = Autodiff(plain)
BACKENDS = [plain, auto, Autodiff(auto)]

FLOAT_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "remainder": operator.mod,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "lower": operator.lt,
    "lower_equal": operator.le,
    "equal": operator.eq,
    "not_equal": operator.ne,
}


@st.composite
def broadcastable(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    full = draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    sides = []
    for _ in range(2):
        sides.append(tuple(1 if draw(st.booleans()) else size for size in full))
    return sides[0], sides[1]


@settings(max_examples=60, deadline=None)
@given(broadcastable(), st.sampled_from(sorted(FLOAT_OPERATORS)), st.sampled_from(BACKENDS))
def test_operators_and_methods_broadcast_as_numpy(shapes: Any, name: str, backend: Any) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, shape).astype(np.float32) for shape in shapes)
    x, y = Tensor.from_data(a, backend), Tensor.from_data(b, backend)
    with np.errstate(all="ignore"):
        expected = FLOAT_OPERATORS[name](a, b)
    for result in (FLOAT_OPERATORS[name](x, y), getattr(x, name)(y)):
        assert result.shape == expected.shape
        assert result.numpy().dtype == expected.dtype
        assert np.array_equal(result.numpy(), expected, equal_nan=True)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", sorted(FLOAT_OPERATORS))
def test_scalars_on_both_sides_never_promote(name: str, backend: Any) -> None:
    a = np.array([[-1.5, 0.0, 2.0]], np.float32)
    x = Tensor.from_data(a, backend)
    for scalar in (2, 0.3, np.float64(0.3), np.float32(0.3), np.int64(2)):
        number = float(scalar)
        with np.errstate(all="ignore"):
            right = FLOAT_OPERATORS[name](a, number)
            left = FLOAT_OPERATORS[name](np.float32(number), a)
        assert np.array_equal(FLOAT_OPERATORS[name](x, scalar).numpy(), right, equal_nan=True)
        assert np.array_equal(getattr(x, name)(scalar).numpy(), right, equal_nan=True)
        assert np.array_equal(getattr(x, f"{name}_scalar")(scalar).numpy(), right, equal_nan=True)
        result = FLOAT_OPERATORS[name](scalar, x).numpy()
        assert result.dtype == right.dtype
        assert np.array_equal(result, left, equal_nan=True)
    assert (x + 1).dtype == (x * np.float64(2)).dtype == (2**x).dtype == DType.F32


def test_powers_and_signs() -> None:
    a = np.array([-2.0, 0.5, 3.0], np.float32)
    x = Tensor.from_data(a, auto)
    assert np.array_equal((x**2).numpy(), a * a)
    assert np.array_equal(x.square().numpy(), a * a)
    assert np.array_equal(x.powi_scalar(3).numpy(), a * a * a)
    assert np.allclose((x**-1).numpy(), 1 / a)
    assert np.allclose((x.abs() ** 0.5).numpy(), np.sqrt(np.abs(a)))
    assert np.allclose((x.abs() ** x).numpy(), np.abs(a) ** a)
    assert np.allclose((2**x).numpy(), 2**a)
    assert np.isnan((x**0.5).numpy()[0])
    assert (-x).numpy().tolist() == (-a).tolist()
    assert Tensor.from_data([-0.0, float("nan"), -3.0], plain).sign().numpy().tolist() == [0, 0, -1]
    with pytest.raises(KindError, match="exponent must be an int"):
        x.powi_scalar(0.5)  # type: ignore[arg-type]


def test_int_arithmetic() -> None:
    i = Tensor.from_data([7, -7, 3], plain)
    assert (i / 2).numpy().tolist() == [3, -3, 1]
    assert (i % 4).numpy().tolist() == [3, 1, 3]
    assert (i % -4).numpy().tolist() == [-1, -3, -1]
    assert (10 / i).numpy().tolist() == [1, -1, 3]
    assert (10 % i).numpy().tolist() == [3, -4, 1]
    assert (1 - i).numpy().tolist() == [-6, 8, -2]
    assert i.powi_scalar(2).numpy().tolist() == [49, 49, 9]
    assert Tensor.from_data([2, 1, -1], plain).powi_scalar(-1).numpy().tolist() == [0, 1, -1]
    top = Tensor.from_data([2**31 - 1], plain)
    assert (top + 1).item() == -(2**31)
    assert (top + 1).dtype == DType.I32
    assert (-(top + 1)).item() == -(2**31)
    assert (i + np.int64(1)).dtype == DType.I32
    assert Tensor.from_data([-3, -4], plain).mean().item() == -3
    assert i.sum().dtype == i.prod().dtype == i.argmax(0).dtype == DType.I32
    small = Tensor.from_data([200, 100], plain, dtype=DType.U8)
    assert (small + small).numpy().tolist() == [144, 200]
    assert small.sum().dtype == DType.U8
    for bad in (lambda: i / 0, lambda: i % 0, lambda: i / (i - 7)):
        with pytest.raises(ValueError, match="by zero"):
            bad()


@pytest.mark.parametrize(
    ("left", "right", "text"),
    [
        (
            (2, 3),
            (4, 3),
            "add: shapes [2, 3] and [4, 3] do not broadcast: dimension 0 is 2 on the left, 4 on the right.",
        ),
        ((2, 3), (3,), "add: the left tensor has rank 2 (shape [2, 3]), the right rank 1 (shape [3]). Use unsqueeze()"),
        ((1,), (1, 1), "rank"),
    ],
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_shapes_that_do_not_fit(backend: Any, left: Any, right: Any, text: str) -> None:
    x, y = Tensor.zeros(left, backend), Tensor.zeros(right, backend)
    for name in FLOAT_OPERATORS:
        with pytest.raises(ShapeError) as caught:
            getattr(x, name)(y)
        assert text.replace("add", name) in str(caught.value)
    for name in ("max_pair", "min_pair", "powf", "atan2", "hypot", "is_close"):
        with pytest.raises(ShapeError, match=name):
            getattr(x, name)(y)


def test_kinds_never_mix() -> None:
    x, i, b = (Tensor.from_data(data, plain) for data in ([1.0], [1], [True]))
    for lhs, rhs in [(x, i), (i, x), (x, b), (b, i), (i, b)]:
        for name in ("equal", "not_equal"):
            with pytest.raises(KindError, match=f"an? {lhs.kind} and an? {rhs.kind} tensor do not mix"):
                getattr(lhs, name)(rhs)
    with pytest.raises(KindError, match=r"add: a float and an int tensor do not mix\. Convert"):
        x + i
    with pytest.raises(KindError):
        i.matmul(x)
    with pytest.raises(TypeError):  # a KindError is one
        x + i
    with pytest.raises(KindError, match=r"int tensor and the float 0\.5 do not mix"):
        i * 0.5
    with pytest.raises(KindError):
        i.greater(0.5)
    with pytest.raises(DTypeError, match="add: 2147483648 does not fit I32"):
        i + 2**31
    with pytest.raises(DTypeError, match="too large"):
        x + 10**400
    for scalar in (True, np.True_):
        with pytest.raises(KindError, match="bool True"):
            x + scalar
        with pytest.raises(KindError):
            i + scalar
    for other in (None, "a", [1.0]):
        with pytest.raises(KindError, match="expected a tensor or a number"):
            x + other  # type: ignore[operator]
    for attempt in (lambda: x + np.ones(1), lambda: np.ones(1) + x, lambda: np.ones(1) == x):
        with pytest.raises(KindError, match="from_data"):
            attempt()
    with pytest.raises(TypeError):
        b + b


def test_dtypes_never_mix() -> None:
    single, double = Tensor.from_data([1.0], plain), Tensor.from_data([1.0], plain, dtype=DType.F64)
    with pytest.raises(DTypeError, match=r"add: dtypes F32 and F64 do not mix\. .*cast"):
        single + double
    with pytest.raises(DTypeError):
        Tensor.from_data([1], plain, dtype=DType.U8) + Tensor.from_data([1], plain)
    with pytest.raises(DTypeError):
        Tensor.cat([single, double], 0)


def test_plain_floats_are_lifted_other_levels_refused() -> None:
    x = Tensor.from_data([1.0, 2.0], auto).require_grad()
    constant = Tensor.from_data([3.0, 4.0], plain)
    for result in (x * constant, constant * x):
        assert result.is_tracked
        assert result.backend is auto
        gradient = x.grad((result).sum().backward())
        assert gradient is not None
        assert gradient.numpy().tolist() == [3.0, 4.0]
        assert gradient.backend is plain
    both = Tensor.from_data([1.0, 1.0], Autodiff(auto)) + constant
    assert both.backend.inner.is_autodiff
    stranger = StrangeBackend(NumPy())
    with pytest.raises(DeviceError, match="cannot meet"):
        Tensor.from_data([1.0], stranger) + Tensor.from_data([1.0], plain)  # type: ignore[arg-type]


class StrangeBackend:
    """A backend with tables of its own, like a second decorator."""

    def __init__(self, inner: NumPy) -> None:
        self.floats = type(inner.floats)(np, inner.device, DType.F32)
        self.float_dtype, self.is_autodiff, self.name, self.inner = DType.F32, False, "strange", self


def test_matmul() -> None:
    rng = np.random.default_rng(1)
    for left, right in [((2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)), ((1, 2, 3), (5, 3, 1)), ((2, 0), (0, 3))]:
        a, b = rng.normal(size=left).astype(np.float32), rng.normal(size=right).astype(np.float32)
        result = Tensor.from_data(a, auto) @ Tensor.from_data(b, auto)
        assert np.allclose(result.numpy(), a @ b, atol=1e-6)
        assert result.dtype == DType.F32
    i = Tensor.from_data([[1, 2], [3, 4]], plain)
    assert isinstance(i @ i, IntTensor)
    assert (i @ i).numpy().tolist() == [[7, 10], [15, 22]]
    for left, right, text in [
        ((2, 3), (2, 3), "the left one has 3 columns, the right one 2 rows"),
        ((3,), (3,), "at least 2 dimensions"),
        ((2, 2, 3), (3, 4), "rank 3"),
        ((2, 2, 3), (3, 3, 4), "batch dimension 0: it is 2 on the left, 3 on the right"),
    ]:
        with pytest.raises(ShapeError, match=text):
            Tensor.zeros(left, auto) @ Tensor.zeros(right, auto)
    with pytest.raises(KindError, match="expected a tensor"):
        Tensor.zeros([2, 2], plain) @ np.ones((2, 2))


def test_truth_and_identity() -> None:
    x = Tensor.from_data([1.0], plain)
    with pytest.raises(KindError, match=r"not a truth value.*\.item\(\)"):
        bool(x)
    with pytest.raises(KindError):
        assert x == x
    assert (x == None) is False  # noqa: E711
    assert (x != "a") is True
    assert {x: 1}[x] == 1
    assert len({x, x + 0}) == 2
    assert any(x is y for y in [x])


def test_bools() -> None:
    a, b = np.array([[True, False], [True, False]]), np.array([[True, True]])
    x, y = Tensor.from_data(a, auto), Tensor.from_data(b, auto)
    for result, expected in [
        (x & y, a & b),
        (x | y, a | b),
        (x ^ y, a ^ b),
        (~x, ~a),
        (x == y, a == b),
        (x.equal(True), a),
    ]:
        assert np.array_equal(result.numpy(), expected)
        assert result.dtype == DType.Bool
    assert x.int().numpy().tolist() == [[1, 0], [1, 0]]
    assert x.int().dtype == DType.I32
    assert x.float().dtype == DType.F32
    assert not x.float().is_tracked
    assert x.float().is_autodiff
    assert x.cast(DType.F64).dtype == DType.F64
    assert x.cast(DType.U8).dtype == DType.U8
    assert x.bool() is x
    with pytest.raises(KindError, match="True and False"):
        x.equal(1)
    with pytest.raises(KindError, match="expected a tensor"):
        x & True  # type: ignore[operator]
    with pytest.raises(ShapeError, match="rank"):
        x & x[0]


def test_backends_of_equal_tables_interoperate() -> None:
    x, y = Tensor.from_data([1.0], NumPy(seed=1)), Tensor.from_data([2.0], NumPy(seed=2))
    assert (x + y).item() == 3.0
    assert (x + y).backend is x.backend
    with pytest.raises(TensorError):
        x + Tensor.from_data([1], NumPy(seed=2))
