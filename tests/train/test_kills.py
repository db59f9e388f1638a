"""Killed with SIGKILL at random moments, inside saves too, and started again each time, a run ends in the very files
and the very history of a run that was never killed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from train_program import assert_same_run

WORKER = Path(__file__).with_name("kill_worker.py")
ROOT = Path(__file__).parents[2]
RUNS = {"mlp": (50, 40, 5), "cnn": (16, 8, 2), "gpt": (16, 8, 2)}
"""Of each model: how many kills, how many epochs of 15 steps and 5 saves, and how many kills must fall into a save."""


def start(run_dir: Path, family: str) -> subprocess.Popen[str]:
    """A process that is about to launch the run."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    worker = subprocess.Popen(
        [sys.executable, str(WORKER), str(run_dir), str(RUNS[family][1]), family],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
    )
    assert worker.stdout is not None
    assert worker.stdout.readline() == "ready\n"
    return worker


def finish(run_dir: Path, family: str) -> str:
    output, _ = (worker := start(run_dir, family)).communicate(timeout=120)
    assert worker.returncode == 0
    return output


def in_the_middle_of_a_save(run_dir: Path) -> bool:
    """Whether a file lies there that belongs to no finished set."""
    for folder in (run_dir / "checkpoint", run_dir / "checkpoint" / "steps"):
        names = {path.name for path in folder.glob("*")} if folder.is_dir() else set()
        for name in names:
            number = name.removesuffix(".bpk").rpartition("-")[2]
            if name.endswith((".tmp", ".next")) or (name.endswith(".bpk") and f"set-{number}.json" not in names):
                return True
    return False


@pytest.mark.heavy
@pytest.mark.parametrize("family", RUNS)
def test_kills_change_no_byte(tmp_path: Path, family: str) -> None:
    wanted, _, hits = RUNS[family]
    began = time.monotonic()
    history = finish(tmp_path / "whole", family)
    duration = time.monotonic() - began
    chance = random.Random(20261130)
    kills, saves_hit, runs = 0, 0, 0
    while kills < wanted or (saves_hit < hits and kills < 5 * wanted):  # moments are chance; saves must be among them
        runs += 1
        run_dir = tmp_path / f"killed-{runs}"
        here = 0
        while kills < wanted or here == 0:
            worker = start(run_dir, family)
            time.sleep(chance.uniform(0.0, min(0.2, duration / 10)))
            worker.kill()
            output, _ = worker.communicate()
            if output:
                break  # it had finished
            kills += 1
            here += 1
            saves_hit += in_the_middle_of_a_save(run_dir)
        assert finish(run_dir, family) == history
        assert_same_run(run_dir, tmp_path / "whole")
    assert saves_hit >= hits
    print(f"{kills} kills, {saves_hit} of them inside a save, in {runs} runs; {time.monotonic() - began:.0f} s")
