"""The fixed parts of a burnpack file: ten header bytes, the alignment rule, the limits, the length of a tensor.

    0   4  magic          u32 LE 0x4255524e, "NRUB" on disk
    4   2  version        u16 LE, 1
    6   4  metadata size  u32 LE
    10  n  metadata       one CBOR map (`metadata.py`)
    D   -  tensors        D = 10 + n rounded up to 256; offsets in the metadata count from D

Burn: `crates/burn-pack/src/base.rs`, and the checks of `reader.rs`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from minburn.dtype import DType
from minburn.pack.errors import PackError

MAGIC = b"NRUB"
"""Burn: `MAGIC_NUMBER`."""
VERSION = 1
"""Burn: `FORMAT_VERSION`."""
HEADER_SIZE = 10
ALIGNMENT = 256
"""Burn: `TENSOR_ALIGNMENT`."""

MAX_FILE_SIZE = 100 << 30
MAX_METADATA_SIZE = 100 << 20
MAX_TENSOR_SIZE = 10 << 30
MAX_TENSORS = 100_000
"""Burn: `MAX_TENSOR_COUNT`."""
MAX_NESTING = 128
"""Burn: `MAX_CBOR_RECURSION_DEPTH`."""
U64_MAX = (1 << 64) - 1

_HEADER = struct.Struct("<4sHI")


def align(offset: int) -> int:
    """The smallest multiple of 256 that is ≥ offset."""
    return (offset + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def data_start(metadata_size: int) -> int:
    """D: where the first tensor may start in the file. Burn: `aligned_data_section_start`."""
    return align(HEADER_SIZE + metadata_size)


def encode_header(metadata_size: int) -> bytes:
    """Burn: `Header` and `Header::into_bytes`."""
    return _HEADER.pack(MAGIC, VERSION, metadata_size)


def parse_header(file: str, header: bytes) -> int:
    """The metadata size that a header announces; PackError if it is not one that can be read.

    Burn: `Header::from_bytes`.
    """
    if len(header) < HEADER_SIZE:
        raise PackError(
            f"{file}: too short for a burnpack file: {len(header)} bytes, the header alone has {HEADER_SIZE}."
        )
    magic, version, metadata_size = _HEADER.unpack(header)
    if magic != MAGIC:
        hint = " It is a zip; minburn.store reads .pt and .npz." if magic == b"PK\x03\x04" else ""
        raise PackError(
            f"{file}: not a burnpack file: it starts with {magic.hex(' ')}, expected {MAGIC.hex(' ')}.{hint}"
        )
    if version > VERSION:
        raise PackError(f"{file}: format version {version}; this reader knows versions up to {VERSION}.")
    if metadata_size > MAX_METADATA_SIZE:
        raise PackError(f"{file}: announces {metadata_size} bytes of metadata; the limit is {MAX_METADATA_SIZE}.")
    return int(metadata_size)


def byte_length(dtype: DType, shape: Sequence[int]) -> int | None:
    """Product of the shape × element size; None if a size or a product is outside 64 unsigned bits.

    Burn multiplies from left to right and refuses the first overflow, so [2^63, 2, 0] has no length and [0, 2^63, 2]
    has length 0.
    """
    count = 1
    for size in shape:
        count *= size
        if count > U64_MAX or not 0 <= size <= U64_MAX:
            return None
    count *= dtype.size
    return count if count <= U64_MAX else None


def check_byte_length(where: str, dtype: DType, shape: Sequence[int], length: int) -> None:
    """PackError unless `length` bytes are what dtype and shape need. A quantized payload is exempt, as in Burn."""
    if dtype.kind == "qfloat":
        return
    expected = byte_length(dtype, shape)
    if expected is None:
        raise PackError(f"{where}: shape {list(shape)} with dtype {dtype} overflows 64 bits.")
    if length != expected:
        raise PackError(f"{where} has {length} bytes, but its shape {list(shape)} and dtype {dtype} need {expected}.")
