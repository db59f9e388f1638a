"""Element types, with the names a burnpack file uses.

A `DType` is a value: a name, the bytes of one element and a kind. The ordinary ones are attributes (`DType.F32`); a
quantized one carries its scheme (`DType.qfloat(scheme)`), because the scheme decides how the payload is laid out.
What NumPy calls these types is the array backend's business: this module imports nothing.

Burn: `crates/burn-std/src/tensor/dtype.rs`, `crates/burn-std/src/tensor/quantization.rs`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

DTypeKind = Literal["float", "int", "uint", "bool", "qfloat"]


@dataclass(frozen=True, slots=True)
class BlockScale:
    """One quantization scale for every block of `size` elements (right-aligned, leading ones stripped)."""

    size: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class QuantScheme:
    """How quantized values are stored. Burn: the `QuantScheme` of cubecl-common.

    value: `Q8F E5M2 E4M3 Q4F E2M1 Q2F Q8S Q4S Q2S`.
    store: `Native`, `PackedNative` or `PackedU32`; `store_dim` counts from the innermost axis for the packed ones.
    mode: `Symmetric` or `Lookup`.
    tensor: the dtype of the per-tensor scale (`F32 F16 BF16 UE8M0 UE4M3`), or None.
    block: the block scales, or None.
    """

    value: str
    store: str = "Native"
    store_dim: int = 0
    mode: str = "Symmetric"
    tensor: str | None = None
    block: BlockScale | None = None


@dataclass(frozen=True, slots=True)
class FloatInfo:
    """epsilon: from 1 to the next number. max, min: the finite ones furthest from 0. min_positive: the least that has
    all its bits."""

    epsilon: float
    max: float
    min: float
    min_positive: float


@dataclass(frozen=True, slots=True)
class DType:
    """An element type: `name` as in a burnpack file, `size` in bytes, `kind`, and the scheme if quantized.

    A quantized dtype has size 0: its payload is not elements × size.

    Burn: `DType`, `FloatDType`, `IntDType`, and `BoolDType`.
    """

    name: str
    size: int
    kind: DTypeKind
    scheme: QuantScheme | None = None

    F64: ClassVar[DType]
    F32: ClassVar[DType]
    F16: ClassVar[DType]
    BF16: ClassVar[DType]
    Flex32: ClassVar[DType]
    I64: ClassVar[DType]
    I32: ClassVar[DType]
    I16: ClassVar[DType]
    I8: ClassVar[DType]
    U64: ClassVar[DType]
    U32: ClassVar[DType]
    U16: ClassVar[DType]
    U8: ClassVar[DType]
    Bool: ClassVar[DType]
    BoolU8: ClassVar[DType]
    BoolU32: ClassVar[DType]

    @staticmethod
    def qfloat(scheme: QuantScheme) -> DType:
        return DType("QFloat", 0, "qfloat", scheme)

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_int(self) -> bool:
        """Signed or unsigned."""
        return self.kind in ("int", "uint")

    @property
    def is_uint(self) -> bool:
        return self.kind == "uint"

    @property
    def is_bool(self) -> bool:
        return self.kind == "bool"

    @property
    def finfo(self) -> FloatInfo | None:
        """How fine and how large the numbers of a float dtype are; None for any other."""
        if self.kind != "float":
            return None
        fraction, exponent = _FLOAT_BITS[self.name]
        largest = (2.0 - 2.0**-fraction) * 2.0**exponent
        return FloatInfo(epsilon=2.0**-fraction, max=largest, min=-largest, min_positive=2.0 ** (1 - exponent))

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        """As it is written in a program: `DType.BoolU8`."""
        if self.scheme is not None:
            return f"DType.qfloat({self.scheme!r})"
        return f"DType.{self.name.removesuffix('(Native)').replace('(', '').replace(')', '')}"


_FLOAT_BITS = {"F64": (52, 1023), "F32": (23, 127), "F16": (10, 15), "BF16": (7, 127), "Flex32": (10, 15)}
"""Bits of the fraction, largest exponent. Flex32 is stored as F32 but need not be computed finer than F16."""

DType.F64 = DType("F64", 8, "float")
DType.F32 = DType("F32", 4, "float")
DType.F16 = DType("F16", 2, "float")
DType.BF16 = DType("BF16", 2, "float")
DType.Flex32 = DType("Flex32", 4, "float")  # stored as F32
DType.I64 = DType("I64", 8, "int")
DType.I32 = DType("I32", 4, "int")
DType.I16 = DType("I16", 2, "int")
DType.I8 = DType("I8", 1, "int")
DType.U64 = DType("U64", 8, "uint")
DType.U32 = DType("U32", 4, "uint")
DType.U16 = DType("U16", 2, "uint")
DType.U8 = DType("U8", 1, "uint")
DType.Bool = DType("Bool(Native)", 1, "bool")
DType.BoolU8 = DType("Bool(U8)", 1, "bool")
DType.BoolU32 = DType("Bool(U32)", 4, "bool")

PLAIN_DTYPES: tuple[DType, ...] = (
    DType.F64,
    DType.F32,
    DType.F16,
    DType.BF16,
    DType.Flex32,
    DType.I64,
    DType.I32,
    DType.I16,
    DType.I8,
    DType.U64,
    DType.U32,
    DType.U16,
    DType.U8,
    DType.Bool,
    DType.BoolU8,
    DType.BoolU32,
)
"""Every dtype whose payload is elements × size."""
