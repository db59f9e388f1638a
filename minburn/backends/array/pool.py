"""Reusable, 64-byte aligned memory for large arrays.

Large temporaries are the main cost of a naive step: the kernel hands out fresh pages for each and takes them back, and
malloc aligns them to 16 bytes only. A pool keeps the memory instead. It is cut from slabs, for which NumPy asks the
kernel for pages of 2 MB instead of 4 KB: a step over many arrays then misses the page table less often.

    slab <── memoryview of a part <── owner <── the array that is handed out, and all views of it

When an owner dies, a weak reference to it hands its part back. NumPy points `.base` of every view, however derived, at
the first array over a memory, so it is the *owner* that must be watched, never a view of it. The memoryview ends the
chain: without it, all arrays of a slab would point at the slab.
"""

from __future__ import annotations

import math
import threading
import weakref
from typing import Any

import numpy as np

ALIGNMENT = 64
SLAB = 32 * 1024 * 1024
SMALLEST = 32 * 1024
"""Below this many bytes malloc is faster than a look into the pool."""


class Pool:
    """Free memory by size class, what came back last first, as it may still be in the cache. Thread-safe.

    limit: bytes of free memory that are kept; with more, all of it is given back before a new part is cut. A loop that
    needs the same sizes again and again cuts no parts, and keeps what it needs, however much that is.
    """

    def __init__(self, limit: int = 512 * 1024 * 1024) -> None:
        self.limit = limit
        self._free: dict[int, list[memoryview]] = {}
        self._slab, self._rest = np.empty(0, np.uint8), 0
        self._leases: dict[int, _Lease] = {}
        self._lock = threading.Lock()

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """An uninitialised C-contiguous array, from the pool if it is large."""
        size = math.prod(shape) * dtype.itemsize
        if size < SMALLEST:
            return np.empty(shape, dtype)
        step = 1 << (size.bit_length() - 4)  # classes an eighth of a power of two apart: at most 1/8 is wasted
        size = -(-size // step) * step
        home = self._free.get(size)
        if home:
            try:
                memory = home.pop()
            except IndexError:  # another thread was faster
                home, memory = self._cut(size)
        else:
            home, memory = self._cut(size)
        owner = np.frombuffer(memory, np.uint8)
        lease = _Lease(owner, self._come_back)
        lease.memory, lease.home = memory, home
        self._leases[id(lease)] = lease
        return np.ndarray(shape, dtype, owner)

    def _come_back(self, lease: _Lease) -> None:
        del self._leases[id(lease)]
        lease.home.append(lease.memory)

    def _cut(self, size: int) -> tuple[list[memoryview], memoryview]:
        """A new part of a slab, and where it belongs when it is free."""
        with self._lock:
            if sum(each * len(parts) for each, parts in self._free.items()) > self.limit:
                # What is in use is forgotten too: it comes back to lists that nobody has. The last part frees a slab.
                self._free = {}
                self._slab, self._rest = np.empty(0, np.uint8), 0
            start = self._rest + -(self._slab.ctypes.data + self._rest) % ALIGNMENT
            if start + size > self._slab.size:
                self._slab = np.empty(max(SLAB, size + ALIGNMENT), np.uint8)
                start = -self._slab.ctypes.data % ALIGNMENT
            self._rest = start + size
            return self._free.setdefault(size, []), self._slab.data[start : start + size]


class _Lease(weakref.ref["np.ndarray[Any, Any]"]):
    """A weak reference to an owner that knows its memory, and the list of free memory that this belongs to."""

    __slots__ = ("home", "memory")

    home: list[memoryview]
    memory: memoryview
