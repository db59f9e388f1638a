"""Does minburn compute right on this machine, and how fast?

    minburn selftest                       on NumPy, some seconds
    minburn selftest --backend cupy        on the first CUDA device
    minburn selftest --quick               with small models, and without step times
    minburn selftest --json result.json    the whole result for programs

Ops are compared with NumPy in float64, gradients with differences of the functions, three small trainings with
themselves: run twice, and stopped, saved and resumed; on CUDA also with recorded steps. Steps are timed, beside
PyTorch's if it is installed. The exit status is 1 if something deviates.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minburn.cli.error import CommandError

if TYPE_CHECKING:
    from minburn.backends import Backend
    from minburn.cli.selftest.ops import Outcome
    from minburn.cli.selftest.speed import Timing

HELP = "does it compute right on this machine, and how fast?"
BACKENDS = ("numpy", "cupy")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--backend", choices=BACKENDS, default="numpy", help="default: numpy")
    parser.add_argument("--device", type=int, metavar="N", help="of cupy: which GPU (default 0)")
    parser.add_argument("--quick", action="store_true", help="train small models, and do not time steps")
    parser.add_argument("--json", metavar="FILE", help="write the result to a file, too")


def run(args: argparse.Namespace) -> int:
    from minburn.cli.selftest import gradients, ops, speed, training
    from minburn.cli.selftest.models import QUICK, WORKLOADS

    backend = make_backend(args.backend, args.device)
    result: dict[str, Any] = {"backend": backend.name, "device": str(backend.device), "parts": {}}
    print(f"{backend.name} on {backend.device}")
    good = True
    parts: dict[str, Callable[[], list[Outcome]]] = {
        "ops": lambda: ops.check(backend),
        "gradients": lambda: gradients.check(backend),
        "training": lambda: training.check(backend, QUICK if args.quick else WORKLOADS),
    }
    for name, check in parts.items():
        if sys.stdout.isatty():
            print(f"{name:10} …", end="\r", flush=True)  # the line that comes next is longer
        start = time.perf_counter()
        outcomes = check()
        seconds = time.perf_counter() - start
        good &= all(outcome.ok for outcome in outcomes)
        print_part(name, outcomes, seconds)
        result["parts"][name] = {"seconds": seconds, "outcomes": [as_json(outcome) for outcome in outcomes]}
    timings = [] if args.quick else speed.measure(backend)
    print_timings(timings)
    counts = [None if timing.counts is None else timing.counts._asdict() for timing in timings]
    result["steps"] = [{**t._asdict(), "counts": found} for t, found in zip(timings, counts, strict=True)]
    result["ok"] = good
    if args.json is not None:
        write_json(Path(args.json), result)
    print("all is as it should be" if good else "SOMETHING DEVIATES: see above")
    return 0 if good else 1


def make_backend(name: str, device: int | None) -> Backend:
    """The backend, or why there is none."""
    import minburn.backends

    if name == "numpy":
        if device is not None:
            raise CommandError(f"--device {device} asks for a GPU, which --backend cupy would use.", status=2)
        return minburn.backends.NumPy(seed=7)
    make: Any = getattr(minburn.backends, "CuPy", None)
    if make is None:
        raise CommandError("this version of minburn has no CuPy backend.", status=1)
    try:
        return make(device=device or 0, seed=7)  # type: ignore[no-any-return]
    except minburn.backends.BackendError as error:
        raise CommandError(str(error), status=1) from error


def print_part(name: str, outcomes: list[Outcome], seconds: float) -> None:
    wrong = [outcome for outcome in outcomes if not outcome.ok]
    worst = max(outcomes, key=lambda outcome: outcome.error if math.isfinite(outcome.error) else 0.0)
    verdict = f"{len(wrong)} WRONG" if wrong else "all right"
    print(f"{name:10} {len(outcomes):4} checked in {seconds:4.1f} s: {verdict}", end="")
    print(f"; nearest to its bound {worst.name} ({worst.error:.2f} of it)" if 0 < worst.error <= 1 else "")
    for outcome in wrong:
        print(f"    {outcome.name}: {outcome.why or f'{outcome.error:.3g} times what is tolerated'}")


def print_timings(timings: list[Timing]) -> None:
    for timing in timings:
        alone = "" if timing.one_thread_ms is None else f" ({timing.one_thread_ms:.2f} ms with one BLAS thread)"
        beside = alone + ("" if timing.torch_ms is None else f", PyTorch {timing.torch_ms:.2f} ms")
        host = "" if timing.host_ms is None else f", handed over in {timing.host_ms:.2f} ms"
        counts = "" if timing.counts is None else f", {timing.counts}"
        print(f"step {timing.name:5} {timing.ms:9.2f} ms{beside}{host}{counts}")
    if any(timing.one_thread_ms is not None and timing.one_thread_ms < 0.7 * timing.ms for timing in timings):
        print("    BLAS is faster here on one thread: set OPENBLAS_NUM_THREADS=1, or leave it more of the CPU.")


def as_json(outcome: Outcome) -> dict[str, Any]:
    error = outcome.error if math.isfinite(outcome.error) else None
    return {"name": outcome.name, "ok": outcome.ok, "error": error, "why": outcome.why}


def write_json(path: Path, result: dict[str, Any]) -> None:
    try:
        path.write_text(json.dumps(result, indent=1), encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or error}.", status=1) from error
