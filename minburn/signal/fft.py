"""The fast Fourier transform, X_k = Σ_t x_t e^(-2πi kt / n), of n = 2^s samples along one dimension.

The samples are dealt out to m sequences, sequence q having x_q, x_(q+m), x_(q+2m) …; Z[k, q] is the transform of
sequence q, l = n/m samples long. At the start m = n, and a transform of one sample is that sample. Sequence q of half
as many has the samples of sequence q at its even places and those of sequence q + m/2 at its odd ones, so

    Z'[k, q] = Z[k, q] + w^k Z[k, q + m/2]        Z'[k + l, q] = Z[k, q] - w^k Z[k, q + m/2]        w = e^(-πi / l)

until one sequence is left. Nothing is sorted on the way.

Burn: `crates/burn-signal/src/functions/fft.rs`.
"""

from __future__ import annotations

import math

import numpy as np

from minburn.tensor import FloatTensor, ShapeError, Tensor
from minburn.tensor.activation import check_float
from minburn.tensor.check import as_int, resolve_dim, show
from minburn.tensor.functional.norm import narrowed, widened
from minburn.tensor.lift import one_table

Complex = tuple[FloatTensor, FloatTensor]
"""Real and imaginary parts."""


def rfft(x: FloatTensor, dim: int, n: int | None = None) -> Complex:
    """The transform of real samples: the n/2 + 1 bins that determine the others, X_(n-k) being the conjugate of X_k.

    n: how many samples; fewer are cut off, missing ones are 0. Without it, all of dim. Halves are computed in F32.

    Errors: ShapeError unless the number of samples is a power of two.

    Burn: `SignalOps::rfft`.
    """
    check_float("rfft", x)
    place = resolve_dim("rfft", dim, x.rank)
    size = _length("rfft", x, place, n)
    wide = fitted(widened(x), place, size)
    re, im = _transform(wide, wide.zeros_like(), place)
    bins = size // 2 + 1
    return narrowed(re.narrow(place, 0, bins), x), narrowed(im.narrow(place, 0, bins), x)


def irfft(re: FloatTensor, im: FloatTensor, dim: int, n: int | None = None) -> FloatTensor:
    """The real samples whose rfft() is re + i·im: n of them, 2 · (bins - 1) without n.

    Bins beyond n/2 + 1 are cut off, missing ones are 0; the imaginary parts of the first and the last do not count.

    Burn: `SignalOps::irfft`.
    """
    re, im = _pair("irfft", re, im)
    place = resolve_dim("irfft", dim, re.rank)
    size = _length("irfft", re, place, max(1, 2 * (re.shape[place] - 1)) if n is None else n)
    bins = size // 2 + 1
    wide = hermitian(fitted(widened(re), place, bins), fitted(widened(im), place, bins), place, size)
    # Σ_k X_k e^(+2πi kt / n) is the transform with real and imaginary parts exchanged, before and after.
    _, total = _transform(wide[1], wide[0], place)
    return narrowed(total / float(size), re)


def cfft(re: FloatTensor, im: FloatTensor, dim: int, n: int | None = None) -> Complex:
    """The transform of complex samples: all n bins. See rfft."""
    re, im = _pair("cfft", re, im)
    place = resolve_dim("cfft", dim, re.rank)
    size = _length("cfft", re, place, n)
    found = _transform(fitted(widened(re), place, size), fitted(widened(im), place, size), place)
    return narrowed(found[0], re), narrowed(found[1], re)


def hermitian(re: FloatTensor, im: FloatTensor, dim: int, size: int) -> Complex:
    """All `size` bins of a real signal's transform."""
    rest = size - re.shape[dim]
    if rest <= 0:
        return re, im
    mirrored = re.narrow(dim, 1, rest).flip(dim), im.narrow(dim, 1, rest).flip(dim).neg()
    return Tensor.cat([re, mirrored[0]], dim), Tensor.cat([im, mirrored[1]], dim)


def fitted(x: FloatTensor, dim: int, size: int) -> FloatTensor:
    """Cut or filled with zeros to `size` along dim."""
    have = x.shape[dim]
    if have >= size:
        return x.slice_dim(dim, (0, size))
    return x.pad([(0, size - have if d == dim else 0) for d in range(x.rank)])


def _transform(re: FloatTensor, im: FloatTensor, dim: int) -> Complex:
    size = re.shape[dim]
    re, im = re.movedim(dim, -1), im.movedim(dim, -1)
    outer = re.shape[:-1]
    re, im = re.unsqueeze_dim(-2), im.unsqueeze_dim(-2)  # […, k = 0, q]
    length, sequences = 1, size
    while sequences > 1:
        half = sequences // 2
        angles = np.pi * np.arange(length).reshape(length, 1) / length
        cos, sin = (Tensor.from_data(part, re.backend, re.dtype) for part in (np.cos(angles), np.sin(angles)))
        cos, sin = cos.unsqueeze(re.rank), sin.unsqueeze(re.rank)
        even_re, odd_re = re.narrow(-1, 0, half), re.narrow(-1, half, half)
        even_im, odd_im = im.narrow(-1, 0, half), im.narrow(-1, half, half)
        turned_re, turned_im = odd_re * cos + odd_im * sin, odd_im * cos - odd_re * sin
        re = Tensor.cat([even_re + turned_re, even_re - turned_re], -2)
        im = Tensor.cat([even_im + turned_im, even_im - turned_im], -2)
        length, sequences = 2 * length, half
    assert re.shape == (*outer, size, 1)
    return re.squeeze_dim(-1).movedim(-1, dim), im.squeeze_dim(-1).movedim(-1, dim)


def _pair(name: str, re: FloatTensor, im: FloatTensor) -> Complex:
    check_float(name, re)
    check_float(name, im)
    if re.shape != im.shape:
        raise ShapeError(f"{name}: the real parts have shape {show(re.shape)}, the imaginary ones {show(im.shape)}.")
    re, im = one_table(name, [re, im])
    return re, im


def _length(name: str, x: FloatTensor, dim: int, n: int | None) -> int:
    size = x.shape[dim] if n is None else as_int(name, "n", n)
    if size < 1 or size & (size - 1):
        raise ShapeError(
            f"{name}: {size} samples along dimension {dim} of {show(x.shape)} are not a power of two. Pass n = "
            f"{1 << max(0, math.ceil(math.log2(max(size, 1))))} to fill up with zeros."
        )
    if 0 in x.shape:
        raise ShapeError(f"{name}: shape {show(x.shape)} has no samples.")
    return size
