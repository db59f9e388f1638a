"""Maxima and means over windows. Burn: `crates/burn-tensor/src/tensor/module.rs`.

Sizes, strides, paddings and dilations are one int for all dimensions, or one per spatial dimension; a padding may also
be one (before, after) pair per dimension. What padding holds is never the maximum; in a mean it is 0.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from minburn.backends.conv_options import LARGEST
from minburn.backends.pool_options import PoolOptions
from minburn.tensor import activation
from minburn.tensor.check import ShapeError, TensorError, as_int, as_shape, show
from minburn.tensor.kinds import FloatTensor, IntTensor

Sizes = int | Sequence[int]
Padding = int | Sequence[int] | Sequence[tuple[int, int]]


def max_pool1d(
    x: FloatTensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Padding = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
) -> FloatTensor:
    """The maximum of each window of x [N, C, L]: see `max_pool2d`."""
    options = _max_options("max_pool1d", 1, x, kernel_size, stride, padding, dilation, ceil_mode)
    return x._with(x.backend.modules.max_pool1d(x.primitive, options))


def max_pool2d(
    x: FloatTensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Padding = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
) -> FloatTensor:
    """The maximum of each window of x [N, C, H, W]: [N, C, H', W'], H' = ⌊(H + padding - dilation·(k - 1) - 1)/s⌋ + 1.

    stride: the kernel size, if None. ceil_mode: rounds up, so that a last window may overhang. A NaN wins; of equal
    elements the first gets the gradient.

    Errors: ShapeError for an input of another rank or too small, or for windows that hold padding alone.
    """
    options = _max_options("max_pool2d", 2, x, kernel_size, stride, padding, dilation, ceil_mode)
    return x._with(x.backend.modules.max_pool2d(x.primitive, options))


def max_pool1d_with_indices(
    x: FloatTensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Padding = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
) -> tuple[FloatTensor, IntTensor]:
    """max_pool1d, and the position of each maximum in the unpadded input."""
    options = _max_options("max_pool1d_with_indices", 1, x, kernel_size, stride, padding, dilation, ceil_mode)
    _check_positions("max_pool1d_with_indices", x)
    out, indices = x.backend.modules.max_pool1d_with_indices(x.primitive, options, x.backend.int_dtype)
    return x._with(out), IntTensor(indices, x.backend.ints, x.backend)


def max_pool2d_with_indices(
    x: FloatTensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Padding = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
) -> tuple[FloatTensor, IntTensor]:
    """max_pool2d, and the flat position row · W + column of each maximum in its unpadded plane.

    Of equal elements it is the first, of NaNs the last.
    """
    options = _max_options("max_pool2d_with_indices", 2, x, kernel_size, stride, padding, dilation, ceil_mode)
    _check_positions("max_pool2d_with_indices", x)
    out, indices = x.backend.modules.max_pool2d_with_indices(x.primitive, options, x.backend.int_dtype)
    return x._with(out), IntTensor(indices, x.backend.ints, x.backend)


def avg_pool1d(
    x: FloatTensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Padding = 0,
    count_include_pad: bool = True,
    ceil_mode: bool = False,
) -> FloatTensor:
    """The mean of each window of x [N, C, L]: see `avg_pool2d`."""
    options = _options("avg_pool1d", 1, x, kernel_size, stride, padding, 1, ceil_mode)
    return x._with(x.backend.modules.avg_pool1d(x.primitive, options, bool(count_include_pad)))


def avg_pool2d(
    x: FloatTensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Padding = 0,
    count_include_pad: bool = True,
    ceil_mode: bool = False,
) -> FloatTensor:
    """The mean of each window of x [N, C, H, W], with the sizes of `max_pool2d`.

    count_include_pad: padding counts as zeros; else only elements count, and a window without any gives 0. What
    overhangs the padded input in ceil_mode never counts.

    Errors: ShapeError for an input of another rank or too small.
    """
    options = _options("avg_pool2d", 2, x, kernel_size, stride, padding, 1, ceil_mode)
    return x._with(x.backend.modules.avg_pool2d(x.primitive, options, bool(count_include_pad)))


def adaptive_avg_pool1d(x: FloatTensor, output_size: Sizes) -> FloatTensor:
    """x [N, C, L] → [N, C, output_size]: see `adaptive_avg_pool2d`."""
    sizes = _adaptive("adaptive_avg_pool1d", 1, x, output_size)
    return x._with(x.backend.modules.adaptive_avg_pool1d(x.primitive, sizes))


def adaptive_avg_pool2d(x: FloatTensor, output_size: Sizes) -> FloatTensor:
    """x [N, C, H, W] → [N, C, *output_size]: means of windows that cover the input, ⌊i·n/out⌋ to ⌈(i+1)·n/out⌉.

    Errors: ShapeError for an input of another rank, or without elements.
    """
    sizes = _adaptive("adaptive_avg_pool2d", 2, x, output_size)
    return x._with(x.backend.modules.adaptive_avg_pool2d(x.primitive, sizes))


def adaptive_avg_pool3d(x: FloatTensor, output_size: Sizes) -> FloatTensor:
    """x [N, C, D, H, W] → [N, C, *output_size]: see `adaptive_avg_pool2d`."""
    sizes = _adaptive("adaptive_avg_pool3d", 3, x, output_size)
    return x._with(x.backend.modules.adaptive_avg_pool3d(x.primitive, sizes))


# Checks


def sizes_of(name: str, what: str, rank: int, value: object, least: int = 1) -> tuple[int, ...]:
    """One int for each of `rank` dimensions, none less than `least`. Errors: KindError, TensorError."""
    sizes = tuple(as_int(name, what, v) for v in value) if isinstance(value, Sequence) else None
    if sizes is None:
        sizes = (as_int(name, what, value),) * rank
    if len(sizes) != rank:
        raise TensorError(f"{name}: {what} {show(sizes)} has {len(sizes)} entries, but there are {rank} dimensions.")
    if min(sizes) < least:
        raise TensorError(f"{name}: {what} must be {least} or more, but is {show(sizes)}.")
    if max(sizes) > LARGEST:
        raise TensorError(f"{name}: {what} must be at most {LARGEST}, but is {show(sizes)}.")
    return sizes


def padding_of(name: str, rank: int, value: object) -> tuple[tuple[int, int], ...]:
    """A (before, after) pair for each of `rank` dimensions. Errors: KindError, TensorError."""
    if not isinstance(value, Sequence) or not any(isinstance(pair, Sequence) for pair in value):
        return tuple((n, n) for n in sizes_of(name, "padding", rank, value, 0))
    pairs = tuple(sizes_of(name, "padding", 2, pair, 0) for pair in value)
    if len(pairs) != rank:
        raise TensorError(f"{name}: padding has {len(pairs)} pairs, but there are {rank} dimensions.")
    return tuple((before, after) for before, after in pairs)


def spatial_size(name: str, rank: int, x: FloatTensor) -> tuple[int, ...]:
    """The spatial size of an input that can be pooled. Errors: KindError, ShapeError."""
    activation.check_float(name, x)
    shape = x.shape
    if len(shape) != rank + 2:
        dims = ("L", "H, W", "D, H, W")[rank - 1]
        raise ShapeError(
            f"{name}: the input must have shape [N, C, {dims}], but has {show(shape)}. Use unsqueeze_dim() to add a "
            "batch or a channel dimension."
        )
    if 0 in shape[2:]:
        raise ShapeError(f"{name}: the input has shape {show(shape)}: there is nothing in a window of size 0.")
    return shape[2:]


def _options(name: str, rank: int, x: FloatTensor, *windows: Any) -> PoolOptions:
    """windows: kernel_size, stride, padding, dilation, ceil_mode, as they were given."""
    size = spatial_size(name, rank, x)
    try:
        return _checked(name, size, *windows)
    except TypeError:  # lists cannot be looked up
        return _checked.__wrapped__(name, size, *windows)


@functools.lru_cache(maxsize=512, typed=True)  # checking costs as much as a small pool
def _checked(
    name: str,
    size: tuple[int, ...],
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Padding,
    dilation: Sizes,
    ceil_mode: bool,
) -> PoolOptions:
    rank = len(size)
    kernel = sizes_of(name, "kernel_size", rank, kernel_size)
    options = PoolOptions(
        kernel,
        kernel if stride is None else sizes_of(name, "stride", rank, stride),
        padding_of(name, rank, padding),
        sizes_of(name, "dilation", rank, dilation),
        bool(ceil_mode),
    )
    out = options.output_size(size)
    if min(out) < 1:
        extents = [options.extent(dim) for dim in range(rank)]
        raise ShapeError(
            f"{name}: with {_told(options, size)}, no window fits: it reaches over {show(extents)}. Use a smaller "
            "kernel, or more padding."
        )
    as_shape(name, out)
    return options


def _max_options(name: str, rank: int, x: FloatTensor, *windows: Any) -> PoolOptions:
    """Of a pool whose windows must all have an element."""
    options = _options(name, rank, x, *windows)
    if not _every_window_has_an_element(options, x.shape[2:]):
        raise ShapeError(
            f"{name}: with {_told(options, x.shape[2:])}, a window holds padding only and has no maximum. Use less "
            "padding than the kernel is long."
        )
    return options


@functools.lru_cache(maxsize=512)
def _every_window_has_an_element(options: PoolOptions, size: tuple[int, ...]) -> bool:
    for dim, n in enumerate(size):
        reads = options.reads(dim, n)
        if not ((reads >= 0) & (reads < n)).any(axis=1).all():
            return False
    return True


def _told(options: PoolOptions, size: tuple[int, ...]) -> str:
    return (
        f"kernel_size {show(options.kernel_size)}, dilation {show(options.dilation)}, padding "
        f"{[list(pair) for pair in options.padding]} and the input {show(size)}"
    )


def _check_positions(name: str, x: FloatTensor) -> None:
    dtype, size = x.backend.int_dtype, x.shape[2:]
    bits = 8 * dtype.size - (0 if str(dtype).startswith("U") else 1)
    if math.prod(size) > 2**bits:
        raise TensorError(
            f"{name}: positions in a plane {show(size)} do not fit into {dtype}, the int_dtype of the backend."
        )


def _adaptive(name: str, rank: int, x: FloatTensor, output_size: Sizes) -> tuple[int, ...]:
    sizes = sizes_of(name, "output_size", rank, output_size)
    spatial_size(name, rank, x)
    as_shape(name, (*x.shape[:2], *sizes))  # refuses what has no address
    return sizes
