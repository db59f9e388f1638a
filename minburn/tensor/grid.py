"""Grids of coordinates. Burn: `crates/burn-tensor/src/tensor/grid/`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from minburn.dtype import DType
from minburn.tensor import creation
from minburn.tensor.check import ShapeError, TensorError, as_shape, one_of, show

if TYPE_CHECKING:
    from minburn.backends.base import Backend

GridIndexing = Literal["matrix", "cartesian"]


def meshgrid(tensors: list[Any], indexing: str) -> list[Any]:
    """`Tensor.meshgrid`, of tensors on one table."""
    if not one_of(indexing, ("matrix", "cartesian")):
        raise TensorError(f"meshgrid: indexing is 'matrix' or 'cartesian', but got {indexing!r}.")
    for index, tensor in enumerate(tensors):
        if tensor.rank != 1:
            raise ShapeError(f"meshgrid: it takes vectors, but tensor {index} has shape {show(tensor.shape)}.")
    shape = tuple(tensor.shape[0] for tensor in tensors)
    results = []
    for dim, tensor in enumerate(tensors):
        along = tensor.ops.reshape(tensor.primitive, tuple(size if d == dim else 1 for d, size in enumerate(shape)))
        along = tensor._with(tensor.ops.expand(along, shape))
        results.append(along.swap_dims(0, 1) if indexing == "cartesian" and len(shape) > 1 else along)
    return results


def cartesian_grid(shape: int | Iterable[int], backend: Backend) -> Any:
    """`IntTensor.cartesian_grid`."""
    sizes = as_shape("cartesian_grid", shape)
    as_shape("cartesian_grid", (*sizes, len(sizes)))
    if not sizes:
        raise ShapeError("cartesian_grid: a shape without sizes has no coordinates. Give one size or more.")
    dtype = creation.wanted("cartesian_grid", None, DType.I32, backend)
    return creation.from_array(np.moveaxis(np.indices(sizes), 0, -1), dtype, backend)
