"""Lays out tensors, texts and scalars, and writes them: into memory, over a file atomically, or into it in place.

Everything is checked and every offset known before the first byte is written or a file is touched. Tensors lie in the
order they were handed over, each at the next multiple of 256; only the metadata is sorted by name. A deferred tensor's
bytes are made when its turn comes and dropped before the next one's, so one tensor is the most that is in memory.

    Writer(entries, metadata={"made by": "hand"}, scalars={"epoch": Scalar.uint(3)}).write_to_file("model.bpk")

Burn: `crates/burn-pack/src/writer.rs`. Beyond it, what a reader would refuse as too large is refused here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from minburn.pack.atomic import WRITE_SIZE, AtomicFile, FileSink, already_exists, cannot, to_path
from minburn.pack.checks import check_text
from minburn.pack.errors import PackError
from minburn.pack.format import (
    ALIGNMENT,
    HEADER_SIZE,
    MAX_FILE_SIZE,
    MAX_METADATA_SIZE,
    MAX_TENSOR_SIZE,
    MAX_TENSORS,
    align,
    data_start,
    encode_header,
)
from minburn.pack.metadata import Descriptor, encode_metadata
from minburn.pack.scalar import Scalar
from minburn.pack.tensor import TensorEntry

if TYPE_CHECKING:
    from pathlib import Path

T = TypeVar("T")

_PADDING = bytes(ALIGNMENT)

EXTENSION = ".bpk"


@dataclass(frozen=True, slots=True)
class WriteReport:
    """What was written: the final path, its bytes, and their SHA-256 in hex if it was asked for."""

    path: Path
    size: int
    sha256: str | None


class Writer:
    """A burnpack file to be.

    entries: tensors in the order of their data. metadata: text by name. scalars: `Scalar` by name.
    PackError for a name that comes twice, a value of the wrong type, or sizes that no reader accepts.
    """

    def __init__(
        self,
        entries: Iterable[TensorEntry],
        metadata: Mapping[str, str] | None = None,
        scalars: Mapping[str, Scalar] | None = None,
    ) -> None:
        self._entries = _checked_entries(entries)
        self._starts: list[int] = []
        tensors: dict[str, Descriptor] = {}
        end = 0
        for entry in self._entries:
            if entry.name in tensors:
                raise PackError(f"Writer: tensor {entry.name!r} comes twice. Names must be unique within a file.")
            start = align(end)
            end = start + entry.nbytes
            self._starts.append(start)
            tensors[entry.name] = (entry.dtype, entry.shape, start, end, entry.param_id)
        encoded = encode_metadata(
            tensors,
            _checked_texts(metadata),
            _checked_scalars(scalars),
        )
        if len(encoded) > MAX_METADATA_SIZE:
            raise PackError(f"Writer: {len(encoded)} bytes of metadata; the limit is {MAX_METADATA_SIZE}.")
        self._start = data_start(len(encoded))
        self._size = self._start + end
        if self._size > MAX_FILE_SIZE:
            raise PackError(f"Writer: the file would have {self._size} bytes; the limit is {MAX_FILE_SIZE}.")
        self._head = encode_header(len(encoded)) + encoded + bytes(self._start - HEADER_SIZE - len(encoded))

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return self._size

    def into_bytes(self) -> bytes:
        """The whole file in memory."""
        return b"".join(self.pieces())

    def write_into(self, buffer: object) -> int:
        """Writes the file to the front of a writable buffer of at least `size` bytes; returns `size`.

        After a failure the contents of the buffer are unspecified.
        """
        try:
            view = memoryview(buffer)  # type: ignore[arg-type]
            if view.readonly:
                raise TypeError
            view = view.cast("B")
        except (TypeError, ValueError):
            raise PackError(
                f"write_into: expected a writable, contiguous buffer, got {type(buffer).__name__}."
            ) from None
        if view.nbytes < self._size:
            raise PackError(f"write_into: the buffer has {view.nbytes} bytes, the file needs {self._size}.")
        position = 0
        for piece in self.pieces():
            view[position : position + len(piece)] = piece
            position += len(piece)
            del piece  # before the next producer runs
        return self._size

    def write_to_file(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = True,
        auto_extension: bool = True,
        digest: bool = False,
    ) -> WriteReport:
        """Writes a scratch file beside `path` and, when it is safe on the disk, renames it: all or nothing.

        overwrite: False refuses a destination that exists (AlreadyExistsError).
        auto_extension: `.bpk` is appended to a name without extension.
        digest: also compute the SHA-256 of the file while writing.

        PackError if the system refuses (its OSError is the `__cause__`) or a producer fails; the old file is then as
        it was and nothing is left beside it.

        Burn: `Writer::overwrite` and `Writer::auto_extension`.
        """
        with AtomicFile(save_path(path, auto_extension)) as file:
            sha256 = self._write(file.sink, digest)
            file.commit(overwrite=overwrite)
        return WriteReport(file.destination, self._size, sha256)

    def write_to_file_in_place(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = True,
        auto_extension: bool = True,
        digest: bool = False,
    ) -> WriteReport:
        """Truncates and writes the file itself, keeping its inode, owner and links; nothing is synced.

        A failure leaves a partial file. Never the file that the tensors of this writer are mapped from.
        """
        target = save_path(path, auto_extension)
        flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0) | (os.O_TRUNC if overwrite else os.O_EXCL)
        try:
            descriptor = os.open(target, flags, 0o666)
        except FileExistsError as error:
            raise already_exists(target) from error
        except OSError as error:
            raise cannot("write", target, error) from error
        sink = FileSink(descriptor, target)
        try:
            sha256 = self._write(sink, digest)
            sink.close()
        finally:
            sink.abandon()
        return WriteReport(target, self._size, sha256)

    def _write(self, sink: FileSink, digest: bool) -> str | None:
        if not digest:
            for piece in self.pieces():
                sink.write(piece)
                del piece  # before the next producer runs
            return None
        import hashlib  # 3 ms, for a digest that is rarely asked for

        hasher = hashlib.sha256()
        for piece in self.pieces():
            for start in range(0, len(piece), WRITE_SIZE):
                part = piece[start : start + WRITE_SIZE]
                hasher.update(part)
                sink.write(part)
                del part
            del piece
        return hasher.hexdigest()

    def pieces(self) -> Iterator[bytes | memoryview]:
        """The file from front to back, in as few pieces as there are."""
        yield self._head
        position = 0
        for entry, start in zip(self._entries, self._starts, strict=True):
            if start > position:
                yield _PADDING[: start - position]
            data = entry.view()
            yield data
            position = start + data.nbytes
            del data


def has_extension(path: Path) -> bool:
    """Rust's idea of an extension: text after the last dot of the name, unless that dot comes first."""
    return path.name.rfind(".") > 0


