"""Convolutions against results of Burn 0.22.1 (tests/golden/nn/conv*.json)."""

import pytest
from golden_layers import cases, check, config_of, loaded, tensors

from minburn.backends import Autodiff, NumPy
from minburn.module import ConfigError
from minburn.nn import (
    Conv1dConfig,
    Conv2dConfig,
    Conv3dConfig,
    ConvTranspose1dConfig,
    ConvTranspose2dConfig,
    ConvTranspose3dConfig,
)
from minburn.tensor import ShapeError, Tensor

CONFIGS = {
    "conv1d": Conv1dConfig,
    "conv2d": Conv2dConfig,
    "conv3d": Conv3dConfig,
    "convt1d": ConvTranspose1dConfig,
    "convt2d": ConvTranspose2dConfig,
    "convt3d": ConvTranspose3dConfig,
}


@pytest.mark.parametrize("case", cases("conv1d") + cases("conv2d") + cases("conv3d_transpose"))
def test_convolution(case):
    backend = Autodiff(NumPy(seed=0))
    config = config_of(CONFIGS[case["name"].split("_")[0]], case)
    if case["name"] == "conv2d_bad_groups":
        with pytest.raises(ConfigError, match=r"divisible by the number of groups.* 3 in, 4 out and 2 groups"):
            config.init(backend)
        return
    layer = config.init(backend)
    if case["name"] == "conv2d_too_small":
        with pytest.raises(ShapeError, match=r"reaches over \[5, 5\] elements, but the input has size \[3, 4\]"):
            layer(Tensor.zeros([1, 1, 3, 4], backend))
        return
    layer = loaded(layer, case)
    inputs = tensors(case, backend)
    check(case, layer, inputs, {"output": layer(inputs["input"])})
