"""Deformable convolutions: what they are without offsets, with whole ones, and far away. Values: the parity tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.module import ConfigError
from minburn.nn import Conv2dConfig, DeformConv2dConfig, PaddingConfig2d
from minburn.tensor import ShapeError, Tensor, functional
from minburn.testing import check_gradients

BACKEND = Autodiff(NumPy(seed=0, float_dtype=DType.F64))
RNG = np.random.default_rng(2)


def floats(*shape: int) -> Any:
    return Tensor.from_data(RNG.normal(size=shape), BACKEND)


def test_without_offsets_it_is_a_convolution() -> None:
    settings: Any = {"stride": (2, 1), "dilation": (1, 2), "padding": PaddingConfig2d.Explicit(1, 2, 1, 2)}
    plain = Conv2dConfig((4, 6), (3, 2), groups=2, **settings).init(BACKEND)
    deform = DeformConv2dConfig((4, 6), (3, 2), weight_groups=2, offset_groups=2, **settings).init(BACKEND)
    deform = deform.load_record(plain.into_record())
    x = floats(2, 4, 5, 6)
    wanted = plain(x)
    offset = Tensor.zeros([2, 24, *wanted.shape[2:]], BACKEND)
    np.testing.assert_allclose(deform(x, offset).numpy(), wanted.numpy(), 1e-12, 1e-14)
    half = Tensor.full([2, 12, *wanted.shape[2:]], 0.5, BACKEND)
    bias = plain.bias.value.reshape(1, 6, 1, 1)
    np.testing.assert_allclose(deform(x, offset, half).numpy(), ((wanted - bias) * 0.5 + bias).numpy(), 1e-12, 1e-14)


def test_whole_offsets_move_the_image_and_far_ones_see_nothing() -> None:
    layer = DeformConv2dConfig((1, 1), (1, 1), bias=False).init(BACKEND)
    x = floats(1, 1, 3, 4)
    scale = layer.weight.value.item()
    offset = np.zeros((1, 2, 3, 4))
    offset[:, 0], offset[:, 1] = 1, -1
    moved = np.zeros((3, 4))
    moved[:2, 1:] = x.numpy()[0, 0, 1:, :3]
    np.testing.assert_allclose(layer(x, Tensor.from_data(offset, BACKEND)).numpy()[0, 0], moved * scale, 1e-12)
    for far in (1e30, -1e30, np.inf, 100.0):
        assert (layer(x, Tensor.full([1, 2, 3, 4], far, BACKEND)).numpy() == 0).all()
    lost = np.zeros((1, 2, 3, 4))
    lost[0, 0, 1, 1] = np.nan
    assert np.isnan(layer(x, Tensor.from_data(lost, BACKEND)).numpy()).sum() == 1


def test_gradients() -> None:
    layer = DeformConv2dConfig((2, 2), (2, 2), offset_groups=2).init(BACKEND)
    x, offset, mask = floats(1, 2, 3, 3), floats(1, 16, 2, 2), floats(1, 8, 2, 2)
    check_gradients(layer, x, offset, mask)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"channels": (3, 2), "offset_groups": 2}, "3 input channels must be divisible by offset_groups"),
        ({"channels": (3, 2), "weight_groups": 2}, "divisible by the number of groups"),
        ({"padding": PaddingConfig2d.Same(), "kernel_size": (2, 3)}, "Same padding with an even kernel size"),
        (
            {"padding": PaddingConfig2d.Explicit(1, 0, 0, 0)},
            r"must be equal on both sides, but is Explicit\(1, 0, 0, 0\)",
        ),
    ],
)
def test_settings_that_cannot_work_are_refused(fields: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        DeformConv2dConfig(**{"channels": (2, 2), "kernel_size": (3, 3), **fields}).init(BACKEND)


def test_inputs_that_do_not_fit_are_refused() -> None:
    layer = DeformConv2dConfig((2, 2), (2, 2)).init(BACKEND)
    x, offset = floats(1, 2, 3, 3), floats(1, 8, 2, 2)
    with pytest.raises(ShapeError, match=r"the offset must have shape \[1, 8, 2, 2\], but has \[1, 8, 3, 3\]"):
        layer(x, floats(1, 8, 3, 3))
    with pytest.raises(ShapeError, match=r"the mask must have shape \[1, 4, 2, 2\], but has \[1, 8, 2, 2\]"):
        layer(x, offset, offset)
    strided = DeformConv2dConfig((2, 2), (3, 3), stride=(2, 2), padding=PaddingConfig2d.Same()).init(BACKEND)
    with pytest.raises(ShapeError, match="must be equal on both sides"):
        strided(floats(1, 2, 4, 4), floats(1, 18, 2, 2))
    options = functional.DeformConvOptions((1, 1), (0, 0), (1, 1), offset_groups=3)
    with pytest.raises(ShapeError, match="2 input channels cannot be cut into 3 offset groups"):
        functional.deform_conv2d(x, offset, layer.weight.value, None, None, options)
    assert "weight_groups: 1, offset_groups: 1, padding: Valid" in repr(layer)
