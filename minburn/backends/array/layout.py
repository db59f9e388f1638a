"""Where images lie in memory: channels first, the batch last.

At the API an image batch is [N, C, H, W]. Convolutions and pools work on [C, H, W, N] memory: then a shifted image is
a copy of long contiguous runs of W·N elements, one matrix product does a whole convolution, and what belongs to a
channel is one row. They return that memory as a *view* of shape [N, C, H, W], and ops on single elements keep the
order (`table.empty_like`), so between two layers nothing is transposed:

    conv ──[C,H,W,N]──> relu ──[C,H,W,N]──> pool ──[C,H,W,N]──> flatten: a view [N, C·H·W] that a matrix product takes

Any rank works, [C, …, N]; an array in another order is copied once, where it enters.
"""

from __future__ import annotations

from minburn.backends.array.basic import Array, ArrayBasic

IMAGES_AT_ONCE = 16
LARGE = 1 << 19


def batch_last(table: ArrayBasic, x: Array) -> Array:
    """x [N, C, …] as a C-contiguous array [C, …, N]: a view if it lies so already, else a copy."""
    moved = x.transpose(*range(1, x.ndim), 0)
    if moved.flags.c_contiguous:
        return moved
    out = table.empty(moved.shape)
    copy_batch_last(out, x)
    return out


def copy_batch_last(target: Array, x: Array) -> None:
    """Write x [N, C, …] into target [C, …, N].

    A few images at a time if they are large: rows that lie a multiple of a page apart fall into one cache set, which
    holds only so many of them. Measured: 64 images of 64 28x28 channels take 3.3 ms instead of 9.
    """
    moved = x.transpose(*range(1, x.ndim), 0)
    scattered = x.nbytes > LARGE and x.strides[0] > x.itemsize
    step = IMAGES_AT_ONCE if scattered else max(1, len(x))
    for start in range(0, len(x), step):
        target[..., start : start + step] = moved[..., start : start + step]


def batch_first(x: Array) -> Array:
    """The inverse: [C, …, N] as a view [N, C, …]."""
    return x.transpose(x.ndim - 1, *range(x.ndim - 1))
