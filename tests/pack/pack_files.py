"""Two writers: of a small file, and of one of several pieces."""

from minburn.dtype import DType
from minburn.pack import Scalar, TensorEntry, Writer


def small(value=1):
    return Writer([TensorEntry("w", DType.U8, (3,), bytes([value] * 3))], scalars={"s": Scalar.uint(value)})


def large(value=1):
    """Several pieces larger than the write buffer, and one deferred."""
    data = bytes([value]) * (1 << 20)
    return Writer(
        [
            TensorEntry("a", DType.U8, (1 << 20,), data),
            TensorEntry.deferred("b", DType.U8, (1 << 20,), lambda: data),
            TensorEntry("c", DType.U8, (3,), b"abc"),
        ]
    )
