"""One run, one folder: a lock that the system releases when its holder dies, however it dies.

    with RunLock("runs/digits"):
        ...

The lock is on the open file `{run}/.lock`, not on the file's existence, so nothing has to be cleaned up after a kill.
The file holds the process id of the holder, for the message; it is empty when nobody holds the lock.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from pathlib import Path
from types import TracebackType

from minburn.train.error import TrainingError

LOCK_FILE = ".lock"


class LockError(TrainingError, ValueError):
    """Another run holds the folder, or it cannot be locked."""


class RunLock:
    """Held from `acquire` (or entering a `with` block) to `release`; makes the folder if it is not there.

    LockError if another process, or another RunLock of this one, holds it.
    """

    def __init__(self, run_dir: str | os.PathLike[str]) -> None:
        self.run_dir = Path(run_dir)
        self.path = self.run_dir / LOCK_FILE
        self._descriptor: int | None = None

    @property
    def is_held(self) -> bool:
        return self._descriptor is not None

    def acquire(self) -> RunLock:
        if self._descriptor is not None:
            raise LockError(f"{self.run_dir}: this lock is already held. Release it first.")
        try:
            self.run_dir.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise LockError(f"{self.run_dir}: cannot be used for a run: {error.strerror or error}.") from error
        try:
            if not _try_lock(descriptor):
                raise LockError(
                    f"{self.run_dir}: another run is using this folder ({_holder(descriptor)}). "
                    "Wait for it to end, or give this run a folder of its own."
                )
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"{os.getpid()}\n".encode())
        except OSError as error:
            os.close(descriptor)
            raise LockError(f"{self.path}: cannot be locked: {error.strerror or error}.") from error
        except LockError:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        return self

    def release(self) -> None:
        """Lets the folder go; nothing if it is not held."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
        os.close(descriptor)

    def __enter__(self) -> RunLock:
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()

    def __repr__(self) -> str:
        return f"RunLock({str(self.run_dir)!r}{', held' if self.is_held else ''})"


BUSY = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)

if sys.platform == "win32":
    import msvcrt

    LOCKED_BYTE = 1 << 30  # far behind the text, which stays readable

    def _try_lock(descriptor: int) -> bool:
        os.lseek(descriptor, LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in BUSY:
                return False
            raise
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in BUSY:
                return False
            raise
        return True


def _holder(descriptor: int) -> str:
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        text = os.read(descriptor, 32).decode("ascii", "replace").strip()
    except OSError:
        text = ""
    return f"process {text}" if text.isdigit() else "its process id is not known"
