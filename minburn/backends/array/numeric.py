"""What float and int arrays share."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec

import numpy as np

from minburn.backends.array.basic import Array, ArrayBasic
from minburn.backends.array.dtypes import to_numpy
from minburn.backends.array.pool import SMALLEST
from minburn.backends.base import Device, IndexUpdate, PadMode, Shape
from minburn.dtype import DType

P = ParamSpec("P")


class ArrayNumeric(ArrayBasic):
    """Adds arithmetic, reductions and order."""

    def __init__(self, xp: Any, device: Device, dtype: DType) -> None:
        super().__init__(xp, device, dtype)
        # Sums of halves are accumulated in F32 (as in Burn's flex); NumPy would widen small ints to 64 bits.
        self.is_half = dtype in (DType.F16, DType.BF16)
        self.sum_dtype = np.dtype(np.float32) if self.is_half else self.np_dtype
        # Elements from which on memory from `empty` beats what NumPy allocates by itself.
        self.large = sys.maxsize if self.is_half else SMALLEST // self.np_dtype.itemsize

    def room(self, tensor: Array) -> Array | None:
        """Memory for a result like `tensor`; None for a small one, which NumPy allocates faster."""
        return None if tensor.size < self.large else self.empty_like(tensor)

    def room_for_both(self, lhs: Array, rhs: Array) -> Array:
        """Memory for an elementwise result of two tensors, one of them large."""
        if lhs.shape == rhs.shape:
            return self.empty_like(lhs)
        shape = tuple(right if left == 1 else left for left, right in zip(lhs.shape, rhs.shape, strict=True))
        return self.empty_like(lhs, shape)

    def full(self, shape: Shape, value: float) -> Array:
        return self.xp.full(shape, value, self.np_dtype)

    def add(self, lhs: Array, rhs: Array) -> Array:
        if lhs.size < self.large:
            return self.xp.add(lhs, rhs)
        return self.xp.add(lhs, rhs, self.room_for_both(lhs, rhs))

    def add_scalar(self, lhs: Array, rhs: float) -> Array:
        return self.xp.add(lhs, rhs, self.room(lhs))

    def sub(self, lhs: Array, rhs: Array) -> Array:
        if lhs.size < self.large:
            return self.xp.subtract(lhs, rhs)
        return self.xp.subtract(lhs, rhs, self.room_for_both(lhs, rhs))

    def sub_scalar(self, lhs: Array, rhs: float) -> Array:
        return self.xp.subtract(lhs, rhs, self.room(lhs))

    def mul(self, lhs: Array, rhs: Array) -> Array:
        if lhs.size < self.large:
            return self.xp.multiply(lhs, rhs)
        return self.xp.multiply(lhs, rhs, self.room_for_both(lhs, rhs))

    def mul_scalar(self, lhs: Array, rhs: float) -> Array:
        return self.xp.multiply(lhs, rhs, self.room(lhs))

    def remainder(self, lhs: Array, rhs: Array) -> Array:
        return self.xp.remainder(lhs, rhs)

    def remainder_scalar(self, lhs: Array, rhs: float) -> Array:
        return self.xp.remainder(lhs, rhs)

    def neg(self, tensor: Array) -> Array:
        return self.xp.negative(tensor, self.room(tensor))

    def abs(self, tensor: Array) -> Array:
        return self.xp.abs(tensor)

    def matmul(self, lhs: Array, rhs: Array) -> Array:
        if lhs.ndim > 2 and rhs.ndim == 2:  # one product instead of a batch of small ones
            flat = self.matmul(lhs.reshape(-1, lhs.shape[-1]), rhs)
            return flat.reshape(*lhs.shape[:-1], rhs.shape[-1])
        if lhs.size < self.large or lhs.shape[:-2] != rhs.shape[:-2] or lhs.shape[-1] != rhs.shape[-2]:
            return self.xp.matmul(lhs, rhs)
        return self.xp.matmul(lhs, rhs, out=self.empty((*lhs.shape[:-1], rhs.shape[-1])))

    def clamp(self, tensor: Array, min: float, max: float) -> Array:
        return self.xp.minimum(self.xp.maximum(tensor, min), max)

    def clamp_min(self, tensor: Array, min: float) -> Array:
        return self.xp.maximum(tensor, min)

    def clamp_max(self, tensor: Array, max: float) -> Array:
        return self.xp.minimum(tensor, max)

    def narrow(self, result: Array) -> Array:
        """Back from the dtype of the accumulation."""
        return result if result.dtype == self.np_dtype else result.astype(self.np_dtype)

    def update_at(self, tensor: Array, where: tuple[Any, ...], value: Array, update: IndexUpdate) -> Array:
        if not self.is_half or update not in ("add", "mul"):
            return super().update_at(tensor, where, value, update)
        # A place that is met thousands of times holds a sum as any other.
        wide, values = tensor.astype(self.sum_dtype), value.astype(self.sum_dtype)
        return self.narrow(super().update_at(wide, where, values, update))

    def sum(self, tensor: Array) -> Array:
        return self.narrow(self.xp.add.reduce(tensor, axis=None, dtype=self.sum_dtype).reshape(1))

    def sum_dim(self, tensor: Array, dim: int) -> Array:
        return self.narrow(self.xp.add.reduce(tensor, axis=dim, dtype=self.sum_dtype, keepdims=True))

    def sum_dims(self, tensor: Array, dims: tuple[int, ...]) -> Array:
        return self.narrow(self.xp.add.reduce(tensor, axis=dims, dtype=self.sum_dtype, keepdims=True))

    def prod(self, tensor: Array) -> Array:
        return self.narrow(self.xp.multiply.reduce(tensor, axis=None, dtype=self.sum_dtype).reshape(1))

    def prod_dim(self, tensor: Array, dim: int) -> Array:
        return self.narrow(self.xp.multiply.reduce(tensor, axis=dim, dtype=self.sum_dtype, keepdims=True))

    def max(self, tensor: Array) -> Array:
        return tensor.max().reshape(1)

    def max_dim(self, tensor: Array, dim: int) -> Array:
        return tensor.max(axis=dim, keepdims=True)

    def min(self, tensor: Array) -> Array:
        return tensor.min().reshape(1)

    def min_dim(self, tensor: Array, dim: int) -> Array:
        return tensor.min(axis=dim, keepdims=True)

    def argmax(self, tensor: Array, dim: int, dtype: DType) -> Array:
        return tensor.argmax(axis=dim, keepdims=True).astype(to_numpy(dtype))

    def argmin(self, tensor: Array, dim: int, dtype: DType) -> Array:
        return tensor.argmin(axis=dim, keepdims=True).astype(to_numpy(dtype))

    def greater(self, lhs: Array, rhs: Array) -> Array:
        return self.xp.greater(lhs, rhs)

    def greater_elem(self, lhs: Array, rhs: float) -> Array:
        return self.xp.greater(lhs, rhs)

    def greater_equal(self, lhs: Array, rhs: Array) -> Array:
        return self.xp.greater_equal(lhs, rhs)

    def greater_equal_elem(self, lhs: Array, rhs: float) -> Array:
        return self.xp.greater_equal(lhs, rhs)

    def lower(self, lhs: Array, rhs: Array) -> Array:
        return self.xp.less(lhs, rhs)

    def lower_elem(self, lhs: Array, rhs: float) -> Array:
        return self.xp.less(lhs, rhs)

    def lower_equal(self, lhs: Array, rhs: Array) -> Array:
        return self.xp.less_equal(lhs, rhs)

    def lower_equal_elem(self, lhs: Array, rhs: float) -> Array:
        return self.xp.less_equal(lhs, rhs)

    def sort_key(self, tensor: Array) -> Array:
        """Integers in the order of the elements."""
        return tensor

    def argsort(self, tensor: Array, dim: int, descending: bool, dtype: DType) -> Array:
        key = self.sort_key(tensor)
        if descending:  # the complement turns the order around, but not that of equal elements
            key = self.xp.invert(key)
        return self.xp.argsort(key, axis=dim, kind="stable").astype(to_numpy(dtype))

    def cumsum(self, tensor: Array, dim: int) -> Array:
        return self.narrow(self.xp.cumsum(tensor, axis=dim, dtype=self.sum_dtype))

    def cumprod(self, tensor: Array, dim: int) -> Array:
        return self.narrow(self.xp.cumprod(tensor, axis=dim, dtype=self.sum_dtype))

    def cummax(self, tensor: Array, dim: int) -> Array:
        return self.xp.maximum.accumulate(tensor, axis=dim)

    def cummin(self, tensor: Array, dim: int) -> Array:
        return self.xp.minimum.accumulate(tensor, axis=dim)

    def pad(self, tensor: Array, padding: tuple[tuple[int, int], ...], mode: PadMode, value: float) -> Array:
        if mode == "constant":
            out = self.full(tuple(b + n + a for n, (b, a) in zip(tensor.shape, padding, strict=True)), value)
            out[tuple(slice(b, b + n) for n, (b, _) in zip(tensor.shape, padding, strict=True))] = tensor
            return out
        return self.xp.pad(tensor, padding, mode=mode)


def rounded(op: Callable[Concatenate[Any, P], Array]) -> Callable[Concatenate[Any, P], Array]:
    """The op, its result in the table's dtype: for tables of bfloat16, where libraries give float32 now and then."""

    @functools.wraps(op)
    def run(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Array:
        result: Array = self.narrow(op(self, *args, **kwargs))
        return result

    return run
