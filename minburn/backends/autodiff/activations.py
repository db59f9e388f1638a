"""Rules of activation functions.

Backward ops are composed of differentiable ones, for second derivatives; so are functions that are few ops.
"""

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
        floats = self.inner_floats
        out, slope = self.inner.gelu_train(x)
        return out, lambda g: floats.mul(g, slope)

    @unary
    def gelu_approximate(self, x: Value) -> Recorded:
        floats = self.inner_floats
        out, slope = self.inner.gelu_approximate_train(x)
        return out, lambda g: floats.mul(g, slope)

    @unary
    def silu(self, x: Value) -> Recorded:
        floats = self.inner_floats
        out, slope = self.inner.silu_train(x)
        return out, lambda g: floats.mul(g, slope)

    @unary_with
    def leaky_relu(self, x: Value, negative_slope: float) -> Recorded:
        ops = self.inner
        return ops.leaky_relu(x, negative_slope), lambda g: ops.leaky_relu_backward(x, g, negative_slope)

    @unary
    def sigmoid(self, x: Value) -> Recorded:
        ops = self.inner
        out = ops.sigmoid(x)
        return out, lambda g: ops.sigmoid_backward(out, g)

    @unary
    def log_sigmoid(self, x: Value) -> Recorded:
        ops = self.inner
        return ops.log_sigmoid(x), lambda g: ops.log_sigmoid_backward(x, g)

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

    leaky_relu_backward = composed(DefaultActivations.leaky_relu_backward)
    silu_train = composed(DefaultActivations.silu_train)
    prelu = composed(DefaultActivations.prelu)
    hard_sigmoid = composed(DefaultActivations.hard_sigmoid)
    softmin = composed(DefaultActivations.softmin)
    relu_backward = composed(DefaultActivations.relu_backward)
    gelu_train = composed(DefaultActivations.gelu_train)
    gelu_backward = composed(DefaultActivations.gelu_backward)
    gelu_approximate_train = composed(DefaultActivations.gelu_approximate_train)
    sigmoid_backward = composed(DefaultActivations.sigmoid_backward)
    log_sigmoid_backward = composed(DefaultActivations.log_sigmoid_backward)
    softmax_backward = composed(DefaultActivations.softmax_backward)
    log_softmax_backward = composed(DefaultActivations.log_softmax_backward)
