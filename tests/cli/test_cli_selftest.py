"""The self-test finds what is wrong, on ops, gradients and trainings, and its command says so."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minburn.backends
from minburn.backends import NumPy
from minburn.cli import main
from minburn.cli.selftest import gradients, ops, print_timings, speed, training
from minburn.cli.selftest.launches import Counts, count, counted, tally
from minburn.cli.selftest.models import WORKLOADS, Training
from minburn.cli.selftest.ops import Outcome, Row
from minburn.dtype import DType
from minburn.tensor import FloatTensor


@pytest.mark.parametrize("dtype", [DType.F32, DType.F64, DType.F16])
def test_all_ops_are_right(dtype: DType) -> None:
    backend = NumPy(seed=7, float_dtype=dtype)
    rows = [ops.outcome(row, backend) for row in ops.ROWS if dtype != DType.F16 or "1e5" not in row.name]
    assert [row for row in rows if not row.ok] == []
    assert len(rows) > 70


def test_all_gradients_are_right() -> None:
    assert [outcome for outcome in gradients.check(NumPy(seed=7)) if not outcome.ok] == []


@pytest.mark.parametrize(
    ("ours", "why"),
    [
        (lambda a: a + 1e-3, ""),
        (lambda a: a.sum(), "shape [1], expected [5, 7]"),
        (lambda a: a.reshape([2, 2]), "ShapeError"),
        (lambda a: a * math.nan, ""),
    ],
)
def test_a_wrong_op_is_found(ours: Any, why: str) -> None:
    outcome = ops.outcome(Row("wrong", (ops.A,), ours, lambda a: a), NumPy())
    assert not outcome.ok and why in outcome.why


def test_a_wrong_gradient_is_found() -> None:
    def half_forgotten(x: FloatTensor) -> FloatTensor:
        return x * x.detach()

    outcome = gradients.outcome("wrong", half_forgotten, [np.array([1.0, 2.0])], NumPy())
    assert not outcome.ok and "GradientMismatch" in outcome.why


def test_the_smallest_training_resumes() -> None:
    work = WORKLOADS["mlp"]
    for function in (training.learns, training.same_twice, training.resumes, training.moves):
        assert function(work, NumPy(seed=7)) == ""


def test_a_resume_that_loses_the_moments_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(work: Any, backend: Any, folder: Path) -> Training:
        resumed = whole(work, backend, folder)
        resumed.optim = Training(work, resumed.model.layers[0].weight.value.backend).optim
        return resumed

    whole = training.load
    monkeypatch.setattr(training, "load", forgetful)
    assert training.resumes(WORKLOADS["mlp"], NumPy(seed=7)) == "the resumed run ends elsewhere"


def fake(monkeypatch: pytest.MonkeyPatch, outcomes: list[Outcome]) -> None:
    for module in (ops, gradients, training):
        monkeypatch.setattr(module, "check", lambda *arguments: outcomes)
    monkeypatch.setattr(speed, "measure", lambda backend: [speed.Timing("mlp", 2.0, 1.0, 3.0, 0.5, Counts(25, 0, 0))])


def test_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fake(monkeypatch, [Outcome("add", 0.5, "")])
    file = tmp_path / "result.json"
    assert main(["selftest", "--json", str(file)]) == 0
    text = capsys.readouterr().out
    assert (
        "all is as it should be" in text
        and "PyTorch 3.00 ms, handed over in 0.50 ms" in text
        and "OPENBLAS_NUM_THREADS=1" in text
    )
    assert "25 launches, 0 waits, 0 copies to the host" in text
    result = json.loads(file.read_text("utf-8"))
    assert result["ok"] and result["parts"]["ops"]["outcomes"][0] == {
        "name": "add",
        "ok": True,
        "error": 0.5,
        "why": "",
    }
    assert result["steps"][0]["ms"] == 2.0


def test_a_deviation_is_exit_status_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    fake(monkeypatch, [Outcome("add", 3.0, ""), Outcome("mul", math.inf, "ValueError: no")])
    assert main(["selftest"]) == 1
    text = capsys.readouterr().out
    assert "2 WRONG" in text and "add: 3 times what is tolerated" in text and "mul: ValueError: no" in text


def test_the_quick_form_trains_small_models_and_times_nothing(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    assert main(["selftest", "--quick", "--json", str(file)]) == 0
    result = json.loads(file.read_text("utf-8"))
    assert result["ok"] and result["steps"] == []
    assert len(result["parts"]["training"]["outcomes"]) == 4 * len(WORKLOADS)


def test_a_step_is_timed() -> None:
    timing = speed.timing("mlp", WORKLOADS["mlp"], NumPy(seed=7))
    assert timing.ms > 0 and timing.counts is None
    print_timings([timing])


def test_calls_of_the_driver_are_counted_by_name() -> None:
    calls = Counter({"cuLaunchKernel": 20, "cuLaunchKernelEx": 5, "cuMemcpyDtoHAsync_v2": 1, "cuStreamSynchronize": 2})
    assert tally(calls + Counter({"cuMemAllocAsync": 3})) == Counts(25, 2, 1)


def test_what_keeps_from_counting_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = count("mlp", 99)  # there is no CuPy, or no such device
    assert counts.why and "\n" not in counts.why and "not counted" in str(counts)
    monkeypatch.setattr("minburn.cli.selftest.launches.LIBRARIES", ("libnothing.so",))
    monkeypatch.setattr("glob.glob", lambda pattern: [])
    with pytest.raises(OSError, match="CUPTI is not installed"):
        counted(lambda: None)


def test_cupy_that_cannot_be_had_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(**options: Any) -> None:
        raise minburn.backends.BackendError("CuPy: it is not installed. pip install 'minburn[cuda12]'.")

    monkeypatch.setattr(minburn.backends, "CuPy", refuse, raising=False)
    assert main(["selftest", "--backend", "cupy"]) == 1
    assert capsys.readouterr().err == "minburn selftest: CuPy: it is not installed. pip install 'minburn[cuda12]'.\n"
