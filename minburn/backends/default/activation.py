"""Activation functions composed from `floats`."""

from __future__ import annotations

import math
from typing import Any

from minburn.backends.base import FloatTensorOps


class DefaultActivations:
    def __init__(self, floats: FloatTensorOps[Any, Any, Any]) -> None:
        self.floats = floats

    def relu(self, x: Any) -> Any:
        ops = self.floats
        return ops.mask_fill(x, ops.lower_equal_elem(x, 0.0), 0.0)

    def relu_backward(self, output: Any, grad: Any) -> Any:
        ops = self.floats
        return ops.mask_fill(grad, ops.lower_equal_elem(output, 0.0), 0.0)

    def _phi(self, x: Any) -> Any:
        """Φ(x), the normal distribution function."""
        ops = self.floats
        return ops.mul_scalar(ops.add_scalar(ops.erf(ops.mul_scalar(x, math.sqrt(0.5))), 1.0), 0.5)

    def gelu(self, x: Any) -> Any:
        return self.floats.mul(x, self._phi(x))

    def gelu_backward(self, x: Any, grad: Any) -> Any:
        ops = self.floats
        density = ops.mul_scalar(ops.exp(ops.mul_scalar(ops.mul(x, x), -0.5)), 1.0 / math.sqrt(2.0 * math.pi))
        return ops.mul(grad, ops.add(self._phi(x), ops.mul(x, density)))

    def sigmoid(self, x: Any) -> Any:
        ops = self.floats
        return ops.recip(ops.add_scalar(ops.exp(ops.neg(x)), 1.0))

    def sigmoid_backward(self, output: Any, grad: Any) -> Any:
        ops = self.floats
        return ops.mul(grad, ops.mul(output, ops.add_scalar(ops.neg(output), 1.0)))

    def log_sigmoid(self, x: Any) -> Any:
        ops = self.floats
        return ops.sub(ops.clamp_max(x, 0.0), ops.log1p(ops.exp(ops.neg(ops.abs(x)))))

    def softmax(self, x: Any, dim: int) -> Any:
        ops = self.floats
        exp = ops.exp(ops.sub(x, ops.detach(ops.max_dim(x, dim))))
        return ops.div(exp, ops.sum_dim(exp, dim))

    def softmax_backward(self, output: Any, grad: Any, dim: int) -> Any:
        ops = self.floats
        return ops.mul(output, ops.sub(grad, ops.sum_dim(ops.mul(grad, output), dim)))

    def log_softmax(self, x: Any, dim: int) -> Any:
        ops = self.floats
        shifted = ops.sub(x, ops.detach(ops.max_dim(x, dim)))
        return ops.sub(shifted, ops.log(ops.sum_dim(ops.exp(shifted), dim)))

    def log_softmax_backward(self, output: Any, grad: Any, dim: int) -> Any:
        ops = self.floats
        return ops.sub(grad, ops.mul(ops.exp(output), ops.sum_dim(grad, dim)))
