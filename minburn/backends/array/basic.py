"""What float, int and bool arrays all do, once, over `xp` (NumPy or CuPy).

A primitive is an `xp` array that nobody writes to after the op that made it. Views are fine; in-place work happens
only on arrays the op itself has just made. Where CuPy's semantics differ, `backends/cupy.py` overrides the method.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minburn.backends.array.dtypes import to_numpy
from minburn.backends.base import BasicOps, Device, HostArray, IndexUpdate, Shape, Slices
from minburn.backends.error import BackendError
from minburn.dtype import DType

Array = Any
"""An `xp` array."""

SMALL = 4096
"""Elements below which a call costs more than the work on its elements."""


def to_index(slices: Slices) -> tuple[slice, ...]:
    """Python slices for resolved (start, end, step) triples; a negative step starts at the range's last element."""
    return tuple(
        slice(start, end, step)
        if step > 0
        else slice(end - 1, start - 1 if start > 0 else None, step)
        if end > start
        else slice(0, 0)
        for start, end, step in slices
    )


def in_order_of(tensor: Array, shape: Shape, empty: Callable[[Shape], Array]) -> Array:
    """Memory of that shape and the rank of `tensor`, its dimensions in the same order from far steps to near ones."""
    steps = tensor.strides
    if tensor.flags.c_contiguous or 0 in steps:  # a stretched tensor has no order of its own
        return empty(shape)
    order = sorted(range(tensor.ndim), key=lambda dim: -abs(steps[dim]))
    out = empty(tuple(shape[dim] for dim in order))
    return out.transpose([order.index(dim) for dim in range(tensor.ndim)])


