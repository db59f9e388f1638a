"""What a launch refuses or stops with: one clear error, and the checkpoints as they were."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from train_program import Program, assert_same_run, files_of, new_model

from minburn.backends import Autodiff, NumPy
from minburn.data import DataLoader, InMemDataset
from minburn.module import Module
from minburn.nn import LinearConfig
from minburn.optim import AdamConfig
from minburn.train import (
    AccuracyMetric,
    CheckpointError,
    ComposedCheckpointingStrategy,
    Interrupter,
    KeepLastNCheckpoints,
    Learner,
    LearningRateMetric,
    LockError,
    LossMetric,
    MetricCheckpointingStrategy,
    MetricEarlyStoppingStrategy,
    SupervisedTraining,
    TrainingError,
    TrainingWarning,
    TrainOutput,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "train"
ROOT = Path(__file__).parents[2]
LOADER: DataLoader[Any] = DataLoader(InMemDataset([1, 2, 3]), lambda items: items)
BEST = ComposedCheckpointingStrategy([KeepLastNCheckpoints(2), MetricCheckpointingStrategy("Loss", "lowest", "valid")])


# Arguments


def watch(metric: str) -> MetricEarlyStoppingStrategy:
    return MetricEarlyStoppingStrategy(metric, no_improvement_since=3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_epochs": 0}, "num_epochs must be an int of at least 1, but got 0"),
        ({"run_dir": 3}, "run_dir must be a path, but got int 3"),
        ({"metrics": LossMetric()}, r"metrics must be a list of metrics, but got LossMetric LossMetric\(\)"),
        ({"num_epochs": 2.0}, "num_epochs must be an int of at least 1, but got 2.0"),
        ({"grads_accumulation": 0}, "grads_accumulation must be an int of at least 1, but got 0"),
        ({"checkpoint_every_steps": -1}, "checkpoint_every_steps must be an int of at least 1"),
        ({"resume": "latest"}, "resume, if it is not \"auto\" or None, must be an int of at least 1, but got 'latest'"),
        ({"resume": 0}, "must be an int of at least 1, but got 0"),
        ({"resume": "auto", "checkpoints": False}, "resume needs checkpoints, but checkpoints=False"),
        ({"metrics": [LossMetric]}, r"metrics must be Metric objects, .* Did you mean LossMetric\(\)\?"),
        ({"metrics": [LossMetric(), LossMetric()]}, "two metrics are called 'Loss'"),
        ({"strategy": "last"}, "strategy must be of type CheckpointingStrategy, but got str 'last'"),
        ({"early_stopping": 3}, "early_stopping must be of type EarlyStoppingStrategy, but got int 3"),
        (
            {"metrics": [AccuracyMetric(), LossMetric()], "early_stopping": watch("loss")},
            r"early_stopping watches 'loss' of the valid split, which has 'Accuracy', 'Loss'\. Use one of these names",
        ),
        ({"early_stopping": watch("Loss")}, "watches 'Loss' of the valid split, which has no metrics"),
        ({"metrics": [LearningRateMetric()], "early_stopping": watch("Learning Rate")}, "which has no metrics"),
        (
            {"metrics": [AccuracyMetric()], "early_stopping": watch("Accuracy")},
            r"lowest Accuracy, of which more is better\. Say MetricEarlyStoppingStrategy\('Accuracy', \"highest\"",
        ),
        ({"metrics": [AccuracyMetric()], "strategy": BEST}, "strategy watches 'Loss' of the valid split"),
        ({"renderer": print}, "renderer must be of type Renderer"),
        ({"train_loader": [1, 2]}, r"train_loader must be a DataLoader, .* but got list \[1, 2\]"),
        ({"valid_loader": DataLoader(InMemDataset([]), lambda items: items)}, "valid_loader is empty"),
    ],
)
def test_bad_arguments(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    settings = {"run_dir": tmp_path / "run", "train_loader": LOADER, "valid_loader": LOADER, **options}
    with pytest.raises(TrainingError, match=message):
        SupervisedTraining(**settings)
    assert not (tmp_path / "run").exists()


def test_bad_learners(tmp_path: Path) -> None:
    class NoSteps(Module):
        layer: Any

    class Steps(NoSteps):
        def train_step(self, batch: Any) -> Any:
            return 3

        def inference_step(self, batch: Any) -> Any:
            return 3

    def build(cls: type, backend: Any) -> Any:
        return cls(layer=LinearConfig(2, 2).init(backend))

    recording = Autodiff(NumPy(seed=1))
    optim = AdamConfig().init()
    with pytest.raises(TrainingError, match="NoSteps has no train_step"):
        Learner(build(NoSteps, recording), optim, 0.1)
    with pytest.raises(TrainingError, match="model must be a Module, but got int"):
        Learner(3, optim, 0.1)  # type: ignore[type-var]
    with pytest.raises(TrainingError, match=r"optim must be an optimizer for modules, but got AdamConfig.*\.init\(\)"):
        Learner(build(Steps, recording), AdamConfig(), 0.1)  # type: ignore[arg-type]
    with pytest.raises(TrainingError, match="lr_scheduler must be a schedule or a number, but got str"):
        Learner(build(Steps, recording), optim, "0.1")  # type: ignore[arg-type]
    with pytest.raises(TrainingError, match=r"was built on NumPy\(.*so no gradient can reach it"):
        Learner(build(Steps, NumPy(seed=1)), optim, 0.1)
    with pytest.raises(TrainingError, match="has no parameter to train"):
        Learner(build(Steps, recording).freeze(), optim, 0.1)
    training = SupervisedTraining(tmp_path / "run", LOADER, LOADER)
    with pytest.raises(TrainingError, match="expected a Learner, but got"):
        training.launch(build(Steps, recording))
    assert not (tmp_path / "run").exists()
    with pytest.raises(TrainingError, match=r"Steps\.train_step must return a TrainOutput, but returned int"):
        training.launch(Learner(build(Steps, recording), optim, 0.1))
    with pytest.raises(TrainingError, match=r"expected the Gradients that loss\.backward\(\) returns, but got None"):
        TrainOutput(build(Steps, recording), None, 3)  # type: ignore[arg-type]


# Which checkpoint to go on from


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two epochs, each with its checkpoint."""
    folder = tmp_path_factory.mktemp("trained") / "run"
    Program(folder, epochs=2).launch()
    return folder


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"family": "narrow mlp"}, r"parameter hidden\.weight: \[64, 16\] in the checkpoint, \[64, 8\] now"),
        ({"optimizer": "adamw"}, r"optimizer\.class: Adam in the checkpoint, AdamW now"),
        ({"lr": 0.02}, r"schedule\.max_lr: 0\.01 in the checkpoint, 0\.02 now"),
        ({"items": 224}, r"train data\.items: 240 in the checkpoint, 224 now"),
        ({"batch_size": 8}, r"train data\.batch_size: 16 in the checkpoint, 8 now"),
        ({"data_seed": 2}, r"train data\.seed: 1 in the checkpoint, 2 now"),
        ({"seed": 43}, "seed: 42 in the checkpoint, 43 now"),
        ({"options": {"grads_accumulation": 2}}, "grads_accumulation: 1 in the checkpoint, 2 now"),
        ({"options": {"metrics": [AccuracyMetric()]}}, "metrics: "),
    ],
)
def test_auto_refuses_another_run_and_names_what_changed(
    trained: Path, tmp_path: Path, changes: dict[str, Any], named: str
) -> None:
    run = shutil.copytree(trained, tmp_path / "run")
    with pytest.raises(TrainingError, match=f"epoch 2 is of another run: .*{named}"):
        Program(run, epochs=3, **changes).launch()
    assert_same_run(run, trained)
    if "lr" in changes:  # by number it goes on all the same
        result = Program(run, epochs=3, **changes).launch(resume=2)
        assert result.history.epochs == 3


