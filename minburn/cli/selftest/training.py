"""A short training: does it learn, is it the same twice, does it go on from files as if nothing had happened?"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from minburn.backends import Autodiff, Backend, NumPy
from minburn.cli.selftest.models import Training, Workload
from minburn.cli.selftest.ops import Outcome, with_seed
from minburn.cli.selftest.replays import replays
from minburn.module import ModuleRecord
from minburn.optim import AdamConfig, OptimizerRecord

STEPS = 6
LEARNING = 40


def check(backend: Backend, workloads: Mapping[str, Workload]) -> list[Outcome]:
    checks: list[tuple[str, Callable[[Workload, Backend], str]]] = [
        ("learns", learns),
        ("same twice", same_twice),
        ("save and resume", resumes),
        ("files move to NumPy", moves),
        *([("recorded steps", replays)] if hasattr(backend, "recorder") else []),
    ]
    return [
        outcome(f"{name}: {what}", lambda work=work, function=function: function(work, backend))  # type: ignore[misc]
        for name, work in workloads.items()
        for what, function in checks
    ]


def outcome(name: str, function: Callable[[], str]) -> Outcome:
    """The function returns what is wrong, or nothing."""
    try:
        why = function()
    except Exception as error:  # whatever happens on this machine is the result
        why = f"{type(error).__name__}: {error}".splitlines()[0]
    return Outcome(name, math.inf if why else 0.0, why)


def trained(work: Workload, backend: Backend, steps: int) -> Training:
    training = Training(work, Autodiff(with_seed(backend)))
    for _ in range(steps):
        training.step()
    return training


def bytes_of(training: Training) -> tuple[bytes, bytes]:
    return training.model.into_record().into_bytes(), training.optim.into_record().into_bytes()


def learns(work: Workload, backend: Backend) -> str:
    training = Training(work, Autodiff(with_seed(backend)))
    losses = [training.step() for _ in range(LEARNING)]
    first, last = float(losses[0].item()), float(losses[-1].item())
    return "" if last < 0.8 * first else f"the loss went from {first:.4g} to {last:.4g} in {LEARNING} steps"


def same_twice(work: Workload, backend: Backend) -> str:
    runs = []
    for _ in range(2):
        training = trained(work, backend, STEPS)
        runs.append([entry.data.numpy().tobytes() for entry in training.model.into_record()])
    return "" if runs[0] == runs[1] else "two runs with one seed differ"


def resumes(work: Workload, backend: Backend) -> str:
    """Half of the steps, files, the other half: the same bytes as in one go."""
    whole = trained(work, backend, STEPS)
    with tempfile.TemporaryDirectory() as folder:
        save(whole, Path(folder))
        resumed = load(work, backend, Path(folder))
        for training in (whole, resumed):
            for _ in range(STEPS):
                training.step()
        return "" if bytes_of(whole) == bytes_of(resumed) else "the resumed run ends elsewhere"


def save(training: Training, folder: Path) -> None:
    training.model.into_record().save(folder / "model")
    training.optim.into_record().save(folder / "optim")


def load(work: Workload, backend: Backend, folder: Path) -> Training:
    training = Training(work, Autodiff(with_seed(backend, 8)))
    training.model = training.model.load_record(ModuleRecord.load(folder / "model.bpk"))
    training.optim = AdamConfig().init().load_record(OptimizerRecord.load(folder / "optim.bpk"))
    return training


def moves(work: Workload, backend: Backend) -> str:
    """Trained here, loaded by NumPy: the same values."""
    here = trained(work, backend, 2).model.into_record()
    there = work.make(NumPy(seed=9)).load_record(ModuleRecord.from_bytes(here.into_bytes())).into_record()
    same = [a.data.numpy().tobytes() == b.data.numpy().tobytes() for a, b in zip(here, there, strict=True)]
    return "" if all(same) else "the values changed on the way"