class ArrayBasic:
    """Shared by all tables: `xp`, the table's dtype and its device."""

    def __init__(self, xp: Any, device: Device, dtype: DType) -> None:
        self.xp = xp
        self.device = device
        self.dtype = dtype
        self.np_dtype = to_numpy(dtype)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.dtype}, {self.device})"

    def empty(self, shape: Shape) -> Array:
        """Uninitialised memory to write a result into. A backend may take it from a pool."""
        return self.xp.empty(shape, self.np_dtype)

    def empty_like(self, tensor: Array, shape: Shape | None = None) -> Array:
        """Uninitialised memory of the shape of `tensor`, or of another one of its rank, in its memory order: see
        layout.py."""
        return in_order_of(tensor, tensor.shape if shape is None else shape, self.empty)

    def mask_like(self, tensor: Array) -> Array:
        """Uninitialised booleans of the shape of `tensor`, in its memory order."""
        return self.xp.empty_like(tensor, dtype=bool)

    def from_data(self, data: HostArray) -> Array:
        return self.xp.array(data, self.np_dtype, order="C")

    def into_data(self, tensor: Array) -> HostArray:
        host = tensor.view() if tensor.flags.c_contiguous and tensor.ndim else np.array(tensor, order="C")
        host.flags.writeable = False
        return host

    def take_from(self, tensor: Any, source: BasicOps[Any, Any, Any]) -> Array:
        return self.from_data(source.into_data(tensor))

    def lend(self, tensor: Array) -> Array:
        """For code that is not ours: a view that cannot be written through."""
        view = tensor.view()
        view.flags.writeable = False
        return view

    def adopt(self, array: Array) -> Array:
        """What such code returned, in the table's dtype."""
        return self.xp.asarray(array, self.np_dtype)

    def shape(self, tensor: Array) -> Shape:
        return tuple(tensor.shape)

    def zeros(self, shape: Shape) -> Array:
        return self.xp.zeros(shape, self.np_dtype)

    def ones(self, shape: Shape) -> Array:
        out = self.empty(shape)
        out.fill(1)
        return out

    def reshape(self, tensor: Array, shape: Shape) -> Array:
        return tensor.reshape(shape)

    def swap_dims(self, tensor: Array, dim1: int, dim2: int) -> Array:
        return tensor.swapaxes(dim1, dim2)

    def permute(self, tensor: Array, axes: tuple[int, ...]) -> Array:
        return tensor.transpose(axes)

    def flip(self, tensor: Array, axes: tuple[int, ...]) -> Array:
        return tensor[tuple(slice(None, None, -1 if dim in axes else 1) for dim in range(tensor.ndim))]

    def expand(self, tensor: Array, shape: Shape) -> Array:
        if math.prod(shape) < SMALL:  # writing it out is cheaper than making the view
            out = self.empty(shape)
            out[...] = tensor
            return out
        return self.xp.broadcast_to(tensor, shape)

    def repeat_dim(self, tensor: Array, dim: int, times: int) -> Array:
        if times == 0 or not tensor.size:
            return self.zeros((*tensor.shape[:dim], tensor.shape[dim] * times, *tensor.shape[dim + 1 :]))
        return self.xp.concatenate([tensor] * times, axis=dim)

    def slice(self, tensor: Array, slices: Slices) -> Array:
        return tensor[to_index(slices)]

    def slice_assign(self, tensor: Array, value: Array, slices: Slices) -> Array:
        out = tensor.copy()
        out[to_index(slices)] = value
        return out

    def cat(self, tensors: Sequence[Array], dim: int) -> Array:
        first = tensors[0]
        shape = (*first.shape[:dim], sum(tensor.shape[dim] for tensor in tensors), *first.shape[dim + 1 :])
        return self.xp.concatenate(tensors, dim, self.empty_like(first, shape))

    def check_indices(self, op: str, indices: Array, size: int) -> None:
        """Burn's rule: an index is in [0, size), never counted from the end."""
        if indices.size:
            low, high = int(indices.min()), int(indices.max())
            if low < 0 or high >= size:
                index = low if low < 0 else high
                raise BackendError(f"{op}: index {index} is out of bounds for a dimension of size {size}.")

    def gather(self, tensor: Array, indices: Array, dim: int) -> Array:
        self.check_indices("gather", indices, tensor.shape[dim])
        return tensor[self.mesh(indices, dim)]

    def mesh(self, indices: Array, dim: int) -> tuple[Array, ...]:
        """The index tuple that addresses [..i.., indices[..i..], ..i..]."""
        rank = indices.ndim
        return tuple(
            indices if d == dim else self.xp.arange(indices.shape[d]).reshape((-1,) + (1,) * (rank - d - 1))
            for d in range(rank)
        )

    def select(self, tensor: Array, indices: Array, dim: int) -> Array:
        self.check_indices("select", indices, tensor.shape[dim])
        return tensor.take(indices, axis=dim)

    def scatter(self, tensor: Array, indices: Array, value: Array, dim: int, update: IndexUpdate) -> Array:
        self.check_indices("scatter", indices, tensor.shape[dim])
        return self.update_at(tensor, self.mesh(indices, dim), value, update)

    def select_assign(self, tensor: Array, indices: Array, value: Array, dim: int, update: IndexUpdate) -> Array:
        self.check_indices("select_assign", indices, tensor.shape[dim])
        return self.update_at(tensor, (slice(None),) * dim + (indices,), value, update)

    def update_at(self, tensor: Array, where: tuple[Any, ...], value: Array, update: IndexUpdate) -> Array:
        """A copy of tensor with `tensor[where] op= value`, repeated places included one after the other."""
        out = self.xp.array(tensor, order="C")
        xp = self.xp
        if update == "assign":
            out[where] = value
        elif update == "add":
            xp.add.at(out, where, value)
        elif update == "mul":
            xp.multiply.at(out, where, value)
        else:  # fmin and fmax: a NaN value never replaces
            (xp.fmin if update == "min" else xp.fmax).at(out, where, value)
            if self.dtype.is_float:  # and a NaN target stays
                out = xp.where(xp.isnan(tensor), tensor, out)
        return out

    def take_known(self, tensor: Array, indices: HostArray, dim: int, shape: Shape) -> Array:
        """Rows along dim by indices that are known to be right, as an array of its own of that shape."""
        # "raise", the default, buffers; nothing is clipped.
        return tensor.take(indices, axis=dim, out=self.empty(shape), mode="clip")

    def mask_where(self, tensor: Array, mask: Array, value: Array) -> Array:
        return self.xp.where(mask, value, tensor)

    def mask_fill(self, tensor: Array, mask: Array, value: float) -> Array:
        return self.xp.where(mask, self.np_dtype.type(value), tensor)

    def equal(self, lhs: Array, rhs: Array) -> Array:
        return self.xp.equal(lhs, rhs)

    def not_equal(self, lhs: Array, rhs: Array) -> Array:
        return self.xp.not_equal(lhs, rhs)

    def equal_elem(self, lhs: Array, rhs: float) -> Array:
        return self.xp.equal(lhs, rhs)

    def not_equal_elem(self, lhs: Array, rhs: float) -> Array:
        return self.xp.not_equal(lhs, rhs)

    def any(self, tensor: Array) -> Array:
        return (tensor != 0).any().reshape(1)

    def any_dim(self, tensor: Array, dim: int) -> Array:
        return (tensor != 0).any(axis=dim, keepdims=True)

    def all(self, tensor: Array) -> Array:
        return (tensor != 0).all().reshape(1)

    def all_dim(self, tensor: Array, dim: int) -> Array:
        return (tensor != 0).all(axis=dim, keepdims=True)
