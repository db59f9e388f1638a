"""Opens a burnpack file: the header and metadata are read and checked, tensors only when they are asked for.

    with Reader.from_file("model.bpk") as reader:
        weight = reader["fc.weight"]      # dtype, shape, param_id; no data read yet
        values = weight.view()            # the bytes, mapped from the file

A file is memory-mapped, so `view()` costs nothing and reads only the pages that are used; it stays valid after the
reader is closed and after the file is renamed over or deleted. It does not survive that somebody truncates or rewrites
the file in place: `write_to_file` never does. Bytes in memory are viewed, a file object is read by seeking.

Everything that Burn's reader checks is checked at open, in its order, so that an open reader's tensors all lie inside
the file and have the length that shape and dtype need. Not checked, as in Burn: overlaps, gaps and alignment between
tensors, what lies behind the last one, element values, the length of quantized payloads.

Burn: `crates/burn-pack/src/reader.rs`.
"""

from __future__ import annotations

import contextlib
import io
import mmap
import os
import stat
import threading
from collections.abc import Iterator, Mapping
from types import MappingProxyType, TracebackType
from typing import BinaryIO, Protocol

from minburn.dtype import DType
from minburn.pack.atomic import cannot, to_path
from minburn.pack.cbor import CborError
from minburn.pack.decode import decode_metadata
from minburn.pack.errors import PackError, TensorNotFoundError
from minburn.pack.format import (
    HEADER_SIZE,
    MAX_FILE_SIZE,
    MAX_TENSOR_SIZE,
    U64_MAX,
    check_byte_length,
    data_start,
    parse_header,
)
from minburn.pack.metadata import Descriptor
from minburn.pack.scalar import Scalar
from minburn.pack.tensor import TensorEntry
from minburn.pack.writer import EXTENSION, has_extension


class _Source(Protocol):
    """Where the bytes of an open file come from."""

    def entry(self, name: str, descriptor: Descriptor, base: int) -> TensorEntry: ...

    def close(self) -> None: ...


