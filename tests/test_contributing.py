"""docs/contributing.md is carried out in a copy of the project, and the tests that it promises pass there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```python\n# (?P<file>[\w/.]+)(?:, before: (?P<anchor>[^\n]*))?\n(?P<code>.*?)^```", re.M | re.S)
TESTS = [
    "tests/test_additions.py",
    "tests/test_layers.py",
    "tests/backends/test_complete.py",
    "tests/backends/test_ops.py",
    "tests/backends/test_gradients.py",
    "tests/optim/test_optim_step_many.py",
]


def insert(text: str, anchor: str, code: str) -> str:
    """The code before the anchor, indented as it is. An anchor may name a decorator and its function's line."""
    pattern = r"^([ \t]*)" + r"\s+".join(re.escape(word) for word in re.split(r" (?=def )", anchor)) + r"[ \t]*$"
    found = re.findall(pattern, text, re.M)
    assert len(found) == 1, f"{anchor!r} is there {len(found)} times"
    match = re.search(pattern, text, re.M)
    assert match is not None
    indented = "".join(found[0] + line if line.strip() else line for line in code.splitlines(keepends=True))
    return text[: match.start()] + indented + text[match.start() :]


@pytest.mark.heavy
def test_the_page_adds_one_of_each(tmp_path: Path) -> None:
    for name in ("minburn", "tests", "pyproject.toml"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "burn", "cupy"))
        else:
            shutil.copy(source, tmp_path / name)
    blocks = list(BLOCK.finditer((ROOT / "docs" / "contributing.md").read_text("utf-8")))
    assert len(blocks) >= 15
    for block in blocks:
        path = tmp_path / block["file"]
        if block["anchor"] is None:
            assert not path.exists()
            path.write_text(block["code"], "utf-8")
        else:
            path.write_text(insert(path.read_text("utf-8"), block["anchor"], block["code"]), "utf-8")
    words = "expm1 or additions or complete or layers or signum or is_everywhere or additions"
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not heavy", "-k", words, *TESTS]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    for problem in (["ruff", "check", "--extend-ignore", "I", "minburn"], ["mypy", "--strict", "minburn"]):
        done = subprocess.run([sys.executable, "-m", *problem], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
