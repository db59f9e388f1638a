"""Linear algebra: norms, parts and products of matrices, decompositions.

Written with tensor ops, so everything but `svd` is differentiable, and works on every backend. Leading dimensions are
batches.

Burn: the crate `burn-linalg`.
"""

from minburn.linalg.decompose import lu, qr, svd
from minburn.linalg.matrix import det, diag, matvec, outer, outer_dim, trace
from minburn.linalg.norm import (
    cosine_similarity,
    l0_norm,
    l0_norm_dims,
    l1_norm,
    l1_norm_dims,
    l2_norm,
    l2_norm_dims,
    lp_norm,
    lp_norm_dims,
    max_abs_norm,
    max_abs_norm_dims,
    min_abs_norm,
    min_abs_norm_dims,
    vector_norm,
    vector_norm_dims,
    vector_normalize,
)

__all__ = [
    "cosine_similarity",
    "det",
    "diag",
    "l0_norm",
    "l0_norm_dims",
    "l1_norm",
    "l1_norm_dims",
    "l2_norm",
    "l2_norm_dims",
    "lp_norm",
    "lp_norm_dims",
    "lu",
    "matvec",
    "max_abs_norm",
    "max_abs_norm_dims",
    "min_abs_norm",
    "min_abs_norm_dims",
    "outer",
    "outer_dim",
    "qr",
    "svd",
    "trace",
    "vector_norm",
    "vector_norm_dims",
    "vector_normalize",
]