def test_a_changed_dropout_is_a_changed_model(trained: Path, tmp_path: Path) -> None:
    from minburn.demo import MlpConfig

    run = shutil.copytree(trained, tmp_path / "run")
    model = MlpConfig(hidden=16, dropout=0.5).init(Autodiff(NumPy(seed=42)))
    with pytest.raises(
        TrainingError, match=r"model\.dropout: Dropout \{prob: 0\.3\} in the checkpoint, Dropout \{prob:"
    ):
        Program(run, model=model).launch()


def test_a_used_folder_is_not_overwritten_by_accident(trained: Path, tmp_path: Path) -> None:
    run = shutil.copytree(trained, tmp_path / "run")
    with pytest.raises(TrainingError, match=r'has checkpoints already \(epoch 1, epoch 2\)\. Use resume="auto"'):
        Program(run, epochs=2).launch(resume=None)
    with pytest.raises(TrainingError, match=r"going back to epoch 1 would leave later checkpoints .*\(epoch 2\)"):
        Program(run, epochs=2).launch(resume=1)
    assert_same_run(run, trained)
    Program(run, epochs=1).launch(resume=None, overwrite=True)
    assert not [name for name in files_of(run) if "epoch-2" in name or name.endswith("-2.bpk")]


def test_resume_of_an_epoch_that_is_not_there(trained: Path, tmp_path: Path) -> None:
    run = shutil.copytree(trained, tmp_path / "run")
    with pytest.raises(CheckpointError, match=r"there is no checkpoint of epoch 7\. There are: epoch 1, epoch 2"):
        Program(run).launch(resume=7)


