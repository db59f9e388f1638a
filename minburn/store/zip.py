"""The members of a zip file, for PyTorch's and NumPy's containers: where their bytes lie, and those bytes.

What is stored lies in the file as it is and is not copied. What is deflated is inflated when it is asked for, and never
to more than was announced, which deflate limits to 1032 times what is there. Checksums are compared whenever a whole
member is read.
"""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass

from minburn.store.files import MAX_TENSOR_SIZE, MAX_TENSORS, Cursor, Source

_LOCAL_HEADER = 30
_MAX_RATIO = 1032
_ENCRYPTED = 1


@dataclass(frozen=True, slots=True)
class Member:
    """A file in the archive; `size` is what it has when inflated."""

    source: Source
    name: str
    start: int
    stored: int
    size: int
    crc: int
    deflated: bool

    def read(self, start: int = 0, length: int | None = None) -> memoryview:
        """A range of its bytes, all of them by default."""
        length = self.size - start if length is None else length
        if start < 0 or length < 0 or start + length > self.size:
            raise self.source.error(f"{self.name}: bytes {start} .. {start + length} of {self.size}.")
        data = self.source.slice(self.name, self.start, self.stored)
        if self.deflated:
            data = self._inflated(data)
        whole = length == self.size
        if (whole or self.deflated) and self.crc and zlib.crc32(data) != self.crc:
            raise self.source.error(f"{self.name}: damaged: its checksum is not {self.crc:08x}.")
        return data[start : start + length]

    def head(self, length: int) -> bytes:
        """At most `length` bytes from its start, unchecked; no more than these are inflated."""
        data = self.source.slice(self.name, self.start, self.stored)
        if not self.deflated:
            return data[:length].tobytes()
        try:
            return zlib.decompressobj(-zlib.MAX_WBITS).decompress(data[: 2 * length], length)
        except zlib.error as error:
            raise self.source.error(f"{self.name}: damaged: {error}.") from error

    def _inflated(self, data: memoryview) -> memoryview:
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            result = inflater.decompress(data, self.size + 1)
        except zlib.error as error:
            raise self.source.error(f"{self.name}: damaged: {error}.") from error
        if len(result) != self.size:
            raise self.source.error(f"{self.name}: it inflates to other than the {self.size} bytes it announces.")
        return memoryview(result)


def read_members(source: Source) -> dict[str, Member]:
    """By name, in the order of the directory. StoreError for what is no zip file, damaged, encrypted or oversized."""
    try:
        with zipfile.ZipFile(Cursor(source)) as archive:
            infos = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError, OSError, OverflowError) as error:
        raise source.error(f"not a zip file that can be read: {str(error)[:200]}.") from error
    if len(infos) > 2 * MAX_TENSORS:
        raise source.error(f"{len(infos)} members; the limit is {2 * MAX_TENSORS}.")
    members: dict[str, Member] = {}
    for info in infos:
        name = info.filename
        if name in members:
            raise source.error(f"{name!r} comes twice.")
        members[name] = _member(source, info)
    return members


def _member(source: Source, info: zipfile.ZipInfo) -> Member:
    name = f"member {info.filename!r}"
    if info.flag_bits & _ENCRYPTED or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise source.error(f"{name} is encrypted, or compressed in another way than deflate.")
    deflated = info.compress_type == zipfile.ZIP_DEFLATED
    if info.file_size > MAX_TENSOR_SIZE or (deflated and info.file_size > _MAX_RATIO * info.compress_size + _MAX_RATIO):
        raise source.error(f"{name} announces {info.file_size} bytes from {info.compress_size}.")
    if not deflated and info.file_size != info.compress_size:
        raise source.error(f"{name} is stored with {info.compress_size} bytes, but announces {info.file_size}.")
    header = source.slice(name, info.header_offset, _LOCAL_HEADER).tobytes()
    if header[:4] != b"PK\x03\x04":
        raise source.error(f"{name}: damaged: there is no header at byte {info.header_offset}.")
    skipped = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    start = info.header_offset + _LOCAL_HEADER + skipped
    source.slice(name, start, info.compress_size)
    return Member(source, name, start, info.compress_size, info.file_size, info.CRC, deflated)
