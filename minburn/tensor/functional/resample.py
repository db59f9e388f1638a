"""Resizing, unfolding and folding. Burn: `crates/burn-tensor/src/tensor/module.rs`."""

from __future__ import annotations

import math

from minburn.backends.interpolate_options import MODES, InterpolateOptions, Mode
from minburn.backends.pool_options import PoolOptions
from minburn.tensor import activation
from minburn.tensor.check import ShapeError, TensorError, as_shape, one_of, show
from minburn.tensor.functional.pool import Padding, Sizes, padding_of, sizes_of, spatial_size
from minburn.tensor.kinds import FloatTensor


def interpolate(x: FloatTensor, output_size: Sizes, mode: Mode = "Nearest", align_corners: bool = True) -> FloatTensor:
    """x [N, C, L], [N, C, H, W] or [N, C, D, H, W] → [N, C, *output_size].

    mode: Nearest, NearestExact, Linear, Cubic or Lanczos. align_corners: the outermost elements lie on each other, else
    the edges of the images do; Nearest does not ask. The formulas are in `minburn/backends/interpolate_options.py`.

    Errors: ShapeError for an input of another rank or without elements, TensorError for another mode.
    """
    activation.check_float("interpolate", x)
    rank = min(max(x.rank - 2, 1), 3)
    size = sizes_of("interpolate", "output_size", rank, output_size)
    spatial_size("interpolate", rank, x)
    as_shape("interpolate", (*x.shape[:2], *size))  # refuses what has no address
    if not one_of(mode, MODES):
        raise TensorError(f"interpolate: mode must be one of {', '.join(MODES)}, but is {mode!r}.")
    options = InterpolateOptions(mode, bool(align_corners))
    return x._with(x.backend.modules.interpolate(x.primitive, size, options))


def unfold4d(
    x: FloatTensor, kernel_size: Sizes, stride: Sizes = 1, padding: Padding = 0, dilation: Sizes = 1
) -> FloatTensor:
    """The windows of x [N, C, H, W] as columns: [N, C · kh · kw, windows]. Padding reads as 0.

    Errors: ShapeError for an input of another rank or too small.
    """
    options = _windows("unfold4d", kernel_size, stride, padding, dilation)
    _window_counts("unfold4d", options, spatial_size("unfold4d", 2, x))
    return x._with(x.backend.modules.unfold4d(x.primitive, options))


def fold4d(
    columns: FloatTensor,
    output_size: Sizes,
    kernel_size: Sizes,
    stride: Sizes = 1,
    padding: Padding = 0,
    dilation: Sizes = 1,
) -> FloatTensor:
    """The adjoint of `unfold4d`: columns [N, C · kh · kw, windows] → [N, C, *output_size].

    What several windows have for an element is added.

    Errors: ShapeError if these are not the columns of such an image.
    """
    activation.check_float("fold4d", columns)
    options = _windows("fold4d", kernel_size, stride, padding, dilation)
    size = sizes_of("fold4d", "output_size", 2, output_size)
    counts = _window_counts("fold4d", options, size)
    places, windows = math.prod(options.kernel_size), math.prod(counts)
    if columns.rank != 3 or columns.shape[1] % places or columns.shape[2] != windows:
        raise ShapeError(
            f"fold4d: an image {show(size)} has {counts[0]} x {counts[1]} windows of {places} elements: columns must "
            f"have shape [N, C · {places}, {windows}], but have {show(columns.shape)}."
        )
    return columns._with(columns.backend.modules.fold4d(columns.primitive, size, options))


def _windows(name: str, kernel_size: Sizes, stride: Sizes, padding: Padding, dilation: Sizes) -> PoolOptions:
    return PoolOptions(
        sizes_of(name, "kernel_size", 2, kernel_size),
        sizes_of(name, "stride", 2, stride),
        padding_of(name, 2, padding),
        sizes_of(name, "dilation", 2, dilation),
    )


def _window_counts(name: str, options: PoolOptions, size: tuple[int, ...]) -> tuple[int, ...]:
    counts = options.output_size(size)
    if min(counts) < 1:
        raise ShapeError(
            f"{name}: no window with kernel_size {show(options.kernel_size)} and dilation {show(options.dilation)} "
            f"fits into the image {show(size)} with padding {[list(pair) for pair in options.padding]}."
        )
    as_shape(name, (math.prod(options.kernel_size), *counts))
    return counts
