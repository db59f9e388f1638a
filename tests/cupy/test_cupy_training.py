"""Training on CUDA: the same losses as on NumPy, no wait in a step, few launches, and runs that move and resume."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from device import EMULATED, counted
from models import TASKS, Task, Trainer, gpt

from minburn import ModuleRecord
from minburn.backends import Autodiff, CuPy, NumPy
from minburn.optim import OptimizerRecord
from minburn.train.loop import DISPLAY_INTERVAL, TrainingLoop

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "train"))
from cuda_program import CudaProgram  # noqa: E402 - needs tests/train
from train_program import assert_same_run, parameters  # noqa: E402

emulated = pytest.mark.skipif(not EMULATED, reason="counts are known on the emulated device only")
tasks = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)


def here(seed: int = 3) -> Autodiff:
    return Autodiff(CuPy(seed=seed))


def there(seed: int = 3) -> Autodiff:
    return Autodiff(NumPy(seed=seed))


def weights(trainer: Trainer) -> list[Any]:
    return [parameter.value.inner().numpy() for parameter in parameters(trainer.model)]


@tasks
def test_losses_are_those_of_numpy(task: Task) -> None:
    np.testing.assert_allclose(Trainer(task, here()).run(range(4)), Trainer(task, there()).run(range(4)), rtol=1e-4)


@tasks
def test_two_runs_have_the_same_bits(task: Task) -> None:
    first, second = Trainer(task, here()), Trainer(task, here())
    assert first.run(range(3)) == second.run(range(3))
    for one, two in zip(weights(first), weights(second), strict=True):
        np.testing.assert_array_equal(one, two)


GPT_LAUNCHES = 200
LAUNCHES = {"mlp": 25, "cnn": 60, "gpt": 120}


@emulated
@tasks
def test_a_step_neither_waits_nor_copies_to_the_host(task: Task) -> None:
    trainer = Trainer(task, here())
    trainer.run(range(2))
    with counted() as uploads:
        batch = trainer.batch(2)
    assert (uploads.to_device, uploads.pageable, uploads.syncs) == (2, 0, 0)
    with counted() as counts:
        trainer.step(*batch)
    assert (counts.syncs, counts.to_host, counts.pageable) == (0, 0, 0)
    assert counts.launches <= LAUNCHES[task.name]


@emulated
def test_launches_of_a_gpt_of_four_layers() -> None:
    [small] = [task for task in TASKS if task.name == "gpt"]
    trainer = Trainer(Task("gpt", lambda backend: gpt(backend, layers=4), small.batch), here())
    fewest = 10**6
    for step in range(24):  # until the addresses of heads have all been met: a new one costs a launch
        batch = trainer.batch(step)
        with counted() as counts:
            trainer.step(*batch)
        fewest = min(fewest, counts.launches)
    assert fewest <= GPT_LAUNCHES


def save(trainer: Trainer, folder: Path) -> dict[str, int]:
    for norm in (getattr(trainer.model, name, None) for name in ("norm1", "norm2")):
        if norm is not None:  # the statistics of the last batch are pending
            norm.running_mean.value_sync()
            norm.running_var.value_sync()
    trainer.model.into_record().save(folder / "model")
    trainer.optimizer.into_record().save(folder / "optim")
    return trainer.backend.streams.state()


def resumed(task: Task, backend: Autodiff, folder: Path, streams: dict[str, int]) -> Trainer:
    trainer = Trainer(task, backend)
    trainer.model = trainer.model.load_record(ModuleRecord.load(folder / "model"))
    trainer.optimizer = trainer.optimizer.load_record(OptimizerRecord.load(folder / "optim"))
    backend.streams.load_state(streams)
    return trainer


@tasks
@pytest.mark.parametrize(
    ("start", "end"), [(here, there), (there, here), (here, here)], ids=["to cpu", "to gpu", "stay"]
)
def test_a_run_goes_on_on_another_device(task: Task, start: Any, end: Any, tmp_path: Path) -> None:
    trainer = Trainer(task, start())
    trainer.run(range(3))
    streams = save(trainer, tmp_path)
    again = resumed(task, end(), tmp_path, streams)
    expected, got = trainer.run(range(3, 6)), again.run(range(3, 6))
    if start is end:
        assert got == expected
        for one, two in zip(weights(trainer), weights(again), strict=True):
            np.testing.assert_array_equal(one, two)
    else:
        np.testing.assert_allclose(got, expected, rtol=1e-4)


@tasks
def test_a_file_does_not_tell_where_it_was_written(task: Task, tmp_path: Path) -> None:
    for name, backend in (("gpu", here()), ("cpu", there())):
        Trainer(task, backend).model.into_record().save(tmp_path / name)
    ours, theirs = (ModuleRecord.load(tmp_path / name) for name in ("gpu", "cpu"))
    for one, two in zip(ours, theirs, strict=True):
        assert (one.path, one.data.dtype, one.data.shape) == (two.path, two.data.dtype, two.data.shape)


@pytest.mark.parametrize("family", ["mlp", "cnn"])
def test_a_killed_run_ends_in_the_files_of_one_that_was_not(family: str, tmp_path: Path) -> None:
    def start(folder: Path) -> subprocess.Popen[bytes]:
        """A process of its own each: ids of parameters count within a process."""
        return subprocess.Popen([sys.executable, str(HERE / "cuda_program.py"), str(folder), family])

    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert start(whole).wait(timeout=300) == 0
    worker = start(broken)
    checkpoints = broken / "checkpoint" / "steps"
    deadline = time.monotonic() + 120
    while worker.poll() is None and time.monotonic() < deadline and not list(checkpoints.glob("set-*.json")):
        time.sleep(0.01)
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    assert start(broken).wait(timeout=300) == 0
    assert_same_run(broken, whole)


@emulated
def test_a_training_loop_hardly_waits(tmp_path: Path) -> None:
    import emulator

    waits: list[int] = []
    began: list[float] = []
    program = CudaProgram(tmp_path / "run", family="mlp", epochs=1)

    def watch(number: int) -> None:
        waits.append(emulator.counters()["syncs"])
        began.append(time.monotonic())

    program.watch = watch
    program.launch()
    assert len(waits) == 15
    displays = (began[-1] - began[3]) / DISPLAY_INTERVAL
    assert waits[-1] - waits[3] <= 2 * displays + 2  # the first steps make the parameters


@emulated
def test_the_next_batch_is_made_while_the_device_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if what is displayed must be waited for: at every batch there is work that nobody has waited for yet."""
    import emulator

    launches_at_last_wait, working = [0], []
    display = TrainingLoop._display

    def wait(self: Any, *args: Any) -> None:
        display(self, *args)
        launches_at_last_wait[0] = emulator.counters()["launches"]

    monkeypatch.setattr(TrainingLoop, "_display", wait)
    monkeypatch.setattr("minburn.train.loop.DISPLAY_INTERVAL", 0.0)
    program = CudaProgram(tmp_path / "run", family="mlp", epochs=1)
    program.watch = lambda number: working.append(emulator.counters()["launches"] > launches_at_last_wait[0])
    program.launch()
    assert len(working) == 15 and all(working[1:]) and launches_at_last_wait[0] > 0
