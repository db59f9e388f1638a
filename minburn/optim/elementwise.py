"""Rules that work element by element, run over all parameters of a model in one op.

The built-in rules are such: what becomes of an element depends on that element of the tensor, the gradient and the
state, and on a few numbers. So the formula is written once, for anything that knows + - * / and sqrt, and used twice:

    step        with the tensors themselves, one operation at a time
    step_many   traced into a program, which the backend runs over many tensors, flat and in blocks that stay in the
                cache; tensors whose formula and numbers are the same (the usual case: all of them) run together

Both do the same operations in the same order, so they give the same bits.

A rule says three things:

    plan        for a state: which variant of the formula, the state's tensors, the numbers
    update      the formula: (tensor, grad, state's tensors, numbers) → new tensor, then the tensors to remember
    remember    the new state from these
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from minburn.backends.elementwise import ElementwiseProgram, trace
from minburn.optim.simple import SimpleOptimizer
from minburn.tensor import FloatTensor

S = TypeVar("S")

Value = Any
"""A FloatTensor, or what stands for it while a formula is traced."""


class Plan(NamedTuple):
    """variant: names the formula, where a rule has several (the first step of a parameter usually is one).
    tensors: of the state, given to the formula. numbers: Python floats, given to it too."""

    variant: tuple[bool, ...]
    tensors: tuple[FloatTensor, ...]
    numbers: tuple[float, ...]


class ElementwiseOptimizer(SimpleOptimizer[S]):
    """The base of such a rule."""

    def __init__(self) -> None:
        self._programs: dict[tuple[bool, ...], ElementwiseProgram] = {}

    def plan(self, lr: float, state: S | None) -> Plan:
        raise NotImplementedError(f"{type(self).__name__} has no plan(lr, state).")

    def update(
        self,
        variant: tuple[bool, ...],
        tensor: Value,
        grad: Value,
        kept: tuple[Value, ...],
        numbers: tuple[Value, ...],
    ) -> tuple[Value, ...]:
        raise NotImplementedError(f"{type(self).__name__} has no update(variant, tensor, grad, kept, numbers).")

    def remember(self, state: S | None, kept: Sequence[FloatTensor]) -> S:
        raise NotImplementedError(f"{type(self).__name__} has no remember(state, kept).")

    def step(self, lr: float, tensor: FloatTensor, grad: FloatTensor, state: S | None) -> tuple[FloatTensor, S]:
        plan = self.plan(lr, state)
        updated, *kept = self.update(plan.variant, tensor, grad, plan.tensors, plan.numbers)
        return updated, self.remember(state, kept)

    def step_many(
        self,
        lr: float,
        tensors: Sequence[FloatTensor],
        grads: Sequence[FloatTensor],
        states: Sequence[S | None],
    ) -> tuple[list[FloatTensor], list[S | None]]:
        alike: dict[tuple[tuple[bool, ...], tuple[float, ...]], list[tuple[int, tuple[FloatTensor, ...]]]] = {}
        for index, state in enumerate(states):
            variant, kept, numbers = self.plan(lr, state)
            alike.setdefault((variant, numbers), []).append((index, kept))
        results: list[Any] = list(tensors)
        remembered: list[S | None] = list(states)
        for (variant, numbers), members in alike.items():
            columns = [
                [tensors[index].primitive for index, _ in members],
                [grads[index].primitive for index, _ in members],
                *(
                    [tensor.primitive for tensor in column]
                    for column in zip(*(kept for _, kept in members), strict=True)
                ),
            ]
            program = self._programs.get(variant)
            if program is None:
                program = self._programs[variant] = self._trace(variant, len(columns), len(numbers))
            ops, backend = tensors[0].ops, tensors[0].backend
            rows = zip(*ops.run_elementwise(columns, program, numbers), strict=True)
            for (index, _), row in zip(members, rows, strict=True):
                updated, *after = [FloatTensor(primitive, ops, backend) for primitive in row]
                results[index] = updated
                remembered[index] = self.remember(states[index], after)
        return results, remembered

    def _trace(self, variant: tuple[bool, ...], inputs: int, scalars: int) -> ElementwiseProgram:
        def formula(*values: Value) -> tuple[Value, ...]:
            return self.update(variant, values[0], values[1], values[2:inputs], values[inputs:])

        return trace(formula, inputs, scalars)

    def check_state(self, tensor: FloatTensor, state: S) -> str | None:
        shape, ops = tensor.primitive.shape, tensor.ops
        for kept in self.plan(0.0, state).tensors:
            if kept.primitive.shape != shape:
                return f"the state has shape {list(kept.shape)}, the parameter {list(shape)}"
            if kept.ops is not ops:
                return f"the state is {kept.dtype} on {kept.device}, the parameter {tensor.dtype} on {tensor.device}"
        return None
