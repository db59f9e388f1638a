"""Arithmetic and comparison of numbers. Use `NumericTensor`.

Two tensors must share table and rank; then the array library broadcasts dimensions of size 1. That is all a passing
operation pays for: one identity test, two ranks. Where sizes do not fit, the library raises, and only then is it worked
out what to say. (Ranks must be compared before: NumPy would broadcast them silently.)

Each method takes a tensor or a number of the tensor's kind, and is the operator too.

Burn: `crates/burn-tensor/src/tensor/api/numeric.rs`, `orderable.rs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minburn.backends.base import NumericOps
from minburn.tensor.bools import BoolTensor
from minburn.tensor.check import KindError, as_int, check_broadcast, check_matmul
from minburn.tensor.lift import align, one_table
from minburn.tensor.tensor import Tensor

if TYPE_CHECKING:
    from typing import Self  # Python 3.11

new = object.__new__  # the four hot operators fill the slots themselves: calling the class costs 70 ns more


class Arithmetic(Tensor):
    """`+ - * / % ** @`, unary `-`, `< <= > >=`."""

    __slots__ = ()

    ops: NumericOps[Any, Any, Any]

    def add(self, other: Self | float) -> Self:
        if isinstance(other, Tensor):
            ops, left, right = self.ops, self.primitive, other.primitive
            if other.ops is not ops or left.ndim != right.ndim:
                lhs, rhs = align("add", self, other)
                return lhs.add(rhs)
            result = new(self.__class__)
            try:
                result.primitive = ops.add(left, right)
            except ValueError:
                check_broadcast("add", left.shape, right.shape)
                raise
            result.ops, result.backend = ops, self.backend
            return result
        return self._with(self.ops.add_scalar(self.primitive, self._scalar("add", other)))

    def sub(self, other: Self | float) -> Self:
        if isinstance(other, Tensor):
            ops, left, right = self.ops, self.primitive, other.primitive
            if other.ops is not ops or left.ndim != right.ndim:
                lhs, rhs = align("sub", self, other)
                return lhs.sub(rhs)
            result = new(self.__class__)
            try:
                result.primitive = ops.sub(left, right)
            except ValueError:
                check_broadcast("sub", left.shape, right.shape)
                raise
            result.ops, result.backend = ops, self.backend
            return result
        return self._with(self.ops.sub_scalar(self.primitive, self._scalar("sub", other)))

    def mul(self, other: Self | float) -> Self:
        if isinstance(other, Tensor):
            ops, left, right = self.ops, self.primitive, other.primitive
            if other.ops is not ops or left.ndim != right.ndim:
                lhs, rhs = align("mul", self, other)
                return lhs.mul(rhs)
            result = new(self.__class__)
            try:
                result.primitive = ops.mul(left, right)
            except ValueError:
                check_broadcast("mul", left.shape, right.shape)
                raise
            result.ops, result.backend = ops, self.backend
            return result
        return self._with(self.ops.mul_scalar(self.primitive, self._scalar("mul", other)))

    def div(self, other: Self | float) -> Self:
        """Ints truncate toward zero and refuse a zero divisor."""
        if isinstance(other, Tensor):
            ops, left, right = self.ops, self.primitive, other.primitive
            if other.ops is not ops or left.ndim != right.ndim:
                lhs, rhs = align("div", self, other)
                return lhs.div(rhs)
            result = new(self.__class__)
            try:
                result.primitive = ops.div(left, right)
            except ValueError:
                check_broadcast("div", left.shape, right.shape)
                raise
            result.ops, result.backend = ops, self.backend
            return result
        return self._with(self.ops.div_scalar(self.primitive, self._scalar("div", other)))

    def remainder(self, other: Self | float) -> Self:
        """Floor modulo: the result has the sign of the divisor."""
        if isinstance(other, Tensor):
            lhs, rhs = align("remainder", self, other)
            check_broadcast("remainder", lhs.shape, rhs.shape)
            return lhs._with(lhs.ops.remainder(lhs.primitive, rhs.primitive))
        return self._with(self.ops.remainder_scalar(self.primitive, self._scalar("remainder", other)))

    def add_scalar(self, other: float) -> Self:
        return self._with(self.ops.add_scalar(self.primitive, self._scalar("add_scalar", other)))

    def sub_scalar(self, other: float) -> Self:
        return self._with(self.ops.sub_scalar(self.primitive, self._scalar("sub_scalar", other)))

    def mul_scalar(self, other: float) -> Self:
        return self._with(self.ops.mul_scalar(self.primitive, self._scalar("mul_scalar", other)))

    def div_scalar(self, other: float) -> Self:
        return self._with(self.ops.div_scalar(self.primitive, self._scalar("div_scalar", other)))

    def remainder_scalar(self, other: float) -> Self:
        return self._with(self.ops.remainder_scalar(self.primitive, self._scalar("remainder_scalar", other)))

    def neg(self) -> Self:
        return self._with(self.ops.neg(self.primitive))

    def abs(self) -> Self:
        return self._with(self.ops.abs(self.primitive))

    def powi_scalar(self, exponent: int) -> Self:
        """xⁿ for an integer n. Ints: a negative n gives 1/xⁿ truncated, so 0 unless x is ±1."""
        power = as_int("powi_scalar", "the exponent", exponent)
        if self.kind == "int":
            self._scalar("powi_scalar", abs(power))  # refuses what its dtype cannot hold
        return self._with(self.ops.powi_scalar(self.primitive, power))

    def matmul(self, other: Self) -> Self:
        """[…, m, k] × […, k, n] → […, m, n] for equal ranks of at least 2; leading sizes are equal or 1."""
        if not isinstance(other, Tensor):
            raise KindError(f"matmul: expected a tensor, but got {type(other).__name__} {other!r}.")
        lhs, rhs = self, other
        if lhs.ops is not rhs.ops:
            lhs, rhs = one_table("matmul", [lhs, rhs])
        left, right = lhs.primitive, rhs.primitive
        if left.ndim != 2 or right.ndim != 2 or left.shape[1] != right.shape[0]:
            check_matmul("matmul", left.shape, right.shape)
        return lhs._with(lhs.ops.matmul(left, right))

    def greater(self, other: Self | float) -> BoolTensor:
        backend = self.backend
        if isinstance(other, Tensor):
            lhs, rhs = align("greater", self, other)
            check_broadcast("greater", lhs.shape, rhs.shape)
            return BoolTensor(lhs.ops.greater(lhs.primitive, rhs.primitive), backend.bools, backend)
        scalar = self._scalar("greater", other)
        return BoolTensor(self.ops.greater_elem(self.primitive, scalar), backend.bools, backend)

    def greater_equal(self, other: Self | float) -> BoolTensor:
        backend = self.backend
        if isinstance(other, Tensor):
            lhs, rhs = align("greater_equal", self, other)
            check_broadcast("greater_equal", lhs.shape, rhs.shape)
            return BoolTensor(lhs.ops.greater_equal(lhs.primitive, rhs.primitive), backend.bools, backend)
        scalar = self._scalar("greater_equal", other)
        return BoolTensor(self.ops.greater_equal_elem(self.primitive, scalar), backend.bools, backend)

    def lower(self, other: Self | float) -> BoolTensor:
        backend = self.backend
        if isinstance(other, Tensor):
            lhs, rhs = align("lower", self, other)
            check_broadcast("lower", lhs.shape, rhs.shape)
            return BoolTensor(lhs.ops.lower(lhs.primitive, rhs.primitive), backend.bools, backend)
        scalar = self._scalar("lower", other)
        return BoolTensor(self.ops.lower_elem(self.primitive, scalar), backend.bools, backend)

    def lower_equal(self, other: Self | float) -> BoolTensor:
        backend = self.backend
        if isinstance(other, Tensor):
            lhs, rhs = align("lower_equal", self, other)
            check_broadcast("lower_equal", lhs.shape, rhs.shape)
            return BoolTensor(lhs.ops.lower_equal(lhs.primitive, rhs.primitive), backend.bools, backend)
        scalar = self._scalar("lower_equal", other)
        return BoolTensor(self.ops.lower_equal_elem(self.primitive, scalar), backend.bools, backend)

    __add__ = add
    __radd__ = add
    __sub__ = sub
    __mul__ = mul
    __rmul__ = mul
    __truediv__ = div
    __mod__ = remainder
    __matmul__ = matmul
    __neg__ = neg
    __gt__ = greater
    __ge__ = greater_equal
    __lt__ = lower
    __le__ = lower_equal

    def __rsub__(self, other: float) -> Self:
        """number - x, which is -x + number to the last bit."""
        return self.neg().add(other)

    def __rtruediv__(self, other: float) -> Self:
        return self._constant("div", other).div(self)

    def __rmod__(self, other: float) -> Self:
        return self._constant("remainder", other).remainder(self)

    def _constant(self, name: str, value: float) -> Self:
        """The number as a tensor that broadcasts with this one."""
        return self._with(self.ops.full((1,) * self.rank, self._scalar(name, value)))
