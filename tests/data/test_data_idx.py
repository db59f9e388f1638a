"""IDX files: well-formed ones of every type, and every way to lie in a header."""

import gzip
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from minburn.backends import NumPy
from minburn.data import DataError, DataLoader, idx

CODES = {"u1": 0x08, "i1": 0x09, "i2": 0x0B, "i4": 0x0C, "f4": 0x0D, "f8": 0x0E}


def encode(array: np.ndarray, code: int | None = None) -> bytes:
    number = CODES[array.dtype.str[1:]] if code is None else code
    header = bytes([0, 0, number, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + array.astype(array.dtype.newbyteorder(">")).tobytes()


def write(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("kind", list(CODES))
@pytest.mark.parametrize("compressed", [False, True])
def test_every_type_round_trips(tmp_path: Path, kind: str, compressed: bool) -> None:
    array = np.arange(-12, 12).astype(kind).reshape(2, 3, 4)
    content = encode(array)
    read = idx.read(write(tmp_path, "a", gzip.compress(content) if compressed else content))
    assert read.dtype == array.dtype
    assert read.dtype.isnative
    assert np.array_equal(read, array)
    with pytest.raises(ValueError, match="read-only"):
        read[0] = 0


@pytest.mark.parametrize("shape", [(0,), (0, 28, 28), (3, 0)])
def test_empty_arrays(tmp_path: Path, shape: tuple[int, ...]) -> None:
    assert idx.read(write(tmp_path, "a", encode(np.zeros(shape, np.uint8)))).shape == shape


GOOD = encode(np.zeros((2, 3), np.uint8))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it ends 4 bytes too early"),
        (b"\0\0", "it ends 2 bytes too early"),
        (b"PK\3\4" + GOOD, "not an IDX file: it starts with 50 4b 03 04, expected 00 00"),
        (b"\0\0\x0a\1" + GOOD[4:], "unknown element type 0a"),
        (b"\0\0\x08\0", "rank 0 is outside 1 to 8"),
        (b"\0\0\x08\xff" + bytes(1020), "rank 255 is outside 1 to 8"),
        (GOOD[:9], "it ends 3 bytes too early"),
        (GOOD[:-1], "truncated: it ends 1 bytes too early"),
        (GOOD + b"\0", "there are bytes after the 6"),
        (b"\0\0\x08\2" + struct.pack(">2I", 2**16, 2**10), "truncated: shape"),
        (b"\0\0\x0e\3" + b"\xff" * 12, "the limit is"),
    ],
)
@pytest.mark.parametrize("compressed", [False, True])
def test_hostile_files(tmp_path: Path, content: bytes, message: str, compressed: bool) -> None:
    path = write(tmp_path, "hostile.idx", gzip.compress(content) if compressed else content)
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=message) as caught:
            idx.read(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "hostile.idx" in str(caught.value)
    assert peak < 4_000_000


def test_damaged_gzip(tmp_path: Path) -> None:
    good = gzip.compress(encode(np.arange(200, dtype=np.uint8).reshape(2, 100)))
    for name, content in {
        "short": good[:-12],
        "flipped": good[:40] + bytes([good[40] ^ 255]) + good[41:],
        "checksum": good[:-8] + b"\0\0\0\0" + good[-4:],
        "header": good[:2] + b"\x63" + good[3:],
    }.items():
        with pytest.raises(DataError, match=f"{name}: "):
            idx.read(write(tmp_path, name, content))


def test_every_mutated_byte_is_read_or_refused(tmp_path: Path) -> None:
    good = encode(np.arange(6, dtype=np.uint8).reshape(2, 3))
    for position in range(12):
        for value in (0, 1, 2, 3, 8, 127, 255):
            path = write(tmp_path, "a", good[:position] + bytes([value]) + good[position + 1 :])
            try:
                array = idx.read(path)
            except DataError:
                continue
            assert array.nbytes == 6 or position in (2, 3)


def test_limits(tmp_path: Path) -> None:
    path = write(tmp_path, "a", GOOD)
    assert idx.read(path, max_bytes=6).shape == (2, 3)
    with pytest.raises(DataError, match=r"declares 6 bytes of numbers, the limit is 5 \(max_bytes\)"):
        idx.read(path, max_bytes=5)


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent.*cannot be read: No such file"):
        idx.read(tmp_path / "absent")


IMAGES = np.arange(3 * 4 * 5, dtype=np.uint8).reshape(3, 4, 5)
LABELS = np.array([7, 0, 9], np.uint8)


def pair(folder: Path, images: np.ndarray = IMAGES, labels: np.ndarray = LABELS) -> tuple[Path, Path]:
    return write(folder, "images.gz", gzip.compress(encode(images))), write(folder, "labels", encode(labels))


def test_a_pair_of_files_becomes_a_dataset(tmp_path: Path) -> None:
    dataset = idx.load(*pair(tmp_path))
    assert [item.label for item in dataset] == [7, 0, 9]
    batch = next(iter(DataLoader(dataset, idx.Batcher(NumPy()), batch_size=3)))
    assert np.array_equal(batch.images.numpy(), IMAGES * np.float32(1 / 255))
    assert batch.targets.numpy().tolist() == [7, 0, 9]


@pytest.mark.parametrize(
    ("load", "message"),
    [
        (lambda f: idx.load(*pair(f, labels=LABELS[:2])), "images.gz: 3 images, but .*labels has 2 labels"),
        (lambda f: idx.load(*pair(f)[::-1]), "labels: expected rank 3 of u8 .* Are images and labels swapped"),
        (lambda f: idx.load(*pair(f, images=IMAGES.astype(np.int16))), "images.gz: expected rank 3 of u8"),
        (lambda f: idx.load(*pair(f), max_items=2), r"images.gz: its header declares 3 items, the limit is 2"),
        (lambda f: idx.load(*pair(f), max_items=0), "max_items must be at least 1"),
    ],
)
def test_pairs_that_do_not_fit(tmp_path: Path, load: Callable[[Path], object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        load(tmp_path)
