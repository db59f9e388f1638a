"""Gradient checkpointing: compute some values again in the backward pass instead of keeping them.

    Autodiff(backend, BalancedCheckpointing)        # NoCheckpointing is the default

A pullback closes over the values its rule needs, and so keeps them from forward to backward. Many of them are results
of *memory-bound* ops (`MEMORY_BOUND`: elementwise functions, moved elements, normalizations), whose time goes into
reading and writing: computing them again costs little beside the matrix products around them. The others, results of
*compute-bound* ops, are kept.

So, after an op has been recorded, the decorator below takes from its pullbacks each value that a memory-bound op made,
and leaves a recipe in its place: the op and its inputs, which are values that are kept anyway, or recipes themselves.
Before such a pullback runs, the recipes are followed. One is followed at most once, by the first who asks, and its
result lives as long as somebody who may ask. Ops and inputs are the same, so the gradients are, to the last bit.

What an inner autodiff level records is kept: made again, it would be another part of that graph.

Burn: `crates/burn-autodiff/src/checkpoint`. It keeps the result of an op that has an untracked operand; here that
operand is kept. What gains nothing there gains nothing here: of a product and its relu, one was kept anyway.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterator
from types import CellType
from typing import Any, TypeVar

from minburn.backends.autodiff.graph import Node, Pullback, Tracked

_ARITHMETIC = """add add_scalar sub sub_scalar mul mul_scalar div div_scalar remainder remainder_scalar neg recip abs
    sign powi_scalar powf powf_scalar clamp clamp_min clamp_max"""
_MOVES = """reshape swap_dims permute flip expand repeat_dim slice slice_assign select select_assign mask_where
    mask_fill"""
_FUNCTIONS = """exp log log1p sqrt cos sin tan cosh sinh tanh acos asin atan acosh asinh atanh atan2 erf round floor
    ceil trunc"""
_COMPOSED_IN_BURN = """relu leaky_relu gelu gelu_approximate silu sigmoid log_sigmoid softmax log_softmax layer_norm
    rms_norm"""
MEMORY_BOUND = frozenset(" ".join((_ARITHMETIC, _MOVES, _FUNCTIONS, _COMPOSED_IN_BURN)).split())
"""Ops whose results are computed again. Whatever is not named here is compute-bound."""


class CheckpointStrategy(enum.Enum):
    """What an autodiff backend keeps for its backward pass."""

    NoCheckpointing = "none"
    """Everything that the rules need."""
    BalancedCheckpointing = "balanced"
    """What compute-bound ops made; the rest is computed again. The gradients are the same, bit by bit."""


NoCheckpointing = CheckpointStrategy.NoCheckpointing
BalancedCheckpointing = CheckpointStrategy.BalancedCheckpointing

T = TypeVar("T")
Op = Callable[..., Any]

SOMEWHERE = Node(None, (), (), ())
"""Stands for the node of a tracked operand when an op is recorded again, for its value and its pullbacks only."""


class Recipe:
    """How to record a memory-bound op again: `op(*inputs)`, where an input may be a recipe."""

    __slots__ = ("_inputs", "_made", "_op")

    def __init__(self, op: Op, inputs: tuple[Any, ...]) -> None:
        self._op = op
        self._inputs = inputs
        self._made: Tracked | None = None

    def made(self) -> Tracked:
        """The op's result, recorded now if it was not yet, after those it needs. A long chain needs no recursion."""
        waiting = [self]
        while waiting:
            recipe = waiting[-1]
            needed = [item for item in recipe._inputs if type(item) is Recipe and item._made is None]
            if needed:
                waiting += needed
                continue
            waiting.pop()
            if recipe._made is None:
                recipe._made = recipe._op(*map(_operand, recipe._inputs))
                recipe._inputs = ()  # what it was made from may go
        assert self._made is not None
        return self._made


def _operand(item: Any) -> Any:
    return Tracked(item.made().value, SOMEWHERE) if type(item) is Recipe else item


class Remade(Tracked):
    """A tracked value that the graph does not keep."""

    __slots__ = ("recipe",)

    def __init__(self, value: Any, node: Node, recipe: Recipe) -> None:
        super().__init__(value, node)
        self.recipe = recipe


