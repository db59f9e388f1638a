"""What takes the place of everything that a pickle names: values that do nothing.

Global     a name that the pickle mentions, `torch.FloatStorage`; nothing is imported
Instance   an object of some class: the class's name and the state that was set on it
Opaque     the result of a call that was not made
Storage    a run of elements somewhere in the file
TensorRef  a window on a storage: offset, shape and strides, counted in elements
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from minburn.dtype import DType

DTYPES: dict[str, DType] = {
    "float64": DType.F64,
    "double": DType.F64,
    "float32": DType.F32,
    "float": DType.F32,
    "float16": DType.F16,
    "half": DType.F16,
    "bfloat16": DType.BF16,
    "int64": DType.I64,
    "long": DType.I64,
    "int32": DType.I32,
    "int": DType.I32,
    "int16": DType.I16,
    "short": DType.I16,
    "int8": DType.I8,
    "uint64": DType.U64,
    "uint32": DType.U32,
    "uint16": DType.U16,
    "uint8": DType.U8,
    "bool": DType.Bool,
}
"""PyTorch's names for the dtypes that there are here."""

STORAGES: dict[str, tuple[str, int]] = {
    "DoubleStorage": ("float64", 8),
    "FloatStorage": ("float32", 4),
    "HalfStorage": ("float16", 2),
    "BFloat16Storage": ("bfloat16", 2),
    "LongStorage": ("int64", 8),
    "IntStorage": ("int32", 4),
    "ShortStorage": ("int16", 2),
    "CharStorage": ("int8", 1),
    "ByteStorage": ("uint8", 1),
    "BoolStorage": ("bool", 1),
    "UntypedStorage": ("", 1),
    # Without a counterpart here, but they must be stepped over:
    "ComplexDoubleStorage": ("complex128", 16),
    "ComplexFloatStorage": ("complex64", 8),
    "QInt32Storage": ("qint32", 4),
    "QInt8Storage": ("qint8", 1),
    "QUInt8Storage": ("quint8", 1),
    "QUInt4x2Storage": ("quint4x2", 1),
    "QUInt2x4Storage": ("quint2x4", 1),
}
"""The classes of storages: the dtype of their elements ('' if the tensor says it) and its bytes."""


@dataclass(frozen=True, slots=True)
class Global:
    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(eq=False, slots=True)
class Instance:
    """An object: attributes that were set (`state`), and what was put in if it is a kind of dict or list."""

    cls: Global
    state: dict[Any, Any] = field(default_factory=dict)
    items: dict[Any, Any] = field(default_factory=dict)
    elements: list[Any] = field(default_factory=list)


@dataclass(frozen=True, eq=False, slots=True)
class Opaque:
    made_by: Global | None = None


class Bytes(Protocol):
    """The bytes of a storage, wherever they lie."""

    def __call__(self, start: int, length: int) -> memoryview:
        """A range of them. StoreError if it is damaged."""


@dataclass(frozen=True, eq=False, slots=True)
class Storage:
    """count: elements. dtype: PyTorch's name, '' if untyped. item: bytes of one element."""

    dtype: str
    item: int
    count: int
    bytes: Bytes

    def view(self, offset: int, count: int) -> Storage:
        """`count` elements from `offset`, as a storage."""
        whole, skipped = self.bytes, offset * self.item
        return Storage(self.dtype, self.item, count, lambda start, length: whole(skipped + start, length))


@dataclass(frozen=True, eq=False, slots=True)
class TensorRef:
    storage: Storage
    dtype: str
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


Call = Callable[[Global, tuple[Any, ...]], object]
PersistentLoad = Callable[[Any], object]
