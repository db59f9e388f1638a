"""Int arrays (Burn's `IntTensorOps`) and bool arrays (`BoolTensorOps`) over `xp`."""

from __future__ import annotations

import numpy as np

from minburn.backends.array.basic import Array, ArrayBasic
from minburn.backends.array.dtypes import to_numpy
from minburn.backends.array.numeric import ArrayNumeric
from minburn.backends.array.philox import draw
from minburn.backends.base import Shape
from minburn.backends.error import BackendError
from minburn.backends.rng import Distribution
from minburn.dtype import DType


class ArrayInts(ArrayNumeric):
    """Arithmetic wraps around."""

    def random(self, shape: Shape, distribution: Distribution, key: int, counter: int) -> Array:
        return self.from_data(draw(shape, distribution, key, counter, np.dtype(np.float64)).astype(self.np_dtype))

    def div(self, lhs: Array, rhs: Array) -> Array:
        self.check_divisor("div", rhs)
        quotient = self.xp.floor_divide(lhs, rhs)
        # Toward zero: one up where the division is inexact and the signs differ.
        inexact = (lhs - quotient * rhs != 0) & ((lhs < 0) != (rhs < 0))
        return quotient + inexact.astype(self.np_dtype)

    def div_scalar(self, lhs: Array, rhs: float) -> Array:
        return self.div(lhs, self.xp.asarray(rhs, self.np_dtype))

    def remainder(self, lhs: Array, rhs: Array) -> Array:
        self.check_divisor("remainder", rhs)
        return self.xp.remainder(lhs, rhs)

    def remainder_scalar(self, lhs: Array, rhs: float) -> Array:
        return self.remainder(lhs, self.xp.asarray(rhs, self.np_dtype))

    def check_divisor(self, op: str, rhs: Array) -> None:
        if not rhs.all():
            raise BackendError(f"{op}: integer division by zero.")

    def sign(self, tensor: Array) -> Array:
        return self.xp.sign(tensor)

    def powi_scalar(self, tensor: Array, exponent: int) -> Array:
        if exponent >= 0:
            return self.xp.power(tensor, self.xp.asarray(exponent, self.np_dtype))
        return self.powi(tensor, self.xp.asarray(exponent))

    def powi(self, lhs: Array, rhs: Array) -> Array:
        power = self.xp.power(lhs, self.xp.abs(rhs).astype(self.np_dtype))
        # 1/xⁿ truncated: only ±1 have an integer reciprocal, which is the power itself.
        return self.xp.where((rhs >= 0) | (self.xp.abs(lhs) == 1), power, self.np_dtype.type(0))

    def mean(self, tensor: Array) -> Array:
        return self.div_scalar(self.sum(tensor), tensor.size)

    def mean_dim(self, tensor: Array, dim: int) -> Array:
        return self.div_scalar(self.sum_dim(tensor, dim), tensor.shape[dim])

    def into_float(self, tensor: Array, dtype: DType) -> Array:
        return tensor.astype(to_numpy(dtype))

    def cast(self, tensor: Array, dtype: DType) -> Array:
        return tensor.astype(to_numpy(dtype))

    def arange(self, start: int, end: int, step: int) -> Array:
        return self.xp.arange(start, end, step, dtype=self.np_dtype)

    def bitwise_and(self, lhs: Array, rhs: Array) -> Array:
        return self.xp.bitwise_and(lhs, rhs)

    def bitwise_or(self, lhs: Array, rhs: Array) -> Array:
        return self.xp.bitwise_or(lhs, rhs)

    def bitwise_xor(self, lhs: Array, rhs: Array) -> Array:
        return self.xp.bitwise_xor(lhs, rhs)

    def bitwise_not(self, tensor: Array) -> Array:
        return self.xp.invert(tensor)

    def bitwise_left_shift(self, lhs: Array, rhs: Array) -> Array:
        return self.xp.left_shift(lhs, self.within_width(rhs))

    def bitwise_right_shift(self, lhs: Array, rhs: Array) -> Array:
        return self.xp.right_shift(lhs, self.within_width(rhs))

    def within_width(self, shift: Array) -> Array:
        return self.xp.bitwise_and(shift, self.np_dtype.type(8 * self.np_dtype.itemsize - 1))


class ArrayBools(ArrayBasic):
    def into_int(self, tensor: Array, dtype: DType) -> Array:
        return tensor.astype(to_numpy(dtype))

    def into_float(self, tensor: Array, dtype: DType) -> Array:
        return tensor.astype(to_numpy(dtype))

    def not_(self, tensor: Array) -> Array:
        return self.xp.logical_not(tensor)

    def and_(self, lhs: Array, rhs: Array) -> Array:
        return self.xp.logical_and(lhs, rhs)

    def or_(self, lhs: Array, rhs: Array) -> Array:
        return self.xp.logical_or(lhs, rhs)

    def xor(self, lhs: Array, rhs: Array) -> Array:
        return self.xp.logical_xor(lhs, rhs)

    def argwhere(self, tensor: Array, dtype: DType) -> Array:
        return self.xp.argwhere(tensor).astype(to_numpy(dtype))
