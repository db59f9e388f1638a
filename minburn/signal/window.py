"""Windows: weights that fade a frame out at both ends. [size], in the backend's float dtype.

periodic: the window of `size` samples of a repeated frame (for transforms); otherwise symmetric (for filters).

Burn: `crates/burn-signal/src/functions/{hann,hamming,blackman}_window.rs`.
"""

from __future__ import annotations

import math

import numpy as np

from minburn.backends.base import Backend
from minburn.tensor import FloatTensor, KindError, Tensor
from minburn.tensor.check import as_int, as_shape


def hann_window(size: int, backend: Backend, periodic: bool = True) -> FloatTensor:
    """1/2 - 1/2 cos(2πk / N), N = size, or size - 1 if not periodic."""
    return _window("hann_window", size, backend, periodic, (0.5, 0.5))


def hamming_window(size: int, backend: Backend, periodic: bool = True) -> FloatTensor:
    """25/46 - 21/46 cos(2πk / N)."""
    return _window("hamming_window", size, backend, periodic, (25 / 46, 21 / 46))


def blackman_window(size: int, backend: Backend, periodic: bool = True) -> FloatTensor:
    """0.42 - 0.5 cos(2πk / N) + 0.08 cos(4πk / N)."""
    return _window("blackman_window", size, backend, periodic, (0.42, 0.5, 0.08))


def _window(name: str, size: int, backend: Backend, periodic: bool, weights: tuple[float, ...]) -> FloatTensor:
    """Σ_j weights[j] (-1)ʲ cos(2πjk / N)."""
    count = as_int(name, "size", size)
    as_shape(name, (count,))
    if not isinstance(periodic, bool):
        raise KindError(f"{name}: periodic is True or False, but got {periodic!r}.")
    if count == 1:
        values = np.ones(1)
    else:
        angles = 2 * math.pi * np.arange(count) / max(1, count if periodic else count - 1)
        values = np.zeros(count)
        for order, weight in enumerate(weights):
            values += (-1) ** order * weight * np.cos(order * angles)
    return Tensor.from_floats(values, backend)
