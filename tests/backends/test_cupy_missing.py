"""Where CuPy is not installed, CuPy() says what to install; nothing else of minburn needs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
sys.modules["cupy"] = None  # as if it were not installed
from minburn.backends import CuPy, NumPy
NumPy()
CuPy(device=0)
"""


def test_without_cupy_there_is_one_clear_error() -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=root, capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert "BackendError: CuPy: the package cupy cannot be imported" in last
    assert "minburn[cuda12]" in last and "minburn[cuda13]" in last
