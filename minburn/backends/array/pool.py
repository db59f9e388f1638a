"""Reusable, 64-byte aligned memory for large arrays.

Large temporaries are the main cost of a naive step: the kernel hands out fresh pages for each and takes them back, and
malloc aligns them to 16 bytes only. A pool keeps the memory instead. Buffers are cut from slabs, for which NumPy asks
the kernel for pages of 2 MB instead of 4 KB: a step over many arrays then misses the page table less often.

A buffer is free again when nobody but the pool refers to it, which is read from its reference count: NumPy points
`.base` of every view, however derived, at the array that owns the memory, so the *owner* is what must be watched, never
a view of it. Buffers of one slab do not share an owner: a memoryview lies between them and the slab.
"""

from __future__ import annotations

import math
import sys
import threading
from typing import Any

import numpy as np

ALIGNMENT = 64
SLAB = 32 * 1024 * 1024
SMALLEST = 32 * 1024
"""Below this many bytes malloc is faster than a look into the pool."""

_Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class Pool:
    """Buffers by size class. Thread-safe.

    limit: bytes of free memory kept; past it, free buffers of other sizes are given back before a new one is made.
    """

    def __init__(self, limit: int = 512 * 1024 * 1024) -> None:
        self.limit = limit
        self._classes: dict[int, list[_Bytes]] = {}
        self._held = 0
        self._slab, self._rest = np.empty(0, np.uint8), 0
        self._lock = threading.Lock()
        # What the count of a free buffer is: differs between Python versions.
        probe = [_cut(np.empty(1, np.uint8), 0, 1)]
        self._free_count = _count(probe, 0)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """An uninitialised C-contiguous array, from the pool if it is large."""
        size = math.prod(shape) * dtype.itemsize
        if size < SMALLEST:
            return np.empty(shape, dtype)
        step = 1 << (size.bit_length() - 4)  # classes an eighth of a power of two apart: at most 1/8 is wasted
        with self._lock:
            return np.ndarray(shape, dtype, self._take(-(-size // step) * step))

    def _take(self, size: int) -> _Bytes:
        buffers = self._classes.get(size)
        if buffers is None:
            buffers = self._classes[size] = []
        for index in range(len(buffers)):
            if _count(buffers, index) == self._free_count:
                return buffers[index]
        if self._held + size > self.limit:
            self._give_back()
            buffers = self._classes[size] = []
        self._held += size
        buffers.append(self._new(size))
        return buffers[-1]

    def _new(self, size: int) -> _Bytes:
        start = self._rest + -(self._slab.ctypes.data + self._rest) % ALIGNMENT
        if start + size > self._slab.size:
            self._slab = np.empty(max(SLAB, size + ALIGNMENT), np.uint8)
            start = -self._slab.ctypes.data % ALIGNMENT
        self._rest = start + size
        return _cut(self._slab, start, size)

    def _give_back(self) -> None:
        """Forget what is free. What is in use is forgotten too; the last user of a slab frees it."""
        self._classes = {}
        self._held = 0
        self._slab, self._rest = np.empty(0, np.uint8), 0


def _cut(slab: _Bytes, start: int, size: int) -> _Bytes:
    """A part of a slab that is an owner of its own."""
    return np.frombuffer(slab.data[start : start + size], np.uint8)


def _count(buffers: list[_Bytes], index: int) -> int:
    return sys.getrefcount(buffers[index])
