"""Replacing a file so that, whatever happens, either the old one or the new one is there, whole.

    scratch  <name>.<pid>-<n>.tmp beside the destination, created exclusively
    write    everything, then fsync
    publish  rename over the destination; or, if it must not exist yet, a hard link, which fails if it does
    fsync    the folder, so that the new name survives a power loss

A failure before "publish" deletes the scratch file; a killed process leaves it behind, and the old file as it was. The
permission bits of a replaced file are kept, a symbolic link is replaced, not followed.

Burn: `AtomicFile` in `crates/burn-pack/src/atomic.rs`.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from types import TracebackType
from typing import TYPE_CHECKING

from minburn.pack.errors import AlreadyExistsError, PackError

if TYPE_CHECKING:
    from pathlib import Path

BUFFER_SIZE = 256 << 10
"""Pieces are gathered up to this size; larger ones go to the system as they are."""

WRITE_SIZE = 8 << 20

_scratch_numbers = itertools.count()


class FileSink:
    """Writes pieces to a descriptor, small ones gathered, and closes it. Errors carry the path."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self.path = path
        self._descriptor = descriptor
        self._buffer = bytearray()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        buffer = self._buffer
        if len(buffer) + len(data) <= BUFFER_SIZE:
            buffer += data
            return
        self._flush()
        if len(data) < BUFFER_SIZE:
            self._buffer += data
        else:
            self._write(memoryview(data))

    def sync(self) -> None:
        """Everything written so far is on the disk when this returns."""
        self._flush()
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise cannot("write", self.path, error) from error

    def close(self) -> None:
        """Closes the descriptor after a last flush."""
        try:
            self._flush()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Closes the descriptor, dropping what was not yet written."""
        self._buffer = bytearray()  # not clear(): a failed write may still hold a view of it
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)

    def _flush(self) -> None:
        if self._buffer:
            self._write(memoryview(self._buffer))
            self._buffer = bytearray()

    def _write(self, data: memoryview) -> None:
        try:
            while data:
                data = data[os.write(self._descriptor, data[:WRITE_SIZE]) :]
        except OSError as error:
            raise cannot("write", self.path, error) from error


class AtomicFile:
    """A file that appears at `destination` when it is complete, for this and other formats.

        with AtomicFile("notes.json") as file:
            file.write(b"...")
            file.commit()

    Leaving the block without `commit` deletes the scratch file and changes nothing. PackError, with the OSError as its
    cause, if the system refuses; AlreadyExistsError from `commit(overwrite=False)`.

    Burn: `AtomicFile::create`.
    """

    def __init__(self, destination: str | os.PathLike[str]) -> None:
        self.destination = to_path(destination)
        self._scratch: Path | None = None
        self.sink = self._create()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sink.write(data)

    def commit(self, *, overwrite: bool = True) -> None:
        """Makes the file durable and publishes it; without `overwrite` only if nothing is there.

        Burn: `AtomicFile::commit_new`.
        """
        scratch = self._scratch
        if scratch is None:
            raise PackError(f"{self.destination}: this file was already committed or abandoned.")
        self.sink.sync()
        self.sink.close()
        if overwrite:
            self._replace(scratch)
        else:
            self._link(scratch)
        self._scratch = None
        self._sync_folder()

    def abandon(self) -> None:
        """Deletes the scratch file unless it was committed."""
        scratch, self._scratch = self._scratch, None
        with contextlib.suppress(OSError):
            self.sink.abandon()
        if scratch is not None:
            with contextlib.suppress(OSError):
                os.unlink(scratch)

    def __enter__(self) -> AtomicFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.abandon()

    def _create(self) -> FileSink:
        while True:
            name = f"{self.destination.name}.{os.getpid()}-{next(_scratch_numbers)}.tmp"
            scratch = self.destination.with_name(name)
            try:
                descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
            except FileExistsError:
                continue
            except OSError as error:
                raise cannot("write", self.destination, error) from error
            self._scratch = scratch
            return FileSink(descriptor, self.destination)

    def _replace(self, scratch: Path) -> None:
        try:
            mode = _regular_file_mode(self.destination)
            if mode is not None:
                os.chmod(scratch, mode)
            os.replace(scratch, self.destination)
        except OSError as error:
            raise cannot("replace", self.destination, error) from error

    def _link(self, scratch: Path) -> None:
        try:
            os.link(scratch, self.destination)
        except OSError as error:
            if os.path.lexists(self.destination):
                raise already_exists(self.destination) from error
            self._replace(scratch)  # a file system without hard links
            return
        try:
            os.unlink(scratch)
        except OSError as error:
            raise PackError(
                f"{self.destination}: saved, but its scratch file {scratch.name} could not be deleted: {reason(error)}."
            ) from error

    def _sync_folder(self) -> None:
        if os.name != "posix":
            return
        try:
            folder = os.open(self.destination.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise PackError(
                f"{self.destination}: saved, but it may not survive a power loss: syncing its folder failed: "
                f"{reason(error)}."
            ) from error


def to_path(path: str | os.PathLike[str]) -> Path:
    """A path whose last part can name a file."""
    try:
        text = os.fspath(path)
    except TypeError:
        raise PackError(f"path: expected str or PathLike, got {type(path).__name__}.") from None
    if not isinstance(text, str) or "\0" in text:
        raise PackError(f"path: {text!r} is not a file path.")
    from pathlib import Path  # 5 ms, for those who save

    result = Path(text)
    if result.name in ("", ".."):
        raise PackError(f"path: {text!r} is not a file path.")
    return result


def cannot(verb: str, path: Path, error: OSError) -> PackError:
    return PackError(f"{path}: cannot {verb} it: {reason(error)}.")


def reason(error: OSError) -> str:
    return error.strerror or str(error)


def already_exists(path: Path) -> AlreadyExistsError:
    return AlreadyExistsError(f"{path}: the file already exists. Pass overwrite=True to replace it.")


def _regular_file_mode(path: Path) -> int | None:
    """Permission bits of the file itself; None if there is none, or it is a link or something else."""
    if os.name != "posix":
        return None
    try:
        found = os.lstat(path).st_mode
    except FileNotFoundError:
        return None
    return stat.S_IMODE(found) if stat.S_ISREG(found) else None
