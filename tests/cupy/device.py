"""What the tests of the CuPy backend share: host copies, counts of launches and waits, small comparisons."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import cupy
import numpy as np

from minburn.backends.elementwise import Column

EMULATED = os.environ.get("MINBURN_CUDA") == "emulated"
DEVICES = cupy.cuda.runtime.getDeviceCount()


def host(value: Any) -> Any:
    """A result of an op on the host: arrays copied, tuples and lists through and through; BF16 as F32."""
    if isinstance(value, (tuple, list)):
        return type(value)(host(item) for item in value)
    if isinstance(value, cupy.ndarray):
        value = value.get()
    if isinstance(value, np.ndarray) and value.dtype.kind == "V":
        value = value.astype(np.float32)
    return value


def flat(result: Any) -> list[Any]:
    if isinstance(result, (list, Column)):
        return [item for part in result for item in flat(part)]
    return list(result) if isinstance(result, tuple) and not all(isinstance(n, int) for n in result) else [result]


class Counts:
    """How often something happened between entering and leaving `counted`; only known on the emulated device."""

    launches = syncs = to_host = to_device = on_device = pageable = 0


@contextlib.contextmanager
def counted() -> Iterator[Counts]:
    import emulator

    counts, before = Counts(), emulator.counters()
    yield counts
    for name, value in emulator.counters().items():
        setattr(counts, name, value - before[name])
