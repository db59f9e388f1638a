"""Rules of the float-only functions, and the hooks that start and end a graph."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minburn.backends.autodiff.arithmetic import ArithmeticRules
from minburn.backends.autodiff.graph import Gradients, Node, Pullback, Tracked, backward
from minburn.backends.autodiff.rule import Recorded, Value, binary, same, unary, unary_with, untracked
from minburn.backends.error import AutodiffError
from minburn.dtype import DType


class AutodiffFloats(ArithmeticRules):
    """The float table of an autodiff backend. Burn: `AutodiffBackend` in `crates/burn-backend/src/backend/base.rs`."""

    into_int = untracked("into_int")
    is_nan = untracked("is_nan")
    is_inf = untracked("is_inf")

    def run_elementwise(self, columns: Any, program: Any, scalars: tuple[float, ...]) -> Any:
        plain = [[tensor.value for tensor in column] for column in columns]
        return [[Tracked(v) for v in column] for column in self.inner.run_elementwise(plain, program, scalars)]

    # The start and the end of a graph.

    def from_inner(self, primitive: Any) -> Tracked:
        return Tracked(primitive)

    def leaf(self, primitive: Any, require_grad: bool) -> Tracked:
        """An inner primitive as the start of a graph, or as a constant."""
        return Tracked(primitive, Node(self.inner, primitive.shape, (), ()) if require_grad else None)

    def inner_of(self, tensor: Tracked) -> Any:
        """Burn: `AutodiffBackend::inner`."""
        return tensor.value

    def set_require_grad(self, tensor: Tracked, require_grad: bool) -> Tracked:
        if not require_grad:
            return tensor if tensor.node is None else Tracked(tensor.value)
        if tensor.node is None:
            return self.leaf(tensor.value, True)
        if tensor.node.is_leaf:
            return tensor
        raise AutodiffError(
            "require_grad: this tensor is the result of recorded operations, so it is no leaf. "
            "Call detach() first, or require_grad() on the inputs it was computed from."
        )

    def is_require_grad(self, tensor: Tracked) -> bool:
        return tensor.node is not None and tensor.node.is_leaf

    def is_tracked(self, tensor: Tracked) -> bool:
        return tensor.node is not None

    def detach(self, tensor: Tracked) -> Tracked:
        """Outside the graph; a leaf that required a gradient becomes a new such leaf, as in Burn."""
        return self.set_require_grad(Tracked(tensor.value), self.is_require_grad(tensor))

    def backward(self, tensor: Tracked) -> Gradients:
        """The gradients of the sum of the elements of `tensor`."""
        if tensor.node is None:
            raise AutodiffError(
                "backward: this tensor was not recorded. Build the model on Autodiff(backend), or call require_grad() "
                "on an input."
            )
        return backward(tensor.node, self.inner.ones(tensor.value.shape))

    def grad(self, tensor: Tracked, gradients: Gradients) -> Any | None:
        return gradients.get(tensor.node)

    def grad_remove(self, tensor: Tracked, gradients: Gradients) -> Any | None:
        return gradients.remove(tensor.node)

    def grad_replace(self, tensor: Tracked, gradients: Gradients, grad: Any) -> None:
        if tensor.node is not None:
            gradients.replace(tensor.node, grad)

    def record(self, value: Any, operands: Sequence[Tracked], pullbacks: Sequence[Pullback]) -> Tracked:
        """The result of an op that is none of the table's: an inner primitive, with a pullback for each operand."""
        kept = [(x.node, pull) for x, pull in zip(operands, pullbacks, strict=True) if x.node is not None]
        if not kept:
            return Tracked(value)
        return Tracked(value, Node(self.inner, value.shape, tuple(n for n, _ in kept), tuple(p for _, p in kept)))

    # Functions.

    @unary_with
    def cast(self, x: Value, dtype: DType) -> Recorded:
        ops, before = self.inner, self.dtype
        return ops.cast(x, dtype), lambda g: ops.cast(g, before)

    @binary
    def fmod(self, lhs: Value, rhs: Value) -> Recorded:
        ops = self.inner
        return ops.fmod(lhs, rhs), same, lambda g: ops.neg(ops.mul(g, ops.trunc(ops.div(lhs, rhs))))

    @unary
    def exp(self, x: Value) -> Recorded:
        ops = self.inner
        out = ops.exp(x)
        return out, lambda g: ops.mul(g, out)

    @unary
    def log(self, x: Value) -> Recorded:
        ops = self.inner
        return ops.log(x), lambda g: ops.div(g, x)

    @unary
    def log1p(self, x: Value) -> Recorded:
        ops = self.inner
        return ops.log1p(x), lambda g: ops.div(g, ops.add_scalar(x, 1.0))

    @unary
    def sqrt(self, x: Value) -> Recorded:
        # Infinite at 0 of either sign, as in Burn.
        ops = self.inner
        out = ops.sqrt(x)
        return out, lambda g: ops.div(g, ops.mul_scalar(ops.abs(out), 2.0))

    @unary
    def recip(self, x: Value) -> Recorded:
        ops = self.inner
        out = ops.recip(x)
        return out, lambda g: ops.neg(ops.mul(g, ops.mul(out, out)))

    @binary
    def powf(self, lhs: Value, rhs: Value) -> Recorded:
        ops = self.inner

        def pullback_lhs(g: Value) -> Value:
            return ops.mul(g, ops.mul(rhs, ops.powf(lhs, ops.sub_scalar(rhs, 1.0))))

        def pullback_rhs(g: Value) -> Value:
            return ops.mul(g, ops.mul(ops.powf(lhs, rhs), ops.log(lhs)))

        return ops.powf(lhs, rhs), pullback_lhs, pullback_rhs

    @unary_with
    def powf_scalar(self, x: Value, exponent: float) -> Recorded:
        ops = self.inner

        def pullback(g: Value) -> Value:
            if exponent == 0:
                return ops.zeros(x.shape)
            return ops.mul(g, ops.mul_scalar(ops.powf_scalar(x, exponent - 1.0), exponent))

        return ops.powf_scalar(x, exponent), pullback

    @unary
    def cos(self, x: Value) -> Recorded:
        ops = self.inner
        return ops.cos(x), lambda g: ops.neg(ops.mul(g, ops.sin(x)))

    @unary
    def sin(self, x: Value) -> Recorded:
        ops = self.inner
        return ops.sin(x), lambda g: ops.mul(g, ops.cos(x))

    @unary
    def tan(self, x: Value) -> Recorded:
        ops = self.inner
        out = ops.tan(x)
        return out, lambda g: ops.mul(g, ops.add_scalar(ops.mul(out, out), 1.0))

    @unary
    def cosh(self, x: Value) -> Recorded:
        ops = self.inner
        return ops.cosh(x), lambda g: ops.mul(g, ops.sinh(x))

    @unary
    def sinh(self, x: Value) -> Recorded:
        ops = self.inner
        return ops.sinh(x), lambda g: ops.mul(g, ops.cosh(x))

    @unary
    def tanh(self, x: Value) -> Recorded:
        ops = self.inner
        out = ops.tanh(x)
        return out, lambda g: ops.tanh_backward(out, g)

    @binary
    def tanh_backward(self, output: Value, grad: Value) -> Recorded:
        ops = self.inner
        return (
            ops.tanh_backward(output, grad),
            lambda g: ops.mul_scalar(ops.mul(ops.mul(g, grad), output), -2.0),
            lambda g: ops.tanh_backward(output, g),
        )

    @unary
    def acos(self, x: Value) -> Recorded:
        ops = self.inner
        return ops.acos(x), lambda g: ops.neg(ops.div(g, _one_minus_square_root(ops, x)))

    @unary
    def asin(self, x: Value) -> Recorded:
        ops = self.inner
        return ops.asin(x), lambda g: ops.div(g, _one_minus_square_root(ops, x))

    @unary
    def atan(self, x: Value) -> Recorded:
        ops = self.inner
        return ops.atan(x), lambda g: ops.div(g, ops.add_scalar(ops.mul(x, x), 1.0))

    @unary
    def acosh(self, x: Value) -> Recorded:
        ops = self.inner
        return ops.acosh(x), lambda g: ops.div(g, ops.sqrt(ops.sub_scalar(ops.mul(x, x), 1.0)))

    @unary
    def asinh(self, x: Value) -> Recorded:
        ops = self.inner
        return ops.asinh(x), lambda g: ops.div(g, ops.sqrt(ops.add_scalar(ops.mul(x, x), 1.0)))

    @unary
    def atanh(self, x: Value) -> Recorded:
        ops = self.inner
        return ops.atanh(x), lambda g: ops.div(g, ops.add_scalar(ops.neg(ops.mul(x, x)), 1.0))

    @binary
    def atan2(self, lhs: Value, rhs: Value) -> Recorded:
        ops = self.inner

        def over_square(g: Value) -> Value:
            return ops.div(g, ops.add(ops.mul(lhs, lhs), ops.mul(rhs, rhs)))

        return (
            ops.atan2(lhs, rhs),
            lambda g: ops.mul(over_square(g), rhs),
            lambda g: ops.neg(ops.mul(over_square(g), lhs)),
        )

    @binary
    def hypot(self, lhs: Value, rhs: Value) -> Recorded:
        # NaN at (0, 0), as in Burn.
        ops = self.inner
        out = ops.hypot(lhs, rhs)
        return out, lambda g: ops.mul(g, ops.div(lhs, out)), lambda g: ops.mul(g, ops.div(rhs, out))

    @unary
    def erf(self, x: Value) -> Recorded:
        ops = self.inner

        def pullback(g: Value) -> Value:
            return ops.mul(g, ops.mul_scalar(ops.exp(ops.neg(ops.mul(x, x))), 2.0 / math.sqrt(math.pi)))

        return ops.erf(x), pullback

    @unary
    def round(self, x: Value) -> Recorded:
        ops, shape = self.inner, x.shape
        return ops.round(x), lambda g: ops.zeros(shape)

    @unary
    def floor(self, x: Value) -> Recorded:
        ops, shape = self.inner, x.shape
        return ops.floor(x), lambda g: ops.zeros(shape)

    @unary
    def ceil(self, x: Value) -> Recorded:
        ops, shape = self.inner, x.shape
        return ops.ceil(x), lambda g: ops.zeros(shape)

    @unary
    def trunc(self, x: Value) -> Recorded:
        ops, shape = self.inner, x.shape
        return ops.trunc(x), lambda g: ops.zeros(shape)

    @unary_with
    def var_dim(self, x: Value, dim: int, correction: int) -> Recorded:
        # 2 (x - mean) / (n - correction): 0 for one element with correction 0, NaN where the variance itself is NaN.
        ops = self.inner
        divisor = x.shape[dim] - correction
        scale = 2.0 / divisor if divisor > 0 else math.nan

        def pullback(g: Value) -> Value:
            centred = ops.sub(x, ops.mean_dim(x, dim))
            return ops.mul(ops.mul_scalar(centred, scale), g)

        return ops.var_dim(x, dim, correction), pullback


def _one_minus_square_root(ops: Any, x: Value) -> Value:
    return ops.sqrt(ops.add_scalar(ops.neg(ops.mul(x, x)), 1.0))
