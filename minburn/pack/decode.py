"""Reads the CBOR metadata that `metadata.py` describes, with Burn's verdict on whatever else it may contain.

One table per struct or enum says what each key or variant holds; `CborReader` does the rest. Accepted, as in Burn:
keys in any order, unknown keys, indefinite lengths, tags, long integer forms, bignums, a shape given as bytes, a null
`param_id`, bytes behind the last item. Refused: a missing or repeated key, null where a map belongs, a float for an
integer and an integer for a float, a variant that does not exist. Refused beyond Burn, which keeps the last: a name
that comes twice.

Burn: the serde derives of `crates/burn-pack/src/base.rs`, `burn-std` `DType` and `cubecl-common` `QuantScheme`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from minburn.dtype import PLAIN_DTYPES, BlockScale, DType, QuantScheme
from minburn.pack.cbor import CborError, CborReader
from minburn.pack.format import MAX_TENSORS
from minburn.pack.metadata import (
    MAX_BLOCK_RANK,
    QUANT_MODES,
    QUANT_VALUES,
    SCALE_DTYPES,
    Descriptor,
    Metadata,
)
from minburn.pack.scalar import Scalar
from minburn.pack.usual import decode_usual_tensors

T = TypeVar("T")


def decode_metadata(data: bytes) -> Metadata:
    """The metadata of a file; CborError says what does not fit and where."""
    return Metadata(**CborReader(data).fields(METADATA_FIELDS, defaults={"metadata": {}, "scalars": {}}))


def _named(
    what: str, decode: Callable[[CborReader], T], limit: int | None = None
) -> Callable[[CborReader], dict[str, T]]:
    """Reads a map from name to what `decode` reads; a name may come once."""

    def decode_map(reader: CborReader) -> dict[str, T]:
        values: dict[str, T] = {}
        for _ in reader.entries():
            start = reader.position
            name = reader.text()
            if name in values:
                raise reader.error(f"{what} {name!r} comes twice", start)
            if len(values) == limit:
                raise reader.error(f"more than {limit} {what}s", start)
            try:
                values[name] = decode(reader)
            except CborError as error:
                raise CborError(f"{what} {name!r}: {error}") from None
        return values

    return decode_map


def _constant(value: T) -> Callable[[CborReader], T]:
    return lambda reader: value


def _constants(names: Iterable[str]) -> dict[str, Callable[[CborReader], str]]:
    return {name: _constant(name) for name in names}


_QUANT_VALUES = _constants(QUANT_VALUES)
_QUANT_MODES = _constants(QUANT_MODES)
_SCALE_DTYPES = _constants(SCALE_DTYPES)
_QUANT_STORES: dict[str, Callable[[CborReader], tuple[str, int]]] = {
    "Native": _constant(("Native", 0)),
    "PackedNative": lambda reader: ("PackedNative", reader.uint()),
    "PackedU32": lambda reader: ("PackedU32", reader.uint()),
}


def _decode_scale_dtype(reader: CborReader) -> str:
    return reader.variant("scale dtype", _SCALE_DTYPES)


_BLOCK_SIZE: dict[str, Callable[[CborReader], object]] = {
    "storage": lambda reader: reader.uints(MAX_BLOCK_RANK, largest=255),
    "len": lambda reader: reader.uint(largest=MAX_BLOCK_RANK),
}
_BLOCK: dict[str, Callable[[CborReader], object]] = {
    "size": lambda reader: reader.fields(_BLOCK_SIZE, defaults={}),
    "dtype": _decode_scale_dtype,
}


def _decode_block(reader: CborReader) -> BlockScale:
    block = reader.fields(_BLOCK, defaults={})
    return BlockScale(tuple(block["size"]["storage"][: block["size"]["len"]]), block["dtype"])


_SCHEME: dict[str, Callable[[CborReader], object]] = {
    "value": lambda reader: reader.variant("quantized value", _QUANT_VALUES),
    "store": lambda reader: reader.variant("quantized store", _QUANT_STORES),
    "mode": lambda reader: reader.variant("quantization mode", _QUANT_MODES),
    "tensor": lambda reader: reader.optional(_decode_scale_dtype),
    "block": lambda reader: reader.optional(_decode_block),
}


def _decode_quantized(reader: CborReader) -> DType:
    found = reader.fields(_SCHEME, defaults={"tensor": None, "block": None})
    store, store_dim = found["store"]
    scheme = QuantScheme(found["value"], store, store_dim, found["mode"], found["tensor"], found["block"])
    return DType.qfloat(scheme)


_BOOL_STORES = {"Native": _constant(DType.Bool), "U8": _constant(DType.BoolU8), "U32": _constant(DType.BoolU32)}
_DTYPES: dict[str, Callable[[CborReader], DType]] = {
    **{dtype.name: _constant(dtype) for dtype in PLAIN_DTYPES if not dtype.is_bool},
    "Bool": lambda reader: reader.variant("bool store", _BOOL_STORES),
    "QFloat": _decode_quantized,
}
_DESCRIPTOR: dict[str, Callable[[CborReader], object]] = {
    "dtype": lambda reader: reader.variant("dtype", _DTYPES),
    "shape": lambda reader: tuple(reader.uints()),
    "data_offsets": lambda reader: reader.uints(2),
    "param_id": lambda reader: reader.optional(CborReader.uint),
}


def _decode_descriptor(reader: CborReader) -> Descriptor:
    found = reader.fields(_DESCRIPTOR, defaults={"param_id": None})
    start, end = found["data_offsets"]
    return found["dtype"], found["shape"], start, end, found["param_id"]


decode_any_tensors = _named("tensor", _decode_descriptor, limit=MAX_TENSORS)


def _decode_tensors(reader: CborReader) -> dict[str, Descriptor]:
    usual = decode_usual_tensors(reader)
    return decode_any_tensors(reader) if usual is None else usual


_SCALARS: dict[str, Callable[[CborReader], Scalar]] = {
    "Int": lambda reader: Scalar.int(reader.int64()),
    "UInt": lambda reader: Scalar.uint(reader.uint()),
    "Float": lambda reader: Scalar.float(reader.float()),
    "Bool": lambda reader: Scalar.bool(reader.bool()),
}
METADATA_FIELDS: dict[str, Callable[[CborReader], object]] = {
    "tensors": _decode_tensors,
    "metadata": _named("metadata", CborReader.text),
    "scalars": _named("scalar", lambda reader: reader.variant("scalar", _SCALARS)),
}
