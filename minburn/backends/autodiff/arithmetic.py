"""Rules of arithmetic, reductions and comparisons."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minburn.backends.autodiff.graph import Pullback, Tracked
from minburn.backends.autodiff.layout import LayoutRules
from minburn.backends.autodiff.rule import (
    Recorded,
    Value,
    binary,
    constant,
    has_rule,
    same,
    unary,
    unary_with,
    untracked,
)
from minburn.backends.base import HostArray, PadMode
from minburn.dtype import DType


class ArithmeticRules(LayoutRules):
    full = constant("full")
    random = constant("random")
    greater = untracked("greater")
    greater_elem = untracked("greater_elem")
    greater_equal = untracked("greater_equal")
    greater_equal_elem = untracked("greater_equal_elem")
    lower = untracked("lower")
    lower_elem = untracked("lower_elem")
    lower_equal = untracked("lower_equal")
    lower_equal_elem = untracked("lower_equal_elem")
    argmax = untracked("argmax")
    argmin = untracked("argmin")
    argsort = untracked("argsort")

    @binary
    def add(self, lhs: Value, rhs: Value) -> Recorded:
        return self.inner.add(lhs, rhs), same, same

    @unary_with
    def add_scalar(self, x: Value, scalar: float) -> Recorded:
        return self.inner.add_scalar(x, scalar), same

    @binary
    def sub(self, lhs: Value, rhs: Value) -> Recorded:
        ops = self.inner
        return ops.sub(lhs, rhs), same, ops.neg

    @unary_with
    def sub_scalar(self, x: Value, scalar: float) -> Recorded:
        return self.inner.sub_scalar(x, scalar), same

    @binary
    def mul(self, lhs: Value, rhs: Value) -> Recorded:
        ops = self.inner
        return ops.mul(lhs, rhs), lambda g: ops.mul(g, rhs), lambda g: ops.mul(g, lhs)

    @unary_with
    def mul_scalar(self, x: Value, scalar: float) -> Recorded:
        ops = self.inner
        return ops.mul_scalar(x, scalar), lambda g: ops.mul_scalar(g, scalar)

    @binary
    def div(self, lhs: Value, rhs: Value) -> Recorded:
        ops = self.inner

        def pullback_rhs(g: Value) -> Value:
            return ops.neg(ops.div(ops.mul(g, lhs), ops.mul(rhs, rhs)))

        return ops.div(lhs, rhs), lambda g: ops.div(g, rhs), pullback_rhs

    @unary_with
    def div_scalar(self, x: Value, scalar: float) -> Recorded:
        ops = self.inner
        return ops.div_scalar(x, scalar), lambda g: ops.div_scalar(g, scalar)

    @binary
    def remainder(self, lhs: Value, rhs: Value) -> Recorded:
        ops = self.inner
        return ops.remainder(lhs, rhs), same, lambda g: ops.neg(ops.mul(g, ops.floor(ops.div(lhs, rhs))))

    @unary_with
    def remainder_scalar(self, x: Value, scalar: float) -> Recorded:
        return self.inner.remainder_scalar(x, scalar), same

    @unary
    def neg(self, x: Value) -> Recorded:
        ops = self.inner
        return ops.neg(x), ops.neg

    @unary
    def abs(self, x: Value) -> Recorded:
        ops = self.inner
        return ops.abs(x), lambda g: ops.mul(g, ops.sign(x))  # 0 at 0

    @unary
    def sign(self, x: Value) -> Recorded:
        ops, shape = self.inner, x.shape
        return ops.sign(x), lambda g: ops.zeros(shape)

    @unary_with
    def powi_scalar(self, x: Value, exponent: int) -> Recorded:
        ops = self.inner

        def pullback(g: Value) -> Value:
            if exponent == 0:
                return ops.zeros(x.shape)
            power = x if exponent == 2 else ops.powi_scalar(x, exponent - 1)
            return ops.mul(g, ops.mul_scalar(power, float(exponent)))

        return ops.powi_scalar(x, exponent), pullback

    @binary
    def matmul(self, lhs: Value, rhs: Value) -> Recorded:
        ops = self.inner
        last = len(lhs.shape) - 1
        return (
            ops.matmul(lhs, rhs),
            lambda g: ops.matmul(g, ops.swap_dims(rhs, last - 1, last)),
            lambda g: ops.matmul(ops.swap_dims(lhs, last - 1, last), g),
        )

    @unary_with
    def clamp(self, x: Value, min: float, max: float) -> Recorded:
        # The gradient passes inside, at the bounds, and at NaN.
        ops = self.inner

        def pullback(g: Value) -> Value:
            g = ops.mask_fill(g, ops.lower_elem(x, min), 0.0)
            return ops.mask_fill(g, ops.greater_elem(x, max), 0.0)

        return ops.clamp(x, min, max), pullback

    @unary_with
    def clamp_min(self, x: Value, min: float) -> Recorded:
        ops = self.inner
        return ops.clamp_min(x, min), lambda g: ops.mask_fill(g, ops.lower_elem(x, min), 0.0)

    @unary_with
    def clamp_max(self, x: Value, max: float) -> Recorded:
        ops = self.inner
        return ops.clamp_max(x, max), lambda g: ops.mask_fill(g, ops.greater_elem(x, max), 0.0)

    @unary
    def sum(self, x: Value) -> Recorded:
        ops, shape = self.inner, x.shape
        return ops.sum(x), lambda g: ops.expand(g, shape)

    @unary_with
    def sum_dim(self, x: Value, dim: int) -> Recorded:
        ops, shape = self.inner, x.shape
        return ops.sum_dim(x, dim), lambda g: ops.expand(g, shape)

    @unary_with
    def sum_dims(self, x: Value, dims: tuple[int, ...]) -> Recorded:
        ops, shape = self.inner, x.shape
        return ops.sum_dims(x, dims), lambda g: ops.expand(g, shape)

    @unary
    def mean(self, x: Value) -> Recorded:
        ops, shape = self.inner, x.shape
        count = float(max(math.prod(shape), 1))
        return ops.mean(x), lambda g: ops.expand(ops.div_scalar(g, count), shape)

    @unary_with
    def mean_dim(self, x: Value, dim: int) -> Recorded:
        ops, shape = self.inner, x.shape
        count = float(max(shape[dim], 1))
        return ops.mean_dim(x, dim), lambda g: ops.expand(ops.div_scalar(g, count), shape)

    @unary
    def prod(self, x: Value) -> Recorded:
        ops, shape = self.inner, x.shape

        def pullback(g: Value) -> Value:
            flat = ops.reshape(x, (math.prod(shape),))
            return ops.reshape(_prod_gradient(ops, flat, 0, g), shape)

        return ops.prod(x), pullback

    @unary_with
    def prod_dim(self, x: Value, dim: int) -> Recorded:
        ops = self.inner
        return ops.prod_dim(x, dim), lambda g: _prod_gradient(ops, x, dim, g)

    @unary
    def max(self, x: Value) -> Recorded:
        ops = self.inner
        return ops.max(x), _first_index_pullback(ops, x, ops.argmax, self.ints.dtype)

    @unary_with
    def max_dim(self, x: Value, dim: int) -> Recorded:
        ops, shape = self.inner, x.shape
        indices = ops.argmax(x, dim, self.ints.dtype)  # the first of a tie takes the whole gradient
        return ops.max_dim(x, dim), lambda g: ops.scatter(ops.zeros(shape), indices, g, dim, "add")

    @unary
    def min(self, x: Value) -> Recorded:
        ops = self.inner
        return ops.min(x), _first_index_pullback(ops, x, ops.argmin, self.ints.dtype)

    @unary_with
    def min_dim(self, x: Value, dim: int) -> Recorded:
        ops, shape = self.inner, x.shape
        indices = ops.argmin(x, dim, self.ints.dtype)
        return ops.min_dim(x, dim), lambda g: ops.scatter(ops.zeros(shape), indices, g, dim, "add")

    @unary_with
    def cumsum(self, x: Value, dim: int) -> Recorded:
        ops = self.inner
        return ops.cumsum(x, dim), lambda g: _sums_from_here(ops, g, dim)

    @unary_with
    def cumprod(self, x: Value, dim: int) -> Recorded:
        ops = self.inner
        return ops.cumprod(x, dim), lambda g: _cumprod_gradient(ops, x, dim, g)

    @unary_with
    def cummax(self, x: Value, dim: int) -> Recorded:
        ops = self.inner
        out = ops.cummax(x, dim)
        return out, self._latest_index_pullback(x, out, dim)

    @unary_with
    def cummin(self, x: Value, dim: int) -> Recorded:
        ops = self.inner
        out = ops.cummin(x, dim)
        return out, self._latest_index_pullback(x, out, dim)

    def _latest_index_pullback(self, x: Value, out: Value, dim: int) -> Pullback:
        """The pullback of a running extreme: everything goes to the latest element that equals it."""
        ops, ints, shape = self.inner, self.ints, x.shape
        along = tuple(size if d == dim else 1 for d, size in enumerate(shape))
        places = ints.expand(ints.reshape(ints.arange(0, shape[dim], 1), along), shape)
        indices = ints.cummax(ints.mask_where(ints.zeros(shape), ops.equal(x, out), places), dim)
        return lambda g: ops.scatter(ops.zeros(shape), indices, g, dim, "add")

    @unary_with
    def _pad_constant(self, x: Value, padding: tuple[tuple[int, int], ...], mode: PadMode, value: float) -> Recorded:
        ops = self.inner
        inside = tuple((before, before + size, 1) for (before, _), size in zip(padding, x.shape, strict=True))
        return ops.pad(x, padding, mode, value), lambda g: ops.slice(g, inside)

    @has_rule
    def pad(self, x: Tracked, padding: tuple[tuple[int, int], ...], mode: PadMode, value: float) -> Tracked:
        if x.node is None:
            return Tracked(self.inner.pad(x.value, padding, mode, value))
        if mode == "constant":
            padded: Tracked = self._pad_constant(x, padding, mode, value)
            return padded
        # Reflect and edge pick existing rows, one dimension after the other: select knows the way back.
        for dim, (before, after) in enumerate(padding):
            if before or after:
                indices = self.ints.from_data(_padded_indices(x.shape[dim], before, after, mode))
                x = self.select(x, indices, dim)
        return x


def _padded_indices(size: int, before: int, after: int, mode: PadMode) -> HostArray:
    return np.pad(np.arange(size), (before, after), mode=mode)


def _first_index_pullback(ops: Any, x: Value, arg: Any, dtype: DType) -> Pullback:
    """The pullback of a full max or min: everything goes to the first place that holds it."""
    shape = x.shape
    count = math.prod(shape)
    index = arg(ops.reshape(x, (count,)), 0, dtype)
    return lambda g: ops.reshape(ops.scatter(ops.zeros((count,)), index, g, 0, "add"), shape)


def _prod_gradient(ops: Any, x: Value, dim: int, g: Value) -> Value:
    """g · Π of the others, safe at zeros: with one zero only it gets a gradient, with two nobody does.

    With z = [x = 0], x' = x + z, P = Π x' and n = Σ z: n = 0 gives P / x', n = 1 gives P at the zero, else 0.
    """
    is_zero = ops.equal_elem(x, 0.0)
    safe = ops.mask_fill(x, is_zero, 1.0)
    others = ops.div(ops.prod_dim(safe, dim), safe)
    zeros = ops.sum_dim(ops.mask_fill(ops.zeros(x.shape), is_zero, 1.0), dim)
    scale = ops.mul(g, others)
    no_zero = ops.equal_elem(ops.expand(zeros, x.shape), 0.0)
    one_zero = ops.equal_elem(ops.expand(zeros, x.shape), 1.0)
    blank = ops.zeros(x.shape)
    at_zero = ops.mask_where(blank, is_zero, ops.mask_where(blank, one_zero, scale))
    return ops.mask_where(at_zero, no_zero, scale)


def _sums_from_here(ops: Any, x: Value, dim: int) -> Value:
    """The sum of each element and those after it along dim."""
    return ops.flip(ops.cumsum(ops.flip(x, (dim,)), dim), (dim,))


def _cumprod_gradient(ops: Any, x: Value, dim: int, g: Value) -> Value:
    """Σ_j≥i g_j · Π_k≤j x_k without x_i, safe at zeros.

    With z = [x = 0], x' = x + z, P = the running product of x' and n = the running count of z: the product without x_i
    is P_j / x'_i where n_j = [x_i = 0], and 0 where there are more zeros.
    """
    is_zero = ops.equal_elem(x, 0.0)
    zeros = ops.cumsum(ops.mask_fill(ops.zeros(x.shape), is_zero, 1.0), dim)
    safe = ops.mask_fill(x, is_zero, 1.0)
    terms = ops.mul(g, ops.cumprod(safe, dim))
    blank = ops.zeros(x.shape)
    without_zero = ops.mask_where(blank, ops.equal_elem(zeros, 0.0), terms)
    with_one = ops.mask_where(blank, ops.equal_elem(zeros, 1.0), terms)
    at_first_zero = ops.mask_where(blank, ops.equal_elem(zeros, 1.0), _sums_from_here(ops, with_one, dim))
    return ops.mask_where(ops.div(_sums_from_here(ops, without_zero, dim), safe), is_zero, at_first_zero)
