"""Running an `ElementwiseProgram` over many arrays, flat and cache-blocked.

Small tensors are packed into one flat array, so that an operation is called once for all of them; large ones are cut
into blocks that stay in the cache from the first operation to the last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minburn.backends.array.basic import Array
from minburn.backends.elementwise import ElementwiseProgram

PACKED = 16 * 1024
"""Tensors below this many elements are packed together."""
BLOCK = 64 * 1024
"""Elements of a block: five F32 arrays of it fit into a 2 MB cache."""


def run_program(
    table: Any, columns: Sequence[Sequence[Array]], program: ElementwiseProgram, scalars: tuple[float, ...]
) -> list[list[Array]]:
    """See `FloatTensorOps.run_elementwise`; `table` gives xp, the dtype and memory."""
    if len(columns) != program.inputs or len(scalars) != program.scalars:
        raise ValueError(
            f"run_elementwise: the program takes {program.inputs} columns and {program.scalars} scalars, "
            f"but got {len(columns)} and {len(scalars)}."
        )
    first = columns[0]
    results: list[list[Array]] = [[None] * len(first) for _ in program.outputs]
    packed = [t for t, tensor in enumerate(first) if tensor.size < PACKED]
    kernel = _Kernel(table, program, scalars)
    if len(packed) == 1:
        kernel.run_one(packed[0], columns, results)
    elif packed:
        kernel.run_packed(packed, columns, results)
    for t, tensor in enumerate(first):
        if tensor.size >= PACKED:
            kernel.run_one(t, columns, results)
    return results


class _Kernel:
    """A program bound to a table and to the values of its scalars."""

    def __init__(self, table: Any, program: ElementwiseProgram, scalars: tuple[float, ...]) -> None:
        self.table = table
        self.program = program
        xp = table.xp
        self.ops: dict[str, Callable[..., Any]] = {
            "add": xp.add,
            "sub": xp.subtract,
            "mul": xp.multiply,
            "div": xp.divide,
            "neg": xp.negative,
            "sqrt": xp.sqrt,
            "abs": xp.abs,
        }
        dtype = table.np_dtype
        # 0-d arrays of the right dtype are cheaper operands than Python floats, and the same numbers.
        self.scalars = [xp.asarray(s, dtype) for s in scalars]

    def run_one(self, t: int, columns: Sequence[Sequence[Array]], results: list[list[Array]]) -> None:
        shape = columns[0][t].shape
        flat = [column[t].reshape(-1) for column in columns]
        outputs = self.execute(flat)
        for result, output in zip(results, outputs, strict=True):
            result[t] = output.reshape(shape)

    def run_packed(self, packed: list[int], columns: Sequence[Sequence[Array]], results: list[list[Array]]) -> None:
        xp = self.table.xp
        flat = [xp.concatenate([column[t] for t in packed], axis=None) for column in columns]
        outputs = self.execute(flat)
        start = 0
        for t in packed:
            tensor = columns[0][t]
            end = start + tensor.size
            for result, output in zip(results, outputs, strict=True):
                result[t] = output[start:end].reshape(tensor.shape)
            start = end

    def execute(self, inputs: list[Array]) -> list[Array]:
        """The outputs for flat inputs of one size."""
        program, table = self.program, self.table
        size = inputs[0].size
        outputs = [table.empty((size,)) for _ in program.outputs]
        scratch = [table.empty((min(size, BLOCK),)) for _ in range(program.num_slots)]
        for start in range(0, size, BLOCK):
            end = min(start + BLOCK, size)
            whole = start == 0 and end == size
            block = inputs if whole else [array[start:end] for array in inputs]
            out = outputs if whole else [array[start:end] for array in outputs]
            work = scratch if end - start == min(size, BLOCK) else [array[: end - start] for array in scratch]
            self.execute_block(block, out, work)
        return outputs

    def execute_block(self, inputs: list[Array], outputs: list[Array], scratch: list[Array]) -> None:
        program, scalars, ops = self.program, self.scalars, self.ops
        values: list[Any] = [*inputs, *[None] * len(program.steps)]
        slots = program.slots
        for position, number in enumerate(program.outputs):
            if values[number] is None:
                values[number] = outputs[position]
        for step in program.steps:
            target = step.target
            slot = slots[target]
            if slot is not None:
                values[target] = scratch[slot]
            lhs, rhs = step.lhs, step.rhs
            a = values[lhs] if type(lhs) is int else self.operand(lhs)
            if rhs is None:
                op = ops.get(step.op)
                if op is not None:
                    op(a, values[target])
                else:
                    values[target][...] = self.table.sign(a)
                continue
            b = values[rhs] if type(rhs) is int else (scalars[rhs[1]] if type(rhs) is tuple else rhs)
            op = ops.get(step.op)
            if op is not None:
                op(a, b, values[target])
            else:
                xp = self.table.xp
                wins = xp.less(a, b) if step.op == "max_pair" else xp.greater(a, b)
                values[target][...] = xp.where(wins, b, a)
        for position, number in enumerate(program.outputs):
            if values[number] is not outputs[position]:  # an output that is an input, or named twice
                outputs[position][...] = values[number]

    def operand(self, operand: Any) -> Any:
        return self.scalars[operand[1]] if type(operand) is tuple else operand
