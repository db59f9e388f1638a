"""Reusable, 64-byte aligned memory for large arrays.

Large temporaries are the main cost of a naive step: the kernel hands out fresh pages for each and takes them back, and
malloc aligns them to 16 bytes only. A pool keeps the memory instead. A buffer is free again when nobody but the pool
refers to it, which is read from its reference count: NumPy points `.base` of every view, however derived, at the array
that owns the memory, so the *owner* is what must be watched, never a view of it.
"""

from __future__ import annotations

import math
import sys
import threading
from typing import Any

import numpy as np

ALIGNMENT = 64
SMALLEST = 32 * 1024
"""Below this many bytes malloc is faster than a look into the pool."""

_Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class Pool:
    """Buffers by size class. Thread-safe.

    limit: bytes of free memory kept; past it, free buffers of other sizes are given back before a new one is made.
    """

    def __init__(self, limit: int = 512 * 1024 * 1024) -> None:
        self.limit = limit
        self._classes: dict[int, _Buffers] = {}
        self._held = 0
        self._lock = threading.Lock()
        # What the count of a free buffer is: differs between Python versions.
        probe = _Buffers(1)
        probe.add()
        self._free_count = probe.count(0)

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
            buffers = self._classes[size] = _Buffers(size)
        for index in range(len(buffers.owners)):
            if buffers.count(index) == self._free_count:
                return buffers.aligned[index]
        if self._held + size > self.limit:
            self._give_back()
            buffers = self._classes[size] = _Buffers(size)
        self._held += size
        return buffers.add()

    def _give_back(self) -> None:
        """Forget what is free. What is in use is forgotten too and freed by its last user."""
        self._classes = {}
        self._held = 0


class _Buffers:
    """Buffers of one size: the arrays that own the memory, and the aligned part of each."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.owners: list[_Bytes] = []
        self.aligned: list[_Bytes] = []

    def add(self) -> _Bytes:
        owner = np.empty(self.size + ALIGNMENT, np.uint8)
        start = -owner.ctypes.data % ALIGNMENT
        self.owners.append(owner)
        self.aligned.append(owner[start : start + self.size])
        return self.aligned[-1]

    def count(self, index: int) -> int:
        return sys.getrefcount(self.owners[index])
