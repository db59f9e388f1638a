"""The container alone: names, dtypes, shapes, bytes, ids, scalars. It knows nothing of tensors or modules."""

import struct
import tempfile
from pathlib import Path

from minburn.dtype import DType
from minburn.pack import PackError, Reader, Scalar, TensorEntry, Writer

weight = TensorEntry("weight", DType.F32, (2, 2), struct.pack("<4f", 1, 2, 3, 4), param_id=42)
big = TensorEntry.deferred("big", DType.U8, (1 << 20,), lambda: bytes(1 << 20))  # produced while writing

path = Path(tempfile.mkdtemp()) / "example.bpk"
Writer(
    [weight, big], metadata={"made by": "hand"}, scalars={"epoch": Scalar.uint(3), "loss": Scalar.float(0.25)}
).write_to_file(path)

with Reader.from_file(path) as reader:  # opens lazily: only the header and the metadata are read
    assert reader.names() == ["big", "weight"]
    assert reader.metadata == {"made by": "hand"} and reader.scalars["loss"].value == 0.25
    entry = reader["weight"]
    assert (entry.dtype, entry.shape, entry.param_id) == (DType.F32, (2, 2), 42)
    assert struct.unpack("<4f", entry.bytes()) == (1.0, 2.0, 3.0, 4.0)

# The bytes are Burn's, to the last one.
alone = Writer([TensorEntry("weight", DType.F32, (2, 2), struct.pack("<4f", 1, 2, 3, 4), param_id=42)]).into_bytes()
assert len(alone) == 272 and alone[:10] == bytes.fromhex("4e525542010040000000")

try:
    Reader.from_bytes(b"PK\x03\x04" + bytes(300))
except PackError as error:
    assert "50 4b 03 04" in str(error)
else:
    raise AssertionError("a foreign file was accepted")
