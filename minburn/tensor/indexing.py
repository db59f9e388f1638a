"""Choosing elements: slices, rows, positions, masks.

Two notations for one op. `x[...]` reads as Python does: an int drops its dimension, `None` adds one, negative steps
start where they say. The named forms read as Burn does: dimensions stay, bounds are clamped, and a negative step walks
the *selected* range from its last element backwards, so `x.slice([(0, 5, -2)])` gives elements 4, 2, 0 where Python
needs `x[4::-2]`. Both end in the backend's resolved (start, end, step).

Burn: `crates/burn-tensor/src/tensor/api/base.rs`, `crates/burn-std/src/tensor/slice.rs`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from minburn.tensor import kinds
from minburn.tensor.check import (
    IndexOutOfBounds,
    KindError,
    ShapeError,
    as_int,
    check_broadcast,
    check_same_but,
    items_of,
    resolve_dim,
    show,
)
from minburn.tensor.layout import Layout, flat_ints
from minburn.tensor.lift import align, article, check_device

if TYPE_CHECKING:
    from typing import Self  # Python 3.11

    from minburn.tensor.bools import BoolTensor
    from minburn.tensor.ints import IntTensor

Resolved = tuple[int, int, int]
Range = int | slice | tuple[int | None, ...] | None
"""One dimension of a Burn slice: an index (the dimension stays, with size 1), (start, end), (start, end, step) or the
same as a `slice`; None means all of it, and so does None as a bound."""


class Indexing(Layout):
    """Slices, selections and masks. Use `Tensor`."""

    __slots__ = ()

    # Python's notation

    def __getitem__(self, key: Any) -> Self:
        """`x[1]`, `x[:, 0]`, `x[::-1]`, `x[..., None]`, and `x[rows]` with an int tensor of rank 1.

        Errors: IndexOutOfBounds for an int beyond the end; ShapeError for too many indices.
        """
        shape = self.shape
        slices, places, rows = resolve_key(key if isinstance(key, tuple) else (key,), shape)
        result = self
        if any(part != (0, size, 1) for part, size in zip(slices, shape, strict=True)):
            result = self._with(self.ops.slice(self.primitive, slices))
        for dim, indices in rows:
            result = result.select(dim, indices)
        kept = result.shape
        target = tuple(1 if place is None else kept[place] for place in places)
        return result if target == kept else result._with(result.ops.reshape(result.primitive, target))

    def __iter__(self) -> Iterator[Self]:
        """The entries along dimension 0, without it."""
        return (self[index] for index in range(len(self)))

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError("a tensor cannot be changed in place. Use x = x.slice_assign(ranges, values), or mask_where().")

    # Burn's notation

    def slice(self, ranges: Range | Sequence[Range]) -> Self:
        """The elements in one range per leading dimension; a single range is that of dimension 0. See `Range`."""
        return self._with(self.ops.slice(self.primitive, resolve_ranges("slice", ranges, self.shape)))

    def slice_assign(self, ranges: Range | Sequence[Range], values: Self) -> Self:
        """This tensor with `values` in place of `slice(ranges)`, whose shape they must have."""
        own, given = align("slice_assign", self, values)
        slices = resolve_ranges("slice_assign", ranges, own.shape)
        expected = tuple(-((start - end) // abs(step)) for start, end, step in slices)
        if given.shape != expected:
            raise ShapeError(
                f"slice_assign: the slice has shape {show(expected)}, the values {show(given.shape)}. "
                "They must be equal; expand() repeats a dimension of size 1."
            )
        if 0 in expected:
            return own
        return own._with(own.ops.slice_assign(own.primitive, given.primitive, slices))

    def slice_fill(self, ranges: Range | Sequence[Range], value: float) -> Self:
        """This tensor with one number in place of `slice(ranges)`."""
        part = self.slice(ranges)
        mask = kinds.BoolTensor(self.backend.bools.ones(part.shape), self.backend.bools, self.backend)
        return self.slice_assign(ranges, part.mask_fill(mask, value))

    def slice_dim(self, dim: int, range: Range) -> Self:
        """A range of one dimension."""
        place = resolve_dim("slice_dim", dim, self.rank)
        return self.slice([None] * place + [range])

    def narrow(self, dim: int, start: int, length: int) -> Self:
        """`length` entries of dim from `start` on.

        Errors: IndexOutOfBounds unless 0 ≤ start, 0 < length, start + length ≤ size.
        """
        shape = self.shape
        place = resolve_dim("narrow", dim, len(shape))
        start, length = as_int("narrow", "start", start), as_int("narrow", "length", length)
        if length < 1:
            raise IndexOutOfBounds(f"narrow: length must be greater than 0, but got {length}.")
        if start < 0 or start + length > shape[place]:
            raise IndexOutOfBounds(
                f"narrow: entries {start} to {start + length - 1} of dimension {place}, which has size {shape[place]}. "
                f"start + length may be at most {shape[place]}."
            )
        slices = tuple((0, size, 1) for size in shape)
        slices = (*slices[:place], (start, start + length, 1), *slices[place + 1 :])
        return self._with(self.ops.slice(self.primitive, slices))

    def select_dim(self, dim: int, index: int) -> Self:
        """Entry `index` of dim, without the dimension."""
        place = resolve_dim("select_dim", dim, self.rank)
        return self[(*[slice(None)] * place, as_int("select_dim", "index", index))]

    def select(self, dim: int, indices: IntTensor) -> Self:
        """The entries `indices` (rank 1) of dim, in that order: out[..i..] = self[..indices[i]..].

        Errors: an index outside [0, size) is refused; negative ones do not count from the end (Burn's rule).
        """
        place = resolve_dim("select", dim, self.rank)
        check_indices("select", self, indices)
        if indices.rank != 1:
            raise ShapeError(
                f"select: indices must have rank 1, but got shape {show(indices.shape)}. "
                "Use take() for indices of any rank, gather() for one index per element."
            )
        return self._with(self.ops.select(self.primitive, indices.primitive, place))

    def take(self, dim: int, indices: IntTensor) -> Self:
        """select() with indices of any rank: their dimensions stand in place of dim."""
        shape = self.shape
        place = resolve_dim("take", dim, len(shape))
        check_indices("take", self, indices)
        rows = self.select(place, indices.reshape((math.prod(indices.shape),)) if indices.rank != 1 else indices)
        return rows._with(rows.ops.reshape(rows.primitive, (*shape[:place], *indices.shape, *shape[place + 1 :])))

    def gather(self, dim: int, indices: IntTensor) -> Self:
        """out[..i..] = self[..indices[..i..]..] along dim; out has the shape of indices.

        Errors: ranks must be equal, and sizes in every other dimension.
        """
        place = resolve_dim("gather", dim, self.rank)
        check_indices("gather", self, indices)
        check_same_but("gather", self.shape, indices.shape, place, ("the tensor's", "the indices'"))
        return self._with(self.ops.gather(self.primitive, indices.primitive, place))

    # Masks

    def mask_where(self, mask: BoolTensor, value: Self) -> Self:
        """`value` where the mask is true, this tensor elsewhere."""
        own, given = align("mask_where", self, value)
        check_mask("mask_where", own, mask)
        check_broadcast("mask_where", own.shape, given.shape)
        return own._with(own.ops.mask_where(own.primitive, mask.primitive, given.primitive))

    def mask_fill(self, mask: BoolTensor, value: float) -> Self:
        """The number `value` where the mask is true, this tensor elsewhere."""
        check_mask("mask_fill", self, mask)
        return self._with(self.ops.mask_fill(self.primitive, mask.primitive, self._scalar("mask_fill", value)))

    def _scalar(self, name: str, value: Any) -> Any:
        """`value` as a Python number that this kind of tensor can hold. Defined by each kind."""
        raise NotImplementedError

    # Pieces

    def iter_dim(self, dim: int) -> Iterator[Self]:
        """The entries along dim; the dimension stays, with size 1."""
        place = resolve_dim("iter_dim", dim, self.rank)
        return (self.narrow(place, index, 1) for index in range(self.shape[place]))

    def chunk(self, chunks: int, dim: int) -> list[Self]:
        """Pieces of size ⌈size / chunks⌉ along dim; the last may be smaller, and there may be fewer than `chunks`."""
        place, count = resolve_dim("chunk", dim, self.rank), as_int("chunk", "chunks", chunks)
        if count < 1:
            raise ShapeError(f"chunk: cannot cut into {count} pieces. Use 1 or more.")
        return self.split(max(1, -(-self.shape[place] // count)), place)

    def split(self, size: int, dim: int) -> list[Self]:
        """Pieces of `size` along dim; the last one may be smaller."""
        place, step = resolve_dim("split", dim, self.rank), as_int("split", "size", size)
        if step < 1:
            raise ShapeError(f"split: cannot cut into pieces of size {step}. Use 1 or more.")
        total = self.shape[place]
        return self.split_with_sizes([min(step, total - start) for start in range(0, total, step)] or [0], place)

    def split_with_sizes(self, sizes: Iterable[int], dim: int) -> list[Self]:
        """Pieces of these sizes along dim; they must add up to its size."""
        shape = self.shape
        place = resolve_dim("split_with_sizes", dim, len(shape))
        lengths = [as_int("split_with_sizes", "a size", size) for size in items_of("split_with_sizes", "sizes", sizes)]
        if sum(lengths) != shape[place] or min(lengths, default=0) < 0:
            raise ShapeError(
                f"split_with_sizes: sizes {lengths} add up to {sum(lengths)}, but dimension {place} has size "
                f"{shape[place]}."
            )
        pieces, start = [], 0
        for length in lengths:
            slices = tuple((start, start + length, 1) if d == place else (0, n, 1) for d, n in enumerate(shape))
            pieces.append(self._with(self.ops.slice(self.primitive, slices)))
            start += length
        return pieces

    def roll(self, shifts: int | Sequence[int], dims: int | Sequence[int]) -> Self:
        """Shifts cyclically towards higher indices: [0, 1, 2] rolled by 1 is [2, 0, 1]."""
        steps, places = flat_ints("roll", (shifts,)), flat_ints("roll", (dims,))
        if len(steps) != len(places):
            raise ShapeError(f"roll: {len(steps)} shifts for {len(places)} dimensions. Give one shift per dimension.")
        result = self
        for shift, dim in zip(steps, places, strict=True):
            result = result.roll_dim(shift, dim)
        return result

    def roll_dim(self, shift: int, dim: int) -> Self:
        place, step = resolve_dim("roll_dim", dim, self.rank), as_int("roll_dim", "shift", shift)
        size = self.shape[place]
        step = step % size if size else 0
        if step == 0:
            return self
        head, tail = self.split_with_sizes([size - step, step], place)
        return self._with(self.ops.cat([tail.primitive, head.primitive], place))


def check_indices(name: str, tensor: Layout, indices: Layout) -> None:
    if not isinstance(indices, kinds.IntTensor):
        got = f"{article(indices)} tensor" if isinstance(indices, Layout) else type(indices).__name__
        raise KindError(f"{name}: indices must be an int tensor, but got {got}. Build one with Tensor.from_data.")
    check_device(name, tensor, indices)


def check_mask(name: str, tensor: Layout, mask: Layout) -> None:
    if not isinstance(mask, kinds.BoolTensor):
        got = f"{article(mask)} tensor" if isinstance(mask, Layout) else type(mask).__name__
        raise KindError(f"{name}: the mask must be a bool tensor, but got {got}. A comparison makes one: x > 0.")
    check_broadcast(name, tensor.shape, mask.shape)
    check_device(name, tensor, mask)


def resolve_key(
    key: tuple[Any, ...], shape: tuple[int, ...]
) -> tuple[tuple[Resolved, ...], list[int | None], list[tuple[int, Any]]]:
    """A Python key as: the slice of every dimension; for every dimension of the result the one it comes from (None: a
    new one of size 1); and the (dimension, int tensor) pairs to select by."""
    used = sum(1 for part in key if part is not None and part is not Ellipsis)
    if used > len(shape):
        raise ShapeError(f"index: {used} indices for a tensor of rank {len(shape)} (shape {show(shape)}).")
    ellipses = sum(1 for part in key if part is Ellipsis)
    if ellipses > 1:
        raise ShapeError("index: '...' may stand only once in an index.")
    if not ellipses:
        key = (*key, Ellipsis)
    slices: list[Resolved] = []
    places: list[int | None] = []
    rows: list[tuple[int, Any]] = []
    for part in key:
        dim = len(slices)
        if part is None:
            places.append(None)
        elif part is Ellipsis:
            for size in shape[dim : dim + len(shape) - used]:
                places.append(len(slices))
                slices.append((0, size, 1))
        elif isinstance(part, slice):
            places.append(dim)
            slices.append(resolve_python_slice(part, shape[dim]))
        elif isinstance(part, kinds.IntTensor):
            places.append(dim)
            slices.append((0, shape[dim], 1))
            rows.append((dim, part))
        elif isinstance(part, Layout):
            raise KindError(
                f"index: {article(part)} tensor cannot be an index. Use an int tensor of rank 1, or mask_fill() and "
                "mask_where() for masks."
            )
        elif isinstance(part, (list, tuple)):
            raise KindError(
                f"index: {part!r} cannot be an index. Build an int tensor: Tensor.from_data({part!r}, backend)."
            )
        else:
            index = resolve_index("index", as_int("index", "an index", part), dim, shape[dim])
            slices.append((index, index + 1, 1))
    return tuple(slices), places, rows


def resolve_index(name: str, index: int, dim: int, size: int) -> int:
    resolved = index + size if index < 0 else index
    if not 0 <= resolved < size:
        raise IndexOutOfBounds(f"{name}: index {index} is out of bounds for dimension {dim}, which has size {size}.")
    return resolved


def resolve_python_slice(part: slice, size: int) -> Resolved:
    """Python's slice as (start, end, step) over the range it selects."""
    try:
        start, stop, step = part.indices(size)
    except (TypeError, ValueError) as error:
        raise KindError(f"index: {part} is no slice of ints with a step other than 0.") from error
    count = len(range(start, stop, step))
    if count == 0:
        return 0, 0, 1
    if step > 0:
        return start, stop, step
    return start + (count - 1) * step, start + 1, step


def resolve_ranges(name: str, ranges: Any, shape: tuple[int, ...]) -> tuple[Resolved, ...]:
    """Burn's ranges, one per leading dimension, clamped; missing ones take all."""
    parts = list(ranges) if isinstance(ranges, (list, tuple)) and not is_range(ranges) else [ranges]
    if len(parts) > len(shape):
        raise ShapeError(f"{name}: {len(parts)} ranges for a tensor of rank {len(shape)} (shape {show(shape)}).")
    parts += [None] * (len(shape) - len(parts))
    return tuple(
        resolve_range(name, part, dim, size) for dim, (part, size) in enumerate(zip(parts, shape, strict=True))
    )


def is_range(value: Any) -> bool:
    """A lone (start, end) or (start, end, step): a tuple of two or three ints or Nones that is not all Nones."""
    return (
        isinstance(value, tuple)
        and len(value) in (2, 3)
        and all(part is None or isinstance(part, int) for part in value)
        and any(part is not None for part in value)
    )


def resolve_range(name: str, part: Any, dim: int, size: int) -> Resolved:
    if part is None:
        return 0, size, 1
    if isinstance(part, slice):
        bounds: tuple[Any, ...] = (part.start, part.stop, part.step)
    elif isinstance(part, tuple):
        if len(part) not in (2, 3):
            raise ShapeError(f"{name}: {part} is no range. Use (start, end) or (start, end, step).")
        bounds = part if len(part) == 3 else (*part, None)
    else:
        index = resolve_index(name, as_int(name, "an index", part), dim, size)
        return index, index + 1, 1
    start, end, step = (None if bound is None else as_int(name, "a bound", bound) for bound in bounds)
    if step == 0:
        raise ShapeError(
            f"{name}: the step of dimension {dim} is 0. Use 1 or more, or a negative step to go backwards."
        )
    low = clamped(0 if start is None else start, size)
    high = clamped(size if end is None else end, size)
    return low, max(low, high), 1 if step is None else step


def clamped(bound: int, size: int) -> int:
    return min(max(bound + size if bound < 0 else bound, 0), size)
