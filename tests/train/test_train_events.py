"""One launch: the order of events, logs in Burn's layout, what is shown, and that it learns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from train_program import Program, files_of, new_model

from minburn.demo import Mlp
from minburn.optim import GradientsParams, OptimizerAdaptor
from minburn.train import (
    History,
    LiveRenderer,
    PlainRenderer,
    RegressionOutput,
    Renderer,
    TrainOutput,
)
from minburn.train.history import Split
from minburn.train.log import MetricLog, final_value
from minburn.train.render import Progress, default_renderer

GOLDEN_LOGS = Path(__file__).parents[1] / "golden" / "train-logs"


def test_it_learns_and_says_so(tmp_path: Path) -> None:
    program = Program(tmp_path / "run", epochs=8, options={"summary": True, "label": "digits"})
    result = program.launch()
    accuracy = result.history["valid"]["Accuracy"]
    assert len(accuracy) == 8
    assert accuracy[-1] > 70
    assert not result.model.hidden.weight.backend.is_autodiff
    lines = program.text.splitlines()
    assert lines[0] == f"Starting digits for 8 epochs in {tmp_path / 'run'}."
    assert re.fullmatch(
        r"epoch 1/8   train Loss \d\.\d+, Accuracy \d+(\.\d+)?, Learning Rate 0\.0\d+   valid Loss .*", lines[1]
    )
    table = "\n".join(lines[9:])
    assert "= Learner Summary =" in table
    assert "Total Epochs: 8" in table
    assert re.search(r"\| Valid +\| Accuracy +\| \d+\.\d{3} +\| 1 +\| \d+\.\d{3} +\| [4-8] ", table)


def test_logs_have_burns_layout_and_lines(tmp_path: Path) -> None:
    run = tmp_path / "run"
    Program(run, epochs=4).launch()
    ours = {name for name in files_of(run) if name.endswith(".log")}
    assert ours == {path.relative_to(GOLDEN_LOGS).as_posix() for path in GOLDEN_LOGS.rglob("*.log")}
    line = re.compile(r"-?\d+(\.\d+)?,\d+\n")
    for name in ours:
        for content in (files_of(run)[name].decode(), (GOLDEN_LOGS / name).read_text()):
            *batches, last = content.splitlines(keepends=True)
            assert all(line.fullmatch(batch) for batch in batches)
            assert re.fullmatch(r"\d+(\.\d+)?,final\n", last)
    rates = (run / "train/epoch-1/Learning_Rate.log").read_text().splitlines()
    assert rates[0] == "0.01,1"  # the first optimizer step has the initial rate
    assert len(rates) == 16


def test_the_mean_of_burns_lines_is_burns_final_value() -> None:
    """The last line of every log of Burn's is the weighted mean of the others, in the digits that we print."""
    from minburn.train.metric.format import shortest

    for path in GOLDEN_LOGS.rglob("*.log"):
        *batches, last = path.read_text().splitlines()
        total = count = 0.0
        for batch in batches:
            value, weight = map(float, batch.split(","))
            assert shortest(value) == batch.split(",")[0]
            total, count = total + value * weight, count + weight
        assert f"{shortest(total / count)},final" == last
        assert final_value(path.read_text()) == total / count


def test_history_comes_back_from_burns_logs() -> None:
    history = MetricLog(GOLDEN_LOGS).read_history(epochs=3)
    assert history["valid"]["Loss"] == [1.1072076559066772, 1.1136206984519958, 1.1166383624076843]
    assert history["train"]["Learning Rate"][2] == 0.0026175084909271546
    assert MetricLog(GOLDEN_LOGS / "nothing").read_history(3) == History()


