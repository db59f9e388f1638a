"""The CBOR map between header and tensors: what each tensor is and where, plus texts and scalars by name.

    {"tensors":  {name: {"dtype": DType, "shape": [u64...], "data_offsets": [start, end], "param_id": u64}},
     "metadata": {text: text},
     "scalars":  {text: {"Int" | "UInt" | "Float" | "Bool": value}}}

Written as Burn writes: keys in this order, names sorted, definite lengths, shortest integers and floats, an absent
`param_id` and empty `metadata` and `scalars` left out. A dtype is a text (`"F32"`), or a map of one entry where it
carries something: `{"Bool": "Native"}`, `{"QFloat": {value, store, mode, tensor, block}}`.

This file writes it, `decode.py` reads it.

Burn: private `Metadata` and `TensorDescriptor` in `crates/burn-pack/src/base.rs`; `DType` and `QuantScheme` in burn-std
and cubecl-common.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from minburn.dtype import PLAIN_DTYPES, BlockScale, DType, QuantScheme
from minburn.pack.cbor import ARRAY, MAP, UINT, encode_float, encode_int, encode_text, head
from minburn.pack.errors import PackError
from minburn.pack.scalar import Scalar

QUANT_VALUES = ("Q8F", "E5M2", "E4M3", "Q4F", "E2M1", "Q2F", "Q8S", "Q4S", "Q2S")
QUANT_STORES = ("Native", "PackedNative", "PackedU32")
QUANT_MODES = ("Symmetric", "Lookup")
SCALE_DTYPES = ("F32", "F16", "BF16", "UE8M0", "UE4M3")
MAX_BLOCK_RANK = 5


Descriptor: TypeAlias = tuple[DType, tuple[int, ...], int, int, int | None]
"""dtype, shape, start, end, param_id; the offsets count from the start of the data section. A plain tuple: there may be
a hundred thousand, and a NamedTuple takes seven times as long to make."""


class Metadata(NamedTuple):
    tensors: dict[str, Descriptor]
    metadata: dict[str, str]
    scalars: dict[str, Scalar]


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
    kind, plain = PLAIN_ENCODED.get(dtype.name, _NOT_PLAIN)
    if plain is not dtype and plain != dtype:
        kind = _encode_quantized(dtype)
    sizes = _encode_uints(shape)
    first, last = head(UINT, start), head(UINT, end)
    if param_id is None:
        return b"\xa3edtype%beshape%bldata_offsets\x82%b%b" % (kind, sizes, first, last)
    param = head(UINT, param_id)
    return b"\xa4edtype%beshape%bldata_offsets\x82%b%bhparam_id%b" % (kind, sizes, first, last, param)


@lru_cache(maxsize=1024)  # most tensors of a model share a few shapes
def _encode_uints(values: tuple[int, ...]) -> bytes:
    return head(ARRAY, len(values)) + b"".join([head(UINT, value) for value in values])


def _encode_plain_dtype(dtype: DType) -> bytes:
    name, _, store = dtype.name.partition("(")  # "Bool(U8)" is {"Bool": "U8"}
    return b"\xa1" + encode_text(name) + encode_text(store.rstrip(")")) if store else encode_text(name)


PLAIN_ENCODED = {dtype.name: (_encode_plain_dtype(dtype), dtype) for dtype in PLAIN_DTYPES}
_NOT_PLAIN = (b"", None)


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