class Reader(Mapping[str, TensorEntry]):
    """The tensors of a burnpack file by name, sorted, with its texts and scalars. Make one with a `from_...` method."""

    metadata: Mapping[str, str]
    scalars: Mapping[str, Scalar]

    def __init__(self, file: str, source: _Source, size: int, encoded: bytes) -> None:
        self._file = file
        self._source: _Source | None = source
        try:
            found = decode_metadata(encoded)
        except CborError as error:
            raise PackError(f"{file}: metadata: {error}.") from None
        self._data_start = data_start(len(encoded))
        self._tensors = {name: found.tensors[name] for name in sorted(found.tensors)}
        self.metadata = MappingProxyType(found.metadata)
        self.scalars = MappingProxyType(found.scalars)
        _check_tensors(file, self._tensors, self._data_start, size)

    @staticmethod
    def from_file(path: str | os.PathLike[str]) -> Reader:
        """Opens a file; `.bpk` is appended if the name has no extension and nothing exists without it."""
        target = to_path(path)
        if not has_extension(target) and not os.path.exists(target):
            target = target.with_name(target.name + EXTENSION)
        return Reader.from_file_exact(target)

    @staticmethod
    def from_file_exact(path: str | os.PathLike[str]) -> Reader:
        """Opens the file at exactly this path."""
        target = to_path(path)
        try:
            if not stat.S_ISREG(os.stat(target).st_mode):
                raise PackError(f"{target}: not a regular file.")
            with open(target, "rb", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                encoded = _read_front(str(target), file, size)
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise cannot("open", target, error) from error
        return _open(str(target), _Memory(memoryview(mapped), mapped), size, encoded)

    @staticmethod
    def from_bytes(data: object) -> Reader:
        """Opens a file that is in memory: bytes or anything with the buffer protocol, used without a copy."""
        file = "<bytes>"
        try:
            view = memoryview(data).cast("B").toreadonly()  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise PackError(f"{file}: expected bytes, got {type(data).__name__}.") from None
        metadata_size = parse_header(file, view[:HEADER_SIZE].tobytes())
        encoded = view[HEADER_SIZE : HEADER_SIZE + metadata_size].tobytes()
        _check_metadata_size(file, metadata_size, len(encoded))
        return _open(file, _Memory(view), len(view), encoded)

    @staticmethod
    def from_reader(file: BinaryIO) -> Reader:
        """Opens a binary file object that can seek; byte 0 is its start. It must stay open, and is not closed."""
        name = getattr(file, "name", None)
        name = name if isinstance(name, str) else f"<{type(file).__name__}>"
        try:
            size = file.seek(0, io.SEEK_END)
            file.seek(0)
            encoded = _read_front(name, file, size)
        except (AttributeError, OSError, TypeError) as error:
            raise PackError(f"{name}: expected a binary file object that can read and seek: {error}.") from error
        return _open(name, _Seekable(name, file), size, encoded)

    def names(self) -> list[str]:
        """The names of all tensors, sorted. Burn: `Reader::tensor_names`."""
        return list(self._tensors)

    def names_by_position(self) -> list[str]:
        """The names in the order of their data, which is the order in which the writer got the tensors."""
        return sorted(self._tensors, key=lambda name: self._tensors[name][2:4])

    def __getitem__(self, name: str) -> TensorEntry:
        """The tensor of that name, its data not read yet; TensorNotFoundError, also a KeyError, if there is none.

        Burn: `Reader::tensor_data`.
        """
        if self._source is None:
            raise PackError(f"{self._file}: this reader is closed.")
        descriptor = self._tensors.get(name) if isinstance(name, str) else None
        if descriptor is None:
            raise TensorNotFoundError(f"{self._file}: no tensor {name!r} among its {len(self._tensors)}.")
        return self._source.entry(name, descriptor, self._data_start)

    def __contains__(self, name: object) -> bool:
        return name in self._tensors

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def close(self) -> None:
        """Lets go of the file. Entries and views that were taken keep working, unless it came from a file object."""
        if self._source is not None:
            self._source.close()
            self._source = None

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Reader({self._file!r}, {len(self)} tensors)"


class _Memory:
    """A file that is all there: mapped or in memory. Entries view it."""

    def __init__(self, view: memoryview, mapped: mmap.mmap | None = None) -> None:
        self._view = view
        self._mapped = mapped

    def entry(self, name: str, descriptor: Descriptor, base: int) -> TensorEntry:
        dtype, shape, start, end, param_id = descriptor
        data = self._view[base + start : base + end]
        return TensorEntry.checked(name, dtype, shape, param_id, end - start, data, None)

    def close(self) -> None:
        self._view.release()
        if self._mapped is not None:
            with contextlib.suppress(BufferError):  # a tensor's view is still in use: unmapped when that one goes
                self._mapped.close()


class _Seekable:
    """A file object. Entries read their range when asked; reads from several threads take turns."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        self._name = name
        self._file = file
        self._lock = threading.Lock()

    def entry(self, name: str, descriptor: Descriptor, base: int) -> TensorEntry:
        dtype, shape, start, end, param_id = descriptor
        nbytes = end - start

        def read() -> bytes:
            try:
                with self._lock:
                    self._file.seek(base + start)
                    return _read_exactly(self._file, nbytes)
            except (OSError, ValueError) as error:
                raise PackError(f"{self._name}: tensor {name!r} cannot be read: {error}.") from error

        return TensorEntry.checked(name, dtype, shape, param_id, nbytes, None, read)

    def close(self) -> None:
        """The file object belongs to the caller."""


def _open(file: str, source: _Source, size: int, encoded: bytes) -> Reader:
    try:
        return Reader(file, source, size, encoded)
    except BaseException:
        source.close()
        raise


def _read_front(name: str, file: io.RawIOBase | BinaryIO, size: int) -> bytes:
    """The encoded metadata of a file that is positioned at its start."""
    if size > MAX_FILE_SIZE:
        raise PackError(f"{name}: {size} bytes; the limit is {MAX_FILE_SIZE}.")
    metadata_size = parse_header(name, _read_exactly(file, HEADER_SIZE))
    _check_metadata_size(name, metadata_size, size - HEADER_SIZE)
    encoded = _read_exactly(file, metadata_size)
    _check_metadata_size(name, metadata_size, len(encoded))
    return encoded


def _read_exactly(file: io.RawIOBase | BinaryIO, length: int) -> bytes:
    """`length` bytes, fewer only at the end of the file."""
    pieces = []
    while length > 0:
        piece = file.read(length)
        if not piece:
            break
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)


def _check_metadata_size(file: str, announced: int, available: int) -> None:
    if announced > available:
        raise PackError(
            f"{file}: truncated: the header announces {announced} bytes of metadata, {max(available, 0)} follow it."
        )


def _check_tensors(file: str, tensors: Mapping[str, Descriptor], base: int, size: int) -> None:
    """Burn's checks 10 and 11: every range is sane and has the right length, and the file is long enough for all."""
    end_of_data = 0
    usual: dict[tuple[str, tuple[int, ...]], int] = {}  # the right length; most tensors share a few shapes
    for name, (dtype, shape, start, end, _) in tensors.items():
        length = end - start
        if length != usual.get((dtype.name, shape)) or base + end > U64_MAX:
            _check_tensor(f"{file}: tensor {name!r}", dtype, shape, base, start, end)
            if dtype.kind != "qfloat":
                usual[dtype.name, shape] = length
        if end > end_of_data:
            end_of_data = end
    if tensors and base + end_of_data > size:
        raise PackError(f"{file}: truncated: its tensors end at byte {base + end_of_data}, the file has {size}.")


def _check_tensor(where: str, dtype: DType, shape: tuple[int, ...], base: int, start: int, end: int) -> None:
    if base + start > U64_MAX or base + end > U64_MAX:
        raise PackError(f"{where}: offsets {start} .. {end} overflow 64 bits.")
    if end < start:
        raise PackError(f"{where}: it ends at {end}, before its start {start}.")
    if end - start > MAX_TENSOR_SIZE:
        raise PackError(f"{where} has {end - start} bytes; the limit is {MAX_TENSOR_SIZE}.")
    check_byte_length(where, dtype, shape, end - start)
