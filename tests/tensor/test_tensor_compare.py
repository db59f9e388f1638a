"""Tolerances, assertions about data and shapes, transactions, print options, drawing by weights, replaced gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.tensor import (
    GradError,
    KindError,
    PrintOptions,
    ShapeError,
    Tensor,
    TensorData,
    TensorError,
    Tolerance,
    Transaction,
    assert_shape,
    set_print_options,
)

plain = NumPy(seed=1)
auto = Autodiff(plain)
numbers = st.floats(-1e6, 1e6)


def data(*values: float, dtype: DType = DType.F32) -> TensorData:
    return TensorData.from_nested(list(values), dtype)


@given(numbers, numbers, st.floats(0, 1), st.floats(0, 10))
def test_two_numbers_are_equal_enough_by_the_larger_of_both_bounds(x: float, y: float, r: float, a: float) -> None:
    tolerance = Tolerance.rel_abs(r, a)
    assert tolerance.approx_eq(x, y, DType.F64) == (x == y or abs(x - y) < max(a, r * max(abs(x), abs(y))))
    assert tolerance.approx_eq(x, y, DType.F64) == tolerance.approx_eq(y, x, DType.F64)


def test_named_tolerances() -> None:
    assert Tolerance().approx_eq(1.0, 1.0049) and not Tolerance.balanced().approx_eq(1.0, 1.0051)
    assert Tolerance.permissive().approx_eq(0.0, 0.0099) and not Tolerance().approx_eq(0.0, 0.0099)
    assert Tolerance.relative(0.1).approx_eq(1e-30, 1.05e-30) and not Tolerance.absolute(1e-31).approx_eq(1e-30, 2e-30)
    tiny = 2.0**-126
    assert Tolerance.strict().approx_eq(0.0, 63 * tiny) and not Tolerance.strict().approx_eq(0.0, 63 * tiny, DType.F64)
    assert Tolerance.strict().approx_eq(0.0, 63 * 2.0**-14, DType.F16)
    assert not Tolerance().approx_eq(math.nan, math.nan) and Tolerance().approx_eq(math.inf, math.inf)


def test_a_tolerance_of_one_precision() -> None:
    start = Tolerance.rel_abs(0.0, 0.0)
    for name, dtypes in (("half", (DType.F16, DType.BF16)), ("single", (DType.F32,)), ("double", (DType.F64,))):
        for what in ("relative", "absolute"):
            changed = getattr(start, f"set_{name}_precision_{what}")(0.5)
            for dtype in (DType.F16, DType.BF16, DType.F32, DType.F64):
                assert changed.approx_eq(1.0, 1.4, dtype) == (dtype in dtypes)
    assert start.set_relative(0.5).approx_eq(1.0, 1.4) and start.set_absolute(0.5).approx_eq(1.0, 1.4, DType.F64)
    assert not start.approx_eq(1.0, 1.4)  # itself unchanged


def test_data_that_differ_are_told_with_their_places() -> None:
    x, y = data(1, 2, 3), data(1, 2.5, 3)
    x.assert_eq(x)
    x.assert_approx_eq(data(1, 2.001, 3))
    data(math.nan, math.inf).assert_approx_eq(data(math.nan, math.inf))
    with pytest.raises(AssertionError, match=r"assert_approx_eq: 1 of 3 elements differ .* at \[1\]: 2.0 and 2.5"):
        x.assert_approx_eq(y)
    with pytest.raises(AssertionError, match="and 4 more"):
        TensorData.zeros((3, 3)).assert_eq(TensorData.ones((3, 3)))
    with pytest.raises(AssertionError, match=r"the shapes differ: \[3\] and \[2\]"):
        x.assert_approx_eq(data(1, 2))
    with pytest.raises(AssertionError, match="the dtypes differ: F32 and F64"):
        x.assert_eq(data(1, 2, 3, dtype=DType.F64))
    x.assert_eq(data(1, 2, 3, dtype=DType.I32), strict=False)
    with pytest.raises(AssertionError, match="1 of 2 elements differ"):
        data(math.nan, 1).assert_eq(data(math.nan, 1))  # as in Burn: only the approximate form takes NaN for NaN
    halves = TensorData.full((2,), 1.0, DType.F16)
    halves.assert_approx_eq(data(1.05, 1.05), Tolerance.relative(0.0).set_half_precision_relative(0.1))
    with pytest.raises(TensorError, match="expected a Tolerance, but got float"):
        x.assert_approx_eq(x, 0.1)  # type: ignore[arg-type]
    with pytest.raises(KindError, match="expected TensorData, but got list"):
        x.assert_eq([1, 2, 3])  # type: ignore[arg-type]
    with pytest.raises(TensorError, match="a relative tolerance is from 0 to 1, but got 2"):
        Tolerance.relative(2)
    with pytest.raises(TensorError, match="an absolute tolerance is 0 or more, but got nan"):
        Tolerance().set_absolute(math.nan)


def test_ranges() -> None:
    data(0, 0.5).assert_within_range(0, 1)
    data(0, 1).assert_within_range_inclusive(0, 1)
    with pytest.raises(AssertionError, match=r"1.0 at \[1\] is not in \[0.0, 1.0\)"):
        data(0, 1).assert_within_range(0, 1)
    with pytest.raises(AssertionError, match=r"nan at \[0\] is not in \[0.0, 1.0\]"):
        data(math.nan).assert_within_range_inclusive(0, 1)


def test_shapes_are_asserted() -> None:
    x = Tensor.zeros((2, 3, 4), plain)
    for pattern in ((2, 3, 4), (None, 3, None), (2, ...), (..., 4), (2, ..., 4), (...,), (2, ..., 3, 4)):
        assert_shape(x, *pattern)
    messages = {
        (2, 99, 4): r"assert_shape\(2, 99, 4\): axis 1 expected 99, got 3 \(shape \[2, 3, 4\]\)",
        (2, 3): "expected rank 2, got 3",
        (1, 2, 3, 4, ...): "expected rank at least 4, got 3",
        (..., 5): "axis 2 expected 5, got 4",
        (..., ...): r"has more than one '\.\.\.'",
    }
    for pattern, message in messages.items():
        with pytest.raises(ShapeError, match=message):
            assert_shape(x, *pattern)
    with pytest.raises(KindError, match="a size must be an int"):
        assert_shape(x, "batch")


def test_a_transaction_reads_several_tensors() -> None:
    x, n = Tensor.from_data([1.0], auto).require_grad(), Tensor.from_data([2], plain)
    first, second = Transaction().register(x * 2.0).register(n).execute()
    assert first.numpy().tolist() == [2] and second.dtype == DType.I32
    assert Transaction().execute() == []
    with pytest.raises(KindError, match="Transaction: expected a tensor, but got int 1"):
        Transaction().register(1)


def test_print_options() -> None:
    x = Tensor.from_data([1 / 3] * 9, plain)
    try:
        set_print_options(PrintOptions(precision=2, threshold=5, edge_items=1))
        assert repr(x).startswith("FloatTensor([0.33, ..., 0.33]")
    finally:
        set_print_options(PrintOptions())
    assert repr(x).count("0.3333") == 9
    with pytest.raises(TensorError, match="precision is 0 or more, but got -1"):
        PrintOptions(precision=-1)
    with pytest.raises(TensorError, match="expected PrintOptions, but got int 3"):
        set_print_options(3)  # type: ignore[arg-type]


def test_indices_are_drawn_by_their_weights() -> None:
    weights = Tensor.from_data([[0.0, 1.0, 3.0, 0.0], [2.0, 0.0, 0.0, 0.0]], Autodiff(NumPy(seed=3))).require_grad()
    drawn = weights.categorical(20_000)
    assert drawn.shape == (2, 20_000) and drawn.dtype == DType.I32
    counts = [np.bincount(row, minlength=4) for row in drawn.numpy()]
    assert counts[1].tolist() == [20_000, 0, 0, 0]
    assert counts[0][[0, 3]].tolist() == [0, 0] and abs(counts[0][1] - 5000) < 6 * math.sqrt(20_000 * 0.25 * 0.75)
    assert not np.array_equal(weights.categorical(9).numpy(), weights.categorical(9).numpy())  # the stream goes on
    for bad in ([-1.0, 2.0], [0.0, 0.0], [math.nan, 1.0]):
        with pytest.raises(TensorError, match="weights must be 0 or more"):
            Tensor.from_data(bad, plain).categorical(1)
    with pytest.raises(ShapeError, match="it draws 1 or more of a tensor's last dimension, but not 0"):
        weights.categorical(0)


def test_a_gradient_can_be_replaced() -> None:
    x = Tensor.from_data([1.0, 2.0], auto).require_grad()
    gradients = (x * x).backward()
    x.grad_replace(gradients, Tensor.from_data([5.0, 6.0], plain))
    grad: Any = x.grad(gradients)
    assert grad.numpy().tolist() == [5, 6]
    with pytest.raises(GradError, match=r"a float tensor of shape \[2\] on numpy"):
        x.grad_replace(gradients, x)
    with pytest.raises(GradError, match="no leaf that requires a gradient"):
        (x * 2.0).grad_replace(gradients, grad)
