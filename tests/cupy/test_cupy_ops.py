"""Every row of the op table on CUDA, against the same references as on NumPy; no op but `into_data` waits."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np
import pytest
from device import EMULATED, counted, flat, host
from rows import Row, primitive
from table import ROWS
from test_complete import TABLES, methods

from minburn.backends import CuPy, NumPy
from minburn.backends.array.dtypes import bfloat16
from minburn.dtype import DType

TOLERANCE = {DType.F64: 1e-12, DType.F32: 3e-6, DType.F16: 2e-2, DType.BF16: 6e-2}
WAIT = ("into_data", "argwhere")
"""Ops that tell the host something: values, or how many there are."""
HALVES = [DType.F16] + ([DType.BF16] if bfloat16() is not None else [])


@pytest.mark.parametrize("table", TABLES)
def test_every_op_is_there_with_the_parameters_of_the_protocol(table: str) -> None:
    import inspect

    ours = getattr(CuPy(), table)
    for op, method in methods(TABLES[table][0]).items():
        own = getattr(type(ours), op, None)
        assert own is not None, f"{table}.{op}: missing in {type(ours).__name__}"
        assert list(inspect.signature(own).parameters) == list(inspect.signature(method).parameters), op


def compare(row: Row, backend: Any, tolerance: float) -> None:
    op = getattr(getattr(backend, row.table), row.op)
    for case in row.cases:
        arguments = [primitive(backend, argument) for argument in case]
        before = host(arguments)
        if EMULATED and row.op not in WAIT:
            with counted() as counts:
                results = flat(op(*arguments))
            assert (counts.syncs, counts.to_host) == (0, 0), f"{row.name} waits for the device"
        else:
            results = flat(op(*arguments))
        for old, new in zip(flat(before), flat(host(arguments)), strict=True):
            np.testing.assert_array_equal(old, new, err_msg=f"{row.name} changed its input")
        for result in results:
            if (
                isinstance(result, cupy.ndarray)
                and result.dtype.kind in "fV"
                and not row.op.startswith(("cast", "into_"))
            ):
                assert result.dtype == backend.floats.np_dtype, f"{row.name} gave {result.dtype}"
        if row.expected is None:
            continue
        with np.errstate(all="ignore"):
            expected = flat(row.expected(*case))
        for result, reference in zip(host(results), expected, strict=True):
            assert np.shape(result) == np.shape(reference)
            if np.asarray(result).dtype.kind != "f" and row.op != "shape":
                np.testing.assert_array_equal(result, reference, err_msg=f"{row.name}{case}")
            else:
                bound = max(tolerance, 1e-6) if row.op == "erf" else tolerance
                np.testing.assert_allclose(result, reference, bound, bound, err_msg=f"{row.name}{case}")


@pytest.mark.parametrize("dtype", [DType.F32, DType.F64], ids=lambda d: d.name)
@pytest.mark.parametrize("row", [r for r in ROWS if r.cases], ids=lambda r: r.name)
def test_op_equals_its_reference(row: Row, dtype: DType) -> None:
    compare(row, CuPy(float_dtype=dtype), TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", HALVES, ids=lambda d: d.name)
@pytest.mark.parametrize("row", [r for r in ROWS if r.cases and r.table not in ("ints", "bools")], ids=lambda r: r.name)
def test_halves_stay_halves(row: Row, dtype: DType) -> None:
    """As on NumPy, an index is compared where rounding cannot move it."""
    backend, reference = CuPy(float_dtype=dtype), NumPy(float_dtype=dtype)
    for case in row.cases:
        ours = flat(getattr(getattr(backend, row.table), row.op)(*(primitive(backend, a) for a in case)))
        theirs = flat(getattr(getattr(reference, row.table), row.op)(*(primitive(reference, a) for a in case)))
        for got, want in zip(ours, theirs, strict=True):
            if isinstance(want, np.ndarray):
                assert got.dtype == want.dtype, f"{row.name}{case}"  # before BF16 is widened to be compared
        for got, want in zip(host(ours), host(theirs), strict=True):
            assert np.shape(got) == np.shape(want)
            if isinstance(got, np.ndarray):
                np.testing.assert_allclose(got, want, TOLERANCE[dtype], TOLERANCE[dtype], err_msg=f"{row.name}{case}")
