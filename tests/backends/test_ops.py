"""Every op of the NumPy backend against the references of the test table, in every dtype that it has."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from rows import Row, primitive
from table import ROWS

from minburn.backends import NumPy
from minburn.backends.array.dtypes import bfloat16
from minburn.backends.error import BackendError
from minburn.dtype import DType

TOLERANCE = {DType.F64: 1e-12, DType.F32: 3e-6, DType.F16: 2e-2}


def flat(result: Any) -> list[Any]:
    if isinstance(result, list):
        return [item for part in result for item in flat(part)]
    return list(result) if isinstance(result, tuple) and not all(isinstance(n, int) for n in result) else [result]


@pytest.mark.parametrize("dtype", [DType.F64, DType.F32])
@pytest.mark.parametrize("row", [r for r in ROWS if r.cases], ids=lambda r: r.name)
def test_op_equals_its_reference(row: Row, dtype: DType) -> None:
    backend = NumPy(float_dtype=dtype)
    op = getattr(getattr(backend, row.table), row.op)
    for case in row.cases:
        arguments = [primitive(backend, argument) for argument in case]
        before = [a.copy() for a in arguments if isinstance(a, np.ndarray)]
        results = flat(op(*arguments))
        after = [a for a in arguments if isinstance(a, np.ndarray)]
        for old, new in zip(before, after, strict=True):
            np.testing.assert_array_equal(old, new, err_msg=f"{row.name} changed its input")
        for result in results:
            if isinstance(result, np.ndarray) and result.dtype.kind == "f" and not row.op.startswith(("cast", "into_")):
                assert result.dtype == backend.floats.np_dtype, f"{row.name} gave {result.dtype}"
        if row.expected is None:
            continue
        with np.errstate(all="ignore"):
            expected = flat(row.expected(*case))
        for result, reference in zip(results, expected, strict=True):
            assert np.shape(result) == np.shape(reference)
            if np.asarray(result).dtype.kind != "f" and row.op != "shape":
                np.testing.assert_array_equal(result, reference, err_msg=f"{row.name}{case}")
            else:
                tolerance = TOLERANCE[dtype] if row.op != "erf" else 1e-6
                np.testing.assert_allclose(result, reference, tolerance, tolerance, err_msg=f"{row.name}{case}")


@pytest.mark.parametrize("dtype", [DType.F16] + ([DType.BF16] if bfloat16() is not None else []))
def test_halves_stay_halves(dtype: DType) -> None:
    """ml_dtypes promotes where NumPy does not."""
    backend = NumPy(float_dtype=dtype)
    for row in ROWS:
        if row.op.startswith(("cast", "into_")):
            continue
        for case in row.cases:
            arguments = [primitive(backend, argument) for argument in case]
            for result in flat(getattr(getattr(backend, row.table), row.op)(*arguments)):
                if isinstance(result, np.ndarray) and result.dtype.kind in "fV":  # ml_dtypes' bfloat16 is a V
                    assert result.dtype == backend.floats.np_dtype, f"{row.name}{case} gave {result.dtype}"


FLOATS = NumPy().floats
INTS = NumPy().ints
NAN = math.nan


def x(*values: float) -> Any:
    return FLOATS.from_data(np.array(values))


def n(*values: int) -> Any:
    return INTS.from_data(np.array(values))


def same(actual: Any, *expected: float) -> None:
    np.testing.assert_array_equal(actual, np.array(expected))


def test_from_data_copies_and_into_data_is_read_only() -> None:
    host = np.ones(3)
    tensor = FLOATS.from_data(host)
    host[0] = 5
    same(tensor, 1, 1, 1)
    assert not FLOATS.into_data(tensor).flags.writeable
    assert FLOATS.into_data(FLOATS.permute(FLOATS.ones((2, 3)), (1, 0))).flags.c_contiguous


def test_nan_rules() -> None:
    same(FLOATS.sign(x(-2, -0.0, 0, NAN, 3)), -1, 0, 0, 0, 1)
    same(NumPy().activations.relu(x(-1, NAN, 2)), 0, NAN, 2)
    same(FLOATS.clamp(x(-9, NAN, 9), -1.0, 1.0), -1, NAN, 1)
    same(FLOATS.clamp_min(x(-9, NAN), 0.0), 0, NAN)
    same(FLOATS.clamp_max(x(9, NAN), 0.0), 0, NAN)
    same(FLOATS.argmax(x(1, NAN, 3), 0, DType.I32), 1)
    same(FLOATS.argmin(x(1, NAN, 3), 0, DType.I32), 1)
    same(FLOATS.max(x(1, NAN)), NAN)
    same(FLOATS.var_dim(x(1), 0, 1), NAN)
    same(FLOATS.round(x(0.5, 1.5, 2.5, -0.5)), 0, 2, 2, 0)
    same(FLOATS.equal(x(NAN), x(NAN)), False)


def test_scatter_min_and_max_ignore_nan_values_and_keep_nan_targets() -> None:
    same(FLOATS.scatter(x(1, NAN), n(0, 1), x(NAN, 0), 0, "min"), 1, NAN)
    same(FLOATS.scatter(x(1, NAN), n(0, 1), x(NAN, 0), 0, "max"), 1, NAN)


def test_divisions_by_zero_give_infinities_and_nan() -> None:
    same(FLOATS.div(x(1, 0, -1), x(0, 0, 0)), math.inf, NAN, -math.inf)
    same(FLOATS.log(x(0, -1)), -math.inf, NAN)
    same(FLOATS.exp(x(1e9)), math.inf)
    same(FLOATS.mean(FLOATS.zeros((0,))), NAN)


def test_arithmetic_is_silent_in_a_users_program() -> None:
    program = """
