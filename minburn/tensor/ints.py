"""Int tensors: indices, counts, class numbers.

Arithmetic wraps around at the ends of the dtype, division truncates toward zero, `%` has the sign of the divisor.
A float never sneaks in: `counts * 0.5` is refused, `counts.float() * 0.5` is meant.

Burn: `crates/burn-tensor/src/tensor/api/int.rs`.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from minburn.backends.base import IntTensorOps
from minburn.backends.rng import Distribution
from minburn.dtype import DType
from minburn.tensor import creation
from minburn.tensor.check import DTypeError, KindError, check_broadcast
from minburn.tensor.data import STORAGE
from minburn.tensor.layout import Layout
from minburn.tensor.lift import align
from minburn.tensor.numeric import NumericTensor
from minburn.tensor.tensor import Sizes, Tensor

if TYPE_CHECKING:
    from typing import Self  # Python 3.11

    from minburn.backends.base import Backend
    from minburn.tensor.floats import FloatTensor


class IntTensor(NumericTensor):
    """Integers. Burn: `Tensor` and `Int`."""

    __slots__ = ()

    kind: ClassVar[str] = "int"
    ops: IntTensorOps[Any, Any]

    if not TYPE_CHECKING:
        __init__ = Layout.__init__

    @staticmethod
    def zeros(shape: Sizes, backend: Backend, dtype: DType | None = None) -> IntTensor:  # type: ignore[override]
        """0 everywhere."""
        return creation.zeros(shape, backend, int_dtype("zeros", backend, dtype))  # type: ignore[no-any-return]

    @staticmethod
    def ones(shape: Sizes, backend: Backend, dtype: DType | None = None) -> IntTensor:  # type: ignore[override]
        """1 everywhere."""
        return creation.ones(shape, backend, int_dtype("ones", backend, dtype))  # type: ignore[no-any-return]

    @staticmethod
    def full(shape: Sizes, value: int, backend: Backend, dtype: DType | None = None) -> IntTensor:  # type: ignore[override]
        """`value` everywhere."""
        return creation.full(shape, value, backend, int_dtype("full", backend, dtype))  # type: ignore[no-any-return]

    @staticmethod
    def random(  # type: ignore[override]
        shape: Sizes,
        backend: Backend,
        distribution: Distribution = Distribution.Default,
        stream: str = "random",
        dtype: DType | None = None,
    ) -> IntTensor:
        """Independent draws, truncated toward zero; `Distribution.Uniform(0, n)` gives 0 … n - 1."""
        dtype = int_dtype("random", backend, dtype)
        return creation.random(shape, backend, distribution, stream, dtype)  # type: ignore[no-any-return]

    def powi(self, exponent: Self | builtins.int) -> Self:
        """x to the power of a tensor or a number; a negative one gives the reciprocal, truncated: 0 unless x is ±1."""
        if not isinstance(exponent, NumericTensor):
            return self.powi_scalar(exponent)
        lhs, rhs = align("powi", self, exponent)
        check_broadcast("powi", lhs.shape, rhs.shape)
        return lhs._with(lhs.ops.powi(lhs.primitive, rhs.primitive))

    __pow__ = powi

    # Bits

    def bitwise_and(self, other: Self | builtins.int) -> Self:
        lhs, rhs = self._bits("bitwise_and", other)
        return lhs._with(lhs.ops.bitwise_and(lhs.primitive, rhs.primitive))

    def bitwise_or(self, other: Self | builtins.int) -> Self:
        lhs, rhs = self._bits("bitwise_or", other)
        return lhs._with(lhs.ops.bitwise_or(lhs.primitive, rhs.primitive))

    def bitwise_xor(self, other: Self | builtins.int) -> Self:
        lhs, rhs = self._bits("bitwise_xor", other)
        return lhs._with(lhs.ops.bitwise_xor(lhs.primitive, rhs.primitive))

    def bitwise_not(self) -> Self:
        return self._with(self.ops.bitwise_not(self.primitive))

    def bitwise_left_shift(self, other: Self | builtins.int) -> Self:
        """By `other` modulo the bits of the dtype."""
        lhs, rhs = self._bits("bitwise_left_shift", other)
        return lhs._with(lhs.ops.bitwise_left_shift(lhs.primitive, rhs.primitive))

    def bitwise_right_shift(self, other: Self | builtins.int) -> Self:
        """By `other` modulo the bits of the dtype; signed ints keep their sign."""
        lhs, rhs = self._bits("bitwise_right_shift", other)
        return lhs._with(lhs.ops.bitwise_right_shift(lhs.primitive, rhs.primitive))

    def bitwise_and_scalar(self, other: builtins.int) -> Self:
        return self.bitwise_and(other)

    def bitwise_or_scalar(self, other: builtins.int) -> Self:
        return self.bitwise_or(other)

    def bitwise_xor_scalar(self, other: builtins.int) -> Self:
        return self.bitwise_xor(other)

    def bitwise_left_shift_scalar(self, other: builtins.int) -> Self:
        return self.bitwise_left_shift(other)

    def bitwise_right_shift_scalar(self, other: builtins.int) -> Self:
        return self.bitwise_right_shift(other)

    __and__ = bitwise_and
    __or__ = bitwise_or
    __xor__ = bitwise_xor
    __invert__ = bitwise_not
    __lshift__ = bitwise_left_shift
    __rshift__ = bitwise_right_shift

    def _bits(self, name: str, other: Self | builtins.int) -> tuple[Self, Self]:
        """Both operands as tensors that broadcast."""
        lhs, rhs = align(name, self, other if isinstance(other, Tensor) else self._constant(name, other))
        check_broadcast(name, lhs.shape, rhs.shape)
        return lhs, rhs

    @staticmethod
    def cartesian_grid(shape: Sizes, backend: Backend) -> IntTensor:
        """The coordinates of every element of `shape`: [*shape, rank]."""
        from minburn.tensor.grid import cartesian_grid

        return cartesian_grid(shape, backend)  # type: ignore[no-any-return]

    def float(self) -> FloatTensor:
        """The same numbers as floats of the backend's dtype: a constant, on the backend of this tensor."""
        backend = self.backend
        primitive = self.ops.into_float(self.primitive, backend.float_dtype)
        return creation.float_constant(primitive, backend)  # type: ignore[no-any-return]

    def int(self) -> Self:
        return self

    def cast(self, dtype: DType) -> Any:
        """The same numbers in another dtype: narrower ints wrap around, floats round, bools are ≠ 0."""
        return creation.cast(self, dtype)

    def _scalar(self, name: str, value: Any) -> Any:
        if value.__class__ is not builtins.int:
            if isinstance(value, (builtins.float, np.floating)):
                raise KindError(
                    f"{name}: an int tensor and the float {value} do not mix. "
                    "Use float() on the tensor, or an int scalar."
                )
            value = python_number(name, value)
        info = np.iinfo(STORAGE[self.ops.dtype.name])
        if not info.min <= value <= info.max:
            raise DTypeError(
                f"{name}: {value} does not fit {self.ops.dtype}, which holds {info.min} to {info.max}. "
                "cast() the tensor to a wider dtype."
            )
        return value


def int_dtype(name: str, backend: Backend, dtype: DType | None) -> DType:
    target = creation.wanted(name, dtype, DType.I32, backend)
    if not target.is_int:
        raise KindError(f"{name}: an int tensor cannot have dtype {dtype}. Call Tensor.{name} instead.")
    return target


def python_number(name: str, value: Any) -> Any:
    """A Python int or float out of a number, NumPy's included. Bools, strings, arrays and None are none."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value) if isinstance(value, float) else int(value)
    if isinstance(value, (np.integer, np.floating)):
        return value.item()
    if isinstance(value, np.ndarray):
        raise KindError(
            f"{name}: a tensor and a NumPy array do not mix. Build a tensor: Tensor.from_data(array, backend)."
        )
    if isinstance(value, (bool, np.bool_)):
        raise KindError(f"{name}: a number was expected, but got the bool {value}. Use int({value}).")
    raise KindError(f"{name}: expected a tensor or a number, but got {type(value).__name__} {value!r}.")
