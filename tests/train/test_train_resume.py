"""A run that was stopped and resumed is, to the last bit of every file, the run that was not."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from train_program import OPTIMIZERS, SCHEDULES, STEPS, Program, assert_same_run, new_model

from minburn.train import (
    Direction,
    Interrupter,
    KeepLastNCheckpoints,
    MetricCheckpointingStrategy,
    MetricEarlyStoppingStrategy,
    Split,
)


class StopAt:
    """Interrupts a run after the batches with these numbers; one launch per number, and one more to the end."""

    def __init__(self, program: Program, steps: list[int]) -> None:
        self.program, self.steps = program, steps

    def run(self) -> Any:
        interrupted = []
        for step in self.steps:
            self.program.interrupter = interrupter = Interrupter()
            self.program.watch = lambda number, step=step, interrupter=interrupter: (
                interrupter.stop("test") if number == step else None
            )
            result = self.program.launch()
            assert result.interrupted is not None
            interrupted.append((result.interrupted.epoch, result.interrupted.batch))
        self.program.watch = self.program.interrupter = None
        self.places = interrupted
        result = self.program.launch()
        assert result.interrupted is None
        return result


def uninterrupted(folder: Path, **settings: Any) -> tuple[Path, Any, Program]:
    program = Program(folder / "whole", model=new_model(settings.get("family", "mlp")), **settings)
    return program.run_dir, program.launch(), program


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd"])
def test_resume_at_every_step_changes_no_bit(tmp_path: Path, optimizer: str) -> None:
    """60 resumes, one after every step: a bit lost in any of them would show in all that follows."""
    whole, result, program = uninterrupted(tmp_path, optimizer=optimizer)
    broken = Program(tmp_path / "broken", model=program.model, optimizer=optimizer)
    stops = StopAt(broken, list(range(1, STEPS + 1)))
    again = stops.run()
    assert stops.places[:2] == [(1, 1), (1, 2)]
    assert stops.places[14:16] == [(1, 15), (2, 1)]
    assert again.history == result.history
    assert_same_run(broken.run_dir, whole)


QUICK = [
    ("cnn", "adam", "cosine", 1),
    ("gpt", "adamw", "noam", 1),
    ("cnn", "sgd clipped", "step", 2),
    ("gpt", "adam clipped", "exponential", 4),
    ("cnn", "groups", "groups", 1),
]
"""Model, optimizer, schedule, gradients accumulated."""
ALL = [
    *(("cnn", optimizer, "cosine", 1) for optimizer in OPTIMIZERS),
    *(("gpt", optimizer, "noam", 1) for optimizer in OPTIMIZERS),
    *(("cnn", "adamw", schedule, 1) for schedule in SCHEDULES),
    *(("gpt", "adam", schedule, 1) for schedule in SCHEDULES),
]


@pytest.mark.parametrize(
    ("family", "optimizer", "schedule", "group"),
    [*QUICK, *(pytest.param(*case, marks=pytest.mark.heavy) for case in sorted({*ALL} - {*QUICK}))],
)
def test_running_statistics_and_dropout_resume(
    tmp_path: Path, family: str, optimizer: str, schedule: str, group: int
) -> None:
    """Batch-norm's running values lag a step behind, dropout has drawn from its stream: both go on where they were."""
    settings = {
        "family": family,
        "optimizer": optimizer,
        "schedule": schedule,
        "epochs": 2,
        "options": {"grads_accumulation": group, "checkpoint_every_steps": 4},
    }
    whole, result, program = uninterrupted(tmp_path, **settings)
    broken = Program(tmp_path / "broken", model=program.model, **settings)
    again = StopAt(broken, [1, 2, 7, 15, 16, 23]).run()
    assert again.history == result.history
    assert_same_run(broken.run_dir, whole)


@pytest.mark.parametrize("step", [1, 14, 15, 16, 31, 59])
def test_resume_once_with_step_checkpoints(tmp_path: Path, step: int) -> None:
    whole, _, program = uninterrupted(tmp_path, options={"checkpoint_every_steps": 4})
    broken = Program(tmp_path / "broken", model=program.model, options={"checkpoint_every_steps": 4})
    StopAt(broken, [step]).run()
    assert_same_run(broken.run_dir, whole)


