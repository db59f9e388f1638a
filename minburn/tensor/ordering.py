"""Order: extremes, sorting, running extremes and sums. What float and int tensors share.

NaN counts as the largest number when sorting, and wins both as maximum and as minimum. -0 comes before 0. Sorting is
stable: equal elements keep their order, in descending order too.

A gradient goes to the elements that were picked; among equal ones to the one that the index names.

Burn: `crates/burn-tensor/src/tensor/api/orderable.rs`, `numeric.rs`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from minburn.tensor import kinds
from minburn.tensor.arithmetic import Arithmetic
from minburn.tensor.check import IndexOutOfBounds, ShapeError, as_int, check_broadcast, resolve_dim, resolve_dims, show
from minburn.tensor.lift import align

if TYPE_CHECKING:
    from typing import Self  # Python 3.11

    from minburn.tensor.ints import IntTensor


class Ordering(Arithmetic):
    """What compares elements of one tensor. Use `NumericTensor`."""

    __slots__ = ()

    # Extremes

    def max(self) -> Self:
        """The largest element; NaN if there is one."""
        self._check_not_empty("max", None)
        return self._with(self.ops.max(self.primitive))

    def max_dim(self, dim: int) -> Self:
        return self._with(self.ops.max_dim(self.primitive, self._check_not_empty("max_dim", dim)))

    def max_dims(self, dims: Iterable[int]) -> Self:
        result = self
        for dim in resolve_dims("max_dims", dims, self.rank):
            result = result.max_dim(dim)
        return result

    def max_dim_with_indices(self, dim: int) -> tuple[Self, IntTensor]:
        """The largest entries along dim, and where the first of each stands."""
        return self.max_dim(dim), self.argmax(dim)

    def max_abs(self) -> Self:
        return self.abs().max()

    def max_abs_dim(self, dim: int) -> Self:
        return self.abs().max_dim(dim)

    def max_abs_dims(self, dims: Iterable[int]) -> Self:
        return self.abs().max_dims(dims)

    def min(self) -> Self:
        """The smallest element; NaN if there is one."""
        self._check_not_empty("min", None)
        return self._with(self.ops.min(self.primitive))

    def min_dim(self, dim: int) -> Self:
        return self._with(self.ops.min_dim(self.primitive, self._check_not_empty("min_dim", dim)))

    def min_dims(self, dims: Iterable[int]) -> Self:
        result = self
        for dim in resolve_dims("min_dims", dims, self.rank):
            result = result.min_dim(dim)
        return result

    def min_dim_with_indices(self, dim: int) -> tuple[Self, IntTensor]:
        """The smallest entries along dim, and where the first of each stands."""
        return self.min_dim(dim), self.argmin(dim)

    def argmax(self, dim: int) -> IntTensor:
        """The index of the first maximum along dim, which keeps size 1; a NaN counts as the maximum."""
        place, backend = self._check_not_empty("argmax", dim), self.backend
        indices = self.ops.argmax(self.primitive, place, backend.int_dtype)
        return kinds.IntTensor(indices, backend.ints, backend)

    def argmin(self, dim: int) -> IntTensor:
        """The index of the first minimum along dim, which keeps size 1; a NaN counts as the minimum."""
        place, backend = self._check_not_empty("argmin", dim), self.backend
        indices = self.ops.argmin(self.primitive, place, backend.int_dtype)
        return kinds.IntTensor(indices, backend.ints, backend)

    def max_pair(self, other: Self) -> Self:
        """Elementwise maximum: `other` where self < other, else self, so a NaN of self stays and one of other does not.

        The gradient of a tie goes to self.
        """
        lhs, rhs = align("max_pair", self, other)
        check_broadcast("max_pair", lhs.shape, rhs.shape)
        return lhs._with(lhs.ops.mask_where(lhs.primitive, lhs.ops.lower(lhs.primitive, rhs.primitive), rhs.primitive))

    def min_pair(self, other: Self) -> Self:
        """Elementwise minimum: `other` where self > other, else self."""
        lhs, rhs = align("min_pair", self, other)
        check_broadcast("min_pair", lhs.shape, rhs.shape)
        mask = lhs.ops.greater(lhs.primitive, rhs.primitive)
        return lhs._with(lhs.ops.mask_where(lhs.primitive, mask, rhs.primitive))

    # Sorting

    def argsort(self, dim: int) -> IntTensor:
        """Where the elements of sort(dim) stand along dim."""
        return self._order("argsort", dim, False)

    def argsort_descending(self, dim: int) -> IntTensor:
        """Where the elements of sort_descending(dim) stand along dim."""
        return self._order("argsort_descending", dim, True)

    def sort(self, dim: int) -> Self:
        """The elements along dim from the smallest to the largest, NaN last."""
        return self.sort_with_indices(dim)[0]

    def sort_descending(self, dim: int) -> Self:
        """The elements along dim from the largest to the smallest, NaN first."""
        return self.sort_descending_with_indices(dim)[0]

    def sort_with_indices(self, dim: int) -> tuple[Self, IntTensor]:
        """(sort(dim), argsort(dim))."""
        indices = self.argsort(dim)
        return self._picked(dim, indices), indices

    def sort_descending_with_indices(self, dim: int) -> tuple[Self, IntTensor]:
        """(sort_descending(dim), argsort_descending(dim))."""
        indices = self.argsort_descending(dim)
        return self._picked(dim, indices), indices

    def argtopk(self, k: int, dim: int) -> IntTensor:
        """Where the k largest elements stand along dim, the largest first.

        Errors: IndexOutOfBounds unless 0 ≤ k ≤ size.
        """
        size, count = self.shape[resolve_dim("topk", dim, self.rank)], as_int("topk", "k", k)
        if not 0 <= count <= size:
            raise IndexOutOfBounds(f"topk: k is {count}, but dimension {dim} of {show(self.shape)} has size {size}.")
        return self.argsort_descending(dim).slice_dim(dim, (0, count))

    def topk(self, k: int, dim: int) -> Self:
        """The k largest elements along dim, the largest first."""
        return self.topk_with_indices(k, dim)[0]

    def topk_with_indices(self, k: int, dim: int) -> tuple[Self, IntTensor]:
        """(topk(k, dim), argtopk(k, dim))."""
        indices = self.argtopk(k, dim)
        return self._picked(dim, indices), indices

    # Running along a dimension

    def cumsum(self, dim: int) -> Self:
        """The sum of each element and those before it along dim."""
        return self._with(self.ops.cumsum(self.primitive, resolve_dim("cumsum", dim, self.rank)))

    def cumprod(self, dim: int) -> Self:
        """The product of each element and those before it along dim."""
        return self._with(self.ops.cumprod(self.primitive, resolve_dim("cumprod", dim, self.rank)))

    def cummax(self, dim: int) -> Self:
        """The largest of each element and those before it along dim; the gradient goes to the latest that equals it."""
        return self._with(self.ops.cummax(self.primitive, resolve_dim("cummax", dim, self.rank)))

    def cummin(self, dim: int) -> Self:
        """The smallest of each element and those before it along dim; the gradient goes to the latest that equals
        it."""
        return self._with(self.ops.cummin(self.primitive, resolve_dim("cummin", dim, self.rank)))

    def _order(self, name: str, dim: int, descending: bool) -> IntTensor:
        place, backend = resolve_dim(name, dim, self.rank), self.backend
        indices = self.ops.argsort(self.primitive, place, descending, backend.int_dtype)
        return kinds.IntTensor(indices, backend.ints, backend)

    def _picked(self, dim: int, indices: IntTensor) -> Self:
        """gather() of indices that are known to fit."""
        return self._with(self.ops.gather(self.primitive, indices.primitive, resolve_dim("sort", dim, self.rank)))

    def _check_not_empty(self, name: str, dim: int | None) -> int:
        """The resolved dimension. Errors: ShapeError if there is nothing to take the extreme of."""
        shape = self.shape
        place = -1 if dim is None else resolve_dim(name, dim, len(shape))
        if (0 in shape) if dim is None else (shape[place] == 0):
            where = (
                f"shape {show(shape)} has no elements"
                if dim is None
                else f"dimension {place} of {show(shape)} is empty"
            )
            raise ShapeError(f"{name}: {where}, so there is no largest or smallest one.")
        return place
