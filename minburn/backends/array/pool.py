"""Reusable, 64-byte aligned memory for large arrays.

Large temporaries are the main cost of a naive step: the kernel hands out fresh pages for each and takes them back, and
malloc aligns them to 16 bytes only. A pool keeps the memory instead. A buffer is free again when nobody but the pool
refers to it, which is read from its reference count: NumPy points `.base` of every view, however derived, at the array
that owns the memory, so the *owner* is what must be watched, never a view of it.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np

ALIGNMENT = 64
SMALLEST = 32 * 1024
"""Below this many bytes malloc is faster than a look into the pool."""

_Owner = np.ndarray[Any, Any]


class Pool:
    """Buffers by size class. Thread-safe.

    limit: bytes of free memory kept; past it, free buffers of other sizes are given back before a new one is made.
    """

    def __init__(self, limit: int = 512 * 1024 * 1024) -> None:
        self.limit = limit
        self._classes: dict[int, list[_Owner]] = {}
        self._held = 0
        self._lock = threading.Lock()
        probe = [np.empty(1, np.uint8)]
        # What the count of an owner is when only its list refers to it: differs between Python versions.
        self._free_count = self._count(probe, 0)

    @staticmethod
    def _count(owners: list[_Owner], index: int) -> int:
        return sys.getrefcount(owners[index])

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """An uninitialised C-contiguous array, from the pool if it is large."""
        size = dtype.itemsize
        for dim in shape:
            size *= dim
        if size < SMALLEST:
            return np.empty(shape, dtype)
        step = 1 << (size.bit_length() - 4)  # classes an eighth of a power of two apart: at most 1/8 is wasted
        size_class = -(-size // step) * step
        with self._lock:
            owner = self._take(size_class)
            start = -owner.ctypes.data % ALIGNMENT
            return owner[start : start + size].view(dtype).reshape(shape)

    def _take(self, size_class: int) -> _Owner:
        owners = self._classes.setdefault(size_class, [])
        for index in range(len(owners)):
            if self._count(owners, index) == self._free_count:
                return owners[index]
        if self._held + size_class > self.limit:
            self._give_back()
        owner = np.empty(size_class + ALIGNMENT, np.uint8)
        owners.append(owner)
        self._held += size_class
        return owner

    def _give_back(self) -> None:
        """Forget what is free. What is in use is forgotten too and freed by its last user."""
        self._classes = {size: [] for size in self._classes}
        self._held = 0