def test_resume_from_step_sets_of_one_run(tmp_path: Path) -> None:
    """The folder as it was right after each of the step checkpoints, resumed in a copy."""
    copies: list[Path] = []
    source = tmp_path / "whole"

    def copy(number: int) -> None:
        if number in (8, 17, 29):
            copies.append(tmp_path / f"copy-{number}")
            shutil.copytree(
                source, copies[-1], ignore=lambda folder, names: [name for name in names if name == ".lock"]
            )

    options = {"checkpoint_every_steps": 7}  # saved at 7, 14, 21, 28
    program = Program(source, model=new_model(), options=options, epochs=2, watch=copy)
    program.launch()
    assert len(copies) == 3
    for folder in copies:
        Program(folder, model=program.model, options=options, epochs=2).launch()
        assert_same_run(folder, source)


@pytest.mark.parametrize("group", [2, 4])
def test_accumulation_resumes_inside_a_group(tmp_path: Path, group: int) -> None:
    """15 batches: the last group of an epoch is incomplete, and its sum is applied."""
    options = {"grads_accumulation": group}
    whole, result, program = uninterrupted(tmp_path, epochs=2, options=options)
    broken = Program(tmp_path / "broken", model=program.model, epochs=2, options=options)
    again = StopAt(broken, [1, 2, 3, 7, 13, 14, 15, 17, 29]).run()
    assert again.history == result.history
    assert_same_run(broken.run_dir, whole)


def test_strategies_and_early_stopping_resume(tmp_path: Path) -> None:
    """Epochs that the strategy does not save are resumed from all the same, and the patience is remembered."""
    options = {
        "strategy": MetricCheckpointingStrategy("Loss", Direction.Highest, Split.Valid),
        "early_stopping": MetricEarlyStoppingStrategy("Loss", Direction.Highest, no_improvement_since=3),
    }
    whole, result, program = uninterrupted(tmp_path, epochs=12, options=options)
    assert len(result.history["valid"]["Loss"]) == 4  # the loss falls: epoch 1 stays the highest
    assert sorted(path.name for path in whole.rglob("set-*.json")) == ["set-1.json", "set-60.json"]
    broken = Program(tmp_path / "broken", model=program.model, epochs=12, options=options)
    again = StopAt(broken, [5, 15, 16, 31, 46]).run()
    assert again.history == result.history
    assert_same_run(broken.run_dir, whole)
    assert broken.launch().history == result.history
    assert "stopped early after epoch 4" in broken.text
    assert broken.launch(resume=1, overwrite=True).history == result.history  # by number it may be trained again


def test_stop_during_validation_resumes_before_it(tmp_path: Path) -> None:
    whole, _, program = uninterrupted(tmp_path, epochs=2)
    broken = Program(tmp_path / "broken", model=program.model, epochs=2, interrupter=Interrupter())
    backend = broken.backend()
    training = broken.training(backend)
    inner = training.options.valid_loader

    class Stopping:
        def __len__(self) -> int:
            return len(inner)

        def fingerprint(self) -> Any:
            return inner.fingerprint()  # type: ignore[attr-defined]

        def iter_epoch(self, epoch: int, start_batch: int = 0) -> Any:
            for batch in inner.iter_epoch(epoch, start_batch):
                if epoch == 2:
                    broken.interrupter.stop("test")  # type: ignore[union-attr]
                yield batch

    object.__setattr__(training.options, "valid_loader", Stopping())
    result = training.launch(broken.learner(backend))
    assert (result.interrupted.epoch, result.interrupted.batch) == (2, 15)  # type: ignore[union-attr]
    assert result.history.epochs == 1
    broken.interrupter = None
    broken.launch()
    assert_same_run(broken.run_dir, whole)


def test_a_batcher_on_another_backend_resumes_its_streams(tmp_path: Path) -> None:
    """Dropout draws from the backend of its input, which need not be the model's."""
    from minburn.backends import Autodiff, NumPy

    model = new_model()
    folders = []
    for stop in (None, 20):
        program = Program(tmp_path / f"run-{stop}", model=model, interrupter=Interrupter(), epochs=2)
        folders.append(program.run_dir)
        for number in [stop, None] if stop else [None]:
            interrupter = program.interrupter = Interrupter()
            program.watch = lambda at, number=number, interrupter=interrupter: (
                interrupter.stop() if at == number else None
            )
            learner = program.learner(program.backend())
            program.training(Autodiff(NumPy(seed=7))).launch(learner)
    assert_same_run(folders[1], folders[0])


