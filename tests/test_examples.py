"""Every example runs as it stands, alone, from an empty folder, and its claim holds: it asserts it itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "examples"
EXAMPLES = sorted(FOLDER.glob("[0-9]*.py"))
QUICK = ("01_tensors_and_gradients", "02_a_network_by_hand", "07_write_your_own_optimizer")
SECONDS = 60.0
TEXT = (FOLDER / "README.md").read_text("utf-8")


def _parameters() -> list[object]:
    marks = {True: [], False: [pytest.mark.heavy]}
    return [pytest.param(path, id=path.stem, marks=marks[path.stem in QUICK]) for path in EXAMPLES]


@pytest.mark.parametrize("path", _parameters())
def test_it_runs_and_its_claim_holds(path: Path, tmp_path: Path) -> None:
    # Two BLAS threads that wait for each other on busy cores take ten times as long as one.
    env = {"OPENBLAS_NUM_THREADS": "1", **os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run(
        [sys.executable, str(path)],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.strip()
    assert "Traceback" not in result.stderr and "Warning" not in result.stderr, result.stderr


def test_they_are_numbered_like_a_course() -> None:
    numbers = [int(path.name[:2]) for path in EXAMPLES]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == len(list(FOLDER.glob("*.py")))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_each_begins_by_saying_how_to_run_it(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.startswith(f'"""{path.name[:2]} - ')
    assert f"    python examples/{path.name}" in text
    assert "assert " in text


def test_the_readme_has_a_row_for_each_and_none_too_many() -> None:
    assert re.findall(r"^\| `(\w+\.py)` \|", TEXT, re.M) == [path.name for path in EXAMPLES]
