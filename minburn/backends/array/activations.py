"""Activation functions fused over `xp`: fewer passes and temporaries than the defaults they replace.

Work is done in place on arrays that the op itself has just made.
"""

from __future__ import annotations

import math

from minburn.backends.array.basic import Array
from minburn.backends.array.floats import ArrayFloats
from minburn.backends.array.gelu import blocked, gelu_approximate_step, gelu_step
from minburn.backends.array.rows import row_maxima, row_products
from minburn.backends.default import DefaultActivations
from minburn.dtype import DType

LARGE = 2048
"""Elements from which on the faster ways are worth their longer calls."""


class ArrayActivations(DefaultActivations):
    floats: ArrayFloats

    def relu(self, x: Array) -> Array:
        out = self.floats.empty_like(x)
        if x.size < LARGE or self.floats.is_half:  # ml_dtypes has no clip
            return self.floats.xp.maximum(x, 0, out=out)
        return x.clip(0.0, math.inf, out)  # a third of the time: a maximum with a number is not vectorized

    def relu_backward(self, output: Array, grad: Array) -> Array:
        xp = self.floats.xp
        keep = xp.less_equal(output, 0, self.floats.mask_like(output))
        xp.logical_not(keep, keep)  # NaN ≤ 0 is false: the gradient passes, as in the default
        out = xp.multiply(grad, keep, self.floats.empty_like(output))
        if self.floats.surely_finite(out):
            return out
        return xp.where(keep, grad, self.floats.np_dtype.type(0))  # ten times slower, but 0 · inf must be 0

    def leaky_relu(self, x: Array, negative_slope: float) -> Array:
        if not 0.0 < negative_slope <= 1.0:
            return super().leaky_relu(x, negative_slope)
        xp = self.floats.xp
        out = xp.multiply(x, negative_slope, self.floats.empty_like(x))
        return xp.maximum(x, out, out=out)

    def leaky_relu_backward(self, x: Array, grad: Array, negative_slope: float) -> Array:
        if self.floats.is_half or not math.isfinite(negative_slope):
            return super().leaky_relu_backward(x, grad, negative_slope)
        xp = self.floats.xp
        out = xp.multiply(xp.less(x, 0), negative_slope - 1.0, self.floats.empty_like(x), dtype=self.floats.np_dtype)
        xp.add(out, 1.0, out)  # negative_slope or 1
        return xp.multiply(out, grad, out)

    def silu(self, x: Array) -> Array:
        out = self.sigmoid(x)
        return self.floats.xp.multiply(out, x, out)

    def silu_train(self, x: Array) -> tuple[Array, Array]:
        xp = self.floats.xp
        sigmoid = self.sigmoid(x)
        out = xp.multiply(x, sigmoid, self.floats.empty_like(x))
        slope = xp.multiply(out, sigmoid, self.floats.empty_like(x))
        xp.subtract(out, slope, slope)
        return out, xp.add(slope, sigmoid, slope)

    def gelu(self, x: Array) -> Array:
        if self.floats.dtype is not DType.F32:
            return super().gelu(x)
        return blocked(self.floats, gelu_step, x, slope=False)[0]

    def gelu_train(self, x: Array) -> tuple[Array, Array]:
        if self.floats.dtype is not DType.F32:
            return super().gelu_train(x)
        return blocked(self.floats, gelu_step, x, slope=True)

    def gelu_approximate(self, x: Array) -> Array:
        if self.floats.is_half:
            return super().gelu_approximate(x)
        return blocked(self.floats, gelu_approximate_step, x, slope=False)[0]

    def gelu_approximate_train(self, x: Array) -> tuple[Array, Array]:
        if self.floats.is_half:
            return super().gelu_approximate_train(x)
        return blocked(self.floats, gelu_approximate_step, x, slope=True)

    def sigmoid(self, x: Array) -> Array:
        xp = self.floats.xp
        out = xp.negative(x, self.floats.empty_like(x))
        xp.exp(out, out)
        xp.add(out, 1, out)
        return xp.divide(1, out, out)

    def sigmoid_backward(self, output: Array, grad: Array) -> Array:
        xp = self.floats.xp
        out = xp.subtract(1, output, self.floats.empty_like(output))
        xp.multiply(out, output, out)
        return xp.multiply(out, grad, out)

    def _rows(self, x: Array, dim: int) -> Array | None:
        """x as a matrix whose rows run along dim; None if it lies otherwise in memory, or is too small to matter."""
        if x.size < LARGE or dim != x.ndim - 1 or not x.flags.c_contiguous:
            return None
        return x.reshape(-1, x.shape[dim])

    def _shifted(self, x: Array, dim: int) -> Array:
        """x minus its maximum along dim, in memory of its own."""
        xp, rows = self.floats.xp, self._rows(x, dim)
        if rows is None:
            return xp.subtract(x, x.max(axis=dim, keepdims=True), self.floats.empty_like(x))
        return xp.subtract(rows, row_maxima(xp, rows), self.floats.empty(rows.shape)).reshape(x.shape)

    def _total(self, x: Array, dim: int) -> Array:
        """Σ x along dim, kept with size 1."""
        rows = self._rows(x, dim)
        if rows is None:
            return self.floats.xp.add.reduce(x, axis=dim, keepdims=True)
        return rows.dot(self.floats.ones((rows.shape[1],))).reshape(*x.shape[:-1], 1)

    def _single(self) -> ArrayActivations:
        """The same ops for F32."""
        table = self.floats
        return type(self)(type(table)(table.xp, table.device, DType.F32))

    def softmax(self, x: Array, dim: int) -> Array:
        xp = self.floats.xp
        if not x.size:
            return super().softmax(x, dim)
        if self.floats.is_half:  # a sum of 65,520 powers is no half any more
            return self.floats.narrow(self._single().softmax(self.floats.cast(x, DType.F32), dim))
        out = self._shifted(x, dim)
        xp.exp(out, out)
        return xp.divide(out, self._total(out, dim), out)

    def softmax_backward(self, output: Array, grad: Array, dim: int) -> Array:
        table, xp = self.floats, self.floats.xp
        if table.is_half:
            return super().softmax_backward(output, grad, dim)
        out = table.empty_like(output)
        rows, grad_rows = self._rows(output, dim), self._rows(grad, dim)
        if rows is not None and grad_rows is not None:
            total = row_products(xp, rows, grad_rows).reshape(*output.shape[:-1], 1)
        else:
            total = xp.add.reduce(xp.multiply(output, grad, out), axis=dim, keepdims=True)
        xp.subtract(grad, total, out)
        return xp.multiply(out, output, out)

    def log_softmax(self, x: Array, dim: int) -> Array:
        xp = self.floats.xp
        if not x.size:
            return super().log_softmax(x, dim)
        if self.floats.is_half:
            return self.floats.narrow(self._single().log_softmax(self.floats.cast(x, DType.F32), dim))
        out = self._shifted(x, dim)
        total = self._total(xp.exp(out, self.floats.empty_like(x)), dim)
        return xp.subtract(out, xp.log(total), out)
