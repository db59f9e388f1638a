"""Rules of the affine map and of cross-entropy."""

from __future__ import annotations

from minburn.backends.autodiff.graph import Node, Pullback, Tracked
from minburn.backends.autodiff.modules.recorded import RecordedModules
from minburn.backends.autodiff.rule import Recorded, Value, at_once, composed, has_rule, operands
from minburn.backends.default.linear import DefaultLinear


class AutodiffLinear(RecordedModules, DefaultLinear):
    @has_rule
    def linear(self, x: Tracked, weight: Tracked, bias: Tracked | None) -> Tracked:
        # Written out: the general decorator would cost a small layer as much as its product.
        ops, x_value, weight_value = self.inner, x.value, weight.value
        value = ops.linear(x_value, weight_value, None if bias is None else bias.value)
        parents: tuple[Node, ...] = ()
        pullbacks: tuple[Pullback, ...] = ()
        if weight.node is not None:
            parents = (weight.node,)
            pullbacks = (lambda g: ops.linear_weight_backward(x_value, g),)
        if bias is not None and bias.node is not None:
            parents = (*parents, bias.node)
            pullbacks = (*pullbacks, ops.linear_bias_backward)
        if x.node is not None:
            parents = (x.node, *parents)
            pullbacks = (lambda g: ops.linear_x_backward(weight_value, g), *pullbacks)
        return Tracked(value, Node(self.inner_floats, value.shape, parents, pullbacks) if parents else None)

    @property
    def joins_linears(self) -> bool:
        return bool(self.inner.joins_linears)

    @operands(0, 1, 2)
    def linears(self, x: Value, weights: list[Value], biases: list[Value] | None) -> Recorded:
        ops = self.inner
        for_weights = at_once(lambda g: ops.linears_weight_backward(x, g), len(weights))
        for_biases = () if biases is None else at_once(ops.linears_bias_backward, len(biases))
        return (
            ops.linears(x, weights, biases),
            lambda g: ops.linears_x_backward(weights, g),
            *for_weights,
            *for_biases,
        )

    @operands(0)
    def cross_entropy(self, logits: Value, targets: Value) -> Recorded:
        ops, activations = self.inner, self.inner_activations
        loss, softmax = ops.cross_entropy(logits, targets)
        return (
            (loss, softmax),
            (lambda g: ops.cross_entropy_backward(softmax, targets, g),),
            (lambda g: activations.softmax_backward(softmax, g, 1),),
        )

    linear_x_backward = composed(DefaultLinear.linear_x_backward)
    linear_weight_backward = composed(DefaultLinear.linear_weight_backward)
    linear_bias_backward = composed(DefaultLinear.linear_bias_backward)
    linears_x_backward = composed(DefaultLinear.linears_x_backward)
    linears_weight_backward = composed(DefaultLinear.linears_weight_backward)
    linears_bias_backward = composed(DefaultLinear.linears_bias_backward)
    cross_entropy_backward = composed(DefaultLinear.cross_entropy_backward)
