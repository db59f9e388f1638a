"""Saves and loads against the floor: a raw write of the same bytes, and safetensors' NumPy functions.

    python benchmarks/pack.py [--quick] [--check] [--json FILE]

Each comparison runs its two sides in turn, in one process, and takes the median of the pairs' ratios, because the speed
of a disk or a shared CPU drifts. `--quick` is for CI: less data and fewer rounds. `--check` exits with 1 if a bound is
missed (quick runs have wider ones).

    save       one 400 MB file: write, fsync, rename, fsync of the folder; against write + fsync of the same bytes
    open       that file: header and metadata only
    many       10,000 tensors of 64 floats, saved and loaded by name. The disk is not the subject here: CPU time
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import safetensors.numpy

from minburn.dtype import DType
from minburn.pack import Reader, TensorEntry, Writer

MB = 1_000_000


@dataclass
class Row:
    what: str
    ours: float
    floor: float | None
    ratio: float | None
    unit: str
    bound: float
    """Largest allowed ratio to the floor, or value where there is no floor."""

    @property
    def passed(self) -> bool:
        return (self.ours if self.ratio is None else self.ratio) <= self.bound


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="100 MB and 5 rounds, with wide bounds")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bound is missed")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    options = parser.parse_args()
    slack = 1.6 if options.quick else 1.0
    with tempfile.TemporaryDirectory(prefix="minburn-bench-") as folder:
        rows = large(Path(folder), 100 * MB if options.quick else 400 * MB, 5 if options.quick else 9, slack)
        rows += many(Path(folder), 11 if options.quick else 15, slack)
    show(rows)
    if options.json:
        options.json.write_text(json.dumps([{**asdict(row), "passed": row.passed} for row in rows], indent=1))
    return int(options.check and not all(row.passed for row in rows))


def large(folder: Path, size: int, rounds: int, slack: float) -> list[Row]:
    """A model of 100 equal tensors."""
    values = [np.random.default_rng(i).random(size // 400, dtype=np.float32) for i in range(100)]
    entries = [TensorEntry(f"layer.{i}.weight", DType.F32, array.shape, array, i) for i, array in enumerate(values)]
    data = Writer(entries).into_bytes()
    path = folder / "large.bpk"

    def raw() -> None:
        with open(folder / "raw.bin", "wb", buffering=0) as file:
            view = memoryview(data)
            while view:
                view = view[file.write(view) :]
            os.fsync(file.fileno())

    def save() -> None:
        Writer(entries).write_to_file(path)

    def open_and_close() -> None:
        Reader.from_file(path).close()

    def clear() -> None:
        """Both sides write a new file: freeing the pages and blocks of an old one costs both the same, and varies."""
        for old in folder.iterdir():
            old.unlink()
        os.sync()

    saving = compared(time.perf_counter, rounds, save, raw, before=clear)
    save()
    assert path.read_bytes() == data
    opening = statistics.median(timed(time.perf_counter, open_and_close) for _ in range(9))
    name = f"{size // MB} MB"
    return [
        Row(f"save {name}", *saving, "ms", 1.25 * slack),
        Row(f"save {name}, memory", peak_memory(save), None, None, "MB", 8.0),
        Row(f"open {name}", opening, None, None, "ms", 5.0 * slack),
        Row(f"open {name}, memory", peak_memory(open_and_close), None, None, "MB", 2.0),
    ]


def many(folder: Path, rounds: int, slack: float) -> list[Row]:
    rng = np.random.default_rng(0)
    arrays = {f"layer.{i}.weight": rng.random((8, 8), dtype=np.float32) for i in range(10_000)}
    ids = [int(value) for value in rng.integers(0, 1 << 63, 10_000)]
    ours, theirs = folder / "many.bpk", folder / "many.safetensors"

    def save() -> None:
        Writer(
            [
                TensorEntry(name, DType.F32, array.shape, array, param_id)
                for (name, array), param_id in zip(arrays.items(), ids, strict=True)
            ]
        ).write_to_file(ours)

    def save_theirs() -> None:
        safetensors.numpy.save_file(arrays, theirs)

    def load() -> dict[str, np.ndarray]:
        with Reader.from_file(ours) as reader:
            return {
                name: np.frombuffer(entry.view(), np.float32).reshape(entry.shape).copy()
                for name, entry in reader.items()
            }

    def load_theirs() -> dict[str, np.ndarray]:
        return safetensors.numpy.load_file(theirs)

    saving = compared(time.process_time, rounds, save, save_theirs)
    loading = compared(time.process_time, rounds, load, load_theirs)
    found, expected = load(), load_theirs()
    assert all(np.array_equal(found[name], expected[name]) for name in arrays)
    return [
        Row("save 10,000 tensors", *saving, "ms", 1.0 * slack),
        Row("load 10,000 tensors", *loading, "ms", 1.2 * slack),
    ]


def compared(
    clock: Callable[[], float],
    rounds: int,
    ours: Callable[[], object],
    floor: Callable[[], object],
    before: Callable[[], None] = lambda: None,
) -> tuple[float, float, float]:
    """Median milliseconds of both sides, and the median ratio of the pairs; a first pair is not counted.

    before: what is done in front of each run, outside of the measurement.
    """
    pairs = []
    for _ in range(rounds + 1):
        before()
        left = timed(clock, ours)
        before()
        pairs.append((left, timed(clock, floor)))
    counted = pairs[1:]
    return (
        statistics.median(left for left, _ in counted),
        statistics.median(right for _, right in counted),
        statistics.median(left / right for left, right in counted),
    )


def timed(clock: Callable[[], float], action: Callable[[], object]) -> float:
    """Milliseconds by the clock; what the action returns is freed afterwards."""
    start = clock()
    result = action()
    elapsed = clock() - start
    del result
    return elapsed * 1e3


def peak_memory(action: Callable[[], object]) -> float:
    """Largest MB that Python allocated on top of what there was."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    action()
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return peak / MB


def show(rows: list[Row]) -> None:
    print(f"{'':28}{'ours':>10}{'floor':>10}{'ratio':>8}{'bound':>8}")
    for row in rows:
        floor = "" if row.floor is None else f"{row.floor:10.2f}"
        ratio = "" if row.ratio is None else f"{row.ratio:8.2f}"
        verdict = "" if row.passed else "  MISSED"
        print(f"{row.what:28}{row.ours:10.2f}{floor:>10}{ratio:>8}{row.bound:8.2f} {row.unit}{verdict}")


if __name__ == "__main__":
    sys.exit(main())
