"""The CBOR map between header and tensors: what each tensor is and where, plus texts and scalars by name.

    {"tensors":  {name: {"dtype": DType, "shape": [u64...], "data_offsets": [start, end], "param_id": u64}},
     "metadata": {text: text},
     "scalars":  {text: {"Int" | "UInt" | "Float" | "Bool": value}}}

Written as Burn writes: keys in this order, names sorted, definite lengths, shortest integers and floats, an absent
`param_id` and empty `metadata` and `scalars` left out. A dtype is a text (`"F32"`), or a map of one entry where it
carries something: `{"Bool": "Native"}`, `{"QFloat": {value, store, mode, tensor, block}}`.

Read as Burn reads (`cbor.py` says how lenient that is). One thing is refused that Burn lets pass: a name that comes
twice in one map, where Burn silently keeps the last.

Burn: `Metadata`, `TensorDescriptor`, `Scalar` in `crates/burn-pack/src/base.rs`; `DType` and `QuantScheme` in burn-std
and cubecl-common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeVar

from minburn.dtype import PLAIN_DTYPES, BlockScale, DType, QuantScheme
from minburn.pack.cbor import ARRAY, MAP, UINT, CborError, CborReader, encode_float, encode_int, encode_text, head
from minburn.pack.errors import PackError
from minburn.pack.format import MAX_TENSORS
from minburn.pack.scalar import Scalar

T = TypeVar("T")

QUANT_VALUES = ("Q8F", "E5M2", "E4M3", "Q4F", "E2M1", "Q2F", "Q8S", "Q4S", "Q2S")
QUANT_STORES = ("Native", "PackedNative", "PackedU32")
QUANT_MODES = ("Symmetric", "Lookup")
SCALE_DTYPES = ("F32", "F16", "BF16", "UE8M0", "UE4M3")
MAX_BLOCK_RANK = 5


class Descriptor(NamedTuple):
    """One tensor's line in the metadata; the offsets count from the start of the data section."""

    dtype: DType
    shape: tuple[int, ...]
    start: int
    end: int
    param_id: int | None


class Metadata(NamedTuple):
    tensors: dict[str, Descriptor]
    metadata: dict[str, str]
    scalars: dict[str, Scalar]


# Writing


def encode_metadata(
    tensors: Mapping[str, Descriptor], texts: Mapping[str, str], scalars: Mapping[str, Scalar]
) -> bytes:
    sections = [(b"gtensors", _encode_map((name, _encode_descriptor(tensors[name])) for name in sorted(tensors)))]
    if texts:
        sections.append((b"hmetadata", _encode_map((name, encode_text(texts[name])) for name in sorted(texts))))
    if scalars:
        sections.append((b"gscalars", _encode_map((name, _encode_scalar(scalars[name])) for name in sorted(scalars))))
    return head(MAP, len(sections)) + b"".join(key + value for key, value in sections)


def _encode_map(items: Iterable[tuple[str, bytes]]) -> bytes:
    encoded = [encode_text(name) + value for name, value in items]
    return head(MAP, len(encoded)) + b"".join(encoded)


def _encode_descriptor(tensor: Descriptor) -> bytes:
    dtype, shape, start, end, param_id = tensor
    kind = _PLAIN_ENCODED.get(dtype) or _encode_quantized(dtype)
    offsets = b"ldata_offsets\x82" + head(UINT, start) + head(UINT, end)
    if param_id is None:
        return b"\xa3edtype" + kind + b"eshape" + _encode_uints(shape) + offsets
    return b"\xa4edtype" + kind + b"eshape" + _encode_uints(shape) + offsets + b"hparam_id" + head(UINT, param_id)


def _encode_uints(values: tuple[int, ...]) -> bytes:
    return head(ARRAY, len(values)) + b"".join([head(UINT, value) for value in values])


def _encode_plain_dtype(dtype: DType) -> bytes:
    name, _, store = dtype.name.partition("(")  # "Bool(U8)" is {"Bool": "U8"}
    return b"\xa1" + encode_text(name) + encode_text(store.rstrip(")")) if store else encode_text(name)


_PLAIN_ENCODED = {dtype: _encode_plain_dtype(dtype) for dtype in PLAIN_DTYPES}


def _encode_quantized(dtype: DType) -> bytes:
    scheme = dtype.scheme
    if dtype.name != "QFloat" or scheme is None:
        raise PackError(f"dtype {dtype} cannot be written: burnpack has no such element type.")
    _check_scheme(scheme)
    store = encode_text(scheme.store)
    if scheme.store != "Native":
        store = b"\xa1" + store + head(UINT, scheme.store_dim)
    return b"".join(
        (
            b"\xa1fQFloat\xa5evalue" + encode_text(scheme.value),
            b"estore" + store,
            b"dmode" + encode_text(scheme.mode),
            b"ftensor" + (b"\xf6" if scheme.tensor is None else encode_text(scheme.tensor)),
            b"eblock" + (b"\xf6" if scheme.block is None else _encode_block(scheme.block)),
        )
    )


def _encode_block(block: BlockScale) -> bytes:
    size = block.size + (1,) * (MAX_BLOCK_RANK - len(block.size))
    storage = b"\xa2gstorage" + _encode_uints(size) + b"clen" + head(UINT, len(block.size))
    return b"\xa2dsize" + storage + b"edtype" + encode_text(block.dtype)


def _check_scheme(scheme: QuantScheme) -> None:
    block = scheme.block
    if (
        scheme.value not in QUANT_VALUES
        or scheme.store not in QUANT_STORES
        or scheme.mode not in QUANT_MODES
        or not 0 <= scheme.store_dim < 1 << 64
        or (scheme.tensor is not None and scheme.tensor not in SCALE_DTYPES)
        or (block is not None and (block.dtype not in SCALE_DTYPES or len(block.size) > MAX_BLOCK_RANK))
        or (block is not None and not all(0 <= size < 256 for size in block.size))
    ):
        raise PackError(f"quantization scheme cannot be written: {scheme}.")


def _encode_scalar(scalar: Scalar) -> bytes:
    if scalar.kind == "Bool":
        value = b"\xf5" if scalar.value else b"\xf4"
    elif scalar.kind == "Float":
        value = encode_float(scalar.value)
    else:
        value = encode_int(int(scalar.value))
    return b"\xa1" + encode_text(scalar.kind) + value


# Reading


def decode_metadata(data: bytes) -> Metadata:
    """The metadata of a file; CborError says what does not fit and where."""
    return Metadata(**CborReader(data).fields(_METADATA, defaults={"metadata": {}, "scalars": {}}))


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
    return Descriptor(found["dtype"], found["shape"], start, end, found["param_id"])


_SCALARS: dict[str, Callable[[CborReader], Scalar]] = {
    "Int": lambda reader: Scalar.int(reader.int64()),
    "UInt": lambda reader: Scalar.uint(reader.uint()),
    "Float": lambda reader: Scalar.float(reader.float()),
    "Bool": lambda reader: Scalar.bool(reader.bool()),
}
_METADATA: dict[str, Callable[[CborReader], object]] = {
    "tensors": _named("tensor", _decode_descriptor, limit=MAX_TENSORS),
    "metadata": _named("metadata", CborReader.text),
    "scalars": _named("scalar", lambda reader: reader.variant("scalar", _SCALARS)),
}
