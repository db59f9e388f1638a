"""Settings that no memory could hold, or that no float is: refused in words of our own, with the numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minburn import Tensor, nn
from minburn.backends import Autodiff, NumPy
from minburn.module import ConfigError
from minburn.tensor import FloatTensor, ShapeError, TensorError, functional

backend = NumPy(seed=1)
LINE: FloatTensor = Tensor.ones([2, 3, 4], backend)
IMAGE: FloatTensor = Tensor.ones([2, 3, 4, 4], backend)
NOBODY: FloatTensor = Tensor.zeros([0, 3, 4, 4], backend)
HUGE = 2**40


@pytest.mark.parametrize(
    "use",
    [
        lambda: nn.AdaptiveAvgPool1dConfig(HUGE).init()(LINE),
        lambda: nn.AvgPool1dConfig(2, stride=HUGE).init()(LINE),
        lambda: nn.MaxPool2dConfig((2, 2), dilation=(1, HUGE)).init()(IMAGE),
        lambda: nn.MaxPool2dConfig((2, 2), padding=nn.PaddingConfig2d.Explicit(0, HUGE, 0, 0)).init(),
        lambda: nn.Conv1dConfig(3, 1, 1, stride=HUGE).init(backend),
        lambda: nn.Conv2dConfig((3, 1), (1, 1), padding=nn.PaddingConfig2d.Explicit(0, HUGE, 0, 0)).init(backend),
        lambda: nn.ConvTranspose2dConfig((3, 1), (1, 1), padding_out=(HUGE, 0)).init(backend),
        lambda: functional.ConvOptions((HUGE,), ((0, 0),), (1,)),
        lambda: nn.Interpolate1dConfig(output_size=HUGE).init()(LINE),
        lambda: nn.Unfold4dConfig((1, 1), stride=(1, HUGE)).init()(IMAGE),
    ],
)
def test_a_number_that_no_size_can_be(use: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=rf"at most {2**31 - 1}, but is|{HUGE}"):
        use()


@pytest.mark.parametrize("x", [IMAGE, NOBODY])
@pytest.mark.parametrize("layer", [nn.AdaptiveAvgPool2dConfig, nn.Interpolate2dConfig])
def test_an_output_that_has_no_address(layer: Any, x: FloatTensor) -> None:
    with pytest.raises(ShapeError, match=rf"{2**31 - 1:d}|can be addressed"):
        layer(output_size=(2**31 - 1, 2**31 - 1)).init()(x)


@pytest.mark.parametrize("factor", [(1.0,), (1.0, 2.0, 3.0), ("a", "b"), (True, True), (float("nan"), 1.0), (0.0, 1.0)])
def test_a_scale_factor_that_is_none(factor: Any) -> None:
    with pytest.raises(ConfigError, match="Interpolate2d: scale_factor must"):
        nn.Interpolate2dConfig(scale_factor=factor).init()


def test_integers_that_are_too_long_for_a_field() -> None:
    with pytest.raises(ValueError, match="field scale_factor is int of 1329 bits"):
        nn.Interpolate2dConfig(scale_factor=(10**400, 1))
    with pytest.raises(ConfigError, match=r"scale_factor: int of 1329 bits is too large for a float"):
        nn.Interpolate1dConfig.from_json(
            '{"output_size": null, "scale_factor": 1%s, "mode": "Linear", "align_corners": true}' % ("0" * 400)
        )


def test_a_base_whose_frequencies_are_no_floats() -> None:
    with pytest.raises(ValueError, match=r"theta 1e-300 makes frequencies that F32 cannot hold"):
        nn.RotaryEncodingConfig(4, 8, theta=1e-300).init(backend)


def test_neighbours_beyond_all_channels_cost_nothing() -> None:
    x: FloatTensor = Tensor.from_data(np.arange(24.0).reshape(2, 3, 4), Autodiff(backend))
    layers = [nn.LocalResponseNormConfig(size, alpha=size).init() for size in (7, 2**31)]
    few, many = (layer(x).numpy() for layer in layers)
    np.testing.assert_array_equal(few, many)
    with pytest.raises(TensorError, match="at most"):
        functional.max_pool1d(LINE, 2, HUGE)
