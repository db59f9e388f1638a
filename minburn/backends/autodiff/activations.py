"""Rules of activation functions. Their backward ops are composed of differentiable ones, for second derivatives."""

from __future__ import annotations

from typing import Any

from minburn.backends.autodiff.rule import Recorded, Value, composed, unary, unary_with
from minburn.backends.default import DefaultActivations


class AutodiffActivations(DefaultActivations):
    """floats: the autodiff table, for the defaults. inner: the activation ops below."""

    def __init__(self, floats: Any, inner: Any) -> None:
        super().__init__(floats)
        self.inner = inner
        self.inner_floats = floats.inner

    @unary
    def relu(self, x: Value) -> Recorded:
        ops = self.inner
        out = ops.relu(x)
        return out, lambda g: ops.relu_backward(out, g)

    @unary
    def gelu(self, x: Value) -> Recorded:
        ops = self.inner
        return ops.gelu(x), lambda g: ops.gelu_backward(x, g)

    @unary
    def sigmoid(self, x: Value) -> Recorded:
        ops = self.inner
        out = ops.sigmoid(x)
        return out, lambda g: ops.sigmoid_backward(out, g)

    @unary
    def log_sigmoid(self, x: Value) -> Recorded:
        ops, floats = self.inner, self.inner_floats
        return ops.log_sigmoid(x), lambda g: floats.mul(g, ops.sigmoid(floats.neg(x)))

    @unary_with
    def softmax(self, x: Value, dim: int) -> Recorded:
        ops = self.inner
        out = ops.softmax(x, dim)
        return out, lambda g: ops.softmax_backward(out, g, dim)

    @unary_with
    def log_softmax(self, x: Value, dim: int) -> Recorded:
        ops = self.inner
        out = ops.log_softmax(x, dim)
        return out, lambda g: ops.log_softmax_backward(out, g, dim)

    relu_backward = composed(DefaultActivations.relu_backward)
    gelu_backward = composed(DefaultActivations.gelu_backward)
    sigmoid_backward = composed(DefaultActivations.sigmoid_backward)
    softmax_backward = composed(DefaultActivations.softmax_backward)
    log_softmax_backward = composed(DefaultActivations.log_softmax_backward)
