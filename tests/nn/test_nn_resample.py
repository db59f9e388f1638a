"""Resizing, unfolding, folding and pixel shuffles: what they promise. tests/parity holds them to Burn's results."""

import re

import numpy as np
import pytest

from minburn import nn
from minburn.backends import NumPy
from minburn.dtype import DType
from minburn.tensor import Tensor
from minburn.tensor.functional import fold4d, interpolate, unfold4d

backend = NumPy(seed=0)


def test_nearest_exact_takes_the_middle():
    x = Tensor.from_data([[[0.0, 1.0, 2.0, 3.0]]], backend)
    assert interpolate(x, 2, "NearestExact").numpy().tolist() == [[[1, 3]]]
    assert interpolate(x, 2, "Nearest").numpy().tolist() == [[[0, 2]]]
    assert interpolate(x, 6, "NearestExact").numpy().tolist() == [[[0, 1, 1, 2, 3, 3]]]
    assert nn.Interpolate1dConfig(8, mode=nn.InterpolateMode.NearestExact).init()(x).shape == (1, 1, 8)


@pytest.mark.parametrize("mode", [mode.value for mode in nn.InterpolateMode])
@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize("dtype", [DType.F32, DType.F16])
def test_resizing_keeps_constants_and_the_same_size_changes_nothing(mode, align_corners, dtype):
    own = NumPy(seed=0, float_dtype=dtype)
    tolerance = 1e-5 if dtype is DType.F32 else 1e-2
    flat = interpolate(Tensor.full([2, 1, 3, 5], 7.0, own), (4, 2), mode, align_corners)
    assert flat.dtype == dtype
    np.testing.assert_allclose(flat.numpy(), 7.0, rtol=tolerance)
    x = Tensor.random([2, 1, 3, 5], own)
    np.testing.assert_allclose(interpolate(x, (3, 5), mode, align_corners).numpy(), x.numpy(), atol=tolerance)


def test_scale_factors_round_down():
    x = Tensor.random([1, 1, 5, 3], backend)
    assert nn.Interpolate2dConfig(scale_factor=(1.7, 2)).init()(x).shape == (1, 1, 8, 6)
    assert nn.Interpolate1dConfig(scale_factor=0.5).init()(x.squeeze_dim(1)[:, :, 0].unsqueeze_dim(1)).shape == (
        1,
        1,
        2,
    )


def test_fold_counts_how_many_windows_an_element_is_in():
    ones = Tensor.ones([1, 2, 5, 4], backend)
    columns = unfold4d(ones, (3, 2), (1, 2))
    assert columns.shape == (1, 12, 6)
    counts = fold4d(columns, (5, 4), (3, 2), (1, 2)).numpy()[0]
    assert (counts == np.array([1, 2, 3, 2, 1])[:, None]).all()


@pytest.mark.parametrize("r", [1, 2, 3])
def test_pixel_unshuffle_undoes_pixel_shuffle(r):
    x = Tensor.random([2, 3 * r * r, 2, 4], backend)
    large = nn.PixelShuffleConfig(r).init()(x)
    assert large.shape == (2, 3, 2 * r, 4 * r)
    assert large.numpy()[1, 2, r - 1, 0] == x.numpy()[1, 2 * r * r + (r - 1) * r, 0, 0]
    assert np.array_equal(nn.PixelUnshuffleConfig(r).init()(large).numpy(), x.numpy())


def test_display():
    shown = {
        nn.Unfold4dConfig((3, 3)): "Unfold4d {kernel_size: [3, 3], stride: [1, 1], dilation: [1, 1], padding: [0, 0]}",
        nn.Fold4dConfig((4, 4), (2, 2)): "Fold4d {output_size: [4, 4], kernel_size: [2, 2], stride: [1, 1], "
        "dilation: [1, 1], padding: [0, 0]}",
        nn.PixelShuffleConfig(2): "PixelShuffle {upscale_factor: 2}",
        nn.PixelUnshuffleConfig(2): "PixelUnshuffle {downscale_factor: 2}",
        nn.Interpolate1dConfig(4): "Interpolate1d {mode: Nearest, output_size: 4, scale_factor: None}",
    }
    for config, text in shown.items():
        assert repr(config.init()) == text


X = Tensor.zeros([1, 8, 4, 4], backend)


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: nn.PixelShuffleConfig(3).init()(X), r"\[1, 8, 4, 4\] has 8 channels, which 3² = 9 does not divide"),
        (lambda: nn.PixelShuffleConfig(0).init(), r"upscale_factor must be 1 or more, but is \[0\]"),
        (lambda: nn.PixelUnshuffleConfig(3).init()(X), r"\[4, 4\] is not a multiple of downscale_factor 3"),
        (lambda: nn.Unfold4dConfig((5, 1)).init()(X), r"kernel_size \[5, 1\] .* fits into the image \[4, 4\]"),
        (lambda: nn.Unfold4dConfig((2, 2), stride=(0, 1)).init(), r"Unfold4d: stride .* \[0, 1\]"),
        (lambda: nn.Fold4dConfig((3, 3), (2, 2), padding=(0, -1)).init(), r"Fold4d: padding .* \[0, -1\]"),
        (lambda: fold4d(Tensor.zeros([1, 8, 5], backend), 3, 2), r"2 x 2 windows of 4 .* but have \[1, 8, 5\]"),
        (lambda: fold4d(Tensor.zeros([1, 6, 4], backend), 3, 2), r"but have \[1, 6, 4\]"),
        (lambda: nn.Interpolate2dConfig().init(), "neither output_size nor scale_factor"),
        (lambda: nn.Interpolate1dConfig(4, 2.0).init(), "output_size 4 and scale_factor 2.0 are both given"),
        (lambda: nn.Interpolate1dConfig(0).init(), r"output_size must be 1 or more, but is \[0\]"),
        (lambda: nn.Interpolate2dConfig(scale_factor=(1.0, -2.0)).init(), r"positive and finite, but is \(1.0, -2.0\)"),
        (lambda: nn.Interpolate2dConfig(scale_factor=(0.1, 1.0)).init()(X), r"\(0.1, 1.0\) would make .*\[4, 4\]"),
        (lambda: nn.Interpolate2dConfig(scale_factor=(1e30, 1.0)).init()(X), "1e[+]30"),
        (lambda: nn.Interpolate1dConfig(3).init()(X), r"\[N, C, L\], but has \[1, 8, 4, 4\]"),
        (lambda: interpolate(X, 3, "Sinc"), "mode must be one of Nearest, .*Lanczos, but is 'Sinc'"),
        (lambda: interpolate(X[0, 0], 3), r"\[N, C, L\], but has \[4, 4\]"),
        (lambda: interpolate(X, (3, 3, 3)), r"output_size \[3, 3, 3\] has 3 entries"),
        (lambda: interpolate(X > 0, 3), "BoolTensor"),
    ],
)
def test_what_cannot_work_is_refused_with_its_numbers(build, text):
    with pytest.raises((TypeError, ValueError), match=re.compile(text)):
        build()