def test_more_epochs_go_on(tmp_path: Path) -> None:
    whole, _, program = uninterrupted(tmp_path, epochs=4)
    shorter = Program(tmp_path / "short", model=program.model, epochs=2)
    shorter.launch()
    longer = Program(tmp_path / "short", model=program.model, epochs=4)
    result = longer.launch()
    assert "Going on from epoch 2, in epoch 3." in longer.text
    assert result.history.epochs == 4
    assert list(result.history["valid"]) == ["Loss", "Accuracy"]
    assert repr(result).startswith(f"LearningResult({type(result.model).__name__} of {result.model.num_params():,} ")
    first, last = (result.history["train"]["Loss"][epoch] for epoch in (0, 3))
    assert f"History(4 epochs; train Loss {first:.4g} → {last:.4g}, Accuracy " in repr(result)
    assert_same_run(longer.run_dir, whole)


def test_one_learner_can_be_launched_again(tmp_path: Path) -> None:
    """In a notebook: stopped, and the cell run again. It goes on from the checkpoint, not from what is in memory."""
    whole, result, program = uninterrupted(tmp_path, epochs=2)
    broken = Program(tmp_path / "broken", model=program.model, epochs=2, interrupter=Interrupter())
    broken.watch = lambda number: broken.interrupter.stop() if number == 20 else None  # type: ignore[union-attr]
    backend = broken.backend()
    learner, training = broken.learner(backend), broken.training(backend)
    assert training.launch(learner).interrupted is not None
    broken.interrupter.reset()  # type: ignore[union-attr]
    broken.watch = None
    assert broken.training(backend).launch(learner).history == result.history
    assert_same_run(broken.run_dir, whole)


def test_a_finished_run_returns_model_and_history(tmp_path: Path) -> None:
    whole, result, _ = uninterrupted(tmp_path, epochs=2)
    before = {path: path.stat().st_mtime_ns for path in whole.rglob("*.*") if path.name != ".lock"}
    again = Program(whole, epochs=2)  # another model: its parameters get the saved values and ids
    found = again.launch()
    assert "is finished (2 epochs)" in again.text
    assert found.history == result.history
    assert found.interrupted is None
    assert found.model.into_record().into_bytes() == result.model.into_record().into_bytes()
    assert {path: path.stat().st_mtime_ns for path in whole.rglob("*.*") if path.name != ".lock"} == before


def test_resume_from_what_burn_leaves(tmp_path: Path) -> None:
    """Burn's three files and its logs, none of ours: model, optimizer, schedule and history go on after that epoch."""
    options = {"strategy": KeepLastNCheckpoints(9)}
    whole, result, program = uninterrupted(tmp_path, epochs=3, options=options)
    run = shutil.copytree(whole, tmp_path / "burn")
    for path in [*run.rglob("set-*.json"), *run.rglob("state-*.bpk"), *run.rglob("[mos][opc]*-3.bpk")]:
        path.unlink()
    again = Program(run, model=program.model, epochs=3, options=options)
    found = again.launch(resume=2)
    assert "The checkpoint is Burn's: random streams and early stopping start from the beginning." in again.text
    for split, metrics in result.history.items():
        for name, column in metrics.items():
            assert found.history[split][name][:2] == column[:2]
            assert len(found.history[split][name]) == 3
    assert found.history["train"]["Learning Rate"] == result.history["train"]["Learning Rate"]
    assert [path.name for path in run.rglob("set-*.json")] == ["set-3.json"]


def test_resume_by_epoch_rewinds(tmp_path: Path) -> None:
    options = {"strategy": KeepLastNCheckpoints(9)}
    whole, result, program = uninterrupted(tmp_path, epochs=4, options=options)
    back = Program(tmp_path / "back", model=program.model, epochs=4, options={"strategy": KeepLastNCheckpoints(9)})
    back.launch()
    again = back.launch(resume=2, overwrite=True, strategy=KeepLastNCheckpoints(9))
    assert again.history == result.history
    assert_same_run(back.run_dir, whole)
