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

from collections.abc import Callable, Sequence
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

    registers: where each value lives. First come the inputs, then the outputs, then scratch; two values share one only
    if the first is no longer needed when the second is written.
    overwrites: for each output, the input whose memory may hold it, because it is read for the last time before the
    output's register is first written; or None.
    """

    inputs: int
    scalars: int
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    registers: tuple[int, ...]
    overwrites: tuple[int | None, ...]

    @property
    def num_scratch(self) -> int:
        return max(0, 1 + max(self.registers, default=0) - self.inputs - len(self.outputs))


class Column(Sequence[Any]):
    """What `run_elementwise` returns for one output: one primitive per tensor."""

    def give_up(self) -> None:
        """Promise not to look at the column after the next program it is handed to: that may reuse its memory."""


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
    """Give every value a register. The fewer there are, the more of a block stays in the cache."""
    last_use = {operand: number for number, step in enumerate(steps) for operand in _values(step)}
    registers: dict[int, int] = {value: value for value in range(inputs)}
    first_write: dict[int, int] = {}
    for position, output in reversed(list(enumerate(outputs))):
        # What an output is made of, as far as nothing else needs it, is computed where the output will be.
        value: int | None = output
        while value is not None and value not in registers:
            registers[value] = inputs + position
            number = first_write[position] = value - inputs
            value = next((v for v in _values(steps[number]) if v not in outputs and last_use[v] == number), None)
    free: list[int] = []
    used = inputs + len(outputs)
    for number, step in enumerate(steps):
        for value in _values(step):
            if last_use[value] == number and registers[value] >= inputs + len(outputs):
                free.append(registers[value])  # an elementwise op may write over its own operand
        if step.target not in registers:
            if not free:
                free.append(used)
                used += 1
            registers[step.target] = free.pop()
    overwrites = tuple(
        next((v for v in range(inputs) if last_use.get(v) == first_write.get(position)), None)
        for position in range(len(outputs))
    )
    every = inputs + len(steps)
    return ElementwiseProgram(
        inputs, scalars, steps, outputs, tuple(registers[value] for value in range(every)), overwrites
    )


def _values(step: Step) -> list[int]:
    """The values a step reads, each once."""
    return list(dict.fromkeys(operand for operand in (step.lhs, step.rhs) if isinstance(operand, int)))
