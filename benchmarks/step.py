"""Training steps against the floor: the same step written by hand in NumPy, with nothing left to save.

    python benchmarks/step.py [WORKLOAD ...] [--rounds N] [--json FILE] [--check [--slack 1.5]]
    python benchmarks/step.py [WORKLOAD ...] --memory [--steps N]

Each comparison runs its sides in turn, in one process, and takes the median of the rounds' ratios, because the speed of
a shared CPU drifts. `--check` exits with 1 if a ratio is above its bound times the slack. PyTorch is a third side where
it is installed. Before anything is timed, all sides take a few steps from the same weights and must agree on their
losses.

The workloads are those of `workloads.py`, their floors in `floors/`, and

    add       two tracked 8×8 tensors added; against np.add of the arrays

The table ends with the most memory that a process had resident in which one side took a few steps. With `--memory`
nothing is timed: each workload takes many steps in a process, whose memory must not grow after the first tenth.

BLAS runs on one thread, which must be said before NumPy is imported: with more, the ratio would depend on the machine.
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1", OMP_NUM_THREADS="1", VECLIB_MAXIMUM_THREADS="1")

import argparse
import json
import statistics
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from measure import Action, interleaved, ratio
from memory import measured
from sides import SIDES, side
from workloads import WORKLOADS

from minburn import Tensor
from minburn.backends import Autodiff, NumPy

AGREEING_STEPS = 20
PEAK_STEPS = 20
GROWTH = 1024
"""KiB that a process may grow by: some pages of Python's own."""


@dataclass
class Row:
    what: str
    microseconds: dict[str, float]
    """Of a step, by side."""
    ratio: float
    """minburn over numpy."""
    bound: float
    peak_mb: dict[str, float]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("workload", nargs="*", help=f"some of add, {', '.join(WORKLOADS)} (default: all)")
    parser.add_argument("--rounds", type=int, default=31, help="rounds of each comparison (default 31)")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bound is missed")
    parser.add_argument("--slack", type=float, default=1.5, help="factor on the bounds of --check (default 1.5)")
    parser.add_argument("--memory", action="store_true", help="only check that memory does not grow")
    parser.add_argument("--steps", type=int, default=1000, help="steps of --memory (default 1000)")
    options = parser.parse_args()
    unknown = set(options.workload) - {"add", *WORKLOADS}
    if unknown:
        parser.error(f"no such workload: {', '.join(sorted(unknown))}")
    names = options.workload or ["add", *WORKLOADS]
    if options.memory:
        return memory_table([name for name in names if name != "add"], options.steps)
    slack = options.slack if options.check else 1.0
    print_header()
    rows = []
    for name in names:
        rows.append(row_of(name, options.rounds))
        print_row(rows[-1], slack)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return int(options.check and any(row.ratio > row.bound * slack for row in rows))


def row_of(name: str, rounds: int) -> Row:
    if name == "add":
        times, bound, peaks = interleaved(additions(), calls=5000, rounds=rounds), 4.5, {}
    else:
        work = WORKLOADS[name]
        times, bound = interleaved(agreeing(name), work.calls, rounds), work.bound
        peaks = {of: measured(of, name, PEAK_STEPS)[1] / 1024 for of in SIDES if of != "torch fused"}
    medians = {of: statistics.median(found) for of, found in times.items()}
    return Row(name, medians, ratio(times, of="minburn", to="numpy"), bound, peaks)


def print_header() -> None:
    times = "".join(f"{of:>14}" for of in SIDES)
    peaks = "".join(f"{of:>10}" for of in SIDES if of != "torch fused")
    print(f"{'':8}{times}{'ratio':>8}{'bound':>7}   peak:{peaks}")


def print_row(row: Row, slack: float) -> None:
    times = "".join(f"{row.microseconds[of]:11.1f} µs" if of in row.microseconds else f"{'':14}" for of in SIDES)
    peaks = "".join(f"{peak:7.0f} MB" for peak in row.peak_mb.values())
    verdict = "" if row.ratio <= row.bound * slack else "  MISSED"
    print(f"{row.what:8}{times}{row.ratio:8.2f}{row.bound * slack:7.2f}{'':8}{peaks}{verdict}", flush=True)


def additions() -> dict[str, Action]:
    a, b = (np.random.default_rng(i).random((8, 8), np.float32) for i in range(2))
    backend = Autodiff(NumPy())
    x, y = (Tensor.from_data(array, backend).require_grad() for array in (a, b))
    assert np.array_equal((x + y).numpy(), a + b)
    return {"minburn": lambda: x + y, "numpy": lambda: np.add(a, b)}


def agreeing(workload: str) -> dict[str, Action]:
    """All sides, after some steps in which their losses were the same but for rounding."""
    steps = {name: side(name, workload) for name in SIDES}
    losses = np.array([[step() for step in steps.values()] for _ in range(AGREEING_STEPS)])
    for column, name in enumerate(steps):
        np.testing.assert_allclose(losses[:, column], losses[:, 0], rtol=1e-3, err_msg=f"{workload}: {name}, minburn")
    return dict(steps)


def memory_table(names: list[str], steps: int) -> int:
    """1 if the memory of a workload has grown."""
    grown = False
    print(f"{'':8}{f'{max(steps // 10, 1)} steps':>14}{f'{steps} steps':>14}")
    for name in names:
        early, late = measured("minburn", name, steps)
        too_much = late - early > GROWTH
        grown |= too_much
        verdict = "  GROWN" if too_much else ""
        print(f"{name:8}{early / 1024:11.1f} MB{late / 1024:11.1f} MB{verdict}", flush=True)
    return int(grown)


if __name__ == "__main__":
    sys.exit(main())
