"""Which recorder notes what this thread gives to the device: nearly always none. What it notes: capture.py."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minburn.backends.cupy_ops.capture import CuPyRecorder


class _Here(threading.local):
    recorder: CuPyRecorder | None = None


_here = _Here()


def recorder() -> CuPyRecorder | None:
    """That of this thread."""
    return _here.recorder


def listen(recorder: CuPyRecorder | None) -> None:
    """Make it that of this thread."""
    _here.recorder = recorder
