"""SafeTensors: a JSON header, then the tensors without gaps.

    0    8   n, u64 LE
    8    n   JSON: {"__metadata__": {text: text}, name: {"dtype": …, "shape": […], "data_offsets": [start, end]}, …}
    8+n  -   tensors; offsets count from here, the file ends with the last one

Written as Burn and the safetensors crate write it: metadata first, tensors by falling rank of their dtype, then by
name, and spaces at the end of the header so that the data start at a multiple of 8. A reader takes any order, and
refuses gaps, overlaps, bytes behind the last tensor, and names that come twice.

    BOOL U8 I8 I16 U16 F16 BF16 I32 U32 F32 F64 I64 U64     the ranks, from low to high

Bools in a store of 8 or 32 bits are written as U8 or U32. U16 and quantized tensors are refused, as in Burn.

Burn: `crates/burn-store/src/safetensors/store.rs`.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Iterator, Mapping
from typing import Any

from minburn.dtype import DType
from minburn.pack import TensorEntry
from minburn.pack.format import byte_length
from minburn.store.base import BURN_VERSION, Store
from minburn.store.error import StoreError
from minburn.store.files import MAX_TENSOR_SIZE, MAX_TENSORS, Source

__all__ = ["SafetensorsStore"]

MAX_HEADER_SIZE = 100_000_000
METADATA = "__metadata__"

RANKS = ("BOOL", "U8", "I8", "I16", "U16", "F16", "BF16", "I32", "U32", "F32", "F64", "I64", "U64")
DTYPES = {
    "F64": DType.F64,
    "F32": DType.F32,
    "F16": DType.F16,
    "BF16": DType.BF16,
    "I64": DType.I64,
    "I32": DType.I32,
    "I16": DType.I16,
    "I8": DType.I8,
    "U64": DType.U64,
    "U32": DType.U32,
    "U8": DType.U8,
    "BOOL": DType.Bool,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()} | {
    DType.Flex32: "F32",
    DType.BoolU8: "U8",
    DType.BoolU32: "U32",
}


class SafetensorsStore(Store):
    """A `.safetensors` file. It holds no parameter ids: a module keeps its own."""

    def read(self, source: Source) -> Mapping[str, TensorEntry]:
        return read_safetensors(source)[0]

    def pieces(self, entries: list[TensorEntry]) -> Iterator[bytes | memoryview]:
        usual = {"format": "safetensors", "version": BURN_VERSION, "producer": "burn"}
        return safetensors_pieces(entries, {**usual, **self.metadata})


def safetensors_pieces(entries: list[TensorEntry], metadata: Mapping[str, str]) -> Iterator[bytes | memoryview]:
    """The file from front to back. StoreError, now, for what the format cannot hold."""
    names = [_dtype_name(entry) for entry in entries]
    order = sorted(range(len(entries)), key=lambda index: (-RANKS.index(names[index]), entries[index].name))
    header: dict[str, Any] = {METADATA: dict(metadata)} if metadata else {}
    end = 0
    for index in order:
        entry = entries[index]
        if entry.name in header or entry.name == METADATA:
            raise StoreError(f"safetensors: the name {entry.name!r} comes twice, or is the header's own.")
        start, end = end, end + entry.nbytes
        header[entry.name] = {"dtype": names[index], "shape": list(entry.shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER_SIZE or len(entries) > MAX_TENSORS:
        raise StoreError(f"safetensors: {len(entries)} tensors and {len(text)} bytes of header are too many to read.")

    def pieces() -> Iterator[bytes | memoryview]:
        yield len(text).to_bytes(8, "little") + text
        for index in order:
            yield entries[index].view()

    return pieces()


def read_safetensors(source: Source) -> tuple[dict[str, TensorEntry], dict[str, str]]:
    """The tensors in the order of their data, as views of the source, and the metadata. StoreError if it is damaged."""
    size = len(source.view)
    if size < 8:
        raise source.error(f"too short for a safetensors file: {size} bytes.")
    length = int.from_bytes(source.view[:8], "little")
    if length > MAX_HEADER_SIZE:
        raise source.error(f"not a safetensors file: its header would have {length} bytes; at most {MAX_HEADER_SIZE}.")
    header = _parse(source, source.slice("header", 8, length).tobytes())
    metadata = header.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise source.error(f"{METADATA} must map texts to texts.")
    if len(header) > MAX_TENSORS:
        raise source.error(f"{len(header)} tensors; the limit is {MAX_TENSORS}.")
    found = sorted(
        (_described(source, name, value) for name, value in header.items()), key=operator.itemgetter(3, 4, 0)
    )
    end = 0
    tensors = {}
    for name, dtype, shape, start, stop in found:
        if start != end:
            raise source.error(f"tensor {name!r}: it starts at {start}, but {end} bytes of data come before it.")
        end = stop
        data = source.slice(f"tensor {name!r}", 8 + length + start, stop - start)
        tensors[name] = TensorEntry.checked(name, dtype, shape, None, stop - start, data, None)
    if 8 + length + end != size:
        raise source.error(f"its tensors end at byte {8 + length + end}, the file has {size}.")
    return tensors, metadata


def _described(source: Source, name: str, value: Any) -> tuple[str, DType, tuple[int, ...], int, int]:
    """(name, dtype, shape, start, end) of one entry of the header."""
    where = f"tensor {name!r}"
    if not isinstance(value, dict) or not {"dtype", "shape", "data_offsets"} <= value.keys():
        raise source.error(f"{where}: expected dtype, shape and data_offsets, got {_short(value)}.")
    dtype = DTYPES.get(value["dtype"]) if isinstance(value["dtype"], str) else None
    if dtype is None:
        raise source.error(f"{where}: unsupported dtype {_short(value['dtype'])}. Known are {', '.join(DTYPES)}.")
    shape, offsets = value["shape"], value["data_offsets"]
    if not (_is_sizes(shape) and _is_sizes(offsets) and len(offsets) == 2):
        raise source.error(f"{where}: shape {_short(shape)} and offsets {_short(offsets)} are not lists of sizes.")
    start, stop = offsets
    expected = byte_length(dtype, shape)
    if expected is None:
        raise source.error(f"{where}: shape {_short(shape)} with dtype {dtype} overflows 64 bits.")
    if expected > MAX_TENSOR_SIZE:
        raise source.error(f"{where} has {expected} bytes; the limit is {MAX_TENSOR_SIZE}.")
    if stop - start != expected:
        raise source.error(
            f"{where} has {stop - start} bytes, but its shape {_short(shape)} and dtype {dtype} need {expected}."
        )
    return name, dtype, tuple(shape), start, stop


def _parse(source: Source, text: bytes) -> dict[str, Any]:
    if text[:1] != b"{":
        raise source.error("not a safetensors file: its header does not begin with '{'.")
    if text.count(b"[") + text.count(b"{") > 10 * MAX_TENSORS:
        raise source.error(f"its header nests more than {10 * MAX_TENSORS} lists and maps.")
    try:
        header = json.loads(text.decode(), object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:  # also what is no UTF-8
        raise source.error(f"its header is not valid: {_short(str(error))}.") from error
    assert isinstance(header, dict)
    return header


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the name {twice!r} comes twice")
    return found


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is no JSON")


def _is_sizes(values: object) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < 1 << 64 for value in values)


def _dtype_name(entry: TensorEntry) -> str:
    name = NAMES.get(entry.dtype)
    if name is None:
        raise StoreError(
            f"tensor {entry.name!r}: {entry.dtype} cannot be saved as safetensors. Cast it first, or save a burnpack."
        )
    return name


def _short(value: object) -> str:
    text = repr(value) if not isinstance(value, str) else value
    return text if len(text) <= 80 else f"{text[:77]}…"
