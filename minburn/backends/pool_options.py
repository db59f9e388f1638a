"""The geometry of pooling: which elements of the input a window reads.

    size 5, kernel 3, stride 2, one element of padding on either side:

        before  0  1  2  3  4  after           tap 0 of windows 1, 2    reads 1, 3
        [---------]                            tap 1 of windows 0, 1, 2 reads 0, 2, 4
                [-------]                      tap 2 of windows 0, 1    reads 1, 3
                      [----------]

A *tap* is one place of the kernel. It pairs the windows whose place lies on a real element with these elements, as
strided slices: padding is never written out, and a pool is a loop over taps, not over windows.

Burn: `crates/burn-std/src/ops.rs`.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from minburn.backends.base import HostArray, Shape

Pairs = tuple[tuple[int, int], ...]
"""(before, after) of each spatial dimension."""

Index = tuple[slice, ...]


@dataclass(frozen=True, slots=True)
class PoolOptions:
    """One entry per spatial dimension. ceil_mode: keep a last window that overhangs the padded end.

    Burn: `MaxPoolOptions` and `AvgPoolOptions` in `crates/burn-std/src/ops.rs`.
    """

    kernel_size: Shape
    stride: Shape
    padding: Pairs
    dilation: Shape
    ceil_mode: bool = False

    def output_size(self, size: Shape) -> Shape:
        """⌊(n + before + after - extent) / stride⌋ + 1 of each dimension; with ceil_mode ⌈…⌉ + 1, less a window that
        would start behind the input. May be less than 1: then no window fits.

        Burn: `calculate_pool_output_shape`, `calculate_pool_output_size` in
        `crates/burn-backend/src/backend/ops/modules/conv.rs`.
        """
        return tuple(self._windows(dim, n) for dim, n in enumerate(size))

    def _windows(self, dim: int, n: int) -> int:
        stride, (before, after) = self.stride[dim], self.padding[dim]
        room = n + before + after - self.extent(dim)
        if not self.ceil_mode:
            return room // stride + 1
        count = (room + stride - 1) // stride + 1
        return count - 1 if count > 1 and (count - 1) * stride >= n + before else count

    def extent(self, dim: int) -> int:
        """How far a window reaches: dilation · (kernel - 1) + 1."""
        return self.dilation[dim] * (self.kernel_size[dim] - 1) + 1

    @property
    def overlaps(self) -> bool:
        """May an element be in two windows?"""
        return any(self.extent(dim) > stride for dim, stride in enumerate(self.stride))

    def covers(self, size: Shape) -> bool:
        """Is every element in a window?"""
        return all(
            sum(len(range(n)[elements]) for _, elements in taps) >= n
            for n, taps in zip(size, self.taps(size), strict=True)
        )

    def reads(self, dim: int, n: int) -> HostArray:
        """[windows, places of the kernel]: the element on which each place lies; outside [0, n) it is padding."""
        starts = np.arange(self._windows(dim, n)) * self.stride[dim] - self.padding[dim][0]
        return starts[:, None] + np.arange(self.kernel_size[dim]) * self.dilation[dim]

    def taps(self, size: Shape) -> tuple[tuple[tuple[slice, slice], ...], ...]:
        """Of each dimension, for each place of the kernel: (windows, the elements that it meets there)."""
        return _taps(self, size)

    def taps_of_planes(self, size: Shape) -> list[tuple[Index, Index]]:
        """The taps of all dimensions together, in row-major order of the kernel."""
        combined = [tuple(zip(*places, strict=True)) for places in itertools.product(*self.taps(size))]
        return [(windows, elements) for windows, elements in combined]

    def positions(self, size: Shape) -> HostArray:
        """[windows, places], each flattened: positions in the flat plane. For padding, its window's first element."""
        flat: HostArray = np.zeros((1, 1), np.int64)
        for dim, n in enumerate(size):
            reads = self.reads(dim, n)
            first = np.where(reads < 0, n, reads).min(axis=1, keepdims=True)
            reads = np.where((reads >= 0) & (reads < n), reads, first)
            flat = flat[:, None, :, None] * n + reads[None, :, None, :]
            flat = flat.reshape(flat.shape[0] * flat.shape[1], -1)
        return flat

    def counts(self, size: Shape, include_pad: bool) -> HostArray:
        """[windows…]: how many places of each window lie in the padded input, or in the input; 1 if none."""
        counts: HostArray = np.ones(())
        for dim, n in enumerate(size):
            before, after = self.padding[dim] if include_pad else (0, 0)
            reads = self.reads(dim, n)
            inside = (reads >= -before) & (reads < n + after)
            counts = counts[..., None] * inside.sum(axis=1)
        return counts.clip(1.0)


@functools.lru_cache(maxsize=512)
def _taps(options: PoolOptions, size: Shape) -> tuple[tuple[tuple[slice, slice], ...], ...]:
    return tuple(tuple(_taps_of_dim(options.reads(dim, n), n, options.stride[dim])) for dim, n in enumerate(size))


def _taps_of_dim(reads: HostArray, n: int, stride: int) -> Iterator[tuple[slice, slice]]:
    for elements in reads.T:
        met = [int(window) for window in np.flatnonzero((elements >= 0) & (elements < n))]
        first, last = (met[0], met[-1]) if met else (0, -1)
        start, end = (int(elements[first]), int(elements[last]) + 1) if met else (0, 0)
        yield slice(first, last + 1, 1), slice(start, end, stride)


def adaptive_windows(n: int, count: int) -> list[tuple[int, int]]:
    """(start, end) of `count` windows that cover n elements: ⌊i·n/count⌋ to ⌈(i+1)·n/count⌉."""
    return [(i * n // count, -(-(i + 1) * n // count)) for i in range(count)]
