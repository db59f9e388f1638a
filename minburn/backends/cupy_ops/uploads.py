"""Data on its way to the device, from the host or from another device, without a wait.

    host array ──the host──> pinned memory ──own stream──> staging memory ──stream of the ops──> tensor

An op returns when it was given to the device, so a training loop makes batch k + 1 while step k is computed. From
pageable memory the host would have to wait for the copy; in the stream of the ops, the copy for step k. So large arrays
travel on a stream of their own, and events keep the order: the ops wait for the copy that they read, a copy waits for
those that read the staging memory before. The host waits for none of them: its array may be overwritten at once, as
pinned memory is taken from CuPy's pool and comes back to it when its copy is done.

Small arrays go from pinned memory, too, but in the stream of the ops, as CuPy copies: that is sooner than the detour.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections import deque
from typing import Any

import numpy as np

from minburn.backends.array.basic import Array
from minburn.backends.base import HostArray
from minburn.backends.cupy_ops.kernels import contiguous
from minburn.backends.cupy_ops.library import cp

SMALLEST, LARGEST = 256 * 1024, 32 * 1024 * 1024
"""Bytes of arrays that take the detour. Beyond, staging memory would be more than it is worth."""
SLOTS = 4
"""How many arrays can be under way while the last step is computed."""


class Slot:
    """Staging memory on the device. read: when it was copied to its tensor."""

    memory: Any = None
    read: Any = None


class Uploads:
    """Those of one device."""

    def __init__(self) -> None:
        self.stream = cp.cuda.Stream(non_blocking=True)
        self.slots = itertools.cycle([Slot() for _ in range(SLOTS)])
        self.sent: deque[tuple[Any, Any]] = deque()
        self.lock = threading.Lock()

    def to_device(self, data: HostArray) -> Array:
        """A tensor with the values that the C-contiguous array has now."""
        size = data.nbytes
        if not SMALLEST <= size <= LARGEST:
            return cp.asarray(data)
        tensor, ops = cp.empty(data.shape, data.dtype), cp.cuda.get_current_stream()
        with self.lock:
            slot, sent = next(self.slots), self._send(data)
            if slot.read is not None:
                self.stream.wait_event(slot.read)
            if slot.memory is None or slot.memory.mem.size < size:
                with self.stream:  # whose next copies wait: what the memory was before has been read
                    slot.memory = cp.cuda.alloc(size)
            slot.memory.copy_from_host_async(sent.ptr, size, self.stream)
            written = self._event(self.stream)
            self.sent.append((written, sent))
            ops.wait_event(written)
            tensor.data.copy_from_device_async(slot.memory, size, ops)
            slot.read = self._event(ops)
        return tensor

    def _send(self, data: HostArray) -> Any:
        """The values in pinned memory. What has arrived is given back to CuPy's pool."""
        while self.sent and self.sent[0][0].done:
            self.sent.popleft()
        memory = cp.cuda.alloc_pinned_memory(data.nbytes)
        np.ndarray(data.shape, data.dtype, memory)[...] = data
        return memory

    def _event(self, stream: Any) -> Any:
        return stream.record(cp.cuda.Event(disable_timing=True))


@functools.cache
def uploads_of(index: int) -> Uploads:
    """Those of a device."""
    with cp.cuda.Device(index):
        return Uploads()


def from_peer(tensor: Array, there: int) -> Array:
    """A copy of the tensor of device `there` on the current one: between the two if they can, else by way of the host.

    Events order the streams of the two devices: what makes the tensor comes before the copy, and what uses its memory
    afterwards comes later.
    """
    here = cp.cuda.get_current_stream()
    with cp.cuda.Device(there):
        source, stream = contiguous(tensor), cp.cuda.get_current_stream()
        made = stream.record(cp.cuda.Event(disable_timing=True))
    here.wait_event(made)
    copied = cp.empty(source.shape, source.dtype)
    if copied.size:
        copied.data.copy_from_device_async(source.data, source.nbytes, here)
    taken = here.record(cp.cuda.Event(disable_timing=True))
    with cp.cuda.Device(there):
        stream.wait_event(taken)
    return copied
