"""An `ElementwiseProgram` as one kernel over all tensors: an optimizer's step is one launch, or a few for many tensors.

Where the tensors lie is handed over by value, in a struct of pointers: nothing is copied to the device, nothing is
packed. Blocks of CHUNK elements are dealt out to the tensors in turn. Each operation is rounded on its own, so the bits
are those of the operations one by one.

What is returned are `PackedColumn`s as of `array/program.py`, all tensors in one array. In a recorded step the scalars
are read from the device, and held memory (see capture.py) is written over.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from minburn.backends.array.basic import Array
from minburn.backends.array.program import Layout, PackedColumn, check_arguments, layout_of
from minburn.backends.cupy_ops.kernels import C_TYPES, THREADS, contiguous, raw
from minburn.backends.cupy_ops.library import cp
from minburn.backends.cupy_ops.recording import recorder
from minburn.backends.elementwise import ElementwiseProgram, Operand, Step

CHUNK = 1024
ALIGNED = 128
"""Elements: tensors begin at multiples of 512 bytes, as those with memory of their own do. cuBLAS chooses its kernels
by alignment, so a parameter cut out of a step's result gives the same bits as one that was loaded from a file."""
PARAMETERS = 3840
"""Bytes of parameters that any device takes are 4096."""
BINARY = {
    "add": "__{}add_rn({}, {})",
    "sub": "__{}sub_rn({}, {})",
    "mul": "__{}mul_rn({}, {})",
    "div": "__{}div_rn({}, {})",
}
OTHER = {
    "neg": "-{0}",
    "sqrt": "sqrt({0})",
    "abs": "fabs({0})",
    "sign": "T(({0} > 0) - ({0} < 0))",
    "max_pair": "({0} < {1} ? {1} : {0})",
    "min_pair": "({0} > {1} ? {1} : {0})",
}
SOURCE = """
struct Tensors {{ T* at[{columns}][{parts}]; long long size[{parts}]; int first[{parts} + 1]; }};
extern "C" __global__ void run_program(const Tensors tensors{scalars}) {{
  int part = 0;
  while (tensors.first[part + 1] <= blockIdx.x) part++;
  const long long start = (long long)(blockIdx.x - tensors.first[part]) * {chunk}, size = tensors.size[part];
  const long long end = start + {chunk} < size ? start + {chunk} : size;
{numbers}
  for (long long k = start + threadIdx.x; k < end; k += blockDim.x) {{
{body}
  }}
}}
"""


def run_program(
    dtype: np.dtype[Any], columns: Sequence[Sequence[Array]], program: ElementwiseProgram, scalars: tuple[float, ...]
) -> list[Sequence[Array]]:
    """See `FloatTensorOps.run_elementwise`."""
    check_arguments(columns, program, scalars)
    layout = layout_of(columns, sys.maxsize, ALIGNED)
    addresses, kept = zip(*(_addresses(column, layout, dtype) for column in columns), strict=True)
    given_up = [type(column) is PackedColumn and column.take_memory(layout) for column in columns]
    total = max((end for _, _, end in layout.cuts), default=0)
    here = recorder()
    results: list[Sequence[Array]] = []
    outputs: list[list[int]] = []
    for source in program.overwrites:
        if source is not None and here is not None and here.holds(columns[source]):
            results.append(list(columns[source]))
            outputs.append(addresses[source])
            continue
        reused = source is not None and given_up[source]
        flat = kept[source] if reused else cp.empty((total,), dtype)  # type: ignore[index]
        results.append(PackedColumn(layout, [flat] if layout.shapes else []))
        outputs.append(_packed_addresses(flat, layout, dtype))
    _launch(dtype, program, layout, [*addresses, *outputs], scalars)
    return results


def _addresses(column: Sequence[Array], layout: Layout, dtype: np.dtype[Any]) -> tuple[list[int], Any]:
    """Where each tensor of the column begins, and what must stay alive until the launch."""
    if type(column) is PackedColumn and column.layout is layout:
        column.check()
        flat = column.parts[0]
        return _packed_addresses(flat, layout, dtype), flat
    arrays = [contiguous(tensor) for tensor in column]
    return [array.data.ptr for array in arrays], arrays


def _packed_addresses(flat: Array, layout: Layout, dtype: np.dtype[Any]) -> list[int]:
    start = flat.data.ptr
    return [start + first * dtype.itemsize for _, first, _ in layout.cuts]


def _launch(
    dtype: np.dtype[Any],
    program: ElementwiseProgram,
    layout: Layout,
    addresses: list[list[int]],
    scalars: tuple[float, ...],
) -> None:
    columns = len(addresses)
    at_once = (PARAMETERS - 8 * len(scalars)) // (8 * columns + 12)
    record = np.dtype(
        [("at", "u8", (columns, at_once)), ("size", "i8", at_once), ("first", "i4", at_once + 1)], align=True
    )
    here = recorder()
    kernel = raw("run_program", _source(dtype, program, at_once, here is not None), dtype)
    numbers = [dtype.type(number) for number in scalars] if here is None else [here.scalars_at(scalars, dtype)]
    sizes = np.array([end - start for _, start, end in layout.cuts], np.int64)
    table = np.array(addresses, np.uint64).reshape(columns, len(sizes))
    for first in range(0, len(sizes), at_once):
        part = slice(first, first + at_once)
        count = len(sizes[part])
        tensors = np.zeros((), record)
        tensors["at"][:, :count] = table[:, part]
        tensors["size"][:count] = sizes[part]
        ends = np.cumsum(-(-sizes[part] // CHUNK))
        tensors["first"][1 : count + 1] = ends
        tensors["first"][count + 1 :] = ends[-1]
        if ends[-1]:
            kernel((int(ends[-1]),), (THREADS,), (tensors, *numbers))


def _source(dtype: np.dtype[Any], program: ElementwiseProgram, at_once: int, recorded: bool) -> str:
    """recorded: the scalars are on the device."""
    prefix = "f" if C_TYPES[dtype.char] == "float" else "d"

    def value(operand: Operand) -> str:
        if isinstance(operand, tuple):
            return f"s{operand[1]}"
        return f"T({operand!r})" if isinstance(operand, float) else f"v{operand}"

    def expression(step: Step) -> str:
        operands = [value(operand) for operand in (step.lhs, step.rhs) if operand is not None]
        if step.op in BINARY:
            return BINARY[step.op].format(prefix, *operands)
        return OTHER[step.op].format(*operands)

    lines = [f"const T v{number} = tensors.at[{number}][part][k];" for number in range(program.inputs)]
    lines += [f"const T v{step.target} = {expression(step)};" for step in program.steps]
    lines += [
        f"tensors.at[{program.inputs + number}][part][k] = v{output};" for number, output in enumerate(program.outputs)
    ]
    return SOURCE.format(
        columns=program.inputs + len(program.outputs),
        parts=at_once,
        scalars=", const T* given" if recorded else "".join(f", T s{number}" for number in range(program.scalars)),
        numbers="\n".join(f"  const T s{number} = given[{number}];" for number in range(program.scalars) if recorded),
        chunk=CHUNK,
        body="\n".join(f"    {line}" for line in lines),
    )
