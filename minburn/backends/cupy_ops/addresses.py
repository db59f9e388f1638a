"""The address of each matrix of a batch, as cuBLAS wants them: in a table on the device.

A table depends on numbers only, so those of the last steps are kept: a training step meets the same addresses again and
again. A recorded step keeps those it was recorded with.
"""

from __future__ import annotations

import functools

import numpy as np

from minburn.backends.array.basic import Array
from minburn.backends.cupy_ops.kernels import elementwise
from minburn.backends.cupy_ops.library import cp
from minburn.backends.cupy_ops.recording import recorder


def table_of(n: int, h: int, *batch: int) -> Array:
    """[n · h]. batch: the address of the first matrix, the steps in bytes along the two dimensions of the batch."""
    here = recorder()
    if here is None:
        return _kept_table(cp.cuda.runtime.getDevice(), n, h, *batch)
    return here.constant((n * h,), np.dtype(np.uint64), lambda table: _write_addresses(table, h, *batch))


@functools.lru_cache(maxsize=16 * 1024)
def _kept_table(device: int, n: int, h: int, *batch: int) -> Array:
    table = cp.empty((n * h,), np.uint64)
    _write_addresses(table, h, *batch)
    return table


def _write_addresses(table: Array, h: int, first: int, n_step: int, h_step: int) -> None:
    formula = "y = first + i / h * n_step + i % h * h_step"
    kernel = elementwise("addresses", "uint64 first, int64 h, int64 n_step, int64 h_step", "uint64 y", formula)
    kernel(first, h, n_step, h_step, table)
