"""What every tensor is, how it is read back, and the ops that only move elements.

A tensor is a value with three slots: `primitive` (what its backend computes with), `ops` (the backend's table for its
kind, dtype, device and autodiff level: two tensors fit together exactly when their tables are the same object) and
`backend`. Nothing here changes a tensor; every method returns a new one, which may share memory.

`Tensor` is told in four files: this one, `indexing.py`, `placing.py` and `tensor.py`.

Burn: `crates/burn-tensor/src/tensor/api/base.rs`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from minburn.backends.base import BasicOps, Device
from minburn.dtype import DType
from minburn.tensor.check import (
    MAX_RANK,
    IndexOutOfBounds,
    KindError,
    ShapeError,
    as_int,
    as_shape,
    items_of,
    resolve_dim,
    resolve_dims,
    show,
)
from minburn.tensor.data import TensorData

if TYPE_CHECKING:
    from typing import Self  # Python 3.11

    from minburn.backends.base import Backend

HostArray = np.ndarray[Any, Any]
Shape = tuple[int, ...]


class Layout:
    """The slots of a tensor, and what can be done without looking at an element. Use `Tensor`."""

    __slots__ = ("backend", "ops", "primitive")

    kind: ClassVar[str]
    primitive: Any
    ops: BasicOps[Any, Any, Any]
    backend: Backend

    __array_ufunc__ = None  # a NumPy scalar on the left leaves the operator to the tensor

    def __init__(self, primitive: Any, ops: Any, backend: Backend) -> None:
        """For backends and layers: wraps a primitive of `ops`. Users call `Tensor.from_data`."""
        self.primitive = primitive
        self.ops = ops
        self.backend = backend

    # What it is

    @property
    def shape(self) -> Shape:
        return self.primitive.shape  # type: ignore[no-any-return]

    @property
    def dims(self) -> Shape:
        """Burn's name for the shape."""
        return self.primitive.shape  # type: ignore[no-any-return]

    @property
    def rank(self) -> int:
        return self.primitive.ndim  # type: ignore[no-any-return]

    @property
    def dtype(self) -> DType:
        return self.ops.dtype

    @property
    def device(self) -> Device:
        return self.ops.device

    def num_elements(self) -> int:
        return math.prod(self.primitive.shape)

    # Reading it back

    def numpy(self) -> HostArray:
        """The elements as a read-only NumPy array; `.numpy().copy()` may be written to."""
        return self.ops.into_data(self.primitive)

    def into_data(self) -> TensorData:
        array = self.ops.into_data(self.primitive)
        return TensorData(array, array.shape, self.ops.dtype)

    def to_data(self) -> TensorData:
        """Burn's borrowing form; the same here."""
        return self.into_data()

    def item(self) -> Any:
        """The one element as a Python number.

        Errors: ShapeError unless there is exactly one.
        """
        if self.num_elements() != 1:
            raise ShapeError(
                f"item: shape {show(self.shape)} has {self.num_elements()} elements. item() reads a tensor of exactly "
                "one; reduce first (mean(), sum()), or use numpy()."
            )
        return self.ops.into_data(self.primitive).item()

    def into_scalar(self) -> Any:
        """Burn's name for item()."""
        return self.item()

    def __len__(self) -> int:
        """The size of dimension 0."""
        if self.rank == 0:
            raise ShapeError("len: a tensor of rank 0 has no dimension 0. Use item().")
        return self.shape[0]

    def __bool__(self) -> bool:
        raise KindError(
            f"bool: a tensor of shape {show(self.shape)} is not a truth value. Use item() for one element, "
            "any() or all() for a mask, or (a == b).all().item() to compare."
        )

    def __hash__(self) -> int:
        return object.__hash__(self)

    def _with(self, primitive: Any) -> Self:
        """Another primitive of the same table."""
        result = object.__new__(self.__class__)
        result.primitive, result.ops, result.backend = primitive, self.ops, self.backend
        return result

    def _with_each(self, primitives: Iterable[Any]) -> list[Self]:
        """`_with` for many, in less time than so many calls."""
        cls, ops, backend = self.__class__, self.ops, self.backend
        results = []
        for primitive in primitives:
            result = object.__new__(cls)
            result.primitive, result.ops, result.backend = primitive, ops, backend
            results.append(result)
        return results

    # Shape

    def reshape(self, *shape: int | Iterable[int]) -> Self:
        """The same elements, row by row, in another shape. One size may be -1 (inferred); 0 copies the size there.

        Errors: ShapeError if the element counts differ.
        """
        target = resolve_reshape(self.shape, flat_ints("reshape", shape))
        return self._with(self.ops.reshape(self.primitive, target))

    def transpose(self) -> Self:
        """Swaps the last two dimensions."""
        rank = self.rank
        if rank < 2:
            raise ShapeError(
                f"transpose: it swaps the last two dimensions, but shape {show(self.shape)} has rank {rank}. "
                "unsqueeze() adds a dimension."
            )
        return self._with(self.ops.swap_dims(self.primitive, rank - 2, rank - 1))

    def t(self) -> Self:
        """Short for transpose()."""
        return self.transpose()

    def swap_dims(self, dim1: int, dim2: int) -> Self:
        rank = self.rank
        first, second = resolve_dim("swap_dims", dim1, rank), resolve_dim("swap_dims", dim2, rank)
        return self._with(self.ops.swap_dims(self.primitive, first, second))

    def permute(self, *axes: int | Iterable[int]) -> Self:
        """Reorders the dimensions: dimension i of the result is dimension axes[i] of this tensor."""
        rank = self.rank
        order = resolve_dims("permute", flat_ints("permute", axes), rank)
        if len(order) != rank:
            raise ShapeError(f"permute: {len(order)} axes for a tensor of rank {rank}. Name every dimension once.")
        return self._with(self.ops.permute(self.primitive, order))

    def movedim(self, src: int | Iterable[int], dst: int | Iterable[int]) -> Self:
        """Moves dimensions src to the places dst; the others keep their order."""
        rank = self.rank
        sources = resolve_dims("movedim", flat_ints("movedim", (src,)), rank)
        places = resolve_dims("movedim", flat_ints("movedim", (dst,)), rank)
        if len(sources) != len(places):
            raise ShapeError(f"movedim: {len(sources)} dimensions to move, but {len(places)} places to move them to.")
        order = [dim for dim in range(rank) if dim not in sources]
        for place, source in sorted(zip(places, sources, strict=True)):
            order.insert(place, source)
        return self._with(self.ops.permute(self.primitive, tuple(order)))

    def flip(self, *axes: int | Iterable[int]) -> Self:
        """Reverses the order of the elements along each axis."""
        return self._with(self.ops.flip(self.primitive, resolve_dims("flip", flat_ints("flip", axes), self.rank)))

    def flatten(self, start: int = 0, end: int = -1) -> Self:
        """Merges the dimensions start … end, both included: flatten(1, 2) of [2, 3, 4] is [2, 12]."""
        shape = self.shape
        first, last = resolve_dim("flatten", start, len(shape)), resolve_dim("flatten", end, len(shape))
        if first > last:
            raise ShapeError(f"flatten: the start dimension {start} comes after the end dimension {end}. Swap them.")
        merged = (*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :])
        return self._with(self.ops.reshape(self.primitive, merged))

    def squeeze(self) -> Self:
        """Drops every dimension of size 1; the last one stays if all have it."""
        sizes = tuple(size for size in self.shape if size != 1)
        return self._with(self.ops.reshape(self.primitive, sizes or (1,)))

    def squeeze_dim(self, dim: int) -> Self:
        return self.squeeze_dims((dim,))

    def squeeze_dims(self, dims: Iterable[int]) -> Self:
        """Drops these dimensions.

        Errors: ShapeError if one of them is not of size 1.
        """
        shape = self.shape
        dropped = resolve_dims("squeeze_dims", dims, len(shape))
        for dim in dropped:
            if shape[dim] != 1:
                raise ShapeError(
                    f"squeeze_dims: dimension {dim} of shape {show(shape)} has size {shape[dim]}. "
                    "Only a dimension of size 1 can be dropped; reduce it first, or select_dim() one entry."
                )
        kept = tuple(size for dim, size in enumerate(shape) if dim not in dropped)
        return self._with(self.ops.reshape(self.primitive, kept))

    def unsqueeze(self, rank: int | None = None) -> Self:
        """Adds leading dimensions of size 1 up to `rank`; without one, adds one (Burn reads the rank from the type)."""
        shape = self.shape
        target = len(shape) + 1 if rank is None else as_int("unsqueeze", "rank", rank)
        if target < len(shape):
            raise ShapeError(
                f"unsqueeze: shape {show(shape)} has rank {len(shape)}, more than {target}. "
                "Use squeeze_dim() to drop a dimension."
            )
        if target > MAX_RANK:
            raise ShapeError(f"unsqueeze: rank {target} is too large: at most {MAX_RANK} dimensions are possible.")
        return self._with(self.ops.reshape(self.primitive, (1,) * (target - len(shape)) + shape))

    def unsqueeze_dim(self, dim: int) -> Self:
        """Adds a dimension of size 1 at place `dim` of the result."""
        shape = self.shape
        place = resolve_dim("unsqueeze_dim", dim, len(shape) + 1)
        return self._with(self.ops.reshape(self.primitive, (*shape[:place], 1, *shape[place:])))

    def unsqueeze_dims(self, dims: Iterable[int]) -> Self:
        """Adds dimensions of size 1 at these places of the result."""
        places = flat_ints("unsqueeze_dims", (dims,))
        rank = self.rank + len(places)
        added = resolve_dims("unsqueeze_dims", places, rank)
        sizes = iter(self.shape)
        target = tuple(1 if dim in added else next(sizes) for dim in range(rank))
        return self._with(self.ops.reshape(self.primitive, target))

    def expand(self, *shape: int | Iterable[int]) -> Self:
        """Repeats dimensions of size 1 without copying; leading dimensions may be added; -1 keeps a size."""
        sizes = flat_ints("expand", shape)
        own = self.shape
        lead = len(sizes) - len(own)
        if lead < 0:
            raise ShapeError(f"expand: {show(own)} has more dimensions than the target {show(sizes)}.")
        target = list(sizes)
        for dim, size in enumerate(sizes):
            have = own[dim - lead] if dim >= lead else 1
            if size == -1 and dim >= lead:
                target[dim] = have
            elif size < 0 or have not in (1, size):
                raise ShapeError(
                    f"expand: shape {show(own)} cannot become {show(sizes)}: dimension {dim} is {have} and must be "
                    f"{size}. Only a size of 1 is repeated; -1 keeps the size of a dimension that exists."
                )
        return self._with(self.ops.expand(self.primitive, as_shape("expand", target)))

    def repeat_dim(self, dim: int, times: int) -> Self:
        """`times` copies one after another along dim."""
        place, count = resolve_dim("repeat_dim", dim, self.rank), as_int("repeat_dim", "times", times)
        if count < 0:
            raise ShapeError(f"repeat_dim: cannot repeat {count} times. Use 0 or more.")
        as_shape("repeat_dim", (*self.shape[:place], self.shape[place] * count, *self.shape[place + 1 :]))
        return self._with(self.ops.repeat_dim(self.primitive, place, count))

    def repeat(self, *sizes: int | Iterable[int]) -> Self:
        """repeat_dim for the leading dimensions, one count each."""
        counts = flat_ints("repeat", sizes)
        if len(counts) > self.rank:
            raise ShapeError(f"repeat: {len(counts)} counts for a tensor of rank {self.rank}. unsqueeze() it first.")
        result = self
        for dim, count in enumerate(counts):
            if count != 1:
                result = result.repeat_dim(dim, count)
        return result


