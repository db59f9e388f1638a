"""The CuPy backend's tests: on a real GPU where there is one, on the emulated device if MINBURN_CUDA=emulated.

`make test-cupy` sets that and installs what the emulated device needs. Without either, nothing here is collected, and
the end of the run says so.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "backends")]


def _device() -> tuple[bool, str]:
    """Whether the tests can run, and on what, or why not."""
    if os.environ.get("MINBURN_CUDA") == "emulated":
        import emulator

        try:
            emulator.install()
        except RuntimeError as error:
            raise pytest.UsageError(f"tests/cupy cannot run: {error}") from None
        return True, f"CuPy {emulator.BUILT_FOR} on the emulated CUDA device"
    try:
        import cupy

        count = cupy.cuda.runtime.getDeviceCount() if hasattr(cupy, "ndarray") else 0
    except Exception as error:  # whatever a broken driver or package raises: then there is no GPU here
        return (
            False,
            f"NOT RUN: CuPy's tests, as no GPU can be used ({type(error).__name__}). make test-cupy emulates one",
        )
    if not count:
        return False, "NOT RUN: CuPy's tests, as there is no GPU. make test-cupy emulates one"
    return True, f"CuPy {cupy.__version__} on {count} GPU"


RUNS, WHERE = _device()
collect_ignore_glob = [] if RUNS else ["test_*.py"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(WHERE)
