"""Wrong indices and zero divisors, without waiting for the device.

NumPy looks at every index before it uses it. On a GPU a look is a wait, so:

  * what came from the host was looked at there: `note_range` leaves the smallest and largest value with the memory, and
    `known_range` finds them from any view of it. A wrong index is refused where it is used, as on NumPy.
  * what was computed on the device is checked there: the kernel writes the first refusal into four words of host memory
    that both sides see. They are read when the host waits anyway (`into_data`, `sync`), and the error names the op.

A refused op still wrote something, never outside its memory, and nobody can have seen it: seeing it is waiting.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from minburn.backends.array.basic import Array
from minburn.backends.cupy_ops.kernels import elementwise
from minburn.backends.cupy_ops.library import cp
from minburn.backends.error import BackendError

DIVISION = -1
"""In place of a size: the divisor was zero."""


class Refusals:
    """The four words of one device. `slot`: their address, for kernels."""

    def __init__(self) -> None:
        self.memory = cp.cuda.alloc_pinned_memory(32)
        self.words = np.frombuffer(self.memory, np.int64, 4)
        self.words[:] = 0
        self.slot = int(self.memory.ptr)
        self.names: list[str] = []

    def number_of(self, op: str) -> int:
        if op not in self.names:
            self.names.append(op)
        return self.names.index(op)

    def check(self) -> None:
        """Raise what a kernel has refused since the last look. The host must have waited for the device."""
        if not self.words[0]:
            return
        _, op, index, size = map(int, self.words)
        self.words[:] = 0
        raise BackendError(message(self.names[op], index, size) + " It was computed on the device, by an earlier op.")


@functools.cache
def refusals_of(index: int) -> Refusals:
    """Those of a device."""
    return Refusals()


def message(op: str, index: int, size: int) -> str:
    if size == DIVISION:
        return f"{op}: integer division by zero."
    return f"{op}: index {index} is out of bounds for a dimension of size {size}."


def note_range(tensor: Array, data: np.ndarray[Any, Any]) -> None:
    """Leave the range of the host values with the memory of the tensor that was made from them."""
    if data.size:
        tensor.data.mem.minburn_range = int(data.min()), int(data.max())


def known_range(tensor: Array) -> tuple[int, int] | None:
    """Bounds of all values of the tensor, if it is a view of memory that was filled from the host."""
    found: tuple[int, int] | None = getattr(tensor.data.mem, "minburn_range", None)
    return found


def check_indices(refusals: Refusals, op: str, indices: Array, size: int) -> None:
    """Burn's rule: an index is in [0, size)."""
    if not indices.size:
        return
    known = known_range(indices)
    if known is None and size > 0:
        _index_kernel()(indices, size, refusals.number_of(op), refusals.slot)
    elif known is None or known[0] < 0 or known[1] >= size:
        # No index fits a size of 0; else the bounds are those of all the memory. Look at what this view has of it: an
        # error is worth a wait.
        low, high = int(indices.min()), int(indices.max())
        if low < 0 or high >= size:
            raise BackendError(message(op, low if low < 0 else high, size))


def check_divisor(refusals: Refusals, op: str, divisor: Array) -> None:
    known = known_range(divisor)
    if known is not None and known[0] * known[1] > 0:
        return  # all positive or all negative
    _divisor_kernel()(divisor, refusals.number_of(op), refusals.slot)


def _index_kernel() -> Any:
    formula = "if (index < 0 || (long long)index >= size) refuse(slot, op, index, size)"
    return elementwise("check_indices", "I index, int64 size, int64 op, uint64 slot", "", formula)


def _divisor_kernel() -> Any:
    formula = f"if (divisor == 0) refuse(slot, op, 0, {DIVISION})"
    return elementwise("check_divisor", "I divisor, int64 op, uint64 slot", "", formula)
