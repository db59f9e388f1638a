"""What the README says is so: its program runs, its folders exist and are all there, its names are ours."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from minburn.backends import Autodiff, NumPy

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def _section(title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", README, re.M | re.S)
    assert found, title
    return found[1]


def _rows(section: str) -> list[list[str]]:
    """The cells of a table's rows, without its head."""
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def _our_names() -> list[str]:
    """In the text: the table of names is compared with what it is made of by tests/names."""
    text = _section("From Burn's names to ours").partition("<!--")[0]
    return sorted(set(re.findall(r"`((?:backend|tensor|nn|optim|module)\.[\w.]+)`", text)))


def _resolve(name: str) -> object:
    parts = name.split(".")
    if parts[0] == "backend":
        found: object = Autodiff(NumPy())
        rest = parts[1:]
    else:
        found = importlib.import_module(f"minburn.{parts[0]}")
        rest = parts[1:]
    for depth, part in enumerate(rest, 2):
        if not hasattr(found, part) and parts[0] != "backend":
            importlib.import_module(".".join(["minburn", *parts[:depth]]))  # a module that its package does not import
        found = getattr(found, part)
    return found


def test_the_program_runs_as_it_stands(tmp_path: Path) -> None:
    programs = re.findall(r"^```python\n(.*?)^```", README, re.M | re.S)
    assert len(programs) == 1
    assert sum(bool(line.strip()) for line in programs[0].splitlines()) <= 40
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    for first in (True, False):  # the second time it finds its own checkpoints
        result = subprocess.run(
            [sys.executable, "-c", programs[0]], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stderr
        assert ("epoch 5/5" in result.stdout) == first
    assert (tmp_path / "mlp.bpk").exists()
    assert (tmp_path / "runs" / "mlp" / "checkpoint" / "model-5.bpk").exists()


def test_the_tour_names_every_folder_and_nothing_else() -> None:
    named = {re.findall(r"`([^`]+)`", row[0])[0] for row in _rows(_section("The folders"))}
    missing = [path for path in named if not (ROOT / path).exists()]
    assert missing == []
    packages = {f"minburn/{path.parent.name}/" for path in (ROOT / "minburn").glob("*/__init__.py")}
    modules = {f"minburn/{path.name}" for path in (ROOT / "minburn").glob("[!_]*.py")}
    folders = {f"{name}/" for name in ("tests", "benchmarks", "examples", "docs") if any((ROOT / name).glob("*.*"))}
    assert named == packages | modules | folders


def test_every_file_and_folder_that_is_mentioned_exists() -> None:
    mentioned = re.findall(r"`((?:minburn|tests|benchmarks|examples)/[\w./]*|[A-Z][\w-]+\.md|LICENSE-\w+)`", README)
    assert len(mentioned) > 15
    assert [path for path in mentioned if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("name", _our_names())
def test_the_map_of_names_is_true(name: str) -> None:
    assert _resolve(name) is not None


def test_the_map_of_names_is_not_empty() -> None:
    assert len(_our_names()) >= 4
    with pytest.raises((AttributeError, ModuleNotFoundError)):
        _resolve("optim.NoSuchOptimizer")


def test_every_make_target_that_is_mentioned_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    assert set(re.findall(r"(?:\$ |`)make ([a-z]+)", README)) <= targets
