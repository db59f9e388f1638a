"""Wrong indices and zero divisors, without waiting for the device.

NumPy looks at every index before it uses it. On a GPU a look is a wait, so:

  * what came from the host was looked at there: `note_range` leaves the smallest and largest value with the memory, and
    `known_range` finds them from any view of it. A wrong index, or a zero divisor, is refused where it is used, as on
    NumPy.
  * what was computed on the device is checked there: the kernel writes the first refusal into four words of host memory
    that both sides see. They are read when the host waits anyway (`into_data`, `sync`), and the error names the op.

A refused op still wrote something, never outside its memory, and nobody can have seen it: seeing it is waiting.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

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


class Known(NamedTuple):
    """What is known of values that came from the host."""

    low: int
    high: int
    has_zero: bool


def note_range(tensor: Array, data: np.ndarray[Any, Any]) -> None:
    """Leave what is known of the host values with the memory of the tensor that was made from them."""
    if data.size:
        low, high = int(data.min()), int(data.max())
        tensor.data.mem.minburn_range = Known(low, high, low <= 0 <= high and not data.all())


def known_range(tensor: Array) -> Known | None:
    """Of all values of the memory that the tensor is a view of, if it was filled from the host."""
    found: Known | None = getattr(tensor.data.mem, "minburn_range", None)
    return found


def check_indices(refusals: Refusals, op: str, indices: Array, size: int) -> None:
    """Burn's rule: an index is in [0, size)."""
    if not indices.size:
        return
    known = known_range(indices)
    if known is None and size > 0:
        _index_kernel()(indices, size, refusals.number_of(op), refusals.slot)
    elif known is None or known.low < 0 or known.high >= size:
        # No index fits a size of 0; else the bounds are those of all the memory. Look at what this view has of it: an
        # error is worth a wait.
        low, high = int(indices.min()), int(indices.max())
        if low < 0 or high >= size:
            raise BackendError(message(op, low if low < 0 else high, size))


def check_divisor(refusals: Refusals, op: str, divisor: Array) -> None:
    known = known_range(divisor)
    if known is None:
        _divisor_kernel()(divisor, refusals.number_of(op), refusals.slot)
    elif known.has_zero and not bool(divisor.all()):  # of all the memory: this view may be without; a wait, as above
        raise BackendError(message(op, 0, DIVISION))


def _index_kernel() -> Any:
    formula = "if (index < 0 || (long long)index >= size) refuse(slot, op, index, size)"
    return elementwise("check_indices", "I index, int64 size, int64 op, uint64 slot", "", formula)


def _divisor_kernel() -> Any:
    formula = f"if (divisor == 0) refuse(slot, op, 0, {DIVISION})"
    return elementwise("check_divisor", "I divisor, int64 op, uint64 slot", "", formula)
