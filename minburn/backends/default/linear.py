"""The affine map and cross-entropy, composed from `floats`."""

from __future__ import annotations

import functools
import math
from typing import Any

from minburn.backends.default.composed import Composed


class DefaultLinear(Composed):
    @property
    def joins_linears(self) -> bool:
        return False

    def linear(self, x: Any, weight: Any, bias: Any | None) -> Any:
        ops = self.floats
        shape = ops.shape(x)
        flat = ops.reshape(x, (math.prod(shape[:-1]), shape[-1]))
        out = ops.matmul(flat, weight)
        if bias is not None:
            out = ops.add(out, ops.reshape(bias, (1, ops.shape(bias)[0])))
        return ops.reshape(out, (*shape[:-1], ops.shape(weight)[1]))

    def linear_x_backward(self, weight: Any, grad: Any) -> Any:
        return self.linear(grad, self.floats.swap_dims(weight, 0, 1), None)

    def linear_weight_backward(self, x: Any, grad: Any) -> Any:
        ops = self.floats
        rows = math.prod(ops.shape(x)[:-1])
        flat_x = ops.reshape(x, (rows, ops.shape(x)[-1]))
        flat_grad = ops.reshape(grad, (rows, ops.shape(grad)[-1]))
        return ops.matmul(ops.swap_dims(flat_x, 0, 1), flat_grad)

    def linear_bias_backward(self, grad: Any) -> Any:
        ops = self.floats
        shape = ops.shape(grad)
        flat = ops.reshape(grad, (math.prod(shape[:-1]), shape[-1]))
        return ops.reshape(ops.sum_dim(flat, 0), (shape[-1],))

    def linears(self, x: Any, weights: list[Any], biases: list[Any] | None) -> Any:
        ops = self.floats
        shape = (1, *ops.shape(x)[:-1], ops.shape(weights[0])[1])
        pairs = zip(weights, biases or [None] * len(weights), strict=True)
        return ops.cat([ops.reshape(self.linear(x, weight, bias), shape) for weight, bias in pairs], 0)

    def linears_x_backward(self, weights: list[Any], grad: Any) -> Any:
        pairs = zip(weights, self._of_maps(grad), strict=True)
        first, *others = [self.linear_x_backward(weight, part) for weight, part in pairs]
        return functools.reduce(self.floats.add, others, first)

    def linears_weight_backward(self, x: Any, grad: Any) -> tuple[Any, ...]:
        return tuple(self.linear_weight_backward(x, part) for part in self._of_maps(grad))

    def linears_bias_backward(self, grad: Any) -> tuple[Any, ...]:
        return tuple(self.linear_bias_backward(part) for part in self._of_maps(grad))

    def _of_maps(self, grad: Any) -> list[Any]:
        """[n, …] as n tensors […]."""
        ops = self.floats
        count, *shape = ops.shape(grad)
        whole = tuple((0, size, 1) for size in shape)
        return [ops.reshape(ops.slice(grad, ((n, n + 1, 1), *whole)), tuple(shape)) for n in range(count)]

    def cross_entropy(self, logits: Any, targets: Any) -> tuple[Any, Any]:
        ops = self.floats
        rows, _ = ops.shape(logits)
        shifted = ops.sub(logits, ops.detach(ops.max_dim(logits, 1)))
        log_probs = ops.sub(shifted, ops.log(ops.sum_dim(ops.exp(shifted), 1)))
        picked = ops.gather(log_probs, self.ints.reshape(targets, (rows, 1)), 1)
        return ops.neg(ops.mean(picked)), ops.exp(log_probs)

    def cross_entropy_backward(self, softmax: Any, targets: Any, grad: Any) -> Any:
        ops = self.floats
        rows, _ = ops.shape(softmax)
        minus_one = ops.full((rows, 1), -1.0)
        difference = ops.scatter(softmax, self.ints.reshape(targets, (rows, 1)), minus_one, 1, "add")
        return ops.mul(difference, ops.reshape(ops.div_scalar(grad, float(max(rows, 1))), (1, 1)))
