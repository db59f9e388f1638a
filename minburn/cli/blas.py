"""How many threads NumPy's BLAS uses, asked of OpenBLAS itself where that is what NumPy has.

Threads of a BLAS wait for each other by spinning: on a machine that is busy with something else, two threads can be a
hundred times slower than one.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PREFIXES = ("scipy_openblas", "openblas")
SUFFIXES = ("64_", "", "_64")


@functools.cache
def _functions() -> tuple[Any, Any] | None:
    """OpenBLAS's get and set of the number of threads, of the library that NumPy has loaded."""
    import numpy as np  # so that it is loaded

    assert np.__version__
    with contextlib.suppress(OSError):
        maps = Path("/proc/self/maps").read_text("utf-8", errors="replace")
        for path in sorted({line.split()[-1] for line in maps.splitlines() if "openblas" in line and "/" in line}):
            library = ctypes.CDLL(path)
            for prefix in PREFIXES:
                for suffix in SUFFIXES:
                    get = getattr(library, f"{prefix}_get_num_threads{suffix}", None)
                    put = getattr(library, f"{prefix}_set_num_threads{suffix}", None)
                    if get is not None and put is not None:
                        return get, put
    return None


def threads() -> int | None:
    """None for another BLAS, or where its library is not found."""
    found = _functions()
    return None if found is None else int(found[0]())


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """One thread meanwhile; nothing where the number cannot be set."""
    found, before = _functions(), threads()
    if found is not None:
        found[1](1)
    try:
        yield
    finally:
        if found is not None and before is not None:
            found[1](before)
