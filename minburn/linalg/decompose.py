"""Decompositions of matrices: LU, QR, SVD.

LU and QR go column by column with tensor ops, so gradients are theirs; what a backend's array is read for on the way is
the choice of a pivot or of a sign, which has no gradient. Halves are computed in F32.

Burn: `crates/burn-linalg/src/functions/{lu,qr,svd}.rs`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minburn.linalg.norm import l2_norm
from minburn.tensor import FloatTensor, GradError, KindError, ShapeError, Tensor, TensorError
from minburn.tensor.activation import check_float
from minburn.tensor.check import show
from minburn.tensor.functional.norm import narrowed, widened


def lu(x: FloatTensor) -> tuple[FloatTensor, FloatTensor, FloatTensor]:
    """(P, L, U) with x = P L U: […, m, n] → […, m, m], […, m, k], […, k, n], k = min(m, n).

    P is a permutation, L lower triangular with ones on its diagonal, U upper triangular. The pivot of a column is its
    largest element that is left (partial pivoting).
    """
    check_float("lu", x)
    check_matrices("lu", x)
    found = []
    for matrix in matrices(widened(x)):
        lower, upper, order = lu_and_order(matrix)
        rows = np.eye(len(order))[:, order]
        found.append((Tensor.from_data(rows, matrix.backend), lower, upper))
    permutation, lower, upper = (stacked(parts, x) for parts in zip(*found, strict=True))
    return permutation, lower, upper


def lu_and_order(x: FloatTensor) -> tuple[FloatTensor, FloatTensor, list[int]]:
    """L, U and the rows of one matrix in the order in which they were pivots: x[order] = L U.

    No row is moved: each step takes the pivot's row off all rows, in the multiples that clear the pivot's column. So
    the pivot's own row becomes 0, and is not chosen again.
    """
    rest, size = x, x.shape[0]
    columns: list[FloatTensor] = []
    rows: list[FloatTensor] = []
    order: list[int] = []
    for step in range(min(x.shape)):
        column = rest.narrow(1, step, 1)
        candidates = np.abs(column.numpy()[:, 0])
        candidates[order] = -1.0
        pivot = int(candidates.argmax())
        row = rest.narrow(0, pivot, 1)
        if candidates[pivot] == 0:  # nothing to clear
            factors = Tensor.from_data(np.eye(size)[:, [pivot]], x.backend)
        else:
            factors = column / row.narrow(1, step, 1)
        rest = rest - factors.matmul(row)
        columns.append(factors)
        rows.append(row)
        order.append(pivot)
    order += [row for row in range(size) if row not in order]
    places = Tensor.from_data(np.array(order), x.backend)
    return Tensor.cat(columns, 1).select(0, places), Tensor.cat(rows, 0).triu(), order


def qr(x: FloatTensor, reduced: bool = True) -> tuple[FloatTensor, FloatTensor]:
    """(Q, R) with x = Q R: the columns of Q are orthonormal, R is upper triangular. By Householder reflections.

    […, m, n] → […, m, k], […, k, n], k = min(m, n); with reduced=False k = m.
    """
    check_float("qr", x)
    check_matrices("qr", x)
    if not isinstance(reduced, bool):
        raise KindError(f"qr: reduced is True or False, but got {reduced!r}.")
    pairs = [_qr(matrix, reduced) for matrix in matrices(widened(x))]
    q, r = (stacked(parts, x) for parts in zip(*pairs, strict=True))
    return q, r


def _qr(x: FloatTensor, reduced: bool) -> tuple[FloatTensor, FloatTensor]:
    rows, columns = x.shape
    q: FloatTensor = Tensor.from_data(np.eye(rows), x.backend)
    r = x
    for step in range(min(rows - 1, columns)):
        below = r.narrow(1, step, 1).narrow(0, step, rows - step)
        head, size = below.narrow(0, 0, 1), l2_norm(below, 0)
        if size.item() == 0:
            continue
        # Reflected at the plane orthogonal to v, `below` is ∓size in its first place. With this sign nothing cancels.
        v = Tensor.cat([head + size if head.item() >= 0 else head - size, below.narrow(0, 1, rows - step - 1)], 0)
        v = (v / l2_norm(v, 0)).pad([(step, 0), (0, 0)])
        across = v.transpose()
        r = r - v.matmul(across.matmul(r)) * 2.0
        q = q - q.matmul(v).matmul(across) * 2.0
    count = min(rows, columns) if reduced else rows
    return q.narrow(1, 0, count), r.triu().narrow(0, 0, count)


def svd(x: FloatTensor) -> tuple[FloatTensor, FloatTensor, FloatTensor]:
    """(U, S, Vᵀ) with x = U diag(S) Vᵀ, S ≥ 0 descending: […, m, n] → […, m, k], […, k], […, k, n], k = min(m, n).

    LAPACK's, on the host, in F32 or F64. It has no gradient (as in Burn, whose `sweeps` bounds its own iterations).

    Errors: GradError for a tracked tensor; TensorError for NaN, and where LAPACK does not converge.

    Burn: `LinalgOps::svd`.
    """
    check_float("svd", x)
    check_matrices("svd", x)
    if x.is_tracked:
        raise GradError("svd: it has no gradient. Call detach() on the tensor first.")
    array = widened(x).numpy()
    if not np.isfinite(array).all():
        raise TensorError("svd: some element is infinite or NaN.")
    try:
        parts = np.linalg.svd(array, full_matrices=False)
    except np.linalg.LinAlgError as error:
        raise TensorError(f"svd: {error}") from error
    u, s, v = (Tensor.from_data(part, x.backend, x.dtype) for part in parts)
    return u, s, v


def check_matrices(name: str, x: Any) -> None:
    if not isinstance(x, Tensor):
        raise KindError(f"{name}: expected a tensor, but got {type(x).__name__} {x!r}.")
    if x.rank < 2 or 0 in x.shape:
        raise ShapeError(
            f"{name}: it needs matrices with rows and columns, but shape {show(x.shape)} "
            f"{'has no elements' if x.rank > 1 else f'has rank {x.rank}'}."
        )


def matrices(x: FloatTensor) -> list[FloatTensor]:
    """The matrices of a batch, of whatever rank."""
    flat = x.reshape((math.prod(x.shape[:-2]), *x.shape[-2:]))
    return [flat.select_dim(0, index) for index in range(flat.shape[0])]


def stacked(parts: tuple[FloatTensor, ...], like: FloatTensor) -> FloatTensor:
    """The results for `matrices(like)` as a batch of its shape and dtype."""
    batch = Tensor.stack(parts, 0)
    return narrowed(batch.reshape((*like.shape[:-2], *batch.shape[1:])), like)
