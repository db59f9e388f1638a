"""Indices of any shape: scattered updates, multi-indices, masks that pick, windows.

What a tensor is addressed by lies in other tensors here; slices, rows and single indices are told in `indexing.py`.

    scatter     one index per element, along a dimension       gather takes what scatter puts
    select_assign  one index per row of a dimension            select …
    scatter_nd  a whole coordinate per element or block        gather_nd …

An update is "add" (repeated places sum), "mul", "min", "max" or "assign" (which of repeated ones wins is open). Of
bools, "add" and "max" are or, "mul" and "min" and.

Burn: `crates/burn-tensor/src/tensor/api/base.rs`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from minburn.backends.base import IndexUpdate
from minburn.dtype import DType
from minburn.tensor import creation
from minburn.tensor.check import (
    IndexOutOfBounds,
    KindError,
    ShapeError,
    TensorError,
    as_int,
    check_same_but,
    one_of,
    resolve_dim,
    show,
)
from minburn.tensor.indexing import Indexing, check_indices, check_mask
from minburn.tensor.lift import align, one_table

if TYPE_CHECKING:
    from typing import Self  # Python 3.11

    from minburn.tensor.bools import BoolTensor
    from minburn.tensor.ints import IntTensor

UPDATES = ("assign", "add", "mul", "min", "max")


class Placing(Indexing):
    """Updates and choices by index tensors. Use `Tensor`."""

    __slots__ = ()

    def scatter(self, dim: int, indices: IntTensor, values: Self, update: IndexUpdate = "add") -> Self:
        """The inverse of gather: self[..indices[..i..]..] is updated with values[..i..] along dim.

        update: "add" (sums repeated indices), "mul", "min", "max", or "assign" (which of repeated ones wins is open).
        """
        own, given = align("scatter", self, values)
        place = resolve_dim("scatter", dim, own.rank)
        check_update("scatter", update)
        check_indices("scatter", own, indices)
        check_same_but("scatter", own.shape, indices.shape, place, ("the tensor's", "the indices'"))
        check_same_but("scatter", indices.shape, given.shape, None, ("the indices'", "the values'"))
        return own._with(own.ops.scatter(own.primitive, indices.primitive, given.primitive, place, update))

    def select_assign(self, dim: int, indices: IntTensor, values: Self, update: IndexUpdate = "add") -> Self:
        """The inverse of select: the entries `indices` of dim are updated with the entries of values. See scatter."""
        own, given = align("select_assign", self, values)
        place = resolve_dim("select_assign", dim, own.rank)
        check_update("select_assign", update)
        check_indices("select_assign", own, indices)
        expected = (*own.shape[:place], *indices.shape, *own.shape[place + 1 :])
        if indices.rank != 1 or given.shape != expected:
            raise ShapeError(
                f"select_assign: with indices of shape {show(indices.shape)} along dimension {place} of shape "
                f"{show(own.shape)}, values must have shape {show(expected)}, but have {show(given.shape)}."
            )
        return own._with(own.ops.select_assign(own.primitive, indices.primitive, given.primitive, place, update))

    def gather_nd(self, indices: IntTensor) -> Self:
        """The blocks at the coordinates in the last dimension of indices.

        indices [*places, k] address the first k dimensions; the result is [*places, *shape[k:]].

        Errors: IndexOutOfBounds for a coordinate outside [0, size).
        """
        flat, rows = self._addressed("gather_nd", indices)
        shape = (*indices.shape[:-1], *flat.shape[1:])
        return self._with(self.ops.reshape(self.ops.select(flat.primitive, rows.primitive, 0), shape))

    def scatter_nd(self, indices: IntTensor, values: Self, update: IndexUpdate = "add") -> Self:
        """This tensor with the blocks that gather_nd(indices) gives updated with values."""
        if not isinstance(values, Indexing):
            raise KindError(f"scatter_nd: expected a tensor, but got {type(values).__name__} {values!r}.")
        own, given = one_table("scatter_nd", [self, values])
        check_update("scatter_nd", update)
        flat, rows = own._addressed("scatter_nd", indices)
        expected = (*indices.shape[:-1], *flat.shape[1:])
        if given.shape != expected:
            raise ShapeError(
                f"scatter_nd: with indices of shape {show(indices.shape)} into shape {show(own.shape)}, values must "
                f"have shape {show(expected)}, but have {show(given.shape)}."
            )
        ops, blocks = own.ops, (rows.shape[0], *flat.shape[1:])
        updated = ops.select_assign(flat.primitive, rows.primitive, ops.reshape(given.primitive, blocks), 0, update)
        return own._with(ops.reshape(updated, own.shape))

    def mask_select(self, mask: BoolTensor) -> Self:
        """The elements where the mask is true, row by row, as a vector."""
        check_mask("mask_select", self, mask)
        if mask.shape != self.shape:
            raise ShapeError(
                f"mask_select: the mask has shape {show(mask.shape)}, the tensor {show(self.shape)}. They must be "
                "equal; expand() repeats a dimension of size 1."
            )
        places = mask.flatten().argwhere()
        flat = self.ops.reshape(self.primitive, (self.num_elements(),))
        return self._with(self.ops.select(flat, places.squeeze_dim(1).primitive, 0))

    def unfold(self, dim: int, size: int, step: int) -> Self:
        """The windows of `size` entries of dim that start at 0, step, 2·step … as a new last dimension.

        dim gets the size ⌊(n - size) / step⌋ + 1. Errors: ShapeError if not even one window fits.
        """
        shape = self.shape
        place = resolve_dim("unfold", dim, len(shape))
        width, stride = as_int("unfold", "size", size), as_int("unfold", "step", step)
        if width < 1 or stride < 1:
            raise ShapeError(f"unfold: size and step are 1 or more, but got {width} and {stride}.")
        if width > shape[place]:
            raise ShapeError(
                f"unfold: dimension {place} of {show(shape)} has size {shape[place]}, so no window of {width} fits."
            )
        starts = np.arange(0, shape[place] - width + 1, stride)
        rows = creation.from_array((starts[:, None] + np.arange(width)).reshape(-1), DType.I64, self.backend)
        windows = self.ops.select(self.primitive, rows.primitive, place)
        windows = self.ops.reshape(windows, (*shape[:place], len(starts), width, *shape[place + 1 :]))
        return self._with(windows).movedim(place + 1, -1)

    def _addressed(self, name: str, indices: IntTensor) -> tuple[Self, IntTensor]:
        """This tensor with the addressed dimensions merged, and the rows there that coordinates mean."""
        check_indices(name, self, indices)
        shape = self.shape
        depth = indices.shape[-1] if indices.rank else 0
        if not 1 <= depth <= len(shape):
            raise ShapeError(
                f"{name}: indices of shape {show(indices.shape)} hold coordinates of length {depth}, but shape "
                f"{show(shape)} has {len(shape)} dimensions. The last dimension of indices is 1 to {len(shape)}."
            )
        wide = indices.cast(DType.I64)
        rows = None
        for dim in range(depth):
            column = wide.select_dim(-1, dim)
            column = column._with(column.ops.reshape(column.primitive, (math.prod(indices.shape[:-1]),)))
            check_coordinates(name, column, dim, shape[dim])
            rows = column if rows is None else rows * shape[dim] + column
        merged = (math.prod(shape[:depth]), *shape[depth:])
        return self._with(self.ops.reshape(self.primitive, merged)), rows  # type: ignore[return-value]


def check_update(name: str, update: str) -> None:
    if not one_of(update, UPDATES):
        raise TensorError(f"{name}: there is no update {update!r}. Use one of {', '.join(UPDATES)}.")


def check_coordinates(name: str, column: IntTensor, dim: int, size: int) -> None:
    if column.num_elements():
        low, high = column.min().item(), column.max().item()
        if low < 0 or high >= size:
            raise IndexOutOfBounds(
                f"{name}: index {low if low < 0 else high} is out of bounds for dimension {dim}, which has size {size}."
            )
