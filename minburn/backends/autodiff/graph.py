"""The graph of a computation, and the walk that turns it into gradients.

    Tracked(value, node)      node ──> its parents' nodes
                                   each with a pullback: gradient of the result → gradient of the parent

A node knows no values: the pullbacks close over exactly what they need, so a value that no rule needs is freed at
once. Nodes point to their parents only; nothing points back, so a graph has no cycles and reference counting frees it.
Every node gets a number from one counter when it is made, so falling numbers are a reverse topological order and the
walk needs no recursion.

Burn: `crates/burn-autodiff/src/{graph,grads.rs,runtime}`.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

from minburn.backends.autodiff.parts import Parts, added
from minburn.backends.error import AutodiffError

Pullback = Callable[[Any], Any]

next_order = itertools.count().__next__
"""Numbers nodes in the order they are made. One C call, so threads need no lock."""


class Node:
    """A recorded value: where its gradient goes. A leaf (`require_grad`) has no parents and keeps its gradient."""

    __slots__ = ("ops", "order", "parents", "pullbacks", "shape")

    def __init__(
        self, ops: Any, shape: tuple[int, ...], parents: tuple[Node, ...], pullbacks: tuple[Pullback, ...]
    ) -> None:
        self.order = next_order()
        self.ops = ops  # the inner float table of this value: a cast joins two dtypes in one graph
        self.shape = shape
        self.parents: tuple[Node, ...] | None = parents  # None once a backward pass has consumed it
        self.pullbacks = pullbacks

    @property
    def is_leaf(self) -> bool:
        return self.parents == ()


class Tracked:
    """The float primitive of an autodiff backend: the inner primitive, and its node if it is part of a graph."""

    __slots__ = ("node", "value")

    def __init__(self, value: Any, node: Node | None = None) -> None:
        self.value = value
        self.node = node

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        return self.value.ndim  # type: ignore[no-any-return]


class Gradients:
    """What a backward pass found: the gradient of every leaf it reached, as inner primitives.

    Independent of the tensors: nothing is stored on them, and nothing adds up over passes.
    """

    __slots__ = ("_by_node",)

    def __init__(self, by_node: dict[Node, Any]) -> None:
        self._by_node = by_node

    def get(self, node: Node | None) -> Any | None:
        return self._by_node.get(node) if node is not None else None

    def remove(self, node: Node | None) -> Any | None:
        return self._by_node.pop(node, None) if node is not None else None

    def replace(self, node: Node, grad: Any) -> None:
        self._by_node[node] = grad

    def __len__(self) -> int:
        return len(self._by_node)

    def __repr__(self) -> str:
        return f"Gradients({len(self)} leaves)"


def backward(root: Node, seed: Any) -> Gradients:
    """Consume the graph above `root` and return the gradients of its leaves.

    seed: the gradient of the root, an inner primitive.

    Raises AutodiffError if a part of the graph was consumed before; then nothing is consumed.
    """
    gradients: dict[Node, Any] = {root: seed}
    for node in _recorded(root):
        parents, pullbacks = node.parents or (), node.pullbacks
        node.parents, node.pullbacks = None, ()
        grad = gradients.pop(node)
        if type(grad) is Parts:
            grad = grad.whole()
        for parent, pullback in zip(parents, pullbacks):  # noqa: B905 - made in pairs; the check costs 4 % of a walk
            contribution = pullback(grad)
            if contribution.shape != parent.shape:
                contribution = fitted(parent, contribution)
            known = gradients.get(parent)
            gradients[parent] = contribution if known is None else added(parent.ops, known, contribution)
    return Gradients(gradients)


def _recorded(root: Node) -> list[Node]:
    """The results of operations above root, itself included, latest first; leaves are left out.

    Checks all of them before anything is consumed.
    """
    seen = {root}
    found: list[Node] = []
    stack = [root]
    while stack:
        node = stack.pop()
        parents = node.parents
        if parents is None:
            raise AutodiffError(
                "backward: a part of this graph was already consumed by an earlier backward(). The graph is not kept: "
                "add the losses before one backward(), or compute the forward pass again."
            )
        if parents:
            found.append(node)
            for parent in parents:
                if parent.parents != () and parent not in seen:  # a leaf leads no further
                    seen.add(parent)
                    stack.append(parent)
    found.sort(key=_order, reverse=True)
    return found


_order = operator.attrgetter("order")


def fitted(parent: Node, grad: Any) -> Any:
    """A gradient whose shape is not the parent's: parts of it, which are collected unless the parent is a leaf, or one
    of a tensor that broadcasting had stretched."""
    if type(grad) is not Parts:
        return unbroadcast(parent.ops, grad, parent.shape)
    return grad.whole() if parent.is_leaf else grad


def unbroadcast(ops: Any, grad: Any, shape: tuple[int, ...]) -> Any:
    """Sum the gradient over the dimensions that broadcasting had stretched. Ranks are equal.

    Burn: `broadcast_shape` in `crates/burn-autodiff/src/ops/base.rs`.
    """
    dims = tuple(dim for dim, (have, want) in enumerate(zip(grad.shape, shape, strict=True)) if have != want)
    return ops.sum_dims(grad, dims)
