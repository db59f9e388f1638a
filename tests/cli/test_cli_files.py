"""`minburn inspect`, `diff` and `verify`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minburn.backends import Autodiff, NumPy
from minburn.cli import main
from minburn.dtype import DType
from minburn.module import Module
from minburn.nn import Linear, LinearConfig
from minburn.optim import AdamConfig, GradientsParams, LrSchedulerRecord, OptimizerRecord
from minburn.store import BurnpackStore
from minburn.tensor import Tensor
from minburn.train.checkpoint import CheckpointStore, RunState


class Two(Module):
    first: Linear
    second: Linear


def two(seed: int, backend: Autodiff | None = None) -> Two:
    backend = backend or Autodiff(NumPy(seed=seed))
    return Two(first=LinearConfig(3, 4).init(backend), second=LinearConfig(4, 2).init(backend))


def said(capsys: pytest.CaptureFixture[str], *argv: str, status: int) -> str:
    assert main(argv) == status
    captured = capsys.readouterr()
    return captured.out + captured.err


def test_inspect_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "model.bpk")
    model = two(1)
    model.save_file(file)
    text = said(capsys, "inspect", file, "--stats", status=0)
    assert "first.weight   F32  [3, 4]" in text and "min " in text
    assert text.splitlines()[-1].endswith("4 tensors, 26 elements, 104 B")
    found = json.loads(said(capsys, "inspect", file, "--json", status=0))
    assert [tensor["name"] for tensor in found["tensors"]] == model.into_record().paths()
    assert found["tensors"][0]["id"] == str(int(model.first.weight.id))
    assert "stats" not in found["tensors"][0]


def test_inspect_shortens_long_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = BurnpackStore(tmp_path / "model.bpk", metadata={"notes": 400 * "x"})
    store.collect_from(LinearConfig(1, 1).init(NumPy(seed=1)))
    text = said(capsys, "inspect", str(tmp_path / "model.bpk"), status=0)
    assert f"notes: {300 * 'x'}… and 100 more characters, which --json shows\n" in text


def test_inspect_an_optimizer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "optim.bpk")
    backend = Autodiff(NumPy(seed=1))
    model, optim = LinearConfig(3, 2).init(backend), AdamConfig().init()
    grads = GradientsParams.from_grads(model(Tensor.ones([2, 3], backend)).sum().backward(), model)
    optim.step(0.1, model, grads)
    optim.into_record().save(file)
    text = said(capsys, "inspect", file, status=0)
    assert "moment_1" in text and "(UInt)" in text and f"{int(model.weight.id)}: weight" in text


@pytest.mark.parametrize("content", [None, b"PK\x03\x04", b""])
def test_a_file_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None) -> None:
    file = tmp_path / "model.bpk"
    if content is not None:
        file.write_bytes(content)
    for command in (["inspect", str(file)], ["diff", str(file), str(file)]):
        text = said(capsys, *command, status=1)
        assert "model.bpk" in text and text.count("\n") == 1


def test_diff(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {name: str(tmp_path / f"{name}.bpk") for name in ("a", "near", "other", "half", "one")}
    model = two(1)
    record = model.into_record()
    record.save(files["a"])
    weight = model.first.weight.with_value(model.first.weight.value * 1.0001)
    model.replace(first=model.first.replace(weight=weight)).into_record().save(files["near"])
    two(2).into_record().save(files["other"])
    model.first.into_record().save(files["one"])
    backend = Autodiff(NumPy(seed=1, float_dtype=DType.F16))
    two(1, backend).load_record(record.cast_to_module_dtype()).into_record().save(files["half"])
    assert said(capsys, "diff", files["a"], files["a"], status=0) == "equal: 4 tensors\n"
    text = said(capsys, "diff", files["a"], files["near"], status=1)
    assert text.startswith("first.weight: 12 of 12 numbers differ, at most by ") and text.count("\n") == 1
    assert "equal" in said(capsys, "diff", files["a"], files["near"], "--rtol", "1e-3", status=0)
    text = said(capsys, "diff", files["a"], files["other"], "--ids", status=1)
    assert "first.weight: id " in text and "second.bias" in text
    text = said(capsys, "diff", files["a"], files["half"], "--rtol", "1e-2", status=1)
    assert text.splitlines()[0] == "first.weight: F32, and F16" and "differ" not in text
    text = said(capsys, "diff", files["a"], files["one"], status=1)
    assert f"first.weight: only in {files['a']}" in text and f"weight: only in {files['one']}" in text


def saved_run(folder: Path) -> Path:
    """Two epochs and a step; the checkpoint folder."""
    store = CheckpointStore(folder)
    model = two(1).into_record()
    parts: dict[str, Any] = {"model": model, "optim": OptimizerRecord(), "scheduler": LrSchedulerRecord()}
    for epoch in (1, 2):
        store.save_epoch(epoch, **parts, state=RunState(epoch=epoch + 1, global_step=10 * epoch), keep=None)
    store.save_step(**parts, state=RunState(epoch=3, batch=5, global_step=25))
    return folder / "checkpoint"


def test_verify(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = saved_run(tmp_path)
    text = said(capsys, "verify", str(tmp_path), status=0)
    assert [line.split(",")[0] for line in text.splitlines()[:-1]] == [
        "epoch 1: good",
        "epoch 2: good",
        "step 25: good",
    ]
    assert "3 good, 0 damaged" in text
    two(3).into_record().save(folder / "model-7.bpk")
    (folder / "set-1.json").unlink()
    text = said(capsys, "verify", str(tmp_path), status=0)
    assert "epoch 7: no set; model, as Burn writes them: without digests" in text
    assert "epoch 1: no set; model, optim, scheduler, state, left behind by a killed save" in text
    changed = bytearray((folder / "model-2.bpk").read_bytes())
    changed[-1] ^= 1
    (folder / "model-2.bpk").write_bytes(changed)
    text = said(capsys, "verify", str(tmp_path), status=1)
    assert "epoch 2: DAMAGED: " in text and "model-2.bpk has changed" in text and "1 good, 1 damaged" in text
    (folder / "steps" / "state-25.bpk").unlink()
    assert "state-25.bpk is missing" in said(capsys, "verify", str(tmp_path), status=1)


def test_verify_without_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no run" in said(capsys, "verify", str(tmp_path), status=1)
    (tmp_path / "checkpoint").mkdir()
    assert "0 good, 0 damaged" in said(capsys, "verify", str(tmp_path), status=1)
