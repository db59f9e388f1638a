"""A CUDA graph of what a function gives to the device, launched again and again as one.

    recorder = CuPyRecorder(device, streams)
    held = recorder.hold(inputs)                     memory that stays
    outputs = recorder.record(function)              of what is held; see below
    recorder.copy(other_inputs, held)
    recorder.replay(scalars)                         the same kernels, on what lies in `held` now

`record` runs the function twice: once as usual, so that all kernels are compiled and there is enough memory, and once
while a stream captures, which notes the kernels and executes none. A graph goes on with the addresses and numbers that
its kernels were given, so

    memory      comes from a pool that nobody else takes from, as long as the recorder lives
    numbers     that change are words on the device, written by one launch before the graph: where the random streams
                are, and the scalars of elementwise programs. Kernels that use them have a form that reads them there
    constants   copied from the host while recording, and tables of addresses, are written once, after the capture
    waiting     is refused: the host has nothing to wait for

CUDA forbids a capture to wait, and CuPy forbids it cuBLAS (see blas.py). Burn's counterpart is its capture device.
"""

from __future__ import annotations

import contextlib
import gc
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, TypeVar

import numpy as np

from minburn.backends.array.basic import Array
from minburn.backends.base import HostArray, Shape
from minburn.backends.cupy_ops.kernels import launch_elements, raw
from minburn.backends.cupy_ops.library import cp
from minburn.backends.cupy_ops.program import ALIGNED
from minburn.backends.cupy_ops.recording import listen
from minburn.backends.error import NotRecordable
from minburn.backends.rng import WORDS_PER_BLOCK, Stream, Streams

T = TypeVar("T")

WORDS = 480
"""Of 64 bits: as many numbers as a kernel takes by value."""
SET_WORDS = f"""
struct Words {{ unsigned long long word[{WORDS}]; }};
extern "C" __global__ void set_words(unsigned long long* out, const Words words, long long count) {{
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < count) out[i] = words.word[i];
}}
"""
RECORD = np.dtype([("word", "u8", WORDS)])
GRAIN = 512
"""Bytes: memory begins at multiples of it, as CuPy's does."""
LOW = 2**64 - 1


