"""IDX files, the format of MNIST: read from disk, plain or gzip-compressed. Nothing is downloaded.

    0  0  type  rank | size of each dimension, u32 big-endian | numbers, big-endian, row by row

    type: 08 u8, 09 i8, 0b i16, 0c i32, 0d f32, 0e f64

    train = idx.load("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz")
    loader = DataLoader(train, idx.Batcher(backend), batch_size=64, shuffle=True)

A header is believed only after its sizes were compared with the size of the file, so a damaged one cannot ask for more
memory than the file could fill. Burn: `crates/burn-dataset/src/vision/mnist.rs`.
"""

from __future__ import annotations

import math
import os
import struct
from typing import Any, Protocol, TypeAlias

import numpy as np

from minburn.backends import Backend
from minburn.data.check import DataError, as_path, cannot_read, integer
from minburn.data.dataset import InMemDataset
from minburn.data.image import ImageBatch, ImageBatcher, ImageItem

WHITE = 255
MAX_RANK = 8
MAX_BYTES = 1 << 31

GZIP_MAGIC = b"\x1f\x8b"
GZIP_BEST_RATIO = 1032
"""Deflate cannot make data smaller than by this factor."""

DTYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}

Item = ImageItem
Batch = ImageBatch
PathLike: TypeAlias = str | os.PathLike[str]


class BinaryReader(Protocol):
    def read(self, size: int, /) -> bytes: ...


class Batcher(ImageBatcher):
    """`Batch(images=[N, height, width] grey / 255, targets=[N])` on `backend`."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend, white=WHITE)


def load(images: PathLike, labels: PathLike, max_items: int = 60_000) -> InMemDataset[Item]:
    """The items of a pair of files: u8 pictures of rank 3 and as many u8 labels of rank 1.

    Raises DataError naming the file if it is damaged, of another type, or has more than `max_items` items.

    Burn: `MnistDataset` in `crates/burn-dataset/src/vision/mnist.rs`.
    """
    max_items = integer("idx.load", "max_items", max_items, 1)
    pictures = _read_u8(images, rank=3, max_items=max_items)
    classes = _read_u8(labels, rank=1, max_items=max_items)
    if len(pictures) != len(classes):
        raise DataError(f"{images}: {len(pictures)} images, but {labels} has {len(classes)} labels.")
    return InMemDataset(map(ImageItem, pictures, classes.tolist()))


def read(path: PathLike, max_bytes: int = MAX_BYTES) -> np.ndarray[Any, Any]:
    """The array in an IDX file, read-only, in the machine's byte order.

    max_bytes: the most its numbers may take. Raises DataError naming the file, also if it cannot be opened.
    """
    return _read(path, integer("idx.read", "max_bytes", max_bytes, 0))


def _read_u8(path: PathLike, rank: int, max_items: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return _read(path, MAX_BYTES, rank=rank, max_items=max_items)


def _read(
    path: PathLike, max_bytes: int, rank: int | None = None, max_items: int | None = None
) -> np.ndarray[Any, Any]:
    try:
        opened = as_path("idx", path).open("rb")
    except OSError as error:
        raise cannot_read(path, error) from error
    with opened as file:
        size = os.fstat(file.fileno()).st_size
        compressed = file.read(2) == GZIP_MAGIC
        file.seek(0)
        if not compressed:
            return _read_stream(file, path, size, max_bytes, rank, max_items)

        import gzip
        import zlib

        try:
            with gzip.GzipFile(fileobj=file) as stream:
                return _read_stream(stream, path, size * GZIP_BEST_RATIO, max_bytes, rank, max_items)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(f"{path}: damaged gzip data: {error}. Fetch the file again.") from error


def _read_stream(
    stream: BinaryReader, path: PathLike, size: int, max_bytes: int, rank: int | None, max_items: int | None
) -> np.ndarray[Any, Any]:
    """size: the most bytes the stream can give."""
    start = _read_exactly(stream, path, 4)
    if start[:2] != b"\0\0":
        raise DataError(f"{path}: not an IDX file: it starts with {start.hex(' ')}, expected 00 00.")
    if start[2] not in DTYPES:
        known = ", ".join(f"{code:02x}" for code in DTYPES)
        raise DataError(f"{path}: unknown element type {start[2]:02x}; IDX has {known}.")
    if rank is not None and (start[2] != 0x08 or start[3] != rank):
        raise DataError(
            f"{path}: expected rank {rank} of u8 (magic 00 00 08 {rank:02x}), but it starts with {start.hex(' ')}. "
            "Are images and labels swapped?"
        )
    if not 1 <= start[3] <= MAX_RANK:
        raise DataError(f"{path}: rank {start[3]} is outside 1 to {MAX_RANK}.")
    shape = struct.unpack(f">{start[3]}I", _read_exactly(stream, path, 4 * start[3]))
    dtype = np.dtype(DTYPES[start[2]])
    length = math.prod(shape) * dtype.itemsize
    if max_items is not None and shape[0] > max_items:
        raise DataError(f"{path}: its header declares {shape[0]} items, the limit is {max_items} (max_items).")
    if length > max_bytes:
        raise DataError(f"{path}: its header declares {length} bytes of numbers, the limit is {max_bytes} (max_bytes).")
    if length > size:
        raise DataError(f"{path}: truncated: shape {list(shape)} needs {length} bytes, the file cannot hold them.")
    content = _read_exactly(stream, path, length)
    if stream.read(1):
        raise DataError(f"{path}: there are bytes after the {length} that shape {list(shape)} needs.")
    array = np.frombuffer(content, dtype).reshape(shape)
    array = array.astype(dtype.newbyteorder("="), copy=False)
    array.flags.writeable = False
    return array


def _read_exactly(stream: BinaryReader, path: PathLike, length: int) -> bytes:
    """A damaged file is noticed when it ends, not by allocating what its header asks for: it is read in pieces."""
    content = bytearray()
    while len(content) < length:
        piece = stream.read(min(length - len(content), 1 << 20))
        if not piece:
            raise DataError(f"{path}: truncated: it ends {length - len(content)} bytes too early.")
        content += piece
    return bytes(content)
