"""Where a run computes: what the last bit of a number may depend on beyond the program and its seed.

Random integers, uniforms and masks are the same everywhere. The last bit of a sum or a matrix product is not: it
depends on the BLAS, on how many threads share the work, on the CPU's instructions. A checkpoint therefore says where
it was made, and a run that goes on elsewhere says that its numbers may differ from then on.

Burn records nothing of the kind.
"""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

THREAD_SETTINGS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


@functools.cache
def _collect() -> dict[str, Any]:
    config = np.show_config(mode="dicts")
    build = config if isinstance(config, dict) else {}
    blas = build.get("Build Dependencies", {}).get("blas", {})
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "blas": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(),
        "threads": {name: os.environ[name] for name in THREAD_SETTINGS if name in os.environ},
        "cpus": _cpus(),
        "cpu": _cpu_model(),
        "simd": list(build.get("SIMD Extensions", {}).get("found", [])),
        "machine": platform.machine(),
        "system": sys.platform,
    }


def environment() -> dict[str, Any]:
    """Versions of Python, NumPy and its BLAS, threads, CPU and machine, ready for JSON. Collected once per process."""
    found = _collect()
    return {**found, "threads": dict(found["threads"]), "simd": list(found["simd"])}


def describe_difference(saved: Mapping[str, Any] | None, current: Mapping[str, Any]) -> str | None:
    """A sentence that names what is different, or None if nothing is (or nothing was recorded)."""
    if not saved:
        return None
    names = [*current, *(name for name in saved if name not in current)]
    changes = [
        f"{name} {_show(saved.get(name))} then, {_show(current.get(name))} now"
        for name in names
        if saved.get(name) != current.get(name)
    ]
    if not changes:
        return None
    return (
        f"This checkpoint was written elsewhere ({'; '.join(changes)}): "
        "the run goes on, but the last bits of its numbers may differ from what they would have been there."
    )


def _show(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{name}={setting}" for name, setting in value.items()) or "unset"
    if isinstance(value, list | tuple):
        return " ".join(map(str, value)) or "none"
    return "unknown" if value is None else str(value)


def _cpus() -> int:
    """How many this process may use: what a BLAS takes for its number of threads."""
    if hasattr(os, "sched_getaffinity"):
        with contextlib.suppress(OSError):
            return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cpu_model() -> str:
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or "unknown"
