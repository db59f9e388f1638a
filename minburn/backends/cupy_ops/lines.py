"""Work along lines of one dimension: indexed updates, running extremes, joined tensors.

An indexed update is out[…, index, …] op= value, repeated indices one after the other. A kernel that adds with
atomics is fast, but its sums change from run to run. Here each thread owns one element of the result and goes through
the indices of its line in order: the same bits every time, as NumPy gives them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minburn.backends.array.basic import Array
from minburn.backends.base import IndexUpdate
from minburn.backends.cupy_ops.kernels import contiguous, elementwise
from minburn.backends.cupy_ops.library import cp

# fmin and fmax: a NaN value never replaces, and a NaN target stays.
UPDATES = {
    "assign": "v",
    "add": "total + v",
    "mul": "total * v",
    "min": "v < total ? v : total",
    "max": "v > total ? v : total",
}
FORMULA = """
long long before = i / (size * after), place = i / after %% size, rest = i %% after;
typedef %s real;
real total = x;
for (long long n = 0; n < count; n++) {
  if ((long long)indices[%s] != place) continue;
  const real v = value[(before * count + n) * after + rest];
  total = %s;
}
y = T(total);
"""
OF_ELEMENT = "(before * count + n) * after + rest"
"""scatter: an index per element of value."""
OF_ROW = "n"
"""select_assign: an index per row."""


def update_lines(tensor: Array, indices: Array, value: Array, dim: int, update: IndexUpdate, by_row: bool) -> Array:
    """`indices` along `dim`: one per element of value, or one per row. Halves are added up in F32, as there."""
    shape: tuple[int, ...] = tensor.shape
    after = math.prod(shape[dim + 1 :])
    is_wide = tensor.dtype.itemsize == 2 and tensor.dtype.kind not in "iu" and update in ("add", "mul")
    kernel: Any = elementwise(
        f"{update}_{'rows' if by_row else 'elements'}{'_wide' if is_wide else ''}",
        "T x, raw I indices, raw T value, int64 size, int64 count, int64 after",
        "T y",
        FORMULA % ("float" if is_wide else "T", OF_ROW if by_row else OF_ELEMENT, UPDATES[update]),
    )
    count = indices.size if by_row else indices.shape[dim]
    return kernel(tensor, indices, value, shape[dim], count, after, cp.empty(shape, tensor.dtype))


RUNNING = """
const long long start = i / after * size * after + i %% after;
for (long long k = 0; k < size; k++) {
  const long long at = start + k * after;
  const T v = x[at], last = y[k == 0 ? at : at - after];
  y[at] = k == 0 || (last == last && (v %s last || v != v)) ? v : last;
}
"""


def running_extreme(tensor: Array, dim: int, better: str) -> Array:
    """The largest (">") or smallest ("<") element so far along dim; NaN from the first NaN on."""
    x = contiguous(tensor)
    out = cp.empty(x.shape, x.dtype)
    if out.size:
        size, after = x.shape[dim], math.prod(x.shape[dim + 1 :])
        name = "running_max" if better == ">" else "running_min"
        kernel = elementwise(name, "raw T x, int64 size, int64 after", "raw T y", RUNNING % better)
        kernel(x, size, after, out, size=out.size // size)
    return out


JOINED = 8
"""The most tensors that are joined by one kernel."""

JOIN = """
const long long total = %s, before = i / (total * after), rest = i %% after;
long long place = i / after %% total;"""
PIECE = """
if (place >= 0 && place < size%(n)d) y = x%(n)d[(before * size%(n)d + place) * after + rest];
place -= size%(n)d;"""


def join(tensors: Sequence[Array], sizes: list[int], after: int, out: Array) -> Array:
    """Tensors one after the other along a dimension in which they have these sizes, `after` elements behind it."""
    numbers = range(len(tensors))
    kernel: Any = elementwise(
        f"join_{len(tensors)}",
        "".join(f"raw T x{n}, " for n in numbers) + "".join(f"int64 size{n}, " for n in numbers) + "int64 after",
        "T y",
        JOIN % " + ".join(f"size{n}" for n in numbers) + "".join(PIECE % {"n": n} for n in numbers),
    )
    return kernel(*tensors, *sizes, after, out)
