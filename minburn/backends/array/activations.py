"""Activation functions fused over `xp`: fewer passes and temporaries than the defaults they replace.

Work is done in place on arrays that the op itself has just made.
"""

from __future__ import annotations

import math

from minburn.backends.array.basic import Array
from minburn.backends.array.floats import ArrayFloats
from minburn.backends.array.gelu import blocked, gelu_approximate_step, gelu_step
from minburn.backends.default import DefaultActivations
from minburn.dtype import DType


class ArrayActivations(DefaultActivations):
    floats: ArrayFloats

    def relu(self, x: Array) -> Array:
        return self.floats.xp.maximum(x, 0, out=self.floats.empty_like(x))

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

    def _shifted(self, x: Array, dim: int) -> Array:
        """x minus its maximum along dim, in memory of its own."""
        return self.floats.xp.subtract(x, x.max(axis=dim, keepdims=True), self.floats.empty_like(x))

    def softmax(self, x: Array, dim: int) -> Array:
        table, xp = self.floats, self.floats.xp
        if table.is_half or not x.size:
            return super().softmax(x, dim)
        out = self._shifted(x, dim)
        xp.exp(out, out)
        return xp.divide(out, xp.add.reduce(out, axis=dim, keepdims=True), out)

    def softmax_backward(self, output: Array, grad: Array, dim: int) -> Array:
        table, xp = self.floats, self.floats.xp
        if table.is_half:
            return super().softmax_backward(output, grad, dim)
        out = xp.multiply(output, grad, table.empty_like(output))
        total = xp.add.reduce(out, axis=dim, keepdims=True)
        xp.subtract(grad, total, out)
        return xp.multiply(out, output, out)

    def log_softmax(self, x: Array, dim: int) -> Array:
        table, xp = self.floats, self.floats.xp
        if table.is_half or not x.size:
            return super().log_softmax(x, dim)
        out = self._shifted(x, dim)
        total = xp.add.reduce(xp.exp(out), axis=dim, keepdims=True)
        return xp.subtract(out, xp.log(total), out)
