"""Rules of module and activation ops.

Their backward ops are composed of differentiable ones, for second derivatives.
"""

from __future__ import annotations

from typing import Any

from minburn.backends.autodiff.graph import Node, Pullback, Tracked
from minburn.backends.autodiff.rule import Recorded, Value, composed, has_rule, operands, unary, unary_with
from minburn.backends.default import DefaultActivations, DefaultModules


class AutodiffModules(DefaultModules):
    """floats: the autodiff table, for the defaults. inner: the module ops below."""

    def __init__(self, floats: Any, ints: Any, inner: Any, inner_activations: Any) -> None:
        super().__init__(floats, ints)
        self.inner = inner
        self.inner_floats = floats.inner
        self.inner_activations = inner_activations

    @has_rule
    def linear(self, x: Tracked, weight: Tracked, bias: Tracked | None) -> Tracked:
        # Written out: the general decorator would cost a small layer as much as its product.
        ops, x_value, weight_value = self.inner, x.value, weight.value
        parents: list[Node] = []
        pullbacks: list[Pullback] = []
        if x.node is not None:
            parents.append(x.node)
            pullbacks.append(lambda g: ops.linear_x_backward(weight_value, g))
        if weight.node is not None:
            parents.append(weight.node)
            pullbacks.append(lambda g: ops.linear_weight_backward(x_value, g))
        if bias is not None and bias.node is not None:
            parents.append(bias.node)
            pullbacks.append(ops.linear_bias_backward)
        value = ops.linear(x_value, weight_value, None if bias is None else bias.value)
        if not parents:
            return Tracked(value)
        return Tracked(value, Node(self.inner_floats, value.shape, tuple(parents), tuple(pullbacks)))

    @operands(0)
    def cross_entropy(self, logits: Value, targets: Value) -> Recorded:
        ops, activations = self.inner, self.inner_activations
        loss, softmax = ops.cross_entropy(logits, targets)
        return (
            (loss, softmax),
            (lambda g: ops.cross_entropy_backward(softmax, targets, g),),
            (lambda g: activations.softmax_backward(softmax, g, 1),),
        )

    linear_x_backward = composed(DefaultModules.linear_x_backward)
    linear_weight_backward = composed(DefaultModules.linear_weight_backward)
    linear_bias_backward = composed(DefaultModules.linear_bias_backward)
    cross_entropy_backward = composed(DefaultModules.cross_entropy_backward)


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
