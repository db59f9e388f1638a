"""Norms of vectors, and vectors of norm 1.

A vector lies along one dimension, or along several (`…_dims`); they keep size 1. Without any dimension a norm is that
of each element by itself. Halves are computed in F32. The gradient of a norm at the zero vector is 0.

Burn: `crates/burn-linalg/src/functions/{vector_norm,cosine_similarity}.rs`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypeVar

import numpy as np

from minburn.dtype import DType
from minburn.tensor import FloatTensor, KindError, NumericTensor, ShapeError, TensorError
from minburn.tensor.activation import check_float
from minburn.tensor.functional.norm import narrowed, widened
from minburn.tensor.ints import python_number

N = TypeVar("N", bound=NumericTensor)
MAX_POWER = 2**31 - 1
SMALLEST_NORMAL = {DType.F64: float(np.finfo(np.float64).tiny), DType.F16: float(np.finfo(np.float16).tiny)}


def vector_norm(x: FloatTensor, norm: float, dim: int) -> FloatTensor:
    """The norm with exponent `norm`: see lp_norm. Burn's `Norm` is a number here.

    Burn: `Norm` in `crates/burn-linalg/src/functions/vector_norm.rs`.
    """
    return lp_norm_dims(x, norm, (dim,))


def vector_norm_dims(x: FloatTensor, norm: float, dims: Iterable[int]) -> FloatTensor:
    return lp_norm_dims(x, norm, dims)


def lp_norm(x: FloatTensor, p: float, dim: int) -> FloatTensor:
    """(Σ |x|ᵖ)^(1/p). Of p = 0 the number of elements that are not 0, of ±inf the largest and smallest |x|."""
    return lp_norm_dims(x, p, (dim,))


def lp_norm_dims(x: FloatTensor, p: float, dims: Iterable[int]) -> FloatTensor:
    """lp_norm() along several dimensions. Errors: TensorError for NaN as p."""
    check_float("lp_norm", x)
    exponent = as_number("lp_norm", "p", p)
    if exponent == 0:
        return l0_norm_dims(x, dims)
    if exponent == 1:
        return l1_norm_dims(x, dims)
    if math.isinf(exponent):
        return max_abs_norm_dims(x, dims) if exponent > 0 else min_abs_norm_dims(x, dims)
    wide = widened(x)
    is_even = exponent % 2 == 0 and abs(exponent) <= MAX_POWER
    powers = wide.powi_scalar(int(exponent)) if is_even else wide.abs().powf_scalar(exponent)
    total = powers.sum_dims(dims)
    is_zero = total == 0.0  # where the slope of the root is infinite
    root = total.mask_fill(is_zero, 1.0)
    root = root.sqrt() if exponent == 2 else root.powf_scalar(1.0 / exponent)
    return narrowed(root.mask_fill(is_zero, 0.0 if exponent > 0 else math.inf), x)


def l0_norm(x: N, dim: int) -> N:
    """The number of elements that are not 0, in the dtype of x; without a gradient."""
    return l0_norm_dims(x, (dim,))


def l0_norm_dims(x: N, dims: Iterable[int]) -> N:
    check_numeric("l0_norm", x)
    counted: N = x.bool().cast(x.dtype)
    return counted.sum_dims(dims)


def l1_norm(x: N, dim: int) -> N:
    """Σ |x|."""
    return l1_norm_dims(x, (dim,))


def l1_norm_dims(x: N, dims: Iterable[int]) -> N:
    check_numeric("l1_norm", x)
    return x.abs().sum_dims(dims)


def l2_norm(x: FloatTensor, dim: int) -> FloatTensor:
    """√(Σ x²)."""
    return lp_norm_dims(x, 2, (dim,))


def l2_norm_dims(x: FloatTensor, dims: Iterable[int]) -> FloatTensor:
    return lp_norm_dims(x, 2, dims)


def max_abs_norm(x: N, dim: int) -> N:
    """The largest |x|."""
    return max_abs_norm_dims(x, (dim,))


def max_abs_norm_dims(x: N, dims: Iterable[int]) -> N:
    check_numeric("max_abs_norm", x)
    return x.max_abs_dims(dims)


def min_abs_norm(x: N, dim: int) -> N:
    """The smallest |x|."""
    return min_abs_norm_dims(x, (dim,))


def min_abs_norm_dims(x: N, dims: Iterable[int]) -> N:
    check_numeric("min_abs_norm", x)
    return x.abs().min_dims(dims)


def vector_normalize(x: FloatTensor, norm: float, dim: int, eps: float) -> FloatTensor:
    """x / max(vector_norm(x), eps)."""
    return x / vector_norm(x, norm, dim).clamp_min(as_number("vector_normalize", "eps", eps))


def cosine_similarity(x: FloatTensor, y: FloatTensor, dim: int, eps: float | None = None) -> FloatTensor:
    """Σ x/max(‖x‖, eps) · y/max(‖y‖, eps) along dim.

    Each side is normalized first: the product of two small norms would underflow. eps: the smallest normal number of
    the dtype unless it is given.
    """
    check_float("cosine_similarity", x)
    check_float("cosine_similarity", y)
    if x.rank != y.rank:
        raise ShapeError(f"cosine_similarity: shapes {list(x.shape)} and {list(y.shape)} differ in rank.")
    if eps is None:
        eps = SMALLEST_NORMAL.get(x.dtype, float(np.finfo(np.float32).tiny))
    return (vector_normalize(x, 2, dim, eps) * vector_normalize(y, 2, dim, eps)).sum_dim(dim)


def check_numeric(name: str, x: object) -> None:
    if not isinstance(x, NumericTensor):
        raise KindError(f"{name}: expected a float or an int tensor, but got {type(x).__name__}.")


def as_number(name: str, what: str, value: object) -> float:
    """A float, infinite perhaps, but not NaN."""
    try:
        number = float(python_number(name, value))
    except OverflowError:
        number = math.nan
    if math.isnan(number):
        raise TensorError(f"{name}: {what} must be a number, but is {value!r}.")
    return number
