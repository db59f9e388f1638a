"""Random numbers whose whole state is a few integers.

A stream is named by (seed, name) and has a counter. The pair is hashed to the 128-bit key of a Philox4x64-10
generator; the counter says how many of its blocks (four 64-bit words) were used. Drawing n words takes
⌈n / 4⌉ blocks, so a stream can be saved as one integer and continued anywhere, on a GPU too.

Integers, uniforms and masks are made from the words by exact arithmetic, the same bits everywhere. Normal draws go
through log and cos, whose last bit depends on the machine's math library.

Burn keeps one generator per device and saves none of it; here a resumed run continues every stream.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

from minburn.backends.error import BackendError

WORDS_PER_BLOCK = 4


@dataclass(frozen=True, slots=True)
class Distribution:
    """What to draw from. Burn: `crates/burn-std/src/distribution.rs`.

    `Distribution.Default` is uniform in [0, 1). For int tensors the samples are truncated.
    """

    kind: str
    a: float = 0.0
    b: float = 1.0

    Default: ClassVar[Distribution]

    @staticmethod
    def Uniform(low: float, high: float) -> Distribution:
        """[low, high)."""
        low, high = _number("Uniform", "low", low), _number("Uniform", "high", high)
        if not low <= high:
            raise BackendError(f"Distribution.Uniform: low {low} is not at most high {high}.")
        return Distribution("uniform", low, high)

    @staticmethod
    def Normal(mean: float, std: float) -> Distribution:
        mean, std = _number("Normal", "mean", mean), _number("Normal", "std", std)
        if not std >= 0:
            raise BackendError(f"Distribution.Normal: std must be at least 0, but got {std}.")
        return Distribution("normal", mean, std)

    @staticmethod
    def Bernoulli(prob: float) -> Distribution:
        """1 with probability prob, else 0."""
        prob = _number("Bernoulli", "prob", prob)
        if not 0 <= prob <= 1:
            raise BackendError(f"Distribution.Bernoulli: prob must be in [0, 1], but got {prob}.")
        return Distribution("bernoulli", prob)

    def __repr__(self) -> str:
        """As it is written in a program."""
        numbers = f"{self.a}" if self.kind == "bernoulli" else f"{self.a}, {self.b}"
        return f"Distribution.{self.kind.capitalize()}({numbers})"


def _number(name: str, what: str, value: float) -> float:
    """Python's numbers and NumPy's; only finite ones can be drawn from."""
    try:
        number = float(value) if isinstance(value, (int, float, Real)) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise BackendError(
            f"Distribution.{name}: {what} must be a finite number, but got {type(value).__name__} {value!r}."
        )
    return number


Distribution.Default = Distribution("uniform", 0.0, 1.0)


def stream_key(seed: int, name: str) -> int:
    """The 128-bit Philox key of the stream (seed, name)."""
    import hashlib  # 3 ms, and not needed to import a program

    return int.from_bytes(hashlib.sha256(f"{seed}\x00{name}".encode()).digest()[:16], "little")


class Stream:
    """One named stream: a key and a counter of used blocks. Threads may share it: every reservation is disjoint."""

    __slots__ = ("_counter", "_lock", "key", "name")

    def __init__(self, seed: int, name: str, counter: int = 0) -> None:
        self.name = name
        self.key = stream_key(seed, name)
        self._counter = counter
        self._lock = threading.Lock()

    @property
    def counter(self) -> int:
        return self._counter

    def reserve(self, words: int) -> int:
        """Take ⌈words / 4⌉ blocks and return the counter they start at."""
        with self._lock:
            start = self._counter
            self._counter = start + -(-words // WORDS_PER_BLOCK)
        return start

    def seek(self, counter: int) -> None:
        with self._lock:
            self._counter = counter


class Streams:
    """The streams of one backend value: made on first use, saved as `{name: counter}`.

    seed: any integer; None draws one from the operating system, so that such a run can still be written down.
    """

    def __init__(self, seed: int | None = None) -> None:
        if seed is not None and not isinstance(seed, int):
            raise TypeError(f"seed must be an int or None, but got {type(seed).__name__} {seed!r}.")
        self.seed = int.from_bytes(os.urandom(8), "little") >> 1 if seed is None else int(seed)
        self._streams: dict[str, Stream] = {}
        self._lock = threading.Lock()

    def get(self, name: str) -> Stream:
        stream = self._streams.get(name)
        if stream is None:
            with self._lock:
                stream = self._streams.setdefault(name, Stream(self.seed, name))
        return stream

    def state(self) -> dict[str, int]:
        """Counters by stream name, sorted: together with the seed, everything needed to continue."""
        with self._lock:
            return {name: self._streams[name].counter for name in sorted(self._streams)}

    def load_state(self, state: Mapping[str, int]) -> None:
        """Put every stream where `state` says; streams it does not name start over."""
        for stream in list(self._streams.values()):
            stream.seek(0)
        for name, counter in state.items():
            self.get(name).seek(counter)

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (self.seed, self.state())


def _restored(seed: int, state: Mapping[str, int]) -> Streams:
    streams = Streams(seed)
    streams.load_state(state)
    return streams
