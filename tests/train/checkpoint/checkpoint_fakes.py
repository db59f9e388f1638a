"""Small stand-ins for the records, and pictures of folders to compare."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from minburn.dtype import DType
from minburn.pack import PackError, Reader, Scalar, TensorEntry, Writer, WriteReport
from minburn.train.checkpoint import CheckpointSet, CheckpointStore, RunState

CHANGING = ("open", "write", "replace", "link", "unlink", "mkdir", "ftruncate")
ALL_CALLS = (*CHANGING, "fsync", "close", "chmod", "lstat")


class Blob:
    """A record of a few bytes."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def save(self, path: str | os.PathLike[str], *, digest: bool = False) -> WriteReport:
        return self._writer().write_to_file(path, digest=digest)

    def into_bytes(self) -> bytes:
        return self._writer().into_bytes()

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Blob:
        with Reader.from_file_exact(path) as reader:
            if "blob" not in reader:
                raise PackError(f"{path}: no blob.")
            return Blob(reader["blob"].bytes())

    def _writer(self) -> Writer:
        entry = TensorEntry("blob", DType.U8, [len(self.content)], self.content)
        return Writer([entry], scalars={"size": Scalar.uint(len(self.content))})


def records(text: str) -> dict[str, Any]:
    return {part: Blob(f"{part} {text}".encode()) for part in ("model", "optim", "scheduler")}


def save_epoch(store: CheckpointStore, epoch: int, keep: Any = None, text: str = "") -> CheckpointSet:
    """Ten batches an epoch."""
    state = RunState(epoch=epoch + 1, global_step=10 * epoch, metrics={"text": text})
    return store.save_epoch(epoch, **records(f"{epoch}{text}"), state=state, keep=keep)


def save_step(store: CheckpointStore, step: int, text: str = "") -> CheckpointSet:
    state = RunState(epoch=1 + step // 10, batch=step % 10, global_step=step, metrics={"text": text})
    return store.save_step(**records(f"step {step}{text}"), state=state)


def save_like_burn(folder: Path, epoch: int, text: str = "burn") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("model", "optim", "scheduler"):
        Blob(f"{part} {epoch} {text}".encode()).save(folder / f"{part}-{epoch}.bpk")


def picture(folder: Path) -> dict[str, bytes]:
    """Every file under a folder, by relative path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@contextlib.contextmanager
def patched(names: tuple[str, ...], wrap: Callable[[str, Callable[..., Any]], Callable[..., Any]]) -> Iterator[None]:
    """Replaces functions of `os`."""
    originals = {name: getattr(os, name) for name in names}
    try:
        for name, original in originals.items():
            setattr(os, name, wrap(name, original))
        yield
    finally:
        for name, original in originals.items():
            setattr(os, name, original)


def changes_something(name: str, args: tuple[Any, ...]) -> bool:
    return name != "open" or bool(args[1] & os.O_CREAT)


def killed_at(call: int, action: Callable[[], object]) -> bool:
    """Runs the action in a child that dies at its `call`-th change of the disk, in the middle of it if that is a
    write; False if it ended before. A failure of the action itself is an AssertionError."""
    child = os.fork()
    if child:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in (0, -signal.SIGKILL), f"the child failed: {status}"
        return status != 0
    count = 0

    def wrap(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **named: Any) -> Any:
            nonlocal count
            if changes_something(name, args):
                if count == call:
                    if name == "write":
                        original(args[0], bytes(args[1])[: len(args[1]) // 2])
                    os.kill(os.getpid(), signal.SIGKILL)
                count += 1
            return original(*args, **named)

        return wrapped

    status = 1
    try:
        with patched(CHANGING, wrap):
            action()
        status = 0
    finally:
        os._exit(status)
    return False


def failing_at(call: int, error: int, names: tuple[str, ...], action: Callable[[], object]) -> bool:
    """Runs the action with its `call`-th use of these functions failing; False if there were fewer."""
    count = 0

    def wrap(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **named: Any) -> Any:
            nonlocal count
            count += 1
            if count == call + 1:
                if name == "write":
                    original(args[0], bytes(args[1])[: len(args[1]) // 2])
                if name == "close":
                    original(*args)
                raise OSError(error, os.strerror(error))
            return original(*args, **named)

        return wrapped

    with patched(names, wrap):
        action()
    return count > call