def save_path(path: str | os.PathLike[str], auto_extension: bool) -> Path:
    target = to_path(path)
    if auto_extension and not has_extension(target):
        return target.with_name(target.name + EXTENSION)
    return target


def _checked_entries(entries: Iterable[TensorEntry]) -> list[TensorEntry]:
    try:
        checked = list(entries)
    except TypeError:
        kind = type(entries).__name__
        raise PackError(f"Writer: entries must be TensorEntry values, got {kind}. Pass a list of them.") from None
    for entry in checked:
        if not isinstance(entry, TensorEntry):
            raise PackError(f"Writer: entries must be TensorEntry values, got {type(entry).__name__}.")
        if entry.nbytes > MAX_TENSOR_SIZE:
            raise PackError(f"Writer: tensor {entry.name!r} has {entry.nbytes} bytes; the limit is {MAX_TENSOR_SIZE}.")
    if len(checked) > MAX_TENSORS:
        raise PackError(f"Writer: {len(checked)} tensors; the limit is {MAX_TENSORS}.")
    return checked


def _checked_texts(metadata: Mapping[str, str] | None) -> Mapping[str, str]:
    texts = _mapping("metadata", metadata)
    for name, text in texts.items():
        check_text("Writer: a metadata name", name)
        check_text(f"Writer: metadata {name!r}", text)
    return texts


def _checked_scalars(scalars: Mapping[str, Scalar] | None) -> Mapping[str, Scalar]:
    values = _mapping("scalars", scalars)
    for name, scalar in values.items():
        check_text("Writer: a scalar name", name)
        if not isinstance(scalar, Scalar):
            raise PackError(
                f"Writer: scalar {name!r} must be a Scalar, got {type(scalar).__name__}. Use Scalar.int, .uint, .float "
                "or .bool."
            )
    return values


def _mapping(what: str, values: Mapping[str, T] | None) -> Mapping[str, T]:
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise PackError(f"Writer: {what} must be a mapping from names, got {type(values).__name__}.")
    return values
