"""burnpack: Burn's container for named tensors, texts and scalars. Byte for byte what Burn 0.22 writes.

    Writer([TensorEntry("w", DType.F32, (2, 2), data, param_id=42)], {"made by": "hand"}).write_to_file("model.bpk")
    with Reader.from_file("model.bpk") as reader:
        values = reader["w"].view()

This package knows names, dtypes, shapes and bytes; nothing of arrays, tensors or modules. It needs the standard library
and `minburn.dtype` only.

The format
----------

    offset  size  content
    0       4     magic, u32 LE 0x4255524e: the bytes 4e 52 55 42, "NRUB"
    4       2     version, u16 LE: 1 is written, 0 and 1 are read
    6       4     n, u32 LE: bytes of metadata
    10      n     metadata: one CBOR map, below
    10+n    -     zeros up to D, the next multiple of 256
    D       -     tensors; the file ends with the last one's last byte (with no tensor, at D)

Tensors lie in the order in which they were written. Each starts at a multiple of 256 counted from D, the gaps are
zeros; an empty one still has its aligned start. The bytes are the elements in row-major order, little-endian.

Metadata, keys in this order:

    "tensors"   map of name → {"dtype": dtype, "shape": [u64 ...], "data_offsets": [start, end], "param_id": u64}
    "metadata"  map of text → text; left out if empty
    "scalars"   map of text → {"Int": i64} | {"UInt": u64} | {"Float": f64} | {"Bool": bool}; left out if empty

The three maps are sorted by name (as UTF-8 bytes: `a.10` before `a.2`). Offsets count from D. `param_id` is left out if
there is none, and shape is `[]` for a single element. Everything is written in CBOR's definite lengths and shortest
heads, a float in the narrowest of binary16, 32 and 64 that loses no bit.

    dtype         bytes   is
    "F64" "F32" "F16" "BF16"  8 4 2 2   IEEE 754, bfloat16
    "Flex32"                  4         stored as F32
    "I64" "I32" "I16" "I8"    8 4 2 1   two's complement
    "U64" "U32" "U16" "U8"    8 4 2 1
    {"Bool": "Native"}        1         0 or 1; {"Bool": "U8"} the same, {"Bool": "U32"} in 4 bytes
    {"QFloat": scheme}        -         packed values, then scales; carried through, its length is not checked

    scheme  {"value": "Q8F" "E5M2" "E4M3" "Q4F" "E2M1" "Q2F" "Q8S" "Q4S" "Q2S",
             "store": "Native" | {"PackedNative": dim} | {"PackedU32": dim},
             "mode": "Symmetric" | "Lookup",
             "tensor": null | scale, "block": null | {"size": {"storage": [5 × u8], "len": u8}, "dtype": scale}}
    scale   "F32" "F16" "BF16" "UE8M0" "UE4M3"

Limits
------

A file has at most 100 GiB, its metadata 100 MiB, a tensor 10 GiB; there are at most 100,000 tensors. A reader checks,
at open: magic, version, these limits, the metadata, and for each tensor that its range is sane and as long as dtype
and shape need, then that the file is long enough for all of them. `cbor.py` and `decode.py` say what metadata may look
like beyond what is written here: the verdict is Burn's, except that a name which comes twice is refused. The writer
refuses what no reader would open.

    format.py    header, alignment, limits          scalar.py   Scalar
    cbor.py      CBOR items                         tensor.py   TensorEntry, resident or deferred
    metadata.py  the map, written                   writer.py   Writer       atomic.py  AtomicFile
    decode.py    the map, read; usual.py its shortcut           reader.py    Reader

Burn: `crates/burn-pack`.
"""

from minburn.pack.atomic import AtomicFile
from minburn.pack.errors import AlreadyExistsError, PackError, TensorNotFoundError
from minburn.pack.reader import Reader
from minburn.pack.scalar import Scalar
from minburn.pack.tensor import TensorEntry
from minburn.pack.writer import Writer, WriteReport

__all__ = [
    "AlreadyExistsError",
    "AtomicFile",
    "PackError",
    "Reader",
    "Scalar",
    "TensorEntry",
    "TensorNotFoundError",
    "WriteReport",
    "Writer",
]
