"""Decorators that turn a rule into an op.

A rule computes the result with the inner ops and gives, for each differentiable operand, the pullback that turns the
result's gradient into the operand's:

    @binary
    def mul(self, lhs, rhs):
        ops = self.inner
        return ops.mul(lhs, rhs), lambda g: ops.mul(g, rhs), lambda g: ops.mul(g, lhs)

The decorator unwraps the operands, calls the inner op and returns at once when none is tracked, keeps only the
pullbacks of tracked operands, and wraps the result in a new node. Gradients of broadcast operands are summed by the
engine. There is one decorator per arity: a general `*args` one costs twice as much a call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minburn.backends.autodiff.graph import Node, Tracked

Rule = Callable[..., Any]
Value = Any
"""A primitive of the inner backend, whatever that is."""
Recorded = tuple[Any, ...]
"""What a rule gives: the result, then one pullback per differentiable operand."""


def same(grad: Any) -> Any:
    """The pullback of an operand that is passed on unchanged."""
    return grad


def at_once(backward: Callable[[Any], tuple[Any, ...]], count: int) -> tuple[Callable[[Any], Any], ...]:
    """The pullbacks of `count` operands whose gradients one backward op gives together.

    The engine asks for them one after the other, with the same gradient: the op runs at the first.
    """
    found: list[Any] = []

    def part(index: int) -> Callable[[Any], Any]:
        def pullback(grad: Any) -> Any:
            if not found:
                found.extend(backward(grad))
            return found[index]

        return pullback

    return tuple(part(index) for index in range(count))


def has_rule(op: Rule) -> Rule:
    """Mark a differentiable op, for the test that none is missing."""
    op.has_rule = True  # type: ignore[attr-defined]
    return op


def unary(rule: Rule) -> Rule:
    """Of one tensor: `rule(self, x) -> (value, pullback)`."""
    name = rule.__name__

    @functools.wraps(rule)
    def op(self: Any, x: Tracked) -> Tracked:
        node = x.node
        if node is None:
            return Tracked(getattr(self.inner, name)(x.value))
        value, pullback = rule(self, x.value)
        return Tracked(value, Node(self.inner_floats, value.shape, (node,), (pullback,)))

    return has_rule(op)


def unary_with(rule: Rule) -> Rule:
    """Of one tensor and values that have no gradient: `rule(self, x, *args) -> (value, pullback)`."""
    name = rule.__name__

    @functools.wraps(rule)
    def op(self: Any, x: Tracked, *args: Any) -> Tracked:
        node = x.node
        if node is None:
            return Tracked(getattr(self.inner, name)(x.value, *args))
        value, pullback = rule(self, x.value, *args)
        return Tracked(value, Node(self.inner_floats, value.shape, (node,), (pullback,)))

    return has_rule(op)


def binary(rule: Rule) -> Rule:
    """Of two tensors: `rule(self, lhs, rhs) -> (value, pullback of lhs, pullback of rhs)`."""
    name = rule.__name__

    @functools.wraps(rule)
    def op(self: Any, lhs: Tracked, rhs: Tracked) -> Tracked:
        left, right = lhs.node, rhs.node
        if left is None and right is None:
            return Tracked(getattr(self.inner, name)(lhs.value, rhs.value))
        value, pull_left, pull_right = rule(self, lhs.value, rhs.value)
        if right is None:
            node = Node(self.inner_floats, value.shape, (left,), (pull_left,))  # type: ignore[arg-type]
        elif left is None:
            node = Node(self.inner_floats, value.shape, (right,), (pull_right,))
        else:
            node = Node(self.inner_floats, value.shape, (left, right), (pull_left, pull_right))
        return Tracked(value, node)

    return has_rule(op)


def operands(*positions: int) -> Callable[[Rule], Rule]:
    """Of any arguments, with tensors (or None, or lists of tensors) at `positions`.

    `rule(self, *args) -> (value, one pullback per tensor, in order)`; the value may be a tuple of values, then each
    pullback entry is a tuple of pullbacks, one per tensor. A pullback of None: the value does not depend on it.
    """

    def decorate(rule: Rule) -> Rule:
        name = rule.__name__

        @functools.wraps(rule)
        def op(self: Any, *args: Any) -> Any:
            nodes: list[Node | None] = []
            plain = list(args)
            for position in positions:
                plain[position] = _unwrap(plain[position], nodes)
            if not any(nodes):
                return _wrap(getattr(self.inner, name)(*plain))
            value, *pullbacks = rule(self, *plain)
            if isinstance(value, tuple):
                return tuple(_record(self, part, nodes, pulls) for part, pulls in zip(value, pullbacks, strict=True))
            return _record(self, value, nodes, pullbacks)

        return has_rule(op)

    return decorate


def composed(default: Rule, name: str = "") -> Rule:
    """An op whose gradient is that of its default, which is composed of differentiable ops.

    name: of the op, if the default has another.

    `default(self, *args)` runs when an argument is tracked; the inner op, perhaps fused, when none is. Backward ops are
    made so: their own gradient is only needed for second derivatives.
    """
    name = name or default.__name__

    @functools.wraps(default)
    def op(self: Any, *args: Any) -> Any:
        nodes: list[Node | None] = []
        plain = [_unwrap(arg, nodes) for arg in args]
        if any(nodes):
            return default(self, *args)
        return _wrap(getattr(self.inner, name)(*plain))

    return has_rule(op)


def untracked(op_name: str) -> Rule:
    """An op without a gradient whose result is no float tensor: the inner op on the inner values."""

    def op(self: Any, *args: Any) -> Any:
        nodes: list[Node | None] = []
        return getattr(self.inner, op_name)(*[_unwrap(arg, nodes) for arg in args])

    op.__name__ = op_name
    return op


def constant(op_name: str) -> Rule:
    """An op that makes a float tensor from nothing: the inner op, wrapped."""

    def op(self: Any, *args: Any) -> Tracked:
        return Tracked(getattr(self.inner, op_name)(*args))

    op.__name__ = op_name
    return op


def _unwrap(argument: Any, nodes: list[Node | None]) -> Any:
    """The inner value of a tensor, or of each in a list; what is no tensor stays. Collects the nodes."""
    if isinstance(argument, Tracked):
        nodes.append(argument.node)
        return argument.value
    if isinstance(argument, list):
        return [_unwrap(item, nodes) for item in argument]
    return argument


def _wrap(result: Any) -> Any:
    return tuple(Tracked(part) for part in result) if isinstance(result, tuple) else Tracked(result)


def _record(self: Any, value: Any, nodes: list[Node | None], pullbacks: Any) -> Tracked:
    pairs = zip(nodes, pullbacks, strict=True)
    kept = [(node, pull) for node, pull in pairs if node is not None and pull is not None]
    if not kept:
        return Tracked(value)
    parents = tuple(node for node, _ in kept)
    return Tracked(value, Node(self.inner_floats, value.shape, parents, tuple(pull for _, pull in kept)))