def test_events_come_in_burns_order(tmp_path: Path) -> None:
    """Forward and backward, then the schedule, then the optimizer; validation after the epoch; then the save."""
    events: list[str] = []

    class Telling(Mlp):
        def train_step(self, batch: Any) -> TrainOutput:
            events.append("step")
            return super().train_step(batch)

        def inference_step(self, batch: Any) -> Any:
            assert not self.hidden.weight.backend.is_autodiff
            assert not self.dropout.training.is_enabled
            events.append("valid")
            return super().inference_step(batch)

        def optimize(self, optim: OptimizerAdaptor, lr: float, grads: GradientsParams) -> Any:
            events.append("update")
            return optim.step(lr, self, grads)

    class Watching(Renderer):
        def epoch_ended(self, epoch: int, num_epochs: int, values: Mapping[Split, Mapping[str, float]]) -> None:
            events.append("epoch")
            assert not (tmp_path / "run/checkpoint/set-1.json").exists()

        def end(self) -> None:
            events.append("end")
            assert (tmp_path / "run/checkpoint/set-1.json").exists()

    base = new_model()
    fields = {name: getattr(base, name) for name in ("hidden", "output", "activation", "dropout")}
    program = Program(tmp_path / "run", model=Telling(**fields), epochs=1, items=64)
    backend = program.backend()
    learner = program.learner(backend)
    scheduler = learner.lr_scheduler
    original = scheduler.step

    def step() -> float:
        events.append("lr")
        return original()

    scheduler.step = step  # type: ignore[method-assign]
    program.training(backend, renderer=Watching()).launch(learner)
    assert events == ["step", "lr", "update"] * 4 + ["valid"] * 3 + ["epoch", "end"]


def test_accumulation_sums_and_applies_the_rest(tmp_path: Path) -> None:
    """Groups of 2 in 3 batches: two optimizer steps, the second with one batch; the rate is that of the last step."""
    program = Program(tmp_path / "run", epochs=1, items=48, options={"grads_accumulation": 2})
    program.launch()
    rates = (tmp_path / "run/train/epoch-1/Learning_Rate.log").read_text().splitlines()
    assert rates[0] == "0,1"
    assert rates[1] == "0.01,1"
    assert 0 < float(rates[2].split(",")[0]) < 0.01


def test_no_checkpoints_on_request(tmp_path: Path) -> None:
    program = Program(tmp_path / "run", epochs=1, options={"checkpoints": False, "resume": None})
    program.launch()
    assert not (tmp_path / "run/checkpoint").exists()
    assert (tmp_path / "run/valid/epoch-1/Loss.log").exists()
    program.launch()  # nothing to refuse either: logs are written anew


def test_a_step_waits_for_no_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers are fetched at the pace of the display, not with every batch."""
    from minburn.train import loop
    from minburn.train.metric import base

    fetched: list[int] = []
    original = base.fetch
    monkeypatch.setattr(base, "fetch", lambda readings: fetched.append(len(readings)) or original(readings))
    monkeypatch.setattr(loop, "DISPLAY_INTERVAL", 1e9)
    Program(tmp_path / "run", epochs=1).launch()
    # The first batch is shown at once; the other 14 come together, then the validation. A batch has 7 readings: the
    # loss to be checked, and value and count of three metrics.
    assert len(fetched) == 3
    assert fetched[:2] == [7, 7 * 14]


def test_default_renderer_is_plain_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    renderer = default_renderer()
    assert type(renderer) is PlainRenderer
    renderer.message("hello")
    assert capsys.readouterr().out == "hello\n"


def test_live_renderer_shows_bars_and_lines(tmp_path: Path) -> None:
    import io

    from rich.console import Console

    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=160, color_system=None)
    seen: list[Progress] = []

    class Spying(LiveRenderer):
        def progress(self, progress: Progress) -> None:
            seen.append(progress)
            super().progress(progress)

    Program(tmp_path / "run", epochs=2, options={"renderer": Spying(console)}).launch()
    shown = stream.getvalue()
    assert "Training: 2 epochs in" in shown
    assert "epoch 2/2" in shown
    assert "Accuracy: epoch" in shown
    assert (seen[0].split, seen[0].epoch, seen[0].batch, seen[0].batches) == (Split.Train, 1, 1, 15)


def test_importing_the_package_imports_no_rich() -> None:
    import subprocess
    import sys

    code = "import sys, minburn.train; sys.exit('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False).returncode == 0


def test_regression_output_has_a_loss_and_no_accuracy() -> None:
    assert list(RegressionOutput.__dataclass_fields__) == ["loss", "output", "targets"]
