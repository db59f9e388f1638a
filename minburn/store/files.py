"""Opening a file to read from it, and replacing one, for the formats of this package.

A file is memory-mapped: what is not looked at is not read. What is written goes to a scratch file that takes the
place of the old one when it is complete (`pack/atomic.py`).
"""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minburn.pack import AlreadyExistsError, AtomicFile, PackError
from minburn.pack.atomic import to_path
from minburn.store.error import StoreError, told_as

MAX_TENSOR_SIZE = 10 << 30
MAX_TENSORS = 100_000


@dataclass(frozen=True, slots=True)
class Source:
    """All bytes of a file or buffer, read-only, and what to call it in messages."""

    name: str
    view: memoryview

    def error(self, text: str) -> StoreError:
        return StoreError(f"{self.name}: {text}")

    def slice(self, what: str, start: int, length: int) -> memoryview:
        """`length` bytes from `start`. StoreError if the file ends before."""
        if start < 0 or length < 0 or start + length > len(self.view):
            raise self.error(
                f"{what}: truncated, or a wrong offset: bytes {start} .. {start + length} of {len(self.view)}."
            )
        return self.view[start : start + length]


class Cursor:
    """Reads a source from front to back, as a file does, up to `end`."""

    def __init__(self, source: Source, position: int = 0) -> None:
        self.source = source
        self.position = position
        self.end = len(source.view)

    def read(self, size: int = -1) -> bytes:
        end = self.end if size < 0 else min(self.end, self.position + size)
        data = self.source.view[self.position : end].tobytes()
        self.position += len(data)
        return data

    def readline(self, limit: int = 1 << 20) -> bytes:
        size = 128
        line = b""
        while size <= limit and not line.endswith(b"\n") and len(line) < self.end - self.position:
            found = self.source.view[self.position : min(self.end, self.position + size)].tobytes()
            line = found[: found.find(b"\n") + 1] or found
            size *= 2
        self.position += len(line)
        return line

    def tell(self) -> int:
        return self.position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self.position, os.SEEK_END: len(self.source.view)}[whence]
        if base + offset < 0:
            raise OSError("seek before the start")
        self.position = base + offset
        return self.position

    def seekable(self) -> bool:
        return True


def open_source(file: str | os.PathLike[str] | bytes | bytearray | memoryview) -> Source:
    """A file, mapped, or bytes, not copied. StoreError if it cannot be read."""
    if isinstance(file, (bytes, bytearray, memoryview)):
        try:
            return Source("<bytes>", memoryview(file).cast("B").toreadonly())
        except TypeError as error:
            raise StoreError(f"<bytes>: the buffer is not contiguous: {error}.") from error
    path = as_path(file)
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise StoreError(f"{path}: not a regular file.")
        with open(path, "rb", buffering=0) as opened:
            if os.fstat(opened.fileno()).st_size == 0:
                return Source(str(path), memoryview(b""))
            mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise StoreError(f"{path}: cannot open it: {error.strerror or error}.") from error
    return Source(str(path), memoryview(mapped))


def as_path(path: Any) -> Path:
    try:
        return to_path(path)
    except PackError as error:
        raise StoreError(str(error)) from error


def refuse_existing(path: Path, overwrite: bool) -> None:
    """Before anything is computed: a file that must not be replaced, dangling links included."""
    if not overwrite and os.path.lexists(path):
        raise _exists(path)


def write_atomically(path: Path, pieces: Iterable[bytes | memoryview], overwrite: bool) -> None:
    """The pieces one after the other, each let go before the next is asked for; all or nothing."""
    refuse_existing(path, overwrite)
    try:
        with told_as(str(path)), AtomicFile(path) as file:
            for piece in pieces:
                file.write(piece)
                del piece
            file.commit(overwrite=overwrite)
    except StoreError as error:
        if isinstance(error.__cause__, AlreadyExistsError):
            raise _exists(path) from error.__cause__
        raise


def _exists(path: Path) -> StoreError:
    return StoreError(f"{path}: the file already exists. Pass overwrite=True to replace it.")
