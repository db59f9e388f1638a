"""Where the values of a resized image come from.

Along one dimension, output o of m lies at a coordinate of the input's n elements:

    align_corners   o · (n - 1) / (m - 1)            the first and the last elements lie on each other
    else            (o + 1/2) · n / m - 1/2          the edges of the outer elements do

and is a weighted sum of the elements around it. A *source* is the k-th of them: its index and its weight for each o.

    Nearest        ⌊o · n / m⌋, whatever align_corners says          NearestExact   ⌊(o + 1/2) · n / m⌋
    Linear         2 elements, the coordinate clamped to [0, n - 1]
    Cubic          4 elements, Keys 1981 with a = -3/4; elements outside are the outermost ones
    Lanczos        6 elements, sinc(d) · sinc(d / 3); elements outside are left out and the weights divided by their sum

Burn: `InterpolateOptions`; the formulas are those of its flex backend, which lacks NearestExact.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from minburn.backends.base import HostArray

Mode = Literal["Nearest", "NearestExact", "Linear", "Cubic", "Lanczos"]
"""Burn: `burn_std::InterpolateMode`."""
MODES: tuple[str, ...] = get_args(Mode)
CUBIC = -0.75

Source = tuple[HostArray, HostArray]
"""(indices, weights) of each output."""


@dataclass(frozen=True, slots=True)
class InterpolateOptions:
    """Burn: `InterpolateOptions` in `crates/burn-std/src/ops.rs`."""

    mode: Mode
    align_corners: bool = True

    @property
    def is_nearest(self) -> bool:
        """Is there one source, of weight 1?"""
        return self.mode in ("Nearest", "NearestExact")

    def sources(self, n: int, m: int) -> tuple[Source, ...]:
        """How m outputs are made of n elements."""
        return _sources(self, n, m)


@functools.lru_cache(maxsize=128)
def _sources(options: InterpolateOptions, n: int, m: int) -> tuple[Source, ...]:
    places = np.arange(m)
    if options.mode == "Nearest":
        return ((places * n // m, np.ones(m)),)
    if options.mode == "NearestExact":
        return (((2 * places + 1) * n // (2 * m), np.ones(m)),)
    if options.align_corners:
        at = places * ((n - 1) / (m - 1)) if m > 1 else np.zeros(m)
    else:
        at = (places + 0.5) * (n / m) - 0.5
    if options.mode == "Linear":
        at = at.clip(0, n - 1)
    below = np.floor(at).astype(np.int64)
    reach = {"Linear": range(2), "Cubic": range(-1, 3), "Lanczos": range(-2, 4)}[options.mode]
    kernel = {"Linear": _linear, "Cubic": _cubic, "Lanczos": _lanczos}[options.mode]
    indices = [below + offset for offset in reach]
    weights = [kernel(np.abs(at - index)) for index in indices]
    if options.mode == "Lanczos":
        weights = [np.where((index >= 0) & (index < n), w, 0.0) for index, w in zip(indices, weights, strict=True)]
        total = functools.reduce(np.add, weights)
        weights = [weight / total for weight in weights]
    return tuple((index.clip(0, n - 1), weight) for index, weight in zip(indices, weights, strict=True))


def _linear(distance: HostArray) -> HostArray:
    return 1 - distance


def _cubic(distance: HostArray) -> HostArray:
    """Keys' kernel: one cubic up to a distance of 1, another one up to 2."""
    d = distance
    near = ((CUBIC + 2) * d - (CUBIC + 3)) * d * d + 1
    far = ((d - 5) * d + 8) * d * CUBIC - 4 * CUBIC
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def _lanczos(distance: HostArray) -> HostArray:
    return np.where(distance < 3, np.sinc(distance) * np.sinc(distance / 3), 0.0)
