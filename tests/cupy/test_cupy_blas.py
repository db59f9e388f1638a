"""Products of a recorded step are given to cuBLAS as CuPy gives them: to the same function, in the same orders."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np
import pytest
from device import EMULATED

from minburn.backends import CuPy
from minburn.backends.cupy_ops import blas
from minburn.backends.cupy_ops.recording import listen
from minburn.backends.error import NotRecordable

pytestmark = pytest.mark.skipif(not EMULATED, reason="what cuBLAS is given is known on the emulated device only")
DTYPES = ["f4", "f8", "f2"]


def array(shape: tuple[int, ...], dtype: str, order: str) -> Any:
    """Row-major, column-major in its last two dimensions, or every second column of a wider one."""
    values = np.random.default_rng(len(shape)).standard_normal(shape)
    if order == "rows" or len(shape) < 2:
        return cupy.asarray(values, dtype)
    if order == "columns":
        return cupy.asarray(values.swapaxes(-1, -2).copy(), dtype).swapaxes(-1, -2)
    wide = cupy.zeros((*shape[:-1], 2 * shape[-1]), dtype)
    wide[..., ::2] = cupy.asarray(values, dtype)
    return wide[..., ::2]


def both(name: str, lhs: Any, rhs: Any, out: tuple[int, ...] | None) -> None:
    import emulator

    places = [None if out is None else cupy.empty(out, lhs.dtype) for _ in range(2)]
    expected = getattr(cupy, name)(lhs, rhs, out=places[0])
    given = emulator.last_product()
    listen(CuPy().recorder([]))  # type: ignore[arg-type]
    try:
        result = getattr(blas, name)(lhs, rhs, places[1])
    finally:
        listen(None)
    assert emulator.last_product() == given
    assert result is places[1] or out is None
    np.testing.assert_array_equal(result.get(), expected.get())


ORDERS = ["rows", "columns", "apart"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left", ORDERS)
@pytest.mark.parametrize("right", ORDERS)
@pytest.mark.parametrize(("n", "k", "m"), [(3, 4, 5), (1, 4, 5), (3, 1, 5), (3, 4, 1), (1, 1, 5)])
def test_dot(left: str, right: str, n: int, k: int, m: int, dtype: str) -> None:
    lhs, rhs = array((n, k), dtype, left), array((k, m), dtype, right)
    both("dot", lhs, rhs, None)
    both("dot", lhs, rhs, (n, m))
    both("matmul", lhs, rhs, (n, m))


@pytest.mark.parametrize("dtype", DTYPES)
def test_dot_of_vectors(dtype: str) -> None:
    row, matrix = array((4,), dtype, "rows"), array((4, 4), dtype, "columns")
    both("dot", row, matrix, None)
    both("dot", matrix, row, None)
    both("dot", row, row, None)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("batch", [(2,), (2, 3)])
def test_batches(order: str, batch: tuple[int, ...], dtype: str) -> None:
    lhs, rhs = array((*batch, 3, 4), dtype, order), array((*batch, 4, 5), dtype, "rows")
    both("matmul", lhs, rhs, None)
    both("matmul", lhs, rhs, (*batch, 3, 5))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("left", "right"), [((3, 4), (2, 4, 5)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (1, 6, 4, 5)), ((1, 3, 4), (2, 4, 5))]
)
def test_stretched_batches(left: tuple[int, ...], right: tuple[int, ...], dtype: str) -> None:
    both("matmul", array(left, dtype, "rows"), array(right, dtype, "columns"), None)


def test_what_there_is_no_call_for() -> None:
    listen(CuPy().recorder([]))  # type: ignore[arg-type]
    try:
        with pytest.raises(NotRecordable, match="more than two batch dimensions"):
            blas.matmul(cupy.ones((2, 2, 2, 3, 4)), cupy.ones((2, 2, 2, 4, 5)))
    finally:
        listen(None)
