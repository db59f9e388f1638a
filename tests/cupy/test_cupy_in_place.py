"""The tests of tensors and layers, of junk and extreme numbers, with CuPy in the place of NumPy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("what", ["tensor", "nn", "test_numerics.py", "test_bad_input.py"])
def test_what_holds_with_numpy_holds_with_cupy(what: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "cupy_in_place", "-p", "no:cacheprovider", "-m", "not heavy"]
    path = os.pathsep.join([str(ROOT / "tests" / "cupy"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([*command, f"tests/{what}"], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
