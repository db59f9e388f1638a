"""The commands of the page do what the page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from burn_driver import CRATE, Burn, find_cargo, target_folder

pytestmark = pytest.mark.burn
ROOT = CRATE.parent.parent
PAGE = (ROOT / "docs" / "train-here-serve-in-rust.md").read_text("utf-8")


def numbers_away(text: str) -> str:
    return re.sub(r"[\d.e-]*\d", "#", text)


def test_the_page(burn: Burn, tmp_path: Path) -> None:
    console = re.search(r"```console\n(.*?)```", PAGE, re.S)
    assert console is not None
    steps = re.findall(r"^\$ ((?:python|cargo) .*)\n((?:[^$\n].*\n)*)", console[1], re.M)
    assert len(steps) == 3
    env = {**os.environ, "PYTHONPATH": str(ROOT), "CARGO_TARGET_DIR": str(target_folder())}
    for command, shown in steps:
        words = [str(tmp_path) if word == "runs/rust" else word for word in command.split()]
        words[0] = find_cargo() if words[0] == "cargo" else sys.executable
        result = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        assert numbers_away(result.stdout.replace(str(tmp_path), "runs/rust")) == numbers_away(shown), result.stdout


def test_every_file_that_the_page_names_exists() -> None:
    named = re.findall(r"(?:examples|tests)/[\w./]+", PAGE)
    assert len(named) > 5
    assert [path for path in named if not (ROOT / path.rstrip(".")).exists()] == []
