"""Reusable, 64-byte aligned memory for large arrays.

Large temporaries are the main cost of a naive step: the kernel hands out fresh pages for each and takes them back, and
malloc aligns them to 16 bytes only. A pool keeps the memory instead. It is cut from slabs, for which NumPy asks the
kernel for pages of 2 MB instead of 4 KB: a step over many arrays then misses the page table less often.

    slab <── memoryview of a part <── owner <── the array that is handed out, and all views of it

When an owner dies, a weak reference to it hands its part back. NumPy points `.base` of every view, however derived, at
the first array over a memory, so it is the *owner* that must be watched, never a view of it. The memoryview ends the
chain: without it, all arrays of a slab would point at the slab.

Free parts are kept by size. When they are too many, those that lie side by side become one *hole* again. A slab that is
one hole goes back to the kernel; the others, in which something is in use, are cut anew. So what is kept for long holds
its own memory only, not its slab.
"""

from __future__ import annotations

import contextlib
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

    limit: bytes of free parts that are kept; with more, all of them are given back before a new part is cut. A loop
    that needs the same sizes again and again cuts no parts, and keeps what it needs, however much that is.
    """

    def __init__(self, limit: int = 512 * 1024 * 1024) -> None:
        self.limit = limit
        self._free: dict[int, list[memoryview]] = {}
        self._holes: list[memoryview] = []  # what is not cut into parts
        self._leases: dict[int, _Lease] = {}
        self._lock = threading.RLock()  # what a signal or the garbage collector runs may ask for memory too

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
        """A new part, and where it belongs when it is free."""
        with self._lock:
            if sum(each * len(parts) for each, parts in self._free.items()) > self.limit:
                self._give_back()
            at, hole = self._hole(size)
            if len(hole) > size:
                self._holes.insert(at, hole[size:])
            return self._free.setdefault(size, []), hole[:size]

    def _hole(self, size: int) -> tuple[int, memoryview]:
        """A hole of at least `size` bytes and its place: the first one, so that later slabs empty; or a new slab."""
        holes = self._holes
        for at, hole in enumerate(holes):
            if len(hole) >= size:
                return at, holes.pop(at)
        slab = np.empty(max(SLAB, size) + ALIGNMENT, np.uint8)
        start = -slab.ctypes.data % ALIGNMENT
        return len(holes), slab.data[start : start + slab.size - ALIGNMENT]

    def _give_back(self) -> None:
        """Turn all free parts into holes, and forget the slabs that are one hole: nobody has them any more."""
        holes, self._holes = self._holes, []
        for home in list(self._free.values()):
            with contextlib.suppress(IndexError):  # one by one: others pop and append at the same time
                while True:
                    holes.append(home.pop())
        by_slab: dict[int, list[memoryview]] = {}
        for hole in holes:
            by_slab.setdefault(id(hole.obj), []).append(hole)
        for parts in by_slab.values():
            slab: Any = parts[0].obj
            if sum(map(len, parts)) < slab.size - ALIGNMENT:
                self._holes += _joined(slab, parts)


def _joined(slab: np.ndarray[Any, Any], parts: list[memoryview]) -> list[memoryview]:
    """Parts that lie side by side as one."""
    base = slab.ctypes.data
    starts = sorted((np.frombuffer(part, np.uint8).ctypes.data - base, len(part)) for part in parts)
    spans: list[list[int]] = []
    for start, size in starts:
        if spans and spans[-1][1] == start:
            spans[-1][1] += size
        else:
            spans.append([start, start + size])
    return [slab.data[start:end] for start, end in spans]


class _Lease(weakref.ref["np.ndarray[Any, Any]"]):
    """A weak reference to an owner that knows its memory, and the list of free memory that this belongs to."""

    __slots__ = ("home", "memory")

    home: list[memoryview]
    memory: memoryview
