"""The affine map and cross-entropy over `xp`: matrix products on 2-D operands, in place where the op made the array."""

from __future__ import annotations

import math

from minburn.backends.array.basic import SMALL, Array
from minburn.backends.array.floats import ArrayFloats
from minburn.backends.default.linear import DefaultLinear


def rows_of(x: Array) -> Array:
    """[…, d] as [rows, d]."""
    return x if x.ndim == 2 else x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


class ArrayLinear(DefaultLinear):
    """Matrix products run on 2-D operands: a batched product of few columns is several times slower."""

    floats: ArrayFloats

    def linear(self, x: Array, weight: Array, bias: Array | None) -> Array:
        if x.ndim != 2:
            return self.linear(rows_of(x), weight, bias).reshape(*x.shape[:-1], weight.shape[1])
        out = self._product(x, weight)
        if bias is not None:
            self.floats.xp.add(out, bias, out)
        return out

    def _product(self, lhs: Array, rhs: Array) -> Array:
        """[m, k] · [k, n]."""
        table = self.floats
        if lhs.shape[0] * rhs.shape[1] < SMALL:  # not worth a look into the pool
            return lhs.dot(rhs)
        return table.xp.dot(lhs, rhs, table.empty((lhs.shape[0], rhs.shape[1])))

    def linear_x_backward(self, weight: Array, grad: Array) -> Array:
        return self._product(grad, weight.T) if grad.ndim == 2 else self.linear(grad, weight.T, None)

    def linear_weight_backward(self, x: Array, grad: Array) -> Array:
        if x.ndim != 2:
            x, grad = rows_of(x), rows_of(grad)
        return self._product(x.T, grad)

    def linear_bias_backward(self, grad: Array) -> Array:
        table = self.floats
        flat = rows_of(grad)
        # A sum of rows as a matrix-vector product is twice as fast; halves need the wider accumulator of sum.
        if table.is_half:
            return table.narrow(table.xp.add.reduce(flat, axis=0, dtype=table.sum_dtype))
        return table.row_of_ones(flat.shape[0]).dot(flat)

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
