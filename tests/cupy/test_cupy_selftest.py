"""`minburn selftest` on CUDA: what a user runs to see whether a card computes right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from device import DEVICES

from minburn.cli.commands import main


@pytest.mark.parametrize("device", range(min(DEVICES, 2)))
def test_the_quick_selftest_finds_nothing(device: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "result.json"
    status = main(["selftest", "--quick", "--backend", "cupy", "--device", str(device), "--json", str(file)])
    assert status == 0, capsys.readouterr().out
    result = json.loads(file.read_text("utf-8"))
    assert result["ok"] and result["device"] == f"cuda:{device}"
    assert {name: bool(part["outcomes"]) for name, part in result["parts"].items()} == {
        "ops": True,
        "gradients": True,
        "training": True,
    }
