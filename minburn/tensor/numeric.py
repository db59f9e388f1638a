"""Numbers: reductions, clamping, triangles, padding. What float and int tensors share.

A reduction keeps its dimension with size 1, so its result broadcasts with its input; a full one has shape [1].

Burn: `crates/burn-tensor/src/tensor/api/numeric.rs`, `orderable.rs`.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from minburn.backends.base import PadMode
from minburn.tensor import creation, kinds
from minburn.tensor.bools import BoolTensor
from minburn.tensor.check import (
    IndexOutOfBounds,
    KindError,
    ShapeError,
    TensorError,
    as_int,
    as_shape,
    one_of,
    resolve_dim,
    resolve_dims,
    show,
)
from minburn.tensor.lift import align
from minburn.tensor.ordering import Ordering

if TYPE_CHECKING:
    from typing import Self  # Python 3.11


PAD_MODES = ("constant", "reflect", "edge")


class NumericTensor(Ordering):
    """A float or an int tensor. Burn: `Tensor`, `Numeric`, and `Ordered`."""

    __slots__ = ()

    # Reductions

    def sum(self) -> Self:
        return self._with(self.ops.sum(self.primitive))

    def sum_dim(self, dim: int) -> Self:
        return self._with(self.ops.sum_dim(self.primitive, resolve_dim("sum_dim", dim, self.rank)))

    def sum_dims(self, dims: Iterable[int]) -> Self:
        places = resolve_dims("sum_dims", dims, self.rank)
        return self._with(self.ops.sum_dims(self.primitive, places)) if places else self

    def sum_dims_squeeze(self, dims: Iterable[int]) -> Self:
        """sum_dims, then without these dimensions."""
        places = resolve_dims("sum_dims_squeeze", dims, self.rank)
        return self.sum_dims(places).squeeze_dims(places)

    def mean(self) -> Self:
        """Ints truncate toward zero."""
        return self._with(self.ops.mean(self.primitive))

    def mean_dim(self, dim: int) -> Self:
        return self._with(self.ops.mean_dim(self.primitive, resolve_dim("mean_dim", dim, self.rank)))

    def mean_dims(self, dims: Iterable[int]) -> Self:
        result = self
        for dim in resolve_dims("mean_dims", dims, self.rank):
            result = result.mean_dim(dim)
        return result

    def prod(self) -> Self:
        return self._with(self.ops.prod(self.primitive))

    def prod_dim(self, dim: int) -> Self:
        return self._with(self.ops.prod_dim(self.primitive, resolve_dim("prod_dim", dim, self.rank)))

    def prod_dims(self, dims: Iterable[int]) -> Self:
        result = self
        for dim in resolve_dims("prod_dims", dims, self.rank):
            result = result.prod_dim(dim)
        return result

    def dot(self, other: Self) -> Self:
        """Σ x·y of two vectors of one size; shape [1]."""
        lhs, rhs = align("dot", self, other)
        if lhs.rank != 1 or lhs.shape != rhs.shape:
            raise ShapeError(
                f"dot: it takes two vectors of one size, but got shapes {show(lhs.shape)} and {show(rhs.shape)}. "
                "Use matmul() for matrices."
            )
        return (lhs * rhs).sum()

    # Element by element

    def sign(self) -> Self:
        """-1, 0 or 1; 0 for NaN."""
        return self._with(self.ops.sign(self.primitive))

    def square(self) -> Self:
        return self._with(self.ops.powi_scalar(self.primitive, 2))

    def clamp(self, min: float, max: float) -> Self:
        """Limits to min … max; NaN stays NaN.

        Errors: TensorError if min > max or one of them is NaN.
        """
        low, high = self._scalar("clamp", min), self._scalar("clamp", max)
        if not low <= high:
            raise TensorError(f"clamp: min {low} is not at most max {high}. Swap them.")
        return self._with(self.ops.clamp(self.primitive, low, high))

    def clamp_min(self, min: float) -> Self:
        return self._with(self.ops.clamp_min(self.primitive, self._scalar("clamp_min", min)))

    def clamp_max(self, max: float) -> Self:
        return self._with(self.ops.clamp_max(self.primitive, self._scalar("clamp_max", max)))

    def bool(self) -> BoolTensor:
        """True where the element is not 0."""
        return self.not_equal(0)

    def full_like(self, value: float) -> Self:
        return self._with(self.ops.full(self.shape, self._scalar("full_like", value)))

    def greater_scalar(self, other: float) -> BoolTensor:
        """Burn: `Tensor::greater_elem`."""
        return self.greater(other)

    def greater_equal_scalar(self, other: float) -> BoolTensor:
        """Burn: `Tensor::greater_equal_elem`."""
        return self.greater_equal(other)

    def lower_scalar(self, other: float) -> BoolTensor:
        """Burn: `Tensor::lower_elem`."""
        return self.lower(other)

    def lower_equal_scalar(self, other: float) -> BoolTensor:
        """Burn: `Tensor::lower_equal_elem`."""
        return self.lower_equal(other)

    # Moving numbers about

    def triu(self, diagonal: int = 0) -> Self:
        """The upper triangle of the last two dimensions, zeros below; `diagonal` > 0 moves the border up."""
        mask = BoolTensor.triu_mask(self.shape, diagonal, self.backend)
        return self.mask_fill(mask, 0)

    def tril(self, diagonal: int = 0) -> Self:
        """The lower triangle of the last two dimensions, zeros above; `diagonal` > 0 moves the border up."""
        mask = BoolTensor.tril_mask(self.shape, diagonal, self.backend)
        return self.mask_fill(mask, 0)

    def pad(
        self,
        padding: Sequence[tuple[int, int]] | tuple[int, int, int, int],
        mode: PadMode = "constant",
        value: float = 0,
    ) -> Self:
        """Adds entries at the ends of the last dimensions: one (before, after) pair for each of them, in their order.

        Four ints are (left, right, top, bottom). mode: "constant" adds `value`, "edge" repeats the outermost entry,
        "reflect" mirrors without it (each padding less than the size).
        """
        pairs = resolve_padding(padding, self.shape)
        if not one_of(mode, PAD_MODES):
            raise TensorError(f"pad: there is no mode {mode!r}. Use one of {', '.join(PAD_MODES)}.")
        as_shape("pad", (before + size + after for size, (before, after) in zip(self.shape, pairs, strict=True)))
        for dim, (size, pair) in enumerate(zip(self.shape, pairs, strict=True)):
            if mode == "reflect" and builtins.max(pair) >= size and pair != (0, 0):
                raise ShapeError(
                    f"pad: reflect needs padding less than the size, but dimension {dim} has {size} and {pair}."
                )
            if mode == "edge" and size == 0 and pair != (0, 0):
                raise ShapeError(f"pad: dimension {dim} is empty and has no edge to repeat. Use mode='constant'.")
        return self._with(self.ops.pad(self.primitive, pairs, mode, self._scalar("pad", value)))

    def one_hot(self, num_classes: int) -> Self:
        """1 at the class and 0 elsewhere along a new last dimension of size num_classes, in this tensor's dtype.

        Negative classes count from the end. Errors: num_classes < 2, and a class outside [-n, n).
        """
        return self._with(creation.cast(self._hits("one_hot", num_classes), self.dtype).primitive)

    def one_hot_fill(self, num_classes: int, on: float, off: float, axis: int = -1) -> Self:
        """`on` at the class and `off` elsewhere along a new dimension `axis` of the result. See one_hot."""
        hits = self._hits("one_hot_fill", num_classes, 1)
        filled = self._with(self.ops.full(hits.shape, self._scalar("one_hot_fill", off))).mask_fill(hits, on)
        return filled.movedim(-1, resolve_dim("one_hot_fill", axis, filled.rank))

    def _hits(self, name: str, num_classes: int, least: int = 2) -> BoolTensor:
        """[…, num_classes]: whether that is the class."""
        count = as_int(name, "num_classes", num_classes)
        if count < least:
            raise ShapeError(f"{name}: num_classes must be at least {least}, but got {count}.")
        classes = creation.cast(self, self.backend.int_dtype)
        if classes.num_elements():
            low, high = classes.min().item(), classes.max().item()
            if low < -count or high >= count:
                wrong = low if low < -count else high
                raise IndexOutOfBounds(f"{name}: class {wrong} is out of bounds for {count} classes.")
        column = classes.mask_where(classes < 0, classes + count).unsqueeze_dim(-1)
        row = kinds.IntTensor.arange(0, count, classes.backend).reshape((1,) * classes.rank + (count,))
        return column == row  # type: ignore[no-any-return]


def resolve_padding(padding: object, shape: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """One pair per dimension, (0, 0) for those that are not named."""
    if not isinstance(padding, (list, tuple)):
        raise KindError(f"pad: padding must be a list of (before, after) pairs, but got {padding!r}.")
    if len(padding) == 4 and all(isinstance(part, int) for part in padding):
        left, right, top, bottom = padding
        padding = [(top, bottom), (left, right)]
    pairs = []
    for pair in padding:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise KindError(
                f"pad: {pair!r} is no (before, after) pair. Give one pair per dimension, the last ones first to last."
            )
        before, after = (as_int("pad", "a padding", part) for part in pair)
        if before < 0 or after < 0:
            raise ShapeError(f"pad: ({before}, {after}) is negative. Use slice() to cut.")
        pairs.append((before, after))
    if len(pairs) > len(shape):
        raise ShapeError(f"pad: {len(pairs)} pairs for a tensor of rank {len(shape)} (shape {show(shape)}).")
    return ((0, 0),) * (len(shape) - len(pairs)) + tuple(pairs)
