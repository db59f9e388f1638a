"""Signals: Fourier transforms, short-time ones, and windows.

Composed of tensor ops, so they are differentiable and work on every backend. A complex number is a pair of tensors. As
in Burn, lengths are powers of two.

Burn: the crate `burn-signal`.
"""

from minburn.signal.fft import cfft, irfft, rfft
from minburn.signal.stft import StftOptions, istft, stft
from minburn.signal.window import blackman_window, hamming_window, hann_window

__all__ = [
    "StftOptions",
    "blackman_window",
    "cfft",
    "hamming_window",
    "hann_window",
    "irfft",
    "istft",
    "rfft",
    "stft",
]
