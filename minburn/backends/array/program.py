"""Running an `ElementwiseProgram` over many arrays, flat and cache-blocked.

Small tensors are packed into one flat array, so that an operation is called once for all of them; large ones are cut
into blocks that stay in the cache from the first operation to the last.

A result is a `PackedColumn`: it keeps the packed tensors together and cuts one out when it is asked for. Handed in
again, as an optimizer does with what it remembers, it need not be packed again.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, final

from minburn.backends.array.basic import Array
from minburn.backends.elementwise import Column, ElementwiseProgram, Operand
from minburn.backends.error import BackendError

PACKED = 16 * 1024
"""Tensors below this many elements are packed together."""
BLOCK = 64 * 1024
"""Elements of a block: five F32 arrays of it fit into a 2 MB cache."""

Registers = list[Any]


def run_program(
    table: Any, columns: Sequence[Sequence[Array]], program: ElementwiseProgram, scalars: tuple[float, ...]
) -> list[PackedColumn]:
    """See `FloatTensorOps.run_elementwise`; `table` gives xp, the dtype and memory."""
    check_arguments(columns, program, scalars)
    layout = layout_of(columns, PACKED)
    kernel = _kernel(table, program)
    array, dtype = table.xp.array, table.np_dtype
    numbers = [array(number, dtype) for number in scalars]  # cheaper operands than floats
    inputs = [layout.parts(table.xp, column) for column in columns]
    given_up = [c for c, column in enumerate(columns) if type(column) is PackedColumn and column.take_memory(layout)]
    results = [kernel.run(part, numbers, given_up) for part in zip(*inputs, strict=True)]
    outputs = zip(*results, strict=True) if results else [()] * len(program.outputs)
    return [PackedColumn(layout, list(parts)) for parts in outputs]


def check_arguments(columns: Sequence[Sequence[Array]], program: ElementwiseProgram, scalars: Sequence[float]) -> None:
    if len(columns) != program.inputs or len(scalars) != program.scalars:
        raise ValueError(
            f"run_elementwise: the program takes {program.inputs} columns and {program.scalars} scalars, "
            f"but got {len(columns)} and {len(scalars)}."
        )


@final
class Layout:
    """Which tensors are packed: the parts of a column are the packed ones in one flat array, then each large one.

    limit: how many elements make a tensor large.
    step: packed tensors begin at multiples of so many elements.
    """

    __slots__ = ("cuts", "large", "packed", "shapes")

    def __init__(self, tensors: Sequence[Array], limit: int, step: int = 1) -> None:
        self.shapes = [tensor.shape for tensor in tensors]
        self.packed = [t for t, tensor in enumerate(tensors) if tensor.size < limit]
        self.large = [t for t, tensor in enumerate(tensors) if tensor.size >= limit]
        self.cuts: list[tuple[int, int, int]] = [(0, 0, 0)] * len(tensors)  # of each: its part, and where in it
        start = 0
        for t in self.packed:
            self.cuts[t] = (0, start, start + tensors[t].size)
            start += -(-tensors[t].size // step) * step
        for number, t in enumerate(self.large, start=1 if self.packed else 0):
            self.cuts[t] = (number, 0, tensors[t].size)

    def parts(self, xp: Any, column: Sequence[Array]) -> list[Array]:
        """The column's tensors as flat arrays."""
        if type(column) is PackedColumn and column.layout is self:
            column.check()
            return column.parts
        parts = [column[t].reshape(-1) for t in self.large]
        if len(self.packed) > 1:
            packed = column if not parts else [column[t] for t in self.packed]
            parts.insert(0, xp.concatenate(packed, axis=None))
        elif self.packed:
            parts.insert(0, column[self.packed[0]].reshape(-1))
        return parts


def layout_of(columns: Sequence[Sequence[Array]], limit: int, step: int = 1) -> Layout:
    for column in columns:
        if type(column) is PackedColumn:
            return column.layout  # the others have the same shapes
    return Layout(columns[0], limit, step)


