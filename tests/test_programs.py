"""Short programs as users write them: they fix the names, the order of arguments, and what returns what.

Each runs alone, from an empty folder, and asserts what it says. `make types` checks them strictly.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = sorted((ROOT / "tests" / "programs").glob("*.py"))
SLOW = {"digits"}


def _parameters() -> list[object]:
    return [
        pytest.param(path, id=path.stem, marks=[pytest.mark.heavy] if path.stem in SLOW else []) for path in PROGRAMS
    ]


@pytest.mark.parametrize("path", _parameters())
def test_it_runs_as_it_stands(path: Path, tmp_path: Path) -> None:
    env = {"OPENBLAS_NUM_THREADS": "1", **os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, str(path)], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Warning" not in done.stderr, done.stderr


def test_none_is_missing() -> None:
    assert {path.stem for path in PROGRAMS} == {
        "by_hand",
        "digits",
        "optimizer",
        "pack",
        "records",
        "tensors",
        "walk",
    }
