"""Kernels on memory that does not lie in rows: every row of the op table again, on views with other strides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np
import pytest
from device import flat, host
from rows import Row, primitive
from table import ROWS

from minburn.backends import CuPy

BACKEND = CuPy()
CASES = 4
"""Of a row: the others differ in values and sizes."""


def gaps(x: Any) -> Any:
    """Every other element of a larger array, in all dimensions; what is between them is NaN, or -1."""
    whole = cupy.full(tuple(2 * size for size in x.shape), np.nan if x.dtype.kind == "f" else -1, x.dtype)
    part = whole[(slice(None, None, 2),) * x.ndim]
    part[...] = x
    return part


def backwards(x: Any) -> Any:
    turned = (slice(None, None, -1),) * x.ndim
    return cupy.ascontiguousarray(x[turned])[turned]


def channels_last(x: Any) -> Any:
    """The second dimension fastest, as our convolutions leave it; columns for a matrix."""
    return cupy.moveaxis(cupy.ascontiguousarray(cupy.moveaxis(x, 1, -1)), -1, 1) if x.ndim > 1 else x


def laid(argument: Any, layout: Callable[[Any], Any]) -> Any:
    if isinstance(argument, list):
        return [laid(item, layout) for item in argument]
    return layout(argument) if isinstance(argument, cupy.ndarray) else argument


@pytest.mark.parametrize("layout", [gaps, backwards, channels_last])
@pytest.mark.parametrize("row", [row for row in ROWS if row.cases], ids=lambda row: row.name)
def test_the_layout_changes_nothing(row: Row, layout: Callable[[Any], Any]) -> None:
    op = getattr(getattr(BACKEND, row.table), row.op)
    for case in row.cases[:CASES]:
        arguments = [primitive(BACKEND, argument) for argument in case]
        want, got = (host(flat(op(*given))) for given in (arguments, [laid(a, layout) for a in arguments]))
        for one, two in zip(got, want, strict=True):
            np.testing.assert_allclose(one, two, 1e-5, 1e-5, err_msg=f"{row.name}{case}")