@final
class PackedColumn(Column):
    """One array per tensor, each cut out of its part when it is first looked at."""

    __slots__ = ("_given_up", "_seen", "_tensors", "layout", "parts")

    def __init__(self, layout: Layout, parts: list[Array]) -> None:
        self.layout = layout
        self.parts = parts
        self._tensors: list[Array] = [None] * len(layout.shapes)
        self._seen = False  # has anyone looked at a tensor?
        self._given_up = False

    def give_up(self) -> None:
        """Memory that someone has looked at is left alone. Measured: a fifth of Adam on half a million parameters."""
        self._given_up = True

    def check(self) -> None:
        """Refuse to read what was given up."""
        if not self.parts and self.layout.shapes:
            raise BackendError(
                "run_elementwise: these tensors were given up for a call that did not finish (it was interrupted or "
                "failed), so their values are lost. Load them again: for an optimizer, its last record."
            )

    def take_memory(self, layout: Layout) -> bool:
        """Whether a program may write into the parts. The column is empty then."""
        if self._seen or not self._given_up or self.layout is not layout:
            return False
        self.parts = []
        return True

    def __len__(self) -> int:
        return len(self._tensors)

    def __iter__(self) -> Iterator[Array]:
        # As __getitem__ in turn, in one loop: an optimizer looks at all new parameters at every step.
        self.check()
        self._seen = True
        tensors, parts, shapes = self._tensors, self.parts, self.layout.shapes
        for index, (part, start, end) in enumerate(self.layout.cuts):
            if tensors[index] is None:
                tensors[index] = parts[part][start:end].reshape(shapes[index])
        return iter(tensors)

    def __getitem__(self, index: Any) -> Any:
        tensor = self._tensors[index]
        if tensor is None:
            self.check()
            self._seen = True
            part, start, end = self.layout.cuts[index]
            tensor = self.parts[part][start:end].reshape(self.layout.shapes[index])
            self._tensors[index] = tensor
        return tensor


@final
class Kernel:
    """A program for one table. Every value has a register: inputs, outputs, scratch, scalars and constants in turn."""

    def __init__(self, table: Any, program: ElementwiseProgram) -> None:
        self.table = table
        self.program = weakref.ref(program)
        self.overwrites = program.overwrites
        self.num_scratch = program.num_scratch
        scalars = program.inputs + len(program.outputs) + program.num_scratch
        constants: list[Any] = []

        def register(operand: Operand) -> int:
            if isinstance(operand, tuple):
                return scalars + operand[1]
            if isinstance(operand, float):
                constants.append(table.xp.asarray(operand, table.np_dtype))  # cheaper than a float, the same number
                return scalars + program.scalars + len(constants) - 1
            return program.registers[operand]

        ops = _operations(table)
        self.steps: list[tuple[Callable[..., Any], int, int | None, int]] = [
            (ops[step.op], register(step.lhs), None if step.rhs is None else register(step.rhs), register(step.target))
            for step in program.steps
        ]
        self.copies = [  # an output that is an input, or named twice
            (register(number), program.inputs + k)
            for k, number in enumerate(program.outputs)
            if register(number) != program.inputs + k
        ]
        self.constants = constants

    def run(self, inputs: Sequence[Array], scalars: list[Any], given_up: Sequence[int]) -> list[Array]:
        """The outputs for flat inputs of one size. Those in `given_up` may be overwritten."""
        table = self.table
        size = inputs[0].size
        outputs = [table.empty((size,)) if v is None or v not in given_up else inputs[v] for v in self.overwrites]
        numbers = scalars + self.constants
        if size <= BLOCK:
            scratch = [table.empty((size,)) for _ in range(self.num_scratch)]
            self.run_block([*inputs, *outputs, *scratch, *numbers])
            return outputs
        scratch = [table.empty((BLOCK,)) for _ in range(self.num_scratch)]
        for start in range(0, size, BLOCK):
            end = min(start + BLOCK, size)
            arrays = [array[start:end] for array in (*inputs, *outputs)]
            self.run_block([*arrays, *(array[: end - start] for array in scratch), *numbers])
        return outputs

    def run_block(self, registers: Registers) -> None:
        for op, lhs, rhs, target in self.steps:
            if rhs is None:
                op(registers[lhs], registers[target])
            else:
                op(registers[lhs], registers[rhs], registers[target])
        for source, target in self.copies:
            registers[target][...] = registers[source]


def _kernel(table: Any, program: ElementwiseProgram) -> Kernel:
    """The kernel of a program, made once a table. By identity: a program's hash would cost more than its steps."""
    kernels: dict[int, Kernel] = table.kernels
    known = kernels.get(id(program))
    if known is None or known.program() is not program:  # a later program may have the id of one that is gone
        known = kernels[id(program)] = Kernel(table, program)
        weakref.finalize(program, kernels.pop, id(program), None)  # a table outlives every optimizer
    return known


def _operations(table: Any) -> dict[str, Callable[..., Any]]:
    """Each operation as `op(operands…, out)`."""
    xp = table.xp

    def sign(x: Array, out: Array) -> None:
        out[...] = table.sign(x)

    def max_pair(lhs: Array, rhs: Array, out: Array) -> None:
        out[...] = xp.where(xp.less(lhs, rhs), rhs, lhs)

    def min_pair(lhs: Array, rhs: Array, out: Array) -> None:
        out[...] = xp.where(xp.greater(lhs, rhs), rhs, lhs)

    return {
        "add": xp.add,
        "sub": xp.subtract,
        "mul": xp.multiply,
        "div": xp.divide,
        "neg": xp.negative,
        "sqrt": xp.sqrt,
        "abs": xp.abs,
        "sign": sign,
        "max_pair": max_pair,
        "min_pair": min_pair,
    }
