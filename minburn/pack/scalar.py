"""A number stored by name beside the tensors: a step count, a beta power, a flag.

The kind is part of the file (`Int` is i64, `UInt` u64, `Float` f64, `Bool`), so a value comes back as it was written.
Python has one `int` for two kinds, hence the explicit constructors. Reading is lenient in the way Burn's conversions
are: integers convert into each other where they fit, and into floats; anything else is `None`, "not there".

Burn: `Scalar` in `crates/burn-pack/src/base.rs`.
"""

from __future__ import annotations

import builtins
import operator
from dataclasses import dataclass
from typing import Literal

from minburn.pack.errors import PackError

ScalarKind = Literal["Int", "UInt", "Float", "Bool"]

I64_RANGE = range(-(1 << 63), 1 << 63)
U64_RANGE = range(1 << 64)


@dataclass(frozen=True, slots=True)
class Scalar:
    """A tagged number; make one with `Scalar.int`, `.uint`, `.float` or `.bool`."""

    kind: ScalarKind
    value: builtins.int | builtins.float | builtins.bool

    def __post_init__(self) -> None:
        convert = _CONVERT.get(self.kind)
        if convert is None:
            raise PackError(f"Scalar: unknown kind {self.kind!r}. The kinds are Int, UInt, Float and Bool.")
        object.__setattr__(self, "value", convert(self.value))

    @staticmethod
    def int(value: builtins.int) -> Scalar:
        """A signed integer, -2^63 to 2^63 - 1."""
        return Scalar("Int", value)

    @staticmethod
    def uint(value: builtins.int) -> Scalar:
        """An unsigned integer, 0 to 2^64 - 1."""
        return Scalar("UInt", value)

    @staticmethod
    def float(value: builtins.float) -> Scalar:
        """A 64-bit float; the file holds it in the shortest form that loses nothing."""
        return Scalar("Float", value)

    @staticmethod
    def bool(value: builtins.bool) -> Scalar:
        return Scalar("Bool", value)

    def as_int(self) -> builtins.int | None:
        """The value of an Int or UInt that fits 64 signed bits, else None."""
        return self._integer(I64_RANGE)

    def as_uint(self) -> builtins.int | None:
        """The value of an Int or UInt that fits 64 unsigned bits, else None."""
        return self._integer(U64_RANGE)

    def as_float(self) -> builtins.float | None:
        """The value of a Float, Int or UInt as a float, else None."""
        return None if self.kind == "Bool" else builtins.float(self.value)

    def as_bool(self) -> builtins.bool | None:
        """The value of a Bool, else None."""
        return builtins.bool(self.value) if self.kind == "Bool" else None

    def _integer(self, allowed: range) -> builtins.int | None:
        if self.kind in ("Int", "UInt") and self.value in allowed:
            return builtins.int(self.value)
        return None


def _to_integer(kind: str, value: object, allowed: range) -> int:
    if isinstance(value, bool):
        raise PackError(f"Scalar.{kind}: {value} is a bool. Use Scalar.bool.")
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise PackError(f"Scalar.{kind}: expected an integer, got {type(value).__name__} {value!r}.") from None
    if number not in allowed:
        raise PackError(f"Scalar.{kind}: {number} is outside {allowed.start} .. {allowed.stop - 1}.")
    return number


def _to_float(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise PackError(f"Scalar.float: expected a number, got {type(value).__name__} {value!r}.")
    try:
        return float(value)
    except OverflowError:
        raise PackError("Scalar.float: the integer is too large for a float.") from None


def _to_bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise PackError(f"Scalar.bool: expected True or False, got {type(value).__name__} {value!r}.")
    return value


_CONVERT = {
    "Int": lambda value: _to_integer("int", value, I64_RANGE),
    "UInt": lambda value: _to_integer("uint", value, U64_RANGE),
    "Float": _to_float,
    "Bool": _to_bool,
}