def flat_ints(name: str, values: Sequence[int | Iterable[int]]) -> Shape:
    """`f(2, 3)`, `f([2, 3])` and `f((2, 3))` mean the same."""
    if len(values) == 1 and isinstance(values[0], Iterable):
        values = items_of(name, "sizes or dimensions", values[0])
    return tuple(as_int(name, "a size or dimension", value) for value in values)


def resolve_reshape(shape: Shape, sizes: Shape) -> Shape:
    """Sizes with 0 (copy) and -1 (infer) replaced, checked to hold the same number of elements."""
    resolved = list(sizes)
    for dim, size in enumerate(sizes):
        if size == 0:
            if dim >= len(shape):
                raise IndexOutOfBounds(
                    f"reshape: 0 copies the size of dimension {dim}, but shape {show(shape)} has rank {len(shape)}."
                )
            resolved[dim] = shape[dim]
        elif size < -1:
            raise ShapeError(
                f"reshape: {show(sizes)} has a negative size. Sizes are 1 or more, -1 (inferred) or 0 (copied)."
            )
    total = math.prod(shape)
    if -1 in resolved:
        if resolved.count(-1) > 1:
            raise ShapeError(f"reshape: {show(sizes)} has more than one -1. Only one size can be inferred.")
        known = math.prod(size for size in resolved if size != -1)
        if known == 0 or total % known:
            raise ShapeError(
                f"reshape: shape {show(shape)} has {total} elements, which {show(sizes)} cannot hold: "
                f"the known sizes multiply to {known}."
            )
        resolved[resolved.index(-1)] = total // known
    elif math.prod(resolved) != total:
        raise ShapeError(
            f"reshape: shape {show(shape)} has {total} elements, {show(resolved)} has {math.prod(resolved)}. "
            "The counts must be equal; -1 infers one size."
        )
    return as_shape("reshape", resolved)
