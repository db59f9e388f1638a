"""Sampling an image where a grid says.

A place is (x, y): -1 is the left or upper end of the image, 1 the right or lower one. With align_corners the ends are
the centres of the outermost pixels, without it their outer edges:

    column = (x + 1) (W - 1) / 2        column = ((x + 1) W - 1) / 2

Burn: `crates/burn-tensor/src/tensor/grid/`, `float_grid_sample_2d`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from minburn.dtype import DType
from minburn.tensor.activation import check_float
from minburn.tensor.check import KindError, ShapeError, TensorError, as_shape, one_of, show
from minburn.tensor.kinds import FloatTensor
from minburn.tensor.lift import one_table

SampleMode = Literal["bilinear", "nearest"]
SamplePadding = Literal["zeros", "border", "reflection"]


def affine_grid_2d(theta: FloatTensor, size: Sequence[int]) -> FloatTensor:
    """The grid that an affine map makes of an image's own places: theta [N, 2, 3], size (N, C, H, W) → [N, H, W, 2].

    grid[n, i, j] = theta[n] · (x_j, y_i, 1), with x_j and y_i evenly from -1 to 1 (0 if there is only one).

    Errors: ShapeError unless theta and size fit.
    """
    check_float("affine_grid_2d", theta)
    sizes = as_shape("affine_grid_2d", size)
    if len(sizes) != 4 or theta.shape != (sizes[0], 2, 3):
        raise ShapeError(
            f"affine_grid_2d: size is (N, C, H, W) and theta [N, 2, 3], but got {show(sizes)} and {show(theta.shape)}."
        )
    height, width = sizes[2:]
    rows, columns = np.meshgrid(_evenly(height), _evenly(width), indexing="ij")
    places = np.stack([columns, rows, np.ones((height, width))], -1).reshape(1, height * width, 3)
    own: FloatTensor = FloatTensor.from_data(places, theta.backend, theta.dtype)
    return own.expand(sizes[0], -1, -1).matmul(theta.transpose()).reshape(sizes[0], height, width, 2)


def _evenly(count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.linspace(-1.0, 1.0, count) if count > 1 else np.zeros(count)


def grid_sample_2d(
    x: FloatTensor,
    grid: FloatTensor,
    mode: SampleMode = "bilinear",
    padding_mode: SamplePadding = "zeros",
    align_corners: bool = False,
) -> FloatTensor:
    """The values of the images x [N, C, H, W] at the places of grid [N, H', W', 2]: [N, C, H', W'].

    mode: "bilinear" weighs the four pixels around the place; "nearest" takes one, halves to the even place, so that
    the grid gets no gradient. padding_mode, for what lies outside: "zeros", "border" (the outermost pixel) or
    "reflection" (mirrored at the ends of the image).

    Errors: ShapeError, TensorError for another mode.

    Burn: `float_grid_sample_2d_ref`.
    """
    check_float("grid_sample_2d", x)
    check_float("grid_sample_2d", grid)
    x, grid = one_table("grid_sample_2d", [x, grid])
    if x.rank != 4 or grid.rank != 4 or grid.shape[3] != 2 or grid.shape[0] != x.shape[0] or 0 in x.shape[2:]:
        raise ShapeError(
            f"grid_sample_2d: it takes images [N, C, H, W] and a grid [N, H', W', 2], but got {show(x.shape)} and "
            f"{show(grid.shape)}."
        )
    if not one_of(mode, ("bilinear", "nearest")):
        raise TensorError(f"grid_sample_2d: mode is 'bilinear' or 'nearest', but got {mode!r}.")
    if not one_of(padding_mode, ("zeros", "border", "reflection")):
        raise TensorError(
            f"grid_sample_2d: padding_mode is 'zeros', 'border' or 'reflection', but got {padding_mode!r}."
        )
    if not isinstance(align_corners, bool):
        raise KindError(f"grid_sample_2d: align_corners is True or False, but got {align_corners!r}.")
    column = _coordinate(grid.select_dim(3, 0), x.shape[3], padding_mode, align_corners)
    row = _coordinate(grid.select_dim(3, 1), x.shape[2], padding_mode, align_corners)
    if mode == "nearest":
        return _pixels(x, column.round(), row.round())
    left, upper = column.floor().detach(), row.floor().detach()
    across, down = (column - left).unsqueeze_dim(1), (row - upper).unsqueeze_dim(1)
    above = _pixels(x, left, upper) * (1.0 - across) + _pixels(x, left + 1.0, upper) * across
    below = _pixels(x, left, upper + 1.0) * (1.0 - across) + _pixels(x, left + 1.0, upper + 1.0) * across
    return above * (1.0 - down) + below * down


def _coordinate(place: FloatTensor, size: int, padding_mode: str, align_corners: bool) -> FloatTensor:
    """The place in units of pixels."""
    at = (place + 1.0) * ((size - 1) / 2.0) if align_corners else ((place + 1.0) * float(size) - 1.0) / 2.0
    if padding_mode == "zeros":
        return at
    if padding_mode == "reflection":
        start, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
        if span > 0:  # there and back again is a period
            at = span - ((at - start) % (2.0 * span) - span).abs() + start
    return at.clamp(0.0, size - 1.0)


def _pixels(x: FloatTensor, column: FloatTensor, row: FloatTensor) -> FloatTensor:
    """The pixels at whole coordinates [N, H', W'], 0 outside: [N, C, H', W']."""
    batch, channels, height, width = x.shape
    outside = (column < 0.0) | (column > width - 1.0) | (row < 0.0) | (row > height - 1.0)
    rows = row.clamp(0.0, height - 1.0).cast(DType.I64)
    index = rows * width + column.clamp(0.0, width - 1.0).cast(DType.I64)
    places = index.flatten(1, 2).unsqueeze_dim(1).expand(-1, channels, -1)
    flat = x.flatten(2, 3).gather(2, places)
    values = flat._with(flat.ops.reshape(flat.primitive, (batch, channels, *column.shape[1:])))
    return values.mask_fill(outside.unsqueeze_dim(1), 0.0)