class CuPyRecorder:
    """See `base.Recorder`; one recording each."""

    def __init__(self, device: int, streams: Sequence[Streams]) -> None:
        self.cuda = cp.cuda.Device(device)
        self.streams = streams
        self.scalars: tuple[float, ...] = ()
        self._held: dict[int, Any] = {}  # memory by its id
        self._graph: Any = None
        self._result: Any = None
        with self.cuda:
            self._pool = _Pool()
            self._stream = cp.cuda.Stream(non_blocking=True)
            self._words = cp.zeros((WORDS,), np.uint64)
        self._host = np.zeros((), RECORD)
        self._starts: dict[Stream, int] = {}
        self._capturing = False
        self._rehearsed: list[Array] = []  # constants, in their order
        self._reset()

    # Memory

    def hold(self, primitives: Sequence[Array]) -> list[Array]:
        held = self.copies(primitives)
        for array in held:
            self._held[id(array.data.mem)] = array.data.mem
        return held

    def holds(self, primitives: Sequence[Array]) -> bool:
        return all(id(array.data.mem) in self._held for array in primitives)

    def copies(self, primitives: Sequence[Array]) -> list[Array]:
        """Row-major ones in one piece, each where a tensor of an elementwise program's column would begin."""
        with self.cuda:
            starts, end = [], 0
            for source in primitives:
                starts.append(end)
                end += _room(source) if source.flags.c_contiguous else 0
            flat = cp.empty((end,), np.uint8)
            made = [
                cp.ndarray(source.shape, source.dtype, flat.data + start)
                if source.flags.c_contiguous
                else cp.empty_like(source)
                for source, start in zip(primitives, starts, strict=True)
            ]
            self.copy(primitives, made)
        return made

    def copy(self, sources: Sequence[Array], targets: Sequence[Array]) -> None:
        """Neighbours go together: a copy each where both lie in one piece of memory."""
        with self.cuda:
            last: tuple[Any, ...] | None = None
            first, size = (None, None), 0
            for source, target in zip(sources, targets, strict=True):
                if source.data.ptr == target.data.ptr or not target.nbytes:
                    continue
                if not (source.flags.c_contiguous and target.flags.c_contiguous):
                    target[...] = source
                    continue
                place = source.data.mem, target.data.mem, target.data.ptr - source.data.ptr
                gap = -1 if last is None or last[:3] != place else target.data.ptr - last[3]
                if 0 <= gap < ALIGNED * target.itemsize:
                    size += gap + target.nbytes
                else:
                    _copy(*first, size)
                    first, size = (source, target), target.nbytes
                last = *place, target.data.ptr + target.nbytes
            _copy(*first, size)

    def different(self, ones: Sequence[Array], others: Sequence[Array]) -> list[int]:
        with self.cuda:
            flags = [
                (_bytes(one) != _bytes(other)).any().reshape(1)
                if (one.shape, one.dtype) == (other.shape, other.dtype)
                else cp.ones((1,), bool)
                for one, other in zip(ones, others, strict=True)
            ]
            found = cp.concatenate(flags).get() if flags else []
        return [number for number, differs in enumerate(found) if differs]

    # Recording

    def record(self, function: Callable[[], T]) -> T:
        with self.cuda:
            cp.cuda.get_current_stream().synchronize()
            cp.get_default_memory_pool().free_all_blocks()  # what ordinary steps needed, replays do not
            with cp.cuda.using_allocator(self._pool.malloc), self._stream, _no_collections():
                try:
                    self._listened(function)
                    self._stream.synchronize()
                    gc.collect()
                    with self._captured():
                        result = self._listened(function)
                except NotRecordable:
                    raise
                except Exception as error:  # of CUDA, CuPy, or the function, which then fails without a recorder, too
                    raise NotRecordable(f"it cannot be captured ({type(error).__name__}: {error})") from error
            with self._stream:
                for array, write in self._constants:
                    write(array)
            self._stream.synchronize()
        self._result = result  # keeps the memory of the outputs from those that follow
        return result

    @contextlib.contextmanager
    def _captured(self) -> Iterator[None]:
        self._capturing = True
        self._stream.begin_capture()
        try:
            yield
        except BaseException:
            with contextlib.suppress(Exception):  # CUDA says again that it is invalid
                self._stream.end_capture()
            raise
        finally:
            self._capturing = False
        self._graph = self._stream.end_capture()

    def _listened(self, function: Callable[[], T]) -> T:
        """The function, with this recorder listening. The streams are back where they were afterwards."""
        self._reset()
        self._starts = {stream: stream.counter for stream in self._known_streams()}
        listen(self)
        try:
            result = function()
        finally:
            listen(None)
            for stream in self._known_streams():
                start = self._starts.get(stream, 0)
                if stream.counter != start:
                    self._moved.append((stream, stream.counter - start))
                    stream.seek(start)
        if self._refused:
            raise NotRecordable(self._refused)
        return result

    def _reset(self) -> None:
        self._refused = ""
        self._used = 0  # words
        self._start_words: dict[Stream, int] = {}
        self._scalar_words: list[np.ndarray[Any, Any]] = []  # of each program: where on the host
        self._moved: list[tuple[Stream, int]] = []  # by so many blocks
        self._constants: list[tuple[Array, Callable[[Array], None]]] = []
        self.scalars = ()

    def _known_streams(self) -> list[Stream]:
        return [streams.get(name) for streams in self.streams for name in streams.state()]

    # What ops ask for while they are recorded

    def refuse(self, reason: str) -> NoReturn:
        self._refused = reason
        raise NotRecordable(reason)

    def constant(self, shape: Shape, dtype: np.dtype[Any], write: Callable[[Array], None]) -> Array:
        """Memory that `write` fills before the first replay, and that nothing else in the recording ever has.

        So it is made in the rehearsal, and found again while the stream captures.
        """
        if not self._capturing:
            memory = _Memory(max(math.prod(shape) * dtype.itemsize, 1))
            array = cp.ndarray(shape, dtype, cp.cuda.MemoryPointer(memory, 0))
            write(array)
            self._rehearsed.append(array)
        elif self._rehearsed and (self._rehearsed[0].shape, self._rehearsed[0].dtype) == (shape, dtype):
            array = self._rehearsed.pop(0)
        else:
            self.refuse("it has other constants when it runs again")
        self._constants.append((array, write))
        return array

    def copied(self, host: HostArray) -> Array:
        """A constant with these values."""
        kept = np.array(host, order="C")
        return self.constant(kept.shape, kept.dtype, lambda array: array.set(kept))

    def start_of(self, key: int, counter: int) -> tuple[Array, int]:
        """Where on the device the place of this stream before the step is, and how many blocks later `counter` is."""
        found = [
            stream
            for stream in self._known_streams()
            if stream.key == key and self._starts.get(stream, 0) <= counter < stream.counter
        ]
        if len(found) != 1:
            self.refuse("it draws random numbers from a stream that the run does not know")
        [stream] = found
        word = self._start_words.get(stream)
        if word is None:
            word = self._start_words[stream] = self._take(2)
        return self._words[word : word + 2], counter - self._starts.get(stream, 0)

    def scalars_at(self, scalars: tuple[float, ...], dtype: np.dtype[Any]) -> Array:
        """Where on the device they are."""
        count = -(-len(scalars) * dtype.itemsize // 8)
        word = self._take(count)
        self._scalar_words.append(self._host["word"][word : word + count].view(dtype)[: len(scalars)])
        self.scalars += scalars
        return self._words[word : word + max(count, 1)]

    def numbers_at(self, scalars: tuple[float, ...], dtype: np.dtype[Any]) -> tuple[Array, ...]:
        """The same as an array each."""
        given = self.scalars_at(scalars, dtype).view(dtype)
        return tuple(given[place : place + 1].reshape(()) for place in range(len(scalars)))

    def _take(self, count: int) -> int:
        first, self._used = self._used, self._used + count
        if self._used > WORDS:
            self.refuse(f"it has more than {WORDS} numbers that change from step to step")
        return first

    # Replays

    def replay(self, scalars: Sequence[float]) -> None:
        words, given = self._host["word"], iter(scalars)
        for stream, blocks in self._moved:
            start = stream.reserve(blocks * WORDS_PER_BLOCK)
            word = self._start_words.get(stream)
            if word is not None:
                words[word], words[word + 1] = start & LOW, start >> 64 & LOW
        for place in self._scalar_words:
            for number in range(len(place)):
                place[number] = next(given)
        with self.cuda:
            if self._used:
                launch_elements(raw("set_words", SET_WORDS, np.dtype(np.float64)), self._used, self._words, self._host)
            self._graph.launch()


def _room(array: Array) -> int:
    """Bytes from its beginning to that of the next: as tensors of a column lie, see program.py."""
    step = ALIGNED * array.itemsize
    return int(-(-array.nbytes // step) * step)


def _copy(source: Any, target: Any, size: int) -> None:
    if size:
        target.data.copy_from_device_async(source.data, size)


def _bytes(array: Array) -> Array:
    return cp.ascontiguousarray(array).reshape(-1).view(np.uint8)


@contextlib.contextmanager
def _no_collections() -> Iterator[None]:
    """Memory comes back when it is let go, not when the collector happens to run: both times at the same places."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Memory(cp.cuda.Memory):  # type: ignore[misc]  # of a package that has no types
    """Of its own. A class in Python, so that a range can be noted with it: see refusals.py."""


class _Pool:
    """Memory by exact size. A function that runs again asks again for the same sizes: the second time it finds all of
    them among those that it gave back. CuPy's pool cuts blocks to size, and may have none left that is large enough."""

    def __init__(self) -> None:
        self._free: dict[int, list[Any]] = {}

    def malloc(self, size: int) -> Any:
        size = -(-size // GRAIN) * GRAIN
        free = self._free.setdefault(size, [])
        return cp.cuda.MemoryPointer(_Block(free.pop() if free else cp.cuda.Memory(size), free), 0)


class _Block(cp.cuda.UnownedMemory):  # type: ignore[misc]  # of a package that has no types
    """Memory on loan: it goes back to its list."""

    def __init__(self, memory: Any, home: list[Any]) -> None:
        super().__init__(memory.ptr, memory.size, memory, memory.device_id)
        self.memory = memory
        self.home = home

    def __del__(self) -> None:
        self.home.append(self.memory)
