"""The short-time Fourier transform: a spectrum for every frame of a signal, and the signal back from its spectra.

Burn: `crates/burn-signal/src/functions/stft.rs`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minburn.signal.fft import hermitian, irfft, rfft
from minburn.tensor import FloatTensor, ShapeError, Tensor, TensorError
from minburn.tensor.activation import check_float
from minburn.tensor.check import as_int, show


@dataclass(frozen=True, slots=True)
class StftOptions:
    """n_fft: samples of a frame, a power of two. hop_length: from frame to frame (n_fft / 4 without one).
    win_length: of the window, which stands in the middle of the frame (n_fft without one). center: frame k is centred
    at sample k · hop_length, the signal mirrored at its ends. onesided: the n_fft/2 + 1 bins of a real signal only.

    Errors: TensorError unless 1 ≤ hop_length ≤ win_length ≤ n_fft.
    """

    n_fft: int
    hop_length: int | None = None
    win_length: int | None = None
    center: bool = True
    onesided: bool = True

    def __post_init__(self) -> None:
        n_fft = as_int("StftOptions", "n_fft", self.n_fft)
        if n_fft < 1 or n_fft & (n_fft - 1):
            raise TensorError(f"StftOptions: n_fft must be a power of two, but is {n_fft}.")
        for name in ("hop_length", "win_length"):
            if getattr(self, name) is not None:
                as_int("StftOptions", name, getattr(self, name))
        if not 1 <= self.hop <= self.width <= n_fft:
            raise TensorError(
                f"StftOptions: 1 ≤ hop_length ≤ win_length ≤ n_fft must hold, but they are {self.hop}, {self.width} "
                f"and {n_fft}."
            )

    @property
    def hop(self) -> int:
        return max(self.n_fft // 4, 1) if self.hop_length is None else self.hop_length

    @property
    def width(self) -> int:
        return self.n_fft if self.win_length is None else self.win_length

    @property
    def bins(self) -> int:
        return self.n_fft // 2 + 1 if self.onesided else self.n_fft


def stft(signal: FloatTensor, window: FloatTensor | None, options: StftOptions) -> FloatTensor:
    """[B, T] → [B, frames, bins, 2]: the real and the imaginary part of each bin of each frame times the window.

    window: [win_length], ones without one.

    Errors: ShapeError for another rank, a window of another size, and a signal too short for a frame.
    """
    check_float("stft", signal)
    check_options("stft", options)
    if signal.rank != 2:
        raise ShapeError(f"stft: the signal has shape [B, T], but got {show(signal.shape)}.")
    weights = _weights("stft", window, options, signal)
    half = options.n_fft // 2
    if options.center and half:
        if signal.shape[1] <= half:
            raise ShapeError(
                f"stft: a signal of {signal.shape[1]} samples cannot be mirrored by {half} = n_fft/2. Give more, "
                "or center=False."
            )
        signal = signal.pad([(half, half)], "reflect")
    if signal.shape[1] < options.n_fft:
        raise ShapeError(f"stft: a signal of {signal.shape[1]} samples has no frame of n_fft = {options.n_fft}.")
    frames = signal.unfold(1, options.n_fft, options.hop) * weights.unsqueeze(3)
    re, im = rfft(frames, 2)
    if not options.onesided:
        re, im = hermitian(re, im, 2, options.n_fft)
    return Tensor.stack([re, im], 3)


def istft(
    spectra: FloatTensor, window: FloatTensor | None, options: StftOptions, length: int | None = None
) -> FloatTensor:
    """[B, frames, bins, 2] → [B, T]: the signal whose stft() this is, as well as the frames agree.

    Each frame is multiplied by the window again; the sum of the overlapping frames is divided by that of the squared
    windows. length: how many samples; more are filled with zeros.

    Errors: ShapeError for spectra of another shape.
    """
    check_float("istft", spectra)
    check_options("istft", options)
    shape = spectra.shape
    if len(shape) != 4 or shape[2:] != (options.bins, 2) or shape[1] < 1:
        raise ShapeError(
            f"istft: spectra with these options have shape [B, frames, {options.bins}, 2], but got {show(shape)}."
        )
    weights = _weights("istft", window, options, spectra)
    n_fft, count, half = options.n_fft, shape[1], options.n_fft // 2
    re, im = (spectra.select_dim(3, part).narrow(2, 0, half + 1) for part in (0, 1))
    frames = irfft(re, im, 2, n_fft) * weights.unsqueeze(3)
    places = np.arange(count)[:, None] * options.hop + np.arange(n_fft)
    rows = Tensor.from_data(places.reshape(-1), spectra.backend)
    total = n_fft + (count - 1) * options.hop
    blank = Tensor.zeros((shape[0], total), spectra.backend)
    signal = blank.select_assign(1, rows, frames.flatten(1, 2), "add")
    squares = (weights * weights).unsqueeze().expand(count, -1).flatten().unsqueeze()
    cover = blank.narrow(0, 0, 1).select_assign(1, rows, squares, "add").clamp_min(1e-10)
    signal = signal / cover
    if options.center:
        signal = signal.slice_dim(1, (half, total - half))
    if length is None:
        return signal
    wanted, have = as_int("istft", "length", length), signal.shape[1]
    if wanted < 0:
        raise ShapeError(f"istft: length is 0 or more, but got {wanted}.")
    return signal.slice_dim(1, (0, wanted)) if wanted <= have else signal.pad([(0, wanted - have)])


def check_options(name: str, options: object) -> None:
    if not isinstance(options, StftOptions):
        raise TensorError(f"{name}: expected StftOptions, but got {type(options).__name__} {options!r}.")


def _weights(name: str, window: FloatTensor | None, options: StftOptions, like: FloatTensor) -> FloatTensor:
    """The window, filled up with zeros at both ends to n_fft."""
    if window is None:
        window = Tensor.ones([options.width], like.backend)
    check_float(name, window)
    if window.shape != (options.width,):
        raise ShapeError(f"{name}: the window has shape {show(window.shape)}, but win_length is {options.width}.")
    missing = options.n_fft - options.width
    return window.pad([(missing // 2, missing - missing // 2)])
