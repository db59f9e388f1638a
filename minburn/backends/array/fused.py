"""Module and activation ops fused over `xp`: fewer passes and temporaries than the defaults they replace.

Work is done in place on arrays that the op itself has just made.
"""

from __future__ import annotations

import math

from minburn.backends.array.basic import Array
from minburn.backends.array.floats import ArrayFloats
from minburn.backends.default import DefaultActivations, DefaultModules


def rows_of(x: Array) -> Array:
    """[…, d] as [rows, d]."""
    return x if x.ndim == 2 else x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


class ArrayModules(DefaultModules):
    """Matrix products run on 2-D operands: a batched product of few columns is several times slower."""

    floats: ArrayFloats

    def linear(self, x: Array, weight: Array, bias: Array | None) -> Array:
        table = self.floats
        flat = rows_of(x)
        out = table.xp.dot(flat, weight, table.empty((flat.shape[0], weight.shape[1])))
        if bias is not None:
            table.xp.add(out, bias, out)
        return out if x.ndim == 2 else out.reshape(*x.shape[:-1], weight.shape[1])

    def linear_x_backward(self, weight: Array, grad: Array) -> Array:
        return self.linear(grad, weight.T, None)

    def linear_weight_backward(self, x: Array, grad: Array) -> Array:
        table = self.floats
        return table.xp.dot(rows_of(x).T, rows_of(grad), table.empty((x.shape[-1], grad.shape[-1])))

    def linear_bias_backward(self, grad: Array) -> Array:
        table = self.floats
        flat = rows_of(grad)
        # A sum of rows as a matrix-vector product is twice as fast; halves need the wider accumulator of sum.
        if table.is_half:
            return table.narrow(table.xp.add.reduce(flat, axis=0, dtype=table.sum_dtype))
        return table.xp.dot(table.ones((flat.shape[0],)), flat)

    def cross_entropy(self, logits: Array, targets: Array) -> tuple[Array, Array]:
        table, xp = self.floats, self.floats.xp
        rows, classes = logits.shape
        table.check_indices("cross_entropy", targets, classes)
        if table.is_half or not rows:
            return super().cross_entropy(logits, targets)
        probs = xp.subtract(logits, xp.max(logits, axis=1, keepdims=True), out=table.empty(logits.shape))
        picked = xp.add.reduce(probs[xp.arange(rows), targets])
        xp.exp(probs, out=probs)
        sums = xp.dot(probs, table.ones((classes,)))
        loss = (xp.add.reduce(xp.log(sums)) - picked) / rows
        xp.divide(probs, sums[:, None], out=probs)
        return loss.reshape(1), probs

    def cross_entropy_backward(self, softmax: Array, targets: Array, grad: Array) -> Array:
        table, xp = self.floats, self.floats.xp
        rows = softmax.shape[0]
        scale = grad / max(rows, 1)
        out = xp.multiply(softmax, scale, out=table.empty(softmax.shape))
        out[xp.arange(rows), targets] -= scale
        return out


class ArrayActivations(DefaultActivations):
    floats: ArrayFloats

    def relu(self, x: Array) -> Array:
        return self.floats.xp.maximum(x, 0, out=self.floats.empty(x.shape))

    def relu_backward(self, output: Array, grad: Array) -> Array:
        xp = self.floats.xp
        keep = xp.logical_not(xp.less_equal(output, 0))  # NaN ≤ 0 is false: the gradient passes, as in the default
        out = xp.multiply(grad, keep, self.floats.empty(grad.shape))
        if xp.isfinite(xp.add.reduce(out, axis=None)):
            return out
        return xp.where(keep, grad, self.floats.np_dtype.type(0))  # ten times slower, but 0 · inf must be 0

    def sigmoid(self, x: Array) -> Array:
        xp = self.floats.xp
        out = xp.negative(x, self.floats.empty(x.shape))
        xp.exp(out, out)
        xp.add(out, 1, out)
        return xp.divide(1, out, out)

    def sigmoid_backward(self, output: Array, grad: Array) -> Array:
        xp = self.floats.xp
        out = xp.subtract(1, output, self.floats.empty(output.shape))
        xp.multiply(out, output, out)
        return xp.multiply(out, grad, out)

    def _shifted(self, x: Array, dim: int) -> Array:
        """x minus its maximum along dim, in memory of its own."""
        return self.floats.xp.subtract(x, x.max(axis=dim, keepdims=True), self.floats.empty(x.shape))

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
        out = xp.multiply(output, grad, table.empty(output.shape))
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
