"""Module and activation ops composed from `floats`: what they mean, for any backend.

A backend overrides the ones that it can do faster; each override is tested against the default here. `Autodiff` uses
the defaults where the backward of a backward is asked for.

Burn: default bodies in `crates/burn-backend/src/backend/ops/{modules,activation}*.rs`; gelu's gradient is the exact
one of Burn's flex backend.
"""

from __future__ import annotations

import math
from typing import Any

from minburn.backends.base import FloatTensorOps


class DefaultModules:
    def __init__(self, floats: FloatTensorOps[Any, Any, Any], ints: Any) -> None:
        self.floats = floats
        self.ints = ints

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