def test_auto_falls_back_over_damage_and_stops_when_all_is_damaged(trained: Path, tmp_path: Path) -> None:
    run = shutil.copytree(trained, tmp_path / "run")
    damage(run / "checkpoint/optim-2.bpk")
    program = Program(run, epochs=2)
    with pytest.warns(UserWarning, match=r"optim-2\.bpk"):
        program.launch()
    assert "Going on from epoch 1, in epoch 2." in program.text
    for epoch in (1, 2):
        damage(run / f"checkpoint/model-{epoch}.bpk")
    before = files_of(run)
    with (
        pytest.warns(UserWarning, match="model-"),
        pytest.raises(TrainingError, match=r"none of its checkpoints is whole \(epoch 1,"),
    ):
        program.launch()
    assert files_of(run) == before


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def test_auto_does_not_guess_about_burns_folders(tmp_path: Path) -> None:
    run = shutil.copytree(GOLDEN / "burn-learner", tmp_path / "run")
    with pytest.raises(TrainingError, match=r"written by Burn \(epoch 1, epoch 3, epoch 4\).*Use resume=4"):
        Program(run).launch()


def test_elsewhere_is_said(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from minburn.train import resume

    run = shutil.copytree(trained, tmp_path / "run")
    here = resume.environment()
    monkeypatch.setattr(resume, "environment", lambda: {**here, "numpy": "1.0"})
    with pytest.warns(TrainingWarning, match="the last bits of its numbers may differ"):
        Program(run, epochs=3).launch()


def test_two_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    inner: list[BaseException] = []

    def watch(number: int) -> None:
        if number == 3:
            with pytest.raises(LockError, match="another run is using this folder") as caught:
                Program(tmp_path / "run").launch()
            inner.append(caught.value)

    Program(tmp_path / "run", epochs=1, watch=watch).launch()
    assert len(inner) == 1
    Program(tmp_path / "run", epochs=1).launch()  # free again


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("mine")
    with pytest.raises(LockError, match="cannot be used for a run"):
        Program(tmp_path / "run").launch()
    assert (tmp_path / "run").read_text() == "mine"


# What goes wrong on the way


def test_nan_stops_with_the_step_and_writes_nothing(tmp_path: Path) -> None:
    run = tmp_path / "run"

    def poison(number: int) -> None:
        if number == 20:
            raise_nan.append(number)

    raise_nan: list[int] = []
    model = new_model()

    class Broken(type(model)):  # type: ignore[misc]
        def classify(self, batch: Any) -> Any:
            item = super().classify(batch)
            if not raise_nan:
                return item
            return type(item)(item.loss * float("nan"), item.output, item.targets)

    fields = {name: getattr(model, name) for name in ("hidden", "output", "activation", "dropout")}
    program = Program(run, model=Broken(**fields), watch=poison, options={"checkpoint_every_steps": 4})
    with pytest.raises(TrainingError) as caught:
        program.launch()
    message = str(caught.value)
    assert message.startswith("the loss is NaN at batch 5 of epoch 2 (step 20). The last good checkpoint is step 16: ")
    assert "smaller learning rate" in message
    sets = sorted(path.name for path in run.rglob("set-*.json"))
    assert sets == ["set-1.json", "set-16.json"]
    raise_nan.clear()
    program.watch = None
    program.launch()  # and it goes on from there
    clean = Program(tmp_path / "clean", model=program.model, options={"checkpoint_every_steps": 4})
    clean.launch()
    assert_same_run(run, clean.run_dir)


def test_a_nan_in_the_model_is_not_saved(tmp_path: Path) -> None:
    """The step that makes the parameters NaN has a finite loss: it shows at the save."""
    model = new_model()

    class Broken(type(model)):  # type: ignore[misc]
        def optimize(self, optim: Any, lr: float, grads: Any) -> Any:
            stepped = optim.step(lr, self, grads)
            weight = stepped.output.weight
            return stepped.replace(
                output=stepped.output.replace(weight=weight.map(lambda tensor: tensor * float("nan")))
            )

    fields = {name: getattr(model, name) for name in ("hidden", "output", "activation", "dropout")}
    program = Program(tmp_path / "run", model=Broken(**fields), options={"checkpoint_every_steps": 1})
    with pytest.raises(TrainingError, match=r"NaN in output\.weight, so no checkpoint was written\. There is no check"):
        program.launch()
    assert not list((tmp_path / "run").rglob("*.bpk"))


def test_a_full_disk_leaves_the_old_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from minburn.pack import atomic

    run = tmp_path / "run"
    program = Program(run, epochs=2, model=new_model())
    original = os.write

    def write(descriptor: int, data: bytes) -> int:
        if (run / "checkpoint/set-1.json").exists():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return original(descriptor, data)

    with monkeypatch.context() as patch:
        patch.setattr(atomic.os, "write", write)
        with pytest.raises((CheckpointError, TrainingError), match="No space left on device"):
            program.launch()
    assert [path.name for path in run.rglob("set-*.json")] == ["set-1.json"]
    program.launch()
    whole = Program(tmp_path / "whole", epochs=2, model=program.model)
    whole.launch()
    assert_same_run(run, whole.run_dir)


def test_errors_of_the_data_pass_with_a_note(tmp_path: Path) -> None:
    class Unreadable(Exception):
        pass

    def watch(number: int) -> None:
        if number == 18:
            raise Unreadable("item 3")

    program = Program(tmp_path / "run", watch=watch)
    with pytest.raises(Unreadable, match="item 3") as caught:
        program.launch()
    (note,) = caught.value.__notes__
    assert note.startswith("In the training of epoch 2, after 2 trained batches. The last checkpoint is as it was: ")
    program.watch = None
    assert program.launch().history.epochs == 4


def test_a_loader_that_ends_early_is_named(tmp_path: Path) -> None:
    class Short:
        def __len__(self) -> int:
            return 5

        def iter_epoch(self, epoch: int, start_batch: int = 0) -> Any:
            return iter(())

    program = Program(tmp_path / "run")
    backend = program.backend()
    training = program.training(backend)
    object.__setattr__(training.options, "train_loader", Short())
    with pytest.raises(TrainingError, match=r"ended after 0 batches, but its len\(\) is 5"):
        training.launch(program.learner(backend))


# Stopping


def test_an_interrupter_stops_and_the_message_says_how_to_go_on(tmp_path: Path) -> None:
    interrupter = Interrupter()
    program = Program(
        tmp_path / "run", interrupter=interrupter, watch=lambda n: interrupter.stop("enough") if n == 18 else None
    )
    interruption = program.launch().interrupted
    assert (interruption.epoch, interruption.batch, interruption.reason) == (2, 3, "enough")
    assert interruption.checkpoint == tmp_path / "run/checkpoint/steps/model-18.bpk"
    assert interruption.message == (
        f"Interrupted (enough) in epoch 2 after batch 3 of 15. The checkpoint is {interruption.checkpoint}. "
        'Launch it again with resume="auto" to go on from there.'
    )
    assert interruption.message in program.text


def test_a_stop_before_anything_is_trained(tmp_path: Path) -> None:
    interrupter = Interrupter()
    interrupter.stop()
    result = Program(tmp_path / "run", interrupter=interrupter).launch()
    assert result.interrupted.message.endswith("There is no checkpoint: nothing was trained yet.")
    assert not (tmp_path / "run/checkpoint").exists()


@pytest.mark.parametrize(("number", "again"), [(signal.SIGINT, False), (signal.SIGTERM, False), (signal.SIGINT, True)])
def test_signals(tmp_path: Path, number: int, again: bool) -> None:
    """The first finishes the batch and saves; a second Ctrl-C stops at once."""
    worker = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("signal_worker.py")), str(tmp_path / "run"), str(int(again))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert worker.stdout is not None
    assert worker.stdout.readline() == "in batch 20\n"
    worker.send_signal(number)
    if again:
        time.sleep(0.2)
        worker.send_signal(number)
    output, errors = worker.communicate(timeout=30)
    name = signal.Signals(number).name
    assert f"{name}: finishing this batch and writing a checkpoint." in errors
    if again:
        assert worker.returncode == -signal.SIGINT
        assert "KeyboardInterrupt" in errors
        assert [path.name for path in (tmp_path / "run").rglob("set-*.json")] == ["set-1.json"]
    else:
        assert worker.returncode == 130
        assert f"Interrupted ({name}) in epoch 2 after batch 5 of 15." in output
        assert "handlers are back: True" in output
        assert (tmp_path / "run/checkpoint/steps/set-20.json").exists()
    assert (tmp_path / "run/.lock").exists()
    Program(tmp_path / "run", epochs=2, options={"strategy": KeepLastNCheckpoints(2)}).launch()


def test_another_thread_can_launch(tmp_path: Path) -> None:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(Program(tmp_path / "run", epochs=1).launch()))
    thread.start()
    thread.join()
    assert results[0].history.epochs == 1