import numpy as np
from minburn.backends import NumPy
floats, ints = NumPy().floats, NumPy().ints
zero = floats.zeros((2,))
floats.div(zero, zero), floats.log(zero), floats.exp(floats.full((2,), 1e9)), floats.mean(floats.zeros((0,)))
floats.sqrt(floats.full((2,), -1.0)), floats.mul(floats.full((2,), 1e30), floats.full((2,), 1e30))
ints.div(ints.full((2,), -(2**31)), ints.full((2,), -1))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_integer_division_truncates_and_the_remainder_has_the_divisors_sign() -> None:
    same(INTS.div(n(7, -7, 7, -7), n(2, 2, -2, -2)), 3, -3, -3, 3)
    same(INTS.remainder(n(7, -7, 7, -7), n(2, 2, -2, -2)), 1, 1, -1, -1)
    same(FLOATS.remainder(x(7, -7, 7, -7), x(2, 2, -2, -2)), 1, 1, -1, -1)
    same(INTS.mean(n(-1, -2)), -1)
    same(INTS.powi_scalar(n(1, -1, 2), -1), 1, -1, 0)
    for op in (INTS.div, INTS.remainder):
        with pytest.raises(BackendError, match="division by zero"):
            op(n(1), n(0))


def test_integers_wrap_around() -> None:
    top = 2**31 - 1
    same(INTS.add(n(top), n(1)), -(2**31))
    same(INTS.mul(n(top), n(2)), -2)
    same(INTS.sum(n(top, 1)), -(2**31))
    same(INTS.neg(n(-(2**31))), -(2**31))
    same(INTS.div(n(-(2**31)), n(-1)), -(2**31))
    assert INTS.sum(n(1, 2)).dtype == np.int32


@pytest.mark.parametrize(
    "dtype", [DType.I64, DType.I32, DType.I16, DType.I8, DType.U64, DType.U32, DType.U16, DType.U8]
)
def test_float_to_int_saturates(dtype: DType) -> None:
    result = FLOATS.into_int(x(-math.inf, -1e30, NAN, -0.9, 1.9, 1e30, math.inf), dtype)
    info = np.iinfo(result.dtype)
    assert [int(v) for v in result] == [info.min, info.min, 0, 0, 1, info.max, info.max]


@pytest.mark.parametrize("index", [3, -1])
def test_indices_out_of_range_are_refused(index: int) -> None:
    tensor, at, one = x(1, 2, 3), n(index), x(1)
    calls = {
        "gather": lambda: FLOATS.gather(tensor, at, 0),
        "select": lambda: FLOATS.select(tensor, at, 0),
        "scatter": lambda: FLOATS.scatter(tensor, at, one, 0, "add"),
        "select_assign": lambda: FLOATS.select_assign(tensor, at, one, 0, "add"),
        "cross_entropy": lambda: NumPy().modules.cross_entropy(FLOATS.ones((1, 3)), at),
    }
    for name, call in calls.items():
        with pytest.raises(BackendError, match=rf"{name}: index {index} is out of bounds .* size 3"):
            call()


@pytest.mark.parametrize(("dtype", "bound"), [(DType.F32, 5e-7), (DType.F64, 2e-15)])
def test_erf(dtype: DType, bound: float) -> None:
    floats = NumPy(float_dtype=dtype).floats
    points = floats.from_data(np.concatenate([np.linspace(-7, 7, 20_001), [1.0, -1.0, 4.0, 1e-30, 1e9, -1e9]]))
    exact = np.array([math.erf(float(v)) for v in points])
    assert np.abs(floats.erf(points) - exact).max() <= bound
    same(floats.erf(floats.from_data(np.array([0.0, math.inf, -math.inf, NAN]))), 0, 1, -1, NAN)


def test_half_sums_accumulate_in_single_precision() -> None:
    halves = NumPy(float_dtype=DType.F16).floats
    many = halves.full((4096,), 1.0)
    assert halves.sum(many) == 4096  # a half accumulator stops at 2048
    column = halves.reshape(many, (4096, 1))
    assert halves.sum_dim(column, 0) == 4096
    assert halves.sum_dims(column, (0,)) == 4096
    big = halves.full((64,), 60000.0)
    assert halves.mean(big) == 60000  # the sum alone would overflow
    assert halves.mean_dim(big, 0) == 60000
    assert halves.var_dim(halves.from_data(np.array([-300.0, 300.0])), 0, 1).dtype == np.float16


@pytest.mark.parametrize("dtype", [DType.F16, DType.F32])
def test_nothing_is_promoted(dtype: DType) -> None:
    backend = NumPy(float_dtype=dtype)
    for row in ROWS:
        if row.table == "ints" or row.op in ("cast", "into_float"):
            continue
        for case in row.cases:
            arguments = [primitive(backend, argument) for argument in case]
            with np.errstate(all="ignore"):
                results = flat(getattr(getattr(backend, row.table), row.op)(*arguments))
            for result in results:
                if isinstance(result, np.ndarray) and result.dtype.kind == "f":
                    assert result.dtype == backend.floats.np_dtype, row.name
