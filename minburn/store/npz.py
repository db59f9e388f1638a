"""NumPy's archives: a zip file with one `.npy` per tensor, as `numpy.savez` writes it and `numpy.load` reads it.

An `.npy` is a short header (dtype, order, shape) and the elements. Big-endian arrays and arrays in Fortran's order are
converted. There is no pickle here: an array of objects is refused, and so is every other dtype that tensors do not
have. BF16 has no dtype in NumPy: cast it first.

Burn has no store for these.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from minburn.dtype import DType
from minburn.pack import TensorEntry
from minburn.pack.format import byte_length
from minburn.store.base import File, Store
from minburn.store.check import as_flag
from minburn.store.error import StoreError
from minburn.store.files import MAX_TENSOR_SIZE, Source
from minburn.store.zip import Member, read_members
from minburn.tensor.data import FROM_NUMPY, STORAGE

__all__ = ["NpzStore"]

EXTENSION = ".npy"
MAX_HEADER = 16 << 10
MAX_RANK = 64

_HEADER = re.compile(
    rb"""\s*\{\s*['"]descr['"]\s*:\s*['"]([<>|=][\w?]{1,8})['"]\s*,\s*['"]fortran_order['"]\s*:\s*(True|False)\s*,"""
    rb"""\s*['"]shape['"]\s*:\s*\(((?:[ ]*\d{1,19}L?[ ]*,)*(?:[ ]*\d{1,19}L?)?)[ ]*\)[\s,]*\}\s*""",
)

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same tensors are the same bytes
_KINDS = {
    STORAGE[dtype.name].str[1:]: dtype for dtype in FROM_NUMPY.values() if dtype != DType.BF16 and not dtype.is_bool
}
_KINDS["b1"] = DType.Bool
_DESCRIPTIONS = {dtype: f"{'<' if dtype.size > 1 else '|'}{kind}" for kind, dtype in _KINDS.items()} | {
    DType.Flex32: "<f4",
    DType.BoolU8: "|b1",
    DType.BoolU32: "<u4",
}


class NpzStore(Store):
    """A `.npz` file. It holds no parameter ids and no metadata. compress: deflate it."""

    def __init__(self, file: File, *, compress: bool = False, **options: Any) -> None:
        super().__init__(file, **options)
        self.compress = as_flag("compress", compress)
        if self.metadata:
            raise StoreError(f"{self.name}: an npz file has no place for metadata.")

    def read(self, source: Source) -> Mapping[str, TensorEntry]:
        return {
            (key := name.removesuffix(EXTENSION)): _read_entry(source, key, member)
            for name, member in read_members(source).items()
        }

    def pieces(self, entries: list[TensorEntry]) -> Iterator[bytes | memoryview]:
        headers = {entry.name: _header(entry) for entry in entries}
        if len(headers) != len(entries):
            raise StoreError("npz: a name comes twice.")
        return _pieces(entries, headers, zipfile.ZIP_DEFLATED if self.compress else zipfile.ZIP_STORED)


def _pieces(entries: list[TensorEntry], headers: Mapping[str, bytes], method: int) -> Iterator[bytes | memoryview]:
    gathered = _Gathered()
    with zipfile.ZipFile(gathered, "w", method) as archive:  # type: ignore[call-overload]
        for entry in entries:
            info = zipfile.ZipInfo(entry.name + EXTENSION, _EPOCH)
            info.create_system = 3  # whatever the system is
            info.compress_type = method
            info.file_size = len(headers[entry.name]) + entry.nbytes
            with archive.open(info, "w", force_zip64=info.file_size > zipfile.ZIP64_LIMIT // 2) as member:
                member.write(headers[entry.name])
                member.write(entry.view())
                yield from gathered.take()
    yield from gathered.take()


class _Gathered:
    """What zipfile writes to; it cannot seek, so that lengths and checksums follow the data."""

    def __init__(self) -> None:
        self._pieces: list[bytes | memoryview] = []

    def write(self, data: bytes | memoryview) -> int:
        self._pieces.append(data)
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""

    def take(self) -> list[bytes | memoryview]:
        pieces, self._pieces = self._pieces, []
        return pieces


def _header(entry: TensorEntry) -> bytes:
    description = _DESCRIPTIONS.get(entry.dtype)
    if description is None:
        raise StoreError(
            f"tensor {entry.name!r}: {entry.dtype} cannot be saved as npz. Cast it first: FloatCastAdapter(DType.F32)."
        )
    file = io.BytesIO()
    header = {"descr": description, "fortran_order": False, "shape": entry.shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue()


def _read_entry(source: Source, name: str, member: Member) -> TensorEntry:
    """The tensor of a member. Its header is read now."""
    what = f"tensor {name!r}"
    if not member.name.endswith(f"{EXTENSION}'"):
        raise source.error(f"{member.name} is no array: its name does not end in {EXTENSION}.")
    kind, fortran, shape, start = _read_header(source, what, member.head(MAX_HEADER))
    dtype = _KINDS.get(kind[1:]) if kind[0] in "<>|=" else None
    if dtype is None:
        raise source.error(f"{what}: NumPy's {kind} has no counterpart here.")
    expected = byte_length(dtype, shape)
    if expected is None or expected > MAX_TENSOR_SIZE or len(shape) > MAX_RANK:
        raise source.error(f"{what}: shape {str(shape)[:80]} is too large.")
    nbytes = expected
    if start + nbytes != member.size:
        raise source.error(f"{what} has {member.size - start} bytes, but its shape and dtype need {nbytes}.")

    def produce() -> object:
        data = member.read()[start:]
        array = np.frombuffer(data, STORAGE[dtype.name])
        if kind[0] == ">":
            array = array.byteswap()
        if dtype.is_bool:
            array = (array != 0).view(np.uint8)
        return np.ascontiguousarray(array.reshape(shape, order="F" if fortran else "C"))

    return TensorEntry.checked(name, dtype, shape, None, nbytes, None, produce)


def _read_header(source: Source, what: str, head: bytes) -> tuple[str, bool, tuple[int, ...], int]:
    """(dtype, Fortran's order, shape, where the elements begin) of an .npy file.

    The header is a Python literal. Of all literals only what NumPy writes for plain arrays is read, without `eval`.
    """
    magic, version = head[:6], tuple(head[6:8])
    prefix = 10 if version == (1, 0) else 12
    length = int.from_bytes(head[8:prefix], "little")
    if magic != b"\x93NUMPY" or version not in ((1, 0), (2, 0), (3, 0)) or prefix + length > len(head):
        raise source.error(f"{what} is no array that can be read: it begins with {head[:12].hex(' ')}.")
    match = _HEADER.fullmatch(head[prefix : prefix + length])
    if match is None:
        raise source.error(f"{what}: it is no plain array: its header is {head[prefix : prefix + min(length, 100)]!r}.")
    kind, order, sizes = match.groups()
    shape = tuple(int(size.rstrip(b"L")) for size in sizes.replace(b" ", b"").split(b",") if size)
    return kind.decode(), order == b"True", shape, prefix + length
