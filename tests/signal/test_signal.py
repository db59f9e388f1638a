"""Fourier transforms against NumPy's, short-time ones against their definition, windows, gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minburn
from minburn import signal
from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.signal import StftOptions
from minburn.tensor import KindError, ShapeError, Tensor, TensorError
from minburn.testing import check_gradients

plain = NumPy(seed=1, float_dtype=DType.F64)
rng = np.random.default_rng(9)
SIZES = [1, 2, 4, 32]


def some(*shape: int) -> Any:
    return Tensor.from_data(rng.normal(size=shape), plain)


def as_complex(pair: Any) -> Any:
    return pair[0].numpy() + 1j * pair[1].numpy()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_transforms_equal_numpys(size: int, dim: int) -> None:
    shape = [2, 3, 2]
    shape[dim] = size
    x, y = some(*shape), some(*shape)
    np.testing.assert_allclose(as_complex(signal.rfft(x, dim)), np.fft.rfft(x.numpy(), axis=dim), atol=1e-12)
    z = x.numpy() + 1j * y.numpy()
    np.testing.assert_allclose(as_complex(signal.cfft(x, y, dim)), np.fft.fft(z, axis=dim), atol=1e-12)
    np.testing.assert_allclose(signal.irfft(*signal.rfft(x, dim), dim, size).numpy(), x.numpy(), atol=1e-12)
    bins = np.moveaxis(np.moveaxis(z, dim, 0)[: size // 2 + 1], 0, dim)
    pair = Tensor.from_data(bins.real.copy(), plain), Tensor.from_data(bins.imag.copy(), plain)
    np.testing.assert_allclose(signal.irfft(*pair, dim, size).numpy(), np.fft.irfft(bins, size, dim), atol=1e-12)


@pytest.mark.parametrize("n", [2, 4, 8, 16])
def test_samples_are_cut_off_or_filled_with_zeros(n: int) -> None:
    x, y = some(6), some(6)
    np.testing.assert_allclose(as_complex(signal.rfft(x, 0, n)), np.fft.rfft(x.numpy(), n), atol=1e-12)
    z = x.numpy() + 1j * y.numpy()
    np.testing.assert_allclose(as_complex(signal.cfft(x, y, 0, n)), np.fft.fft(z, n), atol=1e-12)
    np.testing.assert_allclose(signal.irfft(x, y, 0, n).numpy(), np.fft.irfft(z, n), atol=1e-12)


def test_gradients() -> None:
    x, y = some(2, 4), some(2, 4)
    for part in (0, 1):
        check_gradients(lambda x, p=part: signal.rfft(x, 1)[p], x)
        check_gradients(lambda x, p=part: signal.rfft(x, 1, 8)[p], x, order=2)
        check_gradients(lambda x, y, p=part: signal.cfft(x, y, 0)[p], x, y)
    check_gradients(lambda x, y: signal.irfft(x, y, 1, 8), x, y)
    options = StftOptions(4, 2, 3)
    window = some(3)
    check_gradients(lambda x, w: signal.stft(x, w, options), some(1, 9), window)
    check_gradients(lambda s, w: signal.istft(s, w, options), some(1, 4, 3, 2), window)


def test_halves_and_plain_windows() -> None:
    x = some(8).cast(DType.F16)
    assert [part.dtype for part in signal.rfft(x, 0)] == [DType.F16] * 2
    tracked = Tensor.from_data(rng.normal(size=(1, 16)), Autodiff(plain)).require_grad()
    assert signal.stft(tracked, signal.hann_window(8, plain), StftOptions(8)).is_tracked


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("onesided", [True, False])
@pytest.mark.parametrize(("hop", "width"), [(None, None), (2, 8), (3, 5), (4, 4)])
def test_a_spectrum_for_every_frame_and_the_signal_back(
    center: bool, onesided: bool, hop: int | None, width: int | None
) -> None:
    options = StftOptions(8, hop, width, center, onesided)
    x, window = some(2, 32), signal.hamming_window(options.width, plain)
    found = signal.stft(x, window, options)
    padded = np.pad(x.numpy(), ((0, 0), (4, 4)), "reflect") if center else x.numpy()
    left = (8 - options.width) // 2
    weights = np.zeros(8)
    weights[left : left + options.width] = window.numpy()
    frames = 1 + (padded.shape[1] - 8) // options.hop
    assert found.shape == (2, frames, 5 if onesided else 8, 2)
    for frame in range(frames):
        part = padded[:, frame * options.hop :][:, :8] * weights
        expected = np.fft.rfft(part) if onesided else np.fft.fft(part)
        np.testing.assert_allclose(found.numpy()[:, frame] @ [1, 1j], expected, atol=1e-12)
    back = signal.istft(found, window, options)
    inside = slice(8, back.shape[1] - 8)  # where every sample lies in a frame's middle
    np.testing.assert_allclose(back.numpy()[:, inside], x.numpy()[:, : back.shape[1]][:, inside], atol=1e-9)
    assert signal.istft(found, window, options, 40).shape == (2, 40)
    assert np.array_equal(signal.istft(found, window, options, 40).numpy()[:, :20], back.numpy()[:, :20])
    assert signal.istft(found, window, options, 5).shape == (2, 5)


def test_windows() -> None:
    for name, theirs in (("hann", np.hanning), ("blackman", np.blackman)):
        window = getattr(signal, f"{name}_window")
        np.testing.assert_allclose(window(9, plain, periodic=False).numpy(), theirs(9), atol=1e-12)
        np.testing.assert_allclose(window(8, plain).numpy(), theirs(9)[:8], atol=1e-12)
        assert window(0, plain).shape == (0,) and window(1, plain, False).numpy().tolist() == [1]
    assert signal.hamming_window(4, plain).numpy()[0] == pytest.approx(4 / 46)
    assert np.ptp((signal.hann_window(8, plain) + signal.hann_window(8, plain).roll(4, 0)).numpy()) < 1e-12


def test_what_is_refused() -> None:
    x = some(2, 6)
    with pytest.raises(ShapeError, match=r"rfft: 6 samples along dimension 1 .* not a power of two. Pass n = 8"):
        signal.rfft(x, 1)
    with pytest.raises(ShapeError, match="irfft: 3 samples"):
        signal.irfft(x, x, 1, 3)
    with pytest.raises(ShapeError, match=r"cfft: the real parts have shape \[2, 6\], the imaginary ones \[1, 6\]"):
        signal.cfft(x, x.narrow(0, 0, 1), 1)
    with pytest.raises(TensorError, match="n_fft must be a power of two, but is 400"):
        StftOptions(400)
    with pytest.raises(TensorError, match="hop_length ≤ win_length ≤ n_fft must hold, but they are 5, 4 and 8"):
        StftOptions(8, 5, 4)
    with pytest.raises(ShapeError, match="a signal of 6 samples cannot be mirrored by 8"):
        signal.stft(x, None, StftOptions(16))
    with pytest.raises(ShapeError, match="a signal of 6 samples has no frame of n_fft = 8"):
        signal.stft(x, None, StftOptions(8, center=False))
    with pytest.raises(ShapeError, match=r"the window has shape \[3\], but win_length is 4"):
        signal.stft(x, some(3), StftOptions(4))
    with pytest.raises(ShapeError, match=r"istft: spectra with these options have shape \[B, frames, 3, 2\]"):
        signal.istft(some(1, 2, 4, 2), None, StftOptions(4))
    with pytest.raises(TensorError, match="expected StftOptions, but got int 4"):
        signal.stft(x, None, 4)  # type: ignore[arg-type]
    with pytest.raises(KindError, match="rfft: expected a float tensor"):
        signal.rfft(Tensor.from_data([1, 2], plain), 0)  # type: ignore[arg-type]


def test_it_is_found_where_the_package_is() -> None:
    assert minburn.signal is signal
