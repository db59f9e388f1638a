"""Rules that work element by element, run over all parameters of a model in one op.

The built-in rules are such: what becomes of an element depends on that element of the tensor, the gradient and the
state, and on a few numbers. So the formula is written once, for anything that knows + - * / and sqrt, and used twice:

    step        with the tensors themselves, one operation at a time
    step_many   traced into a program, which the backend runs over many tensors, flat and in blocks that stay in the
                cache; tensors whose formula and numbers are the same (the usual case: all of them) run together

Both do the same operations in the same order, so they give the same bits.

A rule says three things:

    plan        for a state: which variant of the formula, the state's tensors, and which step this is
    numbers     for a step: the numbers in the formula
    update      the formula: (tensor, grad, state's tensors, numbers) → new tensor, then the tensors to remember
    remember    the state that holds these
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar, final

from minburn.backends import Backend
from minburn.backends.elementwise import ElementwiseProgram, trace
from minburn.optim.simple import SimpleOptimizer
from minburn.tensor import FloatTensor

__all__ = ["ElementwiseOptimizer", "Plan"]

S = TypeVar("S")

Value = Any
"""A FloatTensor, or what stands for it while a formula is traced."""

Variant = tuple[bool, ...]
Primitives = Sequence[Any]
"""One primitive per tensor."""


class Plan(NamedTuple):
    """variant: names the formula, where a rule has several (the first step of a parameter usually is one).
    tensors: of the state, given to the formula. time: which step of the parameter this is, if that matters."""

    variant: Variant
    tensors: tuple[FloatTensor, ...]
    time: int = 0


class ElementwiseOptimizer(SimpleOptimizer[S]):
    """The base of such a rule."""

    def __init__(self) -> None:
        self._programs: dict[Variant, ElementwiseProgram] = {}

    def plan(self, state: S | None) -> Plan:
        raise NotImplementedError(f"{type(self).__name__} has no plan(state).")

    def numbers(self, lr: float, time: int) -> tuple[float, ...]:
        return (lr,)

    def update(
        self, variant: Variant, tensor: Value, grad: Value, kept: Sequence[Value], numbers: Sequence[Value]
    ) -> tuple[Value, ...]:
        raise NotImplementedError(f"{type(self).__name__} has no update(variant, tensor, grad, kept, numbers).")

    def remember(self, time: int, kept: Sequence[FloatTensor]) -> S:
        raise NotImplementedError(f"{type(self).__name__} has no remember(time, kept).")

    def step(self, lr: float, tensor: FloatTensor, grad: FloatTensor, state: S | None) -> tuple[FloatTensor, S]:
        variant, tensors, time = self.plan(state)
        updated, *kept = self.update(variant, tensor, grad, tensors, self.numbers(lr, time))
        return updated, self.remember(time, kept)

    def step_many(
        self,
        lr: float,
        tensors: Sequence[FloatTensor],
        grads: Sequence[FloatTensor],
        states: Sequence[S | None],
    ) -> tuple[Sequence[FloatTensor], Sequence[S | None]]:
        if not tensors:
            return [], []
        if type(states) is States and states.fits(self, tensors[0]):
            return self._run(lr, states.variant or (), states.time + 1, tensors, grads, states.kept, states)
        plans = [self.plan(state) for state in states]
        alike: dict[tuple[Variant, int], list[int]] = {}
        for index, plan in enumerate(plans):
            alike.setdefault((plan.variant, plan.time), []).append(index)
        if len(alike) == 1:
            return self._run(lr, plans[0].variant, plans[0].time, tensors, grads, columns_of(plans), None)
        updated: list[Any] = [None] * len(plans)
        remembered: list[S | None] = [None] * len(plans)
        for (variant, time), members in alike.items():
            columns = columns_of([plans[i] for i in members])
            mine, their_grads = [tensors[i] for i in members], [grads[i] for i in members]
            some, kept = self._run(lr, variant, time, mine, their_grads, columns, None)
            for index, tensor, state in zip(members, some, kept, strict=True):
                updated[index], remembered[index] = tensor, state
        return updated, remembered

    def _run(
        self,
        lr: float,
        variant: Variant,
        time: int,
        tensors: Sequence[FloatTensor],
        grads: Sequence[FloatTensor],
        kept: Sequence[Primitives],
        last: States[S] | None,
    ) -> tuple[Sequence[FloatTensor], States[S]]:
        """The update of tensors whose plans are alike. last: their states, if one call made all of these."""
        ops, backend = tensors[0].ops, tensors[0].backend
        current: Primitives
        if last is not None and (tensors is last.tensors or same_primitives(tensors, last.tensors)):
            current = last.updated  # as the backend laid them out
        else:
            current = [tensor.primitive for tensor in tensors]
        numbers = self.numbers(lr, time)
        program = self._programs.get(variant)
        if program is None:
            program = self._programs[variant] = self._trace(variant, 2 + len(kept), len(numbers))
        columns = [current, [grad.primitive for grad in grads], *kept]
        updated, *after = ops.run_elementwise(columns, program, numbers)
        made = tensors[0]._with_each(updated)
        states = States(self, time, updated, made, after, ops, backend)
        if len(after) == len(kept):
            states.variant = variant  # nothing new to remember: the next step is one like this
        return made, states

    def _trace(self, variant: Variant, inputs: int, scalars: int) -> ElementwiseProgram:
        def formula(*values: Value) -> tuple[Value, ...]:
            return self.update(variant, values[0], values[1], values[2:inputs], values[inputs:])

        return trace(formula, inputs, scalars)

    def check_state(self, tensor: FloatTensor, state: S) -> str | None:
        shape, ops = tensor.shape, tensor.ops
        for kept in self.plan(state).tensors:
            if kept.shape != shape:
                return f"the state has shape {list(kept.shape)}, the parameter {list(shape)}"
            if kept.ops is not ops:
                return f"the state is {kept.dtype} on {kept.device}, the parameter {tensor.dtype} on {tensor.device}"
        return None


def same_primitives(tensors: Sequence[FloatTensor], others: Sequence[FloatTensor]) -> bool:
    return all(one.primitive is other.primitive for one, other in zip(tensors, others, strict=True))


def columns_of(plans: Sequence[Plan]) -> list[Primitives]:
    return [[tensor.primitive for tensor in column] for column in zip(*(plan.tensors for plan in plans), strict=True)]


@final
class States(Sequence[S]):
    """The states that one call made, in the columns that the backend returned; a state is put together when it is
    looked at. The next call for the same tensors takes the columns as they are.

    updated, tensors: the new values, as the backend laid them out, and as they were returned.
    """

    __slots__ = ("backend", "kept", "ops", "rule", "tensors", "time", "updated", "variant")

    def __init__(
        self,
        rule: ElementwiseOptimizer[S],
        time: int,
        updated: Primitives,
        tensors: Sequence[FloatTensor],
        kept: Sequence[Primitives],
        ops: Any,
        backend: Backend,
    ) -> None:
        self.rule = rule
        self.time = time
        self.updated = updated
        self.tensors = tensors
        self.kept = kept
        self.ops = ops
        self.backend = backend
        self.variant: Variant | None = None  # of the next step, if known

    def fits(self, rule: object, tensor: FloatTensor) -> bool:
        """Whether the next step can take the columns as they are."""
        return self.variant is not None and self.rule is rule and self.ops is tensor.ops

    def give_up(self) -> None:
        """Let the next step write its states over these, as far as nobody has looked at them."""
        for column in self.kept:
            give_up = getattr(column, "give_up", None)  # of a Column; isinstance is slow for a Sequence
            if give_up is not None:
                give_up()

    def __len__(self) -> int:
        return len(self.updated)

    def __getitem__(self, index: Any) -> Any:
        chosen = range(len(self.updated))[index]  # IndexError as of any sequence: a rule may keep no column at all
        if isinstance(chosen, range):
            return [self[i] for i in chosen]
        return self.rule.remember(
            self.time, [FloatTensor(column[chosen], self.ops, self.backend) for column in self.kept]
        )
