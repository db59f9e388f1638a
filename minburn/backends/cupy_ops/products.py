"""Matrix products on views, one launch each: of heads of attention, and of several maps of one input.

CuPy's own copies every operand that is not contiguous, and heads of attention never are: [n, h, s, d] is a view of
[n, s, h · d]. cuBLAS takes the address of every matrix of a batch, so no copy is needed, and the result can lie as the
heads do.
"""

from __future__ import annotations

import numpy as np

from minburn.backends.array.basic import Array
from minburn.backends.cupy_ops.addresses import table_of
from minburn.backends.cupy_ops.blas import gemm
from minburn.backends.cupy_ops.kernels import contiguous


def heads_product(lhs: Array, rhs: Array, out: Array, scale: float = 1.0) -> Array:
    """out = scale · lhs · rhs for [n, h, m, k] and [n, h, k, p]; rows or columns of each matrix are contiguous."""
    n, h, m, k = lhs.shape
    p = rhs.shape[3]
    if not out.size or not k:
        out.fill(0)
        return out
    (lhs, flip_lhs, lhs_step), (rhs, flip_rhs, rhs_step) = _as_blas(lhs), _as_blas(rhs)
    _, flip_out, out_step = _as_blas(out)
    assert not flip_out
    right, left, target = (table_of(n, h, *_batch(array)).data.ptr for array in (rhs, lhs, out))
    numbers = np.array([scale, 0.0], out.dtype)  # read before the call returns
    alpha, beta = numbers.ctypes.data, numbers.ctypes.data + numbers.itemsize
    # Column-major, as cuBLAS is, everything is transposed: outᵀ = rhsᵀ · lhsᵀ.
    sizes = (p, m, k)
    orders = int(flip_rhs), int(flip_lhs)
    operands = alpha, right, rhs_step, left, lhs_step
    gemm("gemmBatched", out.dtype, *orders, *sizes, *operands, beta, target, out_step, n * h)
    return out


def product(lhs: Array, rhs: Array, out: Array, adds: bool) -> None:
    """out = lhs · rhs, or out += lhs · rhs, for [m, k] and [k, n]; out is contiguous."""
    (lhs, flip_lhs, lhs_step), (rhs, flip_rhs, rhs_step) = _as_blas(lhs), _as_blas(rhs)
    (m, k), n = lhs.shape, rhs.shape[1]
    if not out.size or not k:
        if not adds:
            out.fill(0)
        return
    numbers = np.array([1.0, float(adds)], out.dtype)
    alpha, beta = numbers.ctypes.data, numbers.ctypes.data + numbers.itemsize
    orders = int(flip_rhs), int(flip_lhs)
    operands = alpha, rhs.data.ptr, rhs_step, lhs.data.ptr, lhs_step
    gemm("gemm", out.dtype, *orders, n, m, k, *operands, beta, out.data.ptr, n)


def products(lhs: Array, rhs: Array, out: Array) -> Array:
    """out[b] = lhs · rhs[b] for [m, k] and [b, k, n], one launch; rhs and out are contiguous."""
    lhs, flip, step = _as_blas(lhs)
    (m, k), (batch, _, n) = lhs.shape, rhs.shape
    if not out.size or not k:
        out.fill(0)
        return out
    numbers = np.array([1.0, 0.0], out.dtype)
    alpha, beta = numbers.ctypes.data, numbers.ctypes.data + numbers.itemsize
    right = rhs.data.ptr, n, k * n
    left = lhs.data.ptr, step, 0
    target = out.data.ptr, n, m * n
    gemm("gemmStridedBatched", out.dtype, 0, int(flip), n, m, k, alpha, *right, *left, beta, *target, batch)
    return out


def _as_blas(x: Array) -> tuple[Array, bool, int]:
    """x or a copy; whether its matrices lie column by column; the elements from one row or column to the next."""
    rows, columns = x.shape[-2:]
    down, right = (step // x.itemsize for step in x.strides[-2:])
    if right == 1 and (down >= columns or rows == 1):
        return x, False, max(down, columns)
    if down == 1 and (right >= rows or columns == 1):
        return x, True, max(right, rows)
    return contiguous(x), False, columns


def _batch(x: Array) -> tuple[int, int, int]:
    """The address of the first matrix, the steps in bytes along the two dimensions of the batch."""
    return x.data.ptr, x.strides[0], x.strides[1]
