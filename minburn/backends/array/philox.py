"""Draws from Philox words, on the host.

NumPy's `Philox` bit generator gives the raw words; everything after that is spelled out here, because NumPy promises
to keep raw words and not the methods of `Generator`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minburn.backends.base import Shape
from minburn.backends.rng import Distribution

BLOCK = 16 * 1024
"""Numbers drawn at once where they need no memory of their own; even, as a word holds two."""


def words(count: int, key: int, counter: int) -> np.ndarray[Any, Any]:
    """`count` 64-bit words of the stream `key`, from block `counter` on."""
    generator = np.random.Philox(key=key, counter=counter)
    return generator.random_raw(count) if count else np.empty(0, np.uint64)


def words_needed(shape: Shape, distribution: Distribution) -> int:
    """How many words to reserve for a draw. One holds two 32-bit numbers; a pair of normals takes two."""
    count = math.prod(shape)
    return 2 * ((count + 1) // 2) if distribution.kind == "normal" else (count + 1) // 2


def halves(count: int, key: int, counter: int) -> np.ndarray[Any, Any]:
    """`count` 32-bit numbers, the low half of each word first, whatever the byte order of the machine."""
    return _halves(words((count + 1) // 2, key, counter))[:count]


def _halves(raw: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return raw.astype("<u8", copy=False).view("<u4")


def draw(
    shape: Shape,
    distribution: Distribution,
    key: int,
    counter: int,
    dtype: np.dtype[Any],
    out: np.ndarray[Any, Any] | None = None,
) -> np.ndarray[Any, Any]:
    """Samples of `distribution` in C order. `out`: C-contiguous memory for them, which need not be used.

    uniform: low + (high - low) · (top 24 bits of a 32-bit number) / 2²⁴, which is exact in F32 for [0, 1).
    bernoulli: number < prob · 2³². normal: Box–Muller over pairs of 53-bit uniforms.
    """
    count = math.prod(shape)
    if distribution.kind == "normal":
        pairs = (count + 1) // 2
        raw = (words(2 * pairs, key, counter) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        radius = np.sqrt(-2.0 * np.log1p(-raw[:pairs]))
        angle = (2.0 * math.pi) * raw[pairs:]
        samples = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:count]
        return (distribution.a + distribution.b * samples).astype(dtype).reshape(shape)
    if distribution.kind == "bernoulli":
        out = np.empty(shape, dtype) if out is None else out
        _bernoulli(out.reshape(-1), distribution.a, np.random.Philox(key=key, counter=counter))
        return out
    numbers = halves(count, key, counter)
    unit: np.ndarray[Any, Any] = (numbers >> np.uint32(8)).astype(np.float64 if dtype.itemsize > 4 else np.float32)
    unit *= 2.0**-24
    low, high = distribution.a, distribution.b
    if (low, high) != (0.0, 1.0):
        unit = unit * (high - low) + low
        unit = np.where(unit < high, unit, low) if high > low else unit  # rounding must not reach `high`
    return unit.astype(dtype).reshape(shape)


def _bernoulli(out: np.ndarray[Any, Any], prob: float, generator: np.random.Philox) -> None:
    """Dropout draws as many numbers as a model has activations: the words of a block stay in the cache."""
    bound = round(prob * 2**32)
    if bound == 2**32:
        out.fill(1)
        return
    limit = np.uint32(bound)  # 64 bits compare slower
    for start in range(0, out.size, BLOCK):
        part = out[start : start + BLOCK]
        raw = generator.random_raw((part.size + 1) // 2)
        part[...] = _halves(raw)[: part.size] < limit
