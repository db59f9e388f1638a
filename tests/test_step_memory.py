"""A training loop's memory does not grow: the benchmark's own check, each workload in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("workload", ["tiny", pytest.param("mlp64", marks=pytest.mark.heavy)])
def test_a_thousand_steps_need_the_memory_of_a_hundred(workload: str) -> None:
    check(workload, steps=1000)


@pytest.mark.heavy
@pytest.mark.parametrize(("workload", "steps"), [("mlp256", 1000), ("cnn", 1000), ("gpt", 300), ("lstm", 300)])
def test_large_steps_need_no_more_memory_over_time(workload: str, steps: int) -> None:
    check(workload, steps)


def check(workload: str, steps: int) -> None:
    command = [sys.executable, "benchmarks/step.py", workload, "--memory", "--steps", str(steps)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
