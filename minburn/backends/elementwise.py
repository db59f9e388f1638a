"""Straight-line elementwise programs: one formula, run over many tensors at once.

An optimizer's update is a dozen elementwise operations on a few tensors of one shape. Run op by op it pays a call per
operation, tensor and pass over memory; run as a program it pays once, on blocks that stay in the cache. `trace` records
the program by calling the formula with symbols, so the formula is written once and both ways give the same bits:

    def update(theta, grad, lr):
        return theta - grad * lr

    program = trace(update, inputs=2, scalars=1)
    [new] = backend.floats.run_elementwise([thetas, grads], program, (0.1,))

Symbols know + - * /, unary -, sqrt, abs, sign, max_pair and min_pair, under the names tensors have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Operand = int | float | tuple[str, int]
"""A value by number (int), a constant (float), or ("scalar", k)."""


@dataclass(frozen=True, slots=True)
class Step:
    """`value[target] = op(lhs, rhs)`; rhs is None for unary ops."""

    op: str
    target: int
    lhs: Operand
    rhs: Operand | None


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ElementwiseProgram:
    """Values 0 … inputs-1 are the inputs; each step defines the next one; `outputs` are value numbers.

    slots: for each value, the scratch slot it lives in, or None for inputs and outputs. Two values share a slot only
    if the first is no longer needed when the second is written.
    """

    inputs: int
    scalars: int
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    slots: tuple[int | None, ...]
    last_use: tuple[int, ...]

    @property
    def num_slots(self) -> int:
        return 1 + max((slot for slot in self.slots if slot is not None), default=-1)


class Symbol:
    """Stands for a tensor, or for a scalar, while a formula is traced."""

    __slots__ = ("operand", "steps")

    def __init__(self, steps: list[Step], operand: Operand) -> None:
        self.steps = steps
        self.operand = operand

    def _record(self, op: str, lhs: Operand, rhs: Operand | None) -> Symbol:
        target = self.steps[-1].target + 1
        self.steps.append(Step(op, target, lhs, rhs))
        return Symbol(self.steps, target)

    def _binary(self, op: str, other: Any, swapped: bool = False) -> Symbol:
        if isinstance(other, Symbol):
            operand = other.operand
        elif isinstance(other, (int, float)):
            operand = float(other)
        else:
            raise TypeError(f"an elementwise formula combines tensors and numbers, but got {type(other).__name__}.")
        if not isinstance(self.operand, int) and not isinstance(operand, int):
            raise TypeError("an elementwise formula must not combine two scalars: pass the combined one.")
        return self._record(op, operand, self.operand) if swapped else self._record(op, self.operand, operand)

    def __add__(self, other: Any) -> Symbol:
        return self._binary("add", other)

    def __radd__(self, other: Any) -> Symbol:
        return self._binary("add", other)

    def __sub__(self, other: Any) -> Symbol:
        return self._binary("sub", other)

    def __rsub__(self, other: Any) -> Symbol:
        return self._binary("sub", other, swapped=True)

    def __mul__(self, other: Any) -> Symbol:
        return self._binary("mul", other)

    def __rmul__(self, other: Any) -> Symbol:
        return self._binary("mul", other)

    def __truediv__(self, other: Any) -> Symbol:
        return self._binary("div", other)

    def __rtruediv__(self, other: Any) -> Symbol:
        return self._binary("div", other, swapped=True)

    def __neg__(self) -> Symbol:
        return self._record("neg", self.operand, None)

    def sqrt(self) -> Symbol:
        return self._record("sqrt", self.operand, None)

    def abs(self) -> Symbol:
        return self._record("abs", self.operand, None)

    def sign(self) -> Symbol:
        return self._record("sign", self.operand, None)

    def max_pair(self, other: Any) -> Symbol:
        return self._binary("max_pair", other)

    def min_pair(self, other: Any) -> Symbol:
        return self._binary("min_pair", other)


def trace(function: Callable[..., Any], inputs: int, scalars: int) -> ElementwiseProgram:
    """The program of `function(*tensors, *scalars)`, which returns one value or a tuple of them."""
    start = Step("input", inputs - 1, 0, None)  # so that the first recorded step defines value `inputs`
    steps = [start]
    arguments = [Symbol(steps, i) for i in range(inputs)] + [Symbol(steps, ("scalar", k)) for k in range(scalars)]
    result = function(*arguments)
    results = result if isinstance(result, tuple) else (result,)
    outputs = []
    for value in results:
        if not isinstance(value, Symbol) or not isinstance(value.operand, int):
            raise TypeError(f"an elementwise formula must return tensors, but got {value!r}.")
        outputs.append(value.operand)
    body = tuple(steps[1:])
    return _allocate(inputs, scalars, body, tuple(outputs))


def _allocate(inputs: int, scalars: int, steps: tuple[Step, ...], outputs: tuple[int, ...]) -> ElementwiseProgram:
    """Give every intermediate value a scratch slot, reusing those whose value is no longer needed."""
    count = inputs + len(steps)
    last_use = [-1] * count
    for number, step in enumerate(steps):
        for operand in (step.lhs, step.rhs):
            if isinstance(operand, int):
                last_use[operand] = number
    slots: list[int | None] = [None] * count
    free: list[int] = []
    used = 0
    for number, step in enumerate(steps):
        for operand in {o for o in (step.lhs, step.rhs) if isinstance(o, int)}:
            slot = slots[operand]
            if slot is not None and last_use[operand] == number:
                free.append(slot)  # an elementwise op may write over its own operand
        if step.target in outputs:
            continue
        if free:
            slots[step.target] = free.pop()
        else:
            slots[step.target] = used
            used += 1
    return ElementwiseProgram(inputs, scalars, steps, outputs, tuple(slots), tuple(last_use))
