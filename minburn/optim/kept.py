"""What an adaptor keeps between the steps: the state of every parameter, and what the last step made."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, final

from minburn.module import Param
from minburn.optim.record import StateEntry
from minburn.optim.trainables import Trainables
from minburn.tensor import FloatTensor

if TYPE_CHECKING:
    from minburn.optim.group import OptimizerGroup

NO_STATE: Sequence[Any] = (None,)


@final
class Context:
    """What is kept for one parameter.

    group: whose rule steps it, once a step has looked; it stays, whatever its path becomes.
    states, index: where its state is, among those its last step made; or `loaded`, a recorded one that no step has
    asked for yet.
    ops, shape: of the parameter at its last step; if they changed, the state is looked at before it is used.
    consumed, produced: the Params that its last step took and gave.
    """

    __slots__ = ("consumed", "group", "index", "loaded", "ops", "path", "produced", "shape", "states")

    def __init__(self, loaded: StateEntry | None = None) -> None:
        self.group: OptimizerGroup | None = None
        self.path = None if loaded is None else loaded.path
        self.loaded = loaded
        self.states: Sequence[Any] = NO_STATE
        self.index = 0
        self.ops: Any = None
        self.shape: tuple[int, ...] = ()
        self.consumed: weakref.ref[Param[FloatTensor]] | None = None
        self.produced: weakref.ref[Param[FloatTensor]] | None = None

    def state(self) -> Any:
        return self.states[self.index]


@final
class Last:
    """A step that stepped all of its parameters in one call.

    Training goes on from the module that the last step returned. Then nothing about its parameters has to be looked at
    again: their plain tensors, their states, and that they belong together are known. On a small model that is a
    quarter of the step.

    group: whose rule stepped them. contexts, tensors: of each parameter, in the order of the module. states: of all.
    of: what the step's module knows of its parameters. Weak: an optimizer keeps no model alive.
    """

    __slots__ = ("contexts", "group", "of", "states", "tensors")

    def __init__(
        self,
        group: OptimizerGroup,
        contexts: list[Context],
        of: weakref.ref[Trainables],
        tensors: Sequence[FloatTensor],
        states: Sequence[Any],
    ) -> None:
        self.group = group
        self.contexts = contexts
        self.of = of
        self.tensors = tensors
        self.states = states

    @staticmethod
    def of_call(
        group: OptimizerGroup,
        contexts: list[Context],
        trainables: Trainables,
        tensors: Sequence[FloatTensor],
        states: Sequence[Any],
    ) -> Last | None:
        """None if the call did not make all trainable parameters, or if an older model was stepped again, so that what
        the contexts call produced are other ones."""
        if len(trainables.params) != len(contexts):
            return None
        for context, (_, param) in zip(contexts, trainables.params, strict=True):
            if context.produced is None or context.produced() is not param:
                return None
        return Last(group, contexts, weakref.ref(trainables), tensors, states)

    def goes_on_with(self, trainables: Trainables, grads: Sequence[FloatTensor]) -> bool:
        """Whether these are the parameters that the last step made, with gradients that the rule can be given: those of
        a model that is decorated twice still record. Parameters of one step have one table, and so have gradients."""
        return self.of() is trainables and grads[0].ops is self.tensors[0].ops

    def advance(
        self,
        params: Iterable[Param[FloatTensor]],
        trainables: Trainables,
        tensors: Sequence[FloatTensor],
        states: Sequence[Any],
    ) -> None:
        """The next step made these."""
        for context, param in zip(self.contexts, params, strict=True):
            context.consumed, context.produced = context.produced, weakref.ref(param)
            context.states = states
        self.of, self.tensors, self.states = weakref.ref(trainables), tensors, states


def fits(tensor: FloatTensor, like: FloatTensor) -> bool:
    """Whether two plain tensors have one table and one shape."""
    return tensor.ops is like.ops and tensor.primitive.shape == like.primitive.shape
