"""Activation functions composed from `floats`."""

from __future__ import annotations

import math
from typing import Any

from minburn.backends.base import FloatTensorOps

GELU_LINEAR = math.sqrt(2.0 / math.pi)
GELU_CUBIC = 0.044715 * GELU_LINEAR
"""The tanh form of GELU: Φ(x) ≈ (1 + tanh(GELU_LINEAR·x + GELU_CUBIC·x³)) / 2."""


class DefaultActivations:
    def __init__(self, floats: FloatTensorOps[Any, Any, Any]) -> None:
        self.floats = floats

    def relu(self, x: Any) -> Any:
        ops = self.floats
        return ops.mask_fill(x, ops.lower_equal_elem(x, 0.0), 0.0)

    def relu_backward(self, output: Any, grad: Any) -> Any:
        ops = self.floats
        return ops.mask_fill(grad, ops.lower_equal_elem(output, 0.0), 0.0)

    def leaky_relu(self, x: Any, negative_slope: float) -> Any:
        ops = self.floats
        return ops.mask_where(x, ops.lower_elem(x, 0.0), ops.mul_scalar(x, negative_slope))

    def leaky_relu_backward(self, x: Any, grad: Any, negative_slope: float) -> Any:
        ops = self.floats
        return ops.mask_where(grad, ops.lower_elem(x, 0.0), ops.mul_scalar(grad, negative_slope))

    def prelu(self, x: Any, alpha: Any) -> Any:
        ops = self.floats
        return ops.mask_where(x, ops.lower_elem(x, 0.0), ops.mul(x, alpha))

    def _phi(self, x: Any) -> Any:
        """Φ(x), the normal distribution function."""
        ops = self.floats
        return ops.mul_scalar(ops.add_scalar(ops.erf(ops.mul_scalar(x, math.sqrt(0.5))), 1.0), 0.5)

    def gelu(self, x: Any) -> Any:
        return self.floats.mul(x, self._phi(x))

    def gelu_train(self, x: Any) -> tuple[Any, Any]:
        ops = self.floats
        phi = self._phi(x)
        density = ops.mul_scalar(ops.exp(ops.mul_scalar(ops.mul(x, x), -0.5)), 1.0 / math.sqrt(2.0 * math.pi))
        return ops.mul(x, phi), ops.add(phi, ops.mul(x, density))

    def gelu_backward(self, x: Any, grad: Any) -> Any:
        return self.floats.mul(grad, self.gelu_train(x)[1])

    def gelu_approximate(self, x: Any) -> Any:
        return self.gelu_approximate_train(x)[0]

    def gelu_approximate_train(self, x: Any) -> tuple[Any, Any]:
        # With u = c·x + a·x³: half · (1 + tanh u) and its derivative half · (1 - tanh² u) · u'.
        ops = self.floats
        near = ops.clamp(x, -20.0, 20.0)  # beyond, tanh is ±1, and the square of 300 is no F16
        square = ops.mul(near, near)
        inner = ops.mul(near, ops.add_scalar(ops.mul_scalar(square, GELU_CUBIC), GELU_LINEAR))
        tanh = ops.tanh(inner)
        phi = ops.mul_scalar(ops.add_scalar(tanh, 1.0), 0.5)
        inner_slope = ops.add_scalar(ops.mul_scalar(square, 3.0 * GELU_CUBIC), GELU_LINEAR)
        density = ops.mul(ops.mul_scalar(ops.add_scalar(ops.neg(ops.mul(tanh, tanh)), 1.0), 0.5), inner_slope)
        return ops.mul(x, phi), ops.add(phi, ops.mul(x, density))

    def silu(self, x: Any) -> Any:
        return self.floats.mul(x, self.sigmoid(x))

    def silu_train(self, x: Any) -> tuple[Any, Any]:
        # With s = sigmoid(x): the derivative is s + x·s·(1 - s).
        ops = self.floats
        sigmoid = self.sigmoid(x)
        out = ops.mul(x, sigmoid)
        return out, ops.add(sigmoid, ops.mul(out, ops.add_scalar(ops.neg(sigmoid), 1.0)))

    def sigmoid(self, x: Any) -> Any:
        ops = self.floats
        return ops.recip(ops.add_scalar(ops.exp(ops.neg(x)), 1.0))

    def sigmoid_backward(self, output: Any, grad: Any) -> Any:
        ops = self.floats
        return ops.mul(grad, ops.mul(output, ops.add_scalar(ops.neg(output), 1.0)))

    def log_sigmoid(self, x: Any) -> Any:
        ops = self.floats
        return ops.sub(ops.clamp_max(x, 0.0), ops.log1p(ops.exp(ops.neg(ops.abs(x)))))

    def log_sigmoid_backward(self, x: Any, grad: Any) -> Any:
        return self.floats.mul(grad, self.sigmoid(self.floats.neg(x)))

    def hard_sigmoid(self, x: Any, alpha: float, beta: float) -> Any:
        ops = self.floats
        return ops.clamp(ops.add_scalar(ops.mul_scalar(x, alpha), beta), 0.0, 1.0)

    def softmax(self, x: Any, dim: int) -> Any:
        ops = self.floats
        if 0 in ops.shape(x):  # what is empty has no maximum
            return x
        exp = ops.exp(ops.sub(x, ops.detach(ops.max_dim(x, dim))))
        return ops.div(exp, ops.sum_dim(exp, dim))

    def softmax_backward(self, output: Any, grad: Any, dim: int) -> Any:
        ops = self.floats
        return ops.mul(output, ops.sub(grad, ops.sum_dim(ops.mul(grad, output), dim)))

    def softmin(self, x: Any, dim: int) -> Any:
        return self.softmax(self.floats.neg(x), dim)

    def log_softmax(self, x: Any, dim: int) -> Any:
        ops = self.floats
        if 0 in ops.shape(x):
            return x
        shifted = ops.sub(x, ops.detach(ops.max_dim(x, dim)))
        return ops.sub(shifted, ops.log(ops.sum_dim(ops.exp(shifted), dim)))

    def log_softmax_backward(self, output: Any, grad: Any, dim: int) -> Any:
        ops = self.floats
        return ops.sub(grad, ops.mul(ops.exp(output), ops.sum_dim(grad, dim)))
