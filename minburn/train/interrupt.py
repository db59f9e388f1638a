"""Stopping a run from outside: by Ctrl-C, by SIGTERM, or by any code that holds the Interrupter.

The first request lets the batch finish and a checkpoint be written. A second Ctrl-C does not wait: KeyboardInterrupt.
Saves are atomic, so even then the last checkpoint is whole.

Burn: `Interrupter` in `crates/burn-train/src/learner/base.rs`; it leaves signals to the program.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

UNKNOWN = "reason unknown"


class Interrupter:
    """A flag that any thread may set; the loop looks at it after every batch."""

    def __init__(self) -> None:
        self._reason: str | None = None
        self._stop = False

    def stop(self, reason: str | None = None) -> None:
        """Ask the run to stop. A given reason replaces the last one."""
        if reason is not None:
            self._reason = reason
        self._stop = True

    def should_stop(self) -> bool:
        return self._stop

    def reset(self) -> None:
        """Take the request back; the reason stays readable."""
        self._stop = False

    def get_message(self) -> str | None:
        """The last reason."""
        return self._reason

    @property
    def reason(self) -> str:
        return self._reason or UNKNOWN


@contextlib.contextmanager
def stop_on_signals(interrupter: Interrupter) -> Iterator[None]:
    """While the block runs, SIGINT and SIGTERM stop the run through `interrupter`.

    Outside the main thread, which alone may handle signals, it does nothing. A signal that the program ignores stays
    ignored. The handlers are put back at the end.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        name = signal.Signals(number).name
        if interrupter.should_stop():
            if number == signal.SIGINT:
                raise KeyboardInterrupt
            sys.exit(128 + number)
        interrupter.stop(name)
        hint = " Press Ctrl-C again to stop at once." if number == signal.SIGINT else ""
        # Not through sys.stderr: the signal may have come in the middle of one of its writes.
        with contextlib.suppress(OSError):
            os.write(2, f"\n{name}: finishing this batch and writing a checkpoint.{hint}\n".encode())

    before: dict[int, Any] = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        current = signal.getsignal(number)
        if current is not None and current is not signal.SIG_IGN:
            before[number] = current
            signal.signal(number, handle)
    try:
        yield
    finally:
        for handled, handler in before.items():
            signal.signal(handled, handler)