def checkpointed(table: type[T]) -> type[T]:
    """The table of an autodiff backend, with balanced checkpointing."""
    ops = {name: getattr(table, name) for name in dir(table)}
    wrapped = {name: _checkpointed_op(op, name in MEMORY_BOUND) for name, op in ops.items() if hasattr(op, "has_rule")}
    return type(f"Checkpointed{table.__name__}", (table,), wrapped)


def _checkpointed_op(op: Op, memory_bound: bool) -> Op:
    @functools.wraps(op)
    def recorded(self: Any, *args: Any) -> Any:
        result = op(self, *args)
        recipes = {id(arg.value): arg.recipe for arg in _flat(args) if type(arg) is Remade}
        if not memory_bound:
            if recipes:
                for part in result if type(result) is tuple else (result,):
                    if isinstance(part, Tracked) and part.node is not None:  # the others are indices, or constant
                        part.node.pullbacks = tuple(_let_go(pullback, recipes) for pullback in part.node.pullbacks)
            return result
        value, node = result.value, result.node
        if node is None or getattr(value, "node", None) is not None:
            return result
        recipe = Recipe(functools.partial(op, self), tuple(map(_ingredient, args)))
        if _keeps_more(node, value, args):
            node.pullbacks = tuple(RecordingAgain(recipe, index) for index in range(len(node.pullbacks)))
        else:
            recipes[id(value)] = recipe
            node.pullbacks = tuple(_let_go(pullback, recipes) for pullback in node.pullbacks)
        return Remade(value, node, recipe)

    return recorded


def _flat(args: tuple[Any, ...]) -> Iterator[Any]:
    for arg in args:
        if type(arg) is list:
            yield from arg
        else:
            yield arg


def _ingredient(arg: Any) -> Any:
    if type(arg) is Remade:
        return arg.recipe
    return Tracked(arg.value, SOMEWHERE) if isinstance(arg, Tracked) and arg.node is not None else arg


def _keeps_more(node: Node, value: Any, args: tuple[Any, ...]) -> bool:
    """Whether the pullbacks keep values besides the operands and the result, such as the slope of a GELU."""
    known = {id(value), *(id(arg.value if isinstance(arg, Tracked) else arg) for arg in args)}
    kept = [cell.cell_contents for pullback in node.pullbacks for cell in _cells(pullback)]
    return any(isinstance(item, type(value)) and id(item) not in known for item in kept)


def _let_go(pullback: Pullback, recipes: dict[int, Recipe]) -> Pullback:
    """The pullback with recipes in the place of values, if it closes over any."""
    found = False
    for cell in _cells(pullback):
        recipe = recipes.get(id(cell.cell_contents))
        if recipe is not None:
            cell.cell_contents = recipe
        found = found or type(cell.cell_contents) is Recipe  # put there for a sibling that shares the variable
    return MakingAgain(pullback) if found else pullback


class MakingAgain:
    """A pullback that is given its values back before it runs."""

    __slots__ = ("pullback",)

    def __init__(self, pullback: Pullback) -> None:
        self.pullback = pullback

    def __call__(self, grad: Any) -> Any:
        for cell in _cells(self.pullback):
            if type(cell.cell_contents) is Recipe:
                cell.cell_contents = cell.cell_contents.made().value
        return self.pullback(grad)


class RecordingAgain:
    """The pullback of an operand that recording the op again gives."""

    __slots__ = ("index", "recipe")

    def __init__(self, recipe: Recipe, index: int) -> None:
        self.recipe = recipe
        self.index = index

    def __call__(self, grad: Any) -> Any:
        node = self.recipe.made().node
        assert node is not None
        return node.pullbacks[self.index](grad)


def _cells(function: Any) -> Iterator[CellType]:
    """The variables that a function closes over, and those of the functions among them."""
    for cell in getattr(function, "__closure__", None) or ():
        try:
            content = cell.cell_contents
        except ValueError:  # never set: it belongs to a branch that was not taken
            continue
        yield cell
        yield from _cells(content)
