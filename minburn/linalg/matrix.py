"""Parts and products of matrices. The last two dimensions are rows and columns.

Burn: `crates/burn-linalg/src/functions/{diag,trace,outer,matvec,det}.rs`.
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np

from minburn.dtype import DType
from minburn.linalg.decompose import check_matrices, lu_and_order, matrices
from minburn.linalg.norm import check_numeric
from minburn.tensor import FloatTensor, IntTensor, NumericTensor, ShapeError, Tensor
from minburn.tensor.check import resolve_dim, show
from minburn.tensor.functional.norm import narrowed, widened

T = TypeVar("T", bound=Tensor)
N = TypeVar("N", bound=NumericTensor)


def diag(x: T) -> T:
    """The diagonals: […, m, n] → […, min(m, n)]."""
    check_matrices("diag", x)
    rows, columns = x.shape[-2:]
    count = min(rows, columns)
    places = IntTensor.arange(0, count * (columns + 1), x.backend, columns + 1)
    return x.flatten(-2, -1).select(-1, places)


def trace(x: N) -> N:
    """The sum of the diagonal: […, m, n] → […, 1]."""
    check_numeric("trace", x)
    return diag(x).sum_dim(-1)


def outer(x: N, y: N) -> N:
    """out[…, i, j] = x[…, i] · y[…, j]: […, m], […, n] → […, m, n]."""
    return outer_dim(x, y, -1)


def outer_dim(x: N, y: N, dim: int) -> N:
    """The outer product along dim, where the two dimensions of the result then stand."""
    check_numeric("outer", x)
    check_numeric("outer", y)
    place = resolve_dim("outer", dim, x.rank)
    return x.unsqueeze_dim(place + 1) * y.unsqueeze_dim(place)


def matvec(matrix: N, vector: N) -> N:
    """A matrix times a vector: […, m, n] × […, n] → […, m]; leading sizes are equal or 1."""
    check_numeric("matvec", matrix)
    check_numeric("matvec", vector)
    if matrix.rank != vector.rank + 1 or matrix.rank < 2:
        raise ShapeError(
            f"matvec: the matrix has shape {show(matrix.shape)}, the vector {show(vector.shape)}. The vector must have "
            "one dimension less; unsqueeze() adds one."
        )
    return matrix.matmul(vector.unsqueeze_dim(-1)).squeeze_dim(-1)


def det(x: FloatTensor) -> FloatTensor:
    """Determinants of a batch of square matrices: […, n, n] → […].

    Up to 3 x 3 by the formula, beyond from the LU decomposition; 0, with gradient 0, if a pivot is not larger than
    rounding errors of the largest: |u| ≤ max|u| · √n · ε.

    Errors: ShapeError for a single matrix, whose determinant would have rank 0 (unsqueeze() it, as in Burn).
    """
    check_matrices("det", x)
    if x.rank < 3 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(
            f"det: it takes a batch of square matrices, but got shape {show(x.shape)}. unsqueeze() makes a batch of "
            "one matrix."
        )
    wide = widened(x)
    if x.shape[-1] <= 3:
        return narrowed(_by_formula(wide), x)
    found = Tensor.cat([_from_pivots(matrix) for matrix in matrices(wide)], 0)
    return narrowed(found.reshape(x.shape[:-2]), x)


def _by_formula(x: FloatTensor) -> FloatTensor:
    size = x.shape[-1]
    e = [[x.select_dim(-2, row).select_dim(-1, column) for column in range(size)] for row in range(size)]
    if size == 1:
        return e[0][0]
    if size == 2:
        return e[0][0] * e[1][1] - e[0][1] * e[1][0]
    return (
        e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1])
        - e[0][1] * (e[1][0] * e[2][2] - e[1][2] * e[2][0])
        + e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0])
    )


def _from_pivots(x: FloatTensor) -> FloatTensor:
    """The determinant of one matrix; shape [1]."""
    _, upper, order = lu_and_order(x)
    pivots = np.abs(diag(upper).numpy())
    epsilon = float(np.finfo(np.float64 if x.dtype == DType.F64 else np.float32).eps)
    if pivots.min() <= pivots.max() * math.sqrt(len(pivots)) * epsilon:
        return Tensor.zeros([1], x.backend)
    return diag(upper).prod() * (1.0 if is_even(order) else -1.0)


def is_even(order: list[int]) -> bool:
    """Whether a permutation takes an even number of swaps: its cycles of even length are even in number."""
    seen: set[int] = set()
    swaps = 0
    for start in range(len(order)):
        place = start
        while place not in seen:
            seen.add(place)
            place = order[place]
            swaps += place != start
    return swaps % 2 == 0
