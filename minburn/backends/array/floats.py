"""Float arrays: Burn's `FloatTensorOps` over `xp`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minburn.backends.array.basic import SMALL, Array
from minburn.backends.array.dtypes import to_numpy
from minburn.backends.array.erf import erf
from minburn.backends.array.numeric import ArrayNumeric
from minburn.backends.array.philox import draw
from minburn.backends.array.program import Kernel, run_program
from minburn.backends.base import Device, Shape
from minburn.backends.elementwise import ElementwiseProgram
from minburn.backends.rng import Distribution
from minburn.dtype import DType


class ArrayFloats(ArrayNumeric):
    def __init__(self, xp: Any, device: Device, dtype: DType) -> None:
        super().__init__(xp, device, dtype)
        self._ones: dict[int, Array] = {}
        self.kernels: dict[int, Kernel] = {}  # of the elementwise programs run so far: see program.py

    def surely_finite(self, tensor: Array) -> bool:
        """Whether every element is finite. The answer may be a wrong no where the sum of squares is infinite."""
        if self.is_half:
            return bool(self.xp.isfinite(self.xp.add.reduce(tensor, axis=None, dtype=self.sum_dtype)))
        flat = tensor.ravel(order="K")
        return bool(self.xp.isfinite(flat.dot(flat)))  # four times faster than a sum

    def random(self, shape: Shape, distribution: Distribution, key: int, counter: int) -> Array:
        return self.xp.asarray(draw(shape, distribution, key, counter, self.np_dtype))  # nobody else has it

    def sort_key(self, tensor: Array) -> Array:
        # The bits as an int: already in order where the sign is 0, and reversed where it is 1. NaN comes last.
        size = tensor.dtype.itemsize
        bits = self.xp.ascontiguousarray(tensor).view(f"i{size}")
        largest = (1 << 8 * size - 1) - 1
        key = self.xp.where(bits < 0, bits ^ largest, bits)
        return self.xp.where(self.xp.isnan(tensor), bits.dtype.type(largest), key)

    def div(self, lhs: Array, rhs: Array) -> Array:
        if lhs.size < self.large:
            return self.xp.divide(lhs, rhs)
        return self.xp.divide(lhs, rhs, self.room_for_both(lhs, rhs))

    def div_scalar(self, lhs: Array, rhs: float) -> Array:
        return self.xp.divide(lhs, rhs, self.room(lhs))

    def sign(self, tensor: Array) -> Array:
        # xp.sign keeps NaN; Burn's contract says 0.
        positive, negative = self.xp.greater(tensor, 0), self.xp.less(tensor, 0)
        return positive.astype(self.np_dtype) - negative.astype(self.np_dtype)

    def row_of_ones(self, size: int) -> Array:
        """[size], kept for the next time if it is small: a sum of rows as a product is mostly the making of this."""
        row = self._ones.get(size)
        if row is None:
            row = self.ones((size,))
            if size < SMALL and len(self._ones) < 64:
                self._ones[size] = row
        return row

    def powi_scalar(self, tensor: Array, exponent: int) -> Array:
        if exponent == 0:
            return self.ones(tensor.shape)
        if exponent == 1:
            return tensor
        if exponent == 2:
            return self.mul(tensor, tensor)
        if exponent == 3:  # xp.power is eighty times slower than two products
            return tensor * tensor * tensor
        if exponent == -1:
            return self.recip(tensor)
        if exponent == -2:
            return self.recip(tensor * tensor)
        return self.xp.power(tensor, float(exponent))

    def mean(self, tensor: Array) -> Array:
        return self.narrow((self.xp.add.reduce(tensor, axis=None, dtype=self.sum_dtype) / tensor.size).reshape(1))

    def mean_dim(self, tensor: Array, dim: int) -> Array:
        return self.narrow(
            self.xp.add.reduce(tensor, axis=dim, dtype=self.sum_dtype, keepdims=True) / tensor.shape[dim]
        )

    def into_int(self, tensor: Array, dtype: DType) -> Array:
        return saturating_cast(self.xp, tensor, to_numpy(dtype))

    def cast(self, tensor: Array, dtype: DType) -> Array:
        return tensor.astype(to_numpy(dtype))

    def fmod(self, lhs: Array, rhs: Array) -> Array:
        return self.xp.fmod(lhs, rhs)

    def exp(self, tensor: Array) -> Array:
        return self.xp.exp(tensor, self.room(tensor))

    def log(self, tensor: Array) -> Array:
        return self.xp.log(tensor, self.room(tensor))

    def log1p(self, tensor: Array) -> Array:
        return self.xp.log1p(tensor)

    def sqrt(self, tensor: Array) -> Array:
        return self.xp.sqrt(tensor, self.room(tensor))

    def recip(self, tensor: Array) -> Array:
        return self.xp.divide(1.0, tensor, self.room(tensor))

    def powf(self, lhs: Array, rhs: Array) -> Array:
        return self.xp.power(lhs, rhs)

    def powf_scalar(self, tensor: Array, exponent: float) -> Array:
        if math.isfinite(exponent) and exponent == int(exponent):
            return self.powi_scalar(tensor, int(exponent))
        if exponent == 0.5:  # xp.power takes the root then, which is NaN at -inf and -0 at -0, where the power is not
            return self.xp.where(tensor == -math.inf, -tensor, self.xp.sqrt(tensor) + 0)
        return self.xp.power(tensor, exponent)

    def cos(self, tensor: Array) -> Array:
        return self.xp.cos(tensor)

    def sin(self, tensor: Array) -> Array:
        return self.xp.sin(tensor)

    def tan(self, tensor: Array) -> Array:
        return self.xp.tan(tensor)

    def cosh(self, tensor: Array) -> Array:
        return self.xp.cosh(tensor)

    def sinh(self, tensor: Array) -> Array:
        return self.xp.sinh(tensor)

    def tanh(self, tensor: Array) -> Array:
        return self.xp.tanh(tensor, self.room(tensor))

    def tanh_backward(self, output: Array, grad: Array) -> Array:
        out = self.mul(grad, output)
        self.xp.multiply(out, output, out)
        return self.xp.subtract(grad, out, out)

    def acos(self, tensor: Array) -> Array:
        return self.xp.arccos(tensor)

    def asin(self, tensor: Array) -> Array:
        return self.xp.arcsin(tensor)

    def atan(self, tensor: Array) -> Array:
        return self.xp.arctan(tensor)

    def acosh(self, tensor: Array) -> Array:
        return self.xp.arccosh(tensor)

    def asinh(self, tensor: Array) -> Array:
        return self.xp.arcsinh(tensor)

    def atanh(self, tensor: Array) -> Array:
        return self.xp.arctanh(tensor)

    def atan2(self, lhs: Array, rhs: Array) -> Array:
        return self.xp.arctan2(lhs, rhs)

    def hypot(self, lhs: Array, rhs: Array) -> Array:
        return self.xp.hypot(lhs, rhs)

    def erf(self, tensor: Array) -> Array:
        return erf(self.xp, tensor)

    def round(self, tensor: Array) -> Array:
        return self.xp.rint(tensor)

    def floor(self, tensor: Array) -> Array:
        return self.xp.floor(tensor)

    def ceil(self, tensor: Array) -> Array:
        return self.xp.ceil(tensor)

    def trunc(self, tensor: Array) -> Array:
        return self.xp.trunc(tensor)

    def var_dim(self, tensor: Array, dim: int, correction: int) -> Array:
        wide = tensor.astype(self.sum_dtype) if self.is_half else tensor
        count = tensor.shape[dim]
        centred = wide - self.xp.add.reduce(wide, axis=dim, keepdims=True) / count
        squares = self.xp.add.reduce(centred * centred, axis=dim, keepdims=True)
        divisor = count - correction
        return self.narrow(squares / divisor if divisor > 0 else squares * math.nan)

    def is_nan(self, tensor: Array) -> Array:
        return self.xp.isnan(tensor)

    def is_inf(self, tensor: Array) -> Array:
        return self.xp.isinf(tensor)

    def detach(self, tensor: Array) -> Array:
        return tensor

    def run_elementwise(
        self, columns: Sequence[Sequence[Array]], program: ElementwiseProgram, scalars: tuple[float, ...]
    ) -> Sequence[Sequence[Array]]:
        return run_program(self, columns, program, scalars)


def saturating_cast(xp: Any, tensor: Array, dtype: Any) -> Array:
    """Float to int as Burn does it: toward zero, saturating at the bounds, NaN → 0."""
    info = xp.iinfo(dtype)
    whole = xp.trunc(tensor).astype(xp.float64)
    # float(info.max) may round up to a value outside the range, so the top is set apart.
    inside = xp.where((whole >= info.min) & (whole < float(info.max)), whole, 0.0).astype(dtype)
    low = xp.where(whole < info.min, xp.asarray(info.min, dtype), inside)
    return xp.where(whole >= float(info.max), xp.asarray(info.max, dtype), low)
