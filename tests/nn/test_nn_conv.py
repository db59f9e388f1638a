"""What the convolution layers promise beyond Burn's numbers: sizes, starts, memory, refusals."""

import json
import math
import re

import numpy as np
import pytest

from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.module import ConfigError, Initializer
from minburn.nn import (
    Conv1dConfig,
    Conv2dConfig,
    Conv3dConfig,
    ConvTranspose1dConfig,
    ConvTranspose2dConfig,
    ConvTranspose3dConfig,
    PaddingConfig1d,
    PaddingConfig2d,
    PaddingConfig3d,
)
from minburn.tensor import KindError, ShapeError, Tensor, functional

PLAIN = NumPy(seed=1)
XAVIER = Initializer.XavierNormal(gain=1.0)


def bounds(layer):
    return [float(np.abs(param.value.numpy()).max()) for param in (layer.weight, layer.bias)]


@pytest.mark.parametrize(
    ("k", "s", "n", "expected"),
    [(3, 1, 5, (1, 1)), (4, 1, 5, (1, 2)), (3, 2, 5, (1, 1)), (2, 2, 5, (0, 1)), (1, 3, 7, (0, 0)), (2, 3, 4, (0, 1))],
)
def test_same_padding(k, s, n, expected):
    assert PaddingConfig1d.Same().pairs((n,), (k,), (s,)) == (expected,)
    layer = Conv1dConfig(1, 2, k, stride=s, padding=PaddingConfig1d.Same()).init(PLAIN)
    assert layer(Tensor.zeros([2, 1, n], PLAIN)).shape == (2, 2, math.ceil(n / s))


def test_same_padding_does_not_know_the_dilation():
    layer = Conv2dConfig((1, 1), (3, 3), dilation=(2, 1), padding=PaddingConfig2d.Same()).init(PLAIN)
    assert layer(Tensor.zeros([1, 1, 6, 5], PLAIN)).shape == (1, 1, 4, 5)


def test_explicit_padding_is_top_left_bottom_right():
    config = Conv2dConfig((1, 1), (1, 1), padding=PaddingConfig2d.Explicit(1, 2, 3, 4), bias=False)
    out = config.replace(initializer=Initializer.Ones()).init(PLAIN)(Tensor.ones([1, 1, 1, 1], PLAIN))
    assert out.shape == (1, 1, 5, 7)
    assert out.numpy()[0, 0, 1, 2] == 1 == out.sum().item()


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (PaddingConfig2d.Explicit(1, 2, 3, 4), {"Explicit": [1, 2, 3, 4]}),
        (PaddingConfig3d.Explicit(1, 2, 3), {"Explicit": [1, 2, 3]}),
        (PaddingConfig1d.Same(), "Same"),
        (PaddingConfig2d.Valid(), "Valid"),
    ],
)
def test_padding_in_json(config, text):
    assert json.loads(config.to_json()) == text
    assert type(config).__mro__[1].from_json(json.dumps(text)) == config
    with pytest.raises(ConfigError):
        PaddingConfig2d.from_json('{"Explicit": [1, 2]}')


def test_the_start_is_uniform_within_one_over_root_of_the_inputs_of_an_element():
    for layer, fan_in in (
        (Conv1dConfig(8, 40, 5, groups=2).init(PLAIN), 20),
        (Conv2dConfig((8, 40), (3, 5), groups=4).init(PLAIN), 30),
        (Conv3dConfig((4, 40), (1, 3, 5)).init(PLAIN), 60),
        (ConvTranspose1dConfig((8, 40), 5, groups=2).init(PLAIN), 100),
        (ConvTranspose2dConfig((8, 40), (3, 5), groups=4).init(PLAIN), 150),
        (ConvTranspose3dConfig((4, 40), (1, 1, 5)).init(PLAIN), 200),
    ):
        for bound in bounds(layer):
            assert 0.85 / math.sqrt(fan_in) < bound <= 1 / math.sqrt(fan_in)


def test_fans_of_other_initializers():
    fan_out = Initializer.KaimingUniform(gain=1 / math.sqrt(3), fan_out_only=True)
    for layer in (
        Conv2dConfig((50, 8), (3, 3), groups=2, initializer=fan_out).init(PLAIN),
        Conv3dConfig((50, 8), (3, 3, 1), groups=2, initializer=fan_out).init(PLAIN),
    ):
        weight, _ = bounds(layer)
        assert 0.95 / 6 < weight <= 1 / 6
        assert bounds(layer)[1] <= 1 / 6
    Conv1dConfig(2, 2, 3, bias=False, initializer=XAVIER).init(PLAIN)
    Conv2dConfig((2, 2), (3, 3), initializer=XAVIER).init(PLAIN)
    for config in (
        Conv1dConfig(2, 2, 3),
        ConvTranspose1dConfig((2, 2), 3, bias=False),
        ConvTranspose2dConfig((2, 2), (3, 3), bias=False),
        ConvTranspose3dConfig((2, 2), (3, 3, 3), bias=False),
    ):
        with pytest.raises(ValueError, match="without specifying fan out"):
            config.replace(initializer=XAVIER).init(PLAIN)


def test_display():
    assert repr(Conv1dConfig(5, 5, 5).init(PLAIN)) == (
        "Conv1d {ch_in: 5, ch_out: 5, stride: 1, kernel_size: 5, dilation: 1, groups: 1, padding: Valid, params: 130}"
    )
    config = Conv2dConfig((4, 2), (5, 5), groups=2, padding=PaddingConfig2d.Explicit(1, 0, 2, 0), bias=False)
    assert repr(config.init(PLAIN)) == (
        "Conv2d {ch_in: 4, ch_out: 2, stride: [1, 1], kernel_size: [5, 5], dilation: [1, 1], groups: 2, "
        "padding: Explicit(1, 0, 2, 0), params: 100}"
    )
    assert repr(ConvTranspose2dConfig((5, 2), (5, 5)).init(PLAIN)) == (
        "ConvTranspose2d {channels: [5, 2], stride: [1, 1], kernel_size: [5, 5], dilation: [1, 1], groups: 1, "
        "padding: [0, 0], padding_out: [0, 0], params: 252}"
    )


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (Conv1dConfig(3, 4, 3, groups=2), "Conv1d: both channels must be divisible .* 3 in, 4 out and 2 groups"),
        (Conv2dConfig((4, 3), (3, 3), groups=2), "4 in, 3 out and 2 groups"),
        (ConvTranspose2dConfig((1, 4), (3, 3), groups=4), "1 in, 4 out and 4 groups"),
        (Conv2dConfig((1, 1), (3, 0)), r"Conv2d: kernel_size must be 1 or more, but is \[3, 0\]"),
        (Conv2dConfig((1, 1), (3, 3), stride=(0, 1)), "stride must be 1 or more"),
        (Conv2dConfig((1, 1), (3, 3), dilation=(1, -1)), "dilation must be 1 or more"),
        (Conv2dConfig((1, 1), (3, 3), groups=0), "groups must be 1 or more, but is 0"),
        (Conv2dConfig((0, 1), (3, 3)), "channels must be 1 or more"),
        (Conv2dConfig((1, 1), (3, 3, 3)), "kernel_size must be 2 numbers"),
        (Conv1dConfig(1, 1, 3, padding=PaddingConfig1d.Explicit(1, -2)), r"Explicit\(1, -2\) has right -2"),
        (Conv2dConfig((1, 1), (3, 3), padding=PaddingConfig2d()), "PaddingConfig2d has variants"),
        (Conv3dConfig((1, 1), (3, 2, 3), padding=PaddingConfig3d.Same()), "even kernel size is not supported"),
        (ConvTranspose1dConfig((1, 1), 3, padding=-1), "padding must be 0 or more, but is -1"),
        (ConvTranspose3dConfig((1, 1), (1, 1, 1), padding_out=(0, 0, -1)), "padding_out must be 0 or more"),
    ],
)
def test_settings_that_cannot_work_are_refused_when_the_layer_is_built(config, message):
    with pytest.raises(ConfigError, match=message):
        config.init(PLAIN)


def test_inputs_that_do_not_fit_are_refused_with_the_numbers():
    layer = Conv2dConfig((2, 3), (3, 3), padding=PaddingConfig2d.Same()).init(PLAIN)
    for shape, message in (
        ([1, 4, 5, 5], r"[1, 4, 5, 5], with 4 channels, but weight [3, 2, 3, 3] in 1 group(s) takes 2"),
        ([2, 5, 5], "must have shape [N, C, H, W], but has [2, 5, 5]"),
    ):
        with pytest.raises(ShapeError, match=re.escape(message)):
            layer(Tensor.zeros(shape, PLAIN))
    small = Conv1dConfig(1, 1, 3, dilation=3, padding=PaddingConfig1d.Explicit(1, 0)).init(PLAIN)
    assert small(Tensor.zeros([1, 1, 6], PLAIN)).shape == (1, 1, 1)
    with pytest.raises(ShapeError, match=r"reaches over \[7\] elements, but the input has size \[5\]"):
        small(Tensor.zeros([1, 1, 5], PLAIN))
    with pytest.raises(KindError, match="float tensor"):
        layer(Tensor.from_data([1], PLAIN))
    back = ConvTranspose1dConfig((1, 1), 2, padding=2).init(PLAIN)
    with pytest.raises(ShapeError, match=r"size \[3\] gives an output of size \[0\]"):
        back(Tensor.zeros([1, 1, 3], PLAIN))
    with pytest.raises(ShapeError, match="3 dimensions it must be equal"):
        Conv3dConfig((1, 1), (3, 3, 3), stride=(2, 2, 2), padding=PaddingConfig3d.Same()).init(PLAIN)(
            Tensor.zeros([1, 1, 4, 4, 4], PLAIN)
        )
    assert layer(Tensor.zeros([0, 2, 5, 5], PLAIN)).shape == (0, 3, 5, 5)
    wide = Conv3dConfig((1, 1), (1, 1, 1), padding=PaddingConfig3d.Explicit(*[2**31 - 1] * 3)).init(PLAIN)
    with pytest.raises(ShapeError, match="too large"):
        wide(Tensor.zeros([1, 1, 5, 5, 5], PLAIN))


def test_functions_refuse_weights_biases_and_options_that_do_not_fit():
    x, weight = Tensor.zeros([1, 2, 4, 4], PLAIN), Tensor.zeros([2, 2, 3, 3], PLAIN)
    options = functional.ConvOptions((1, 1), ((0, 0), (0, 0)), (1, 1))
    with pytest.raises(ShapeError, match=r"bias must have shape \[2\], one per output channel, but has \[3\]"):
        functional.conv2d(x, weight, Tensor.zeros([3], PLAIN), options)
    with pytest.raises(ShapeError, match=r"weight must have shape \[O, C/groups, kernel sizes\] of rank 4"):
        functional.conv2d(x, Tensor.zeros([2, 2, 3], PLAIN), None, options)
    with pytest.raises(ShapeError, match="sizes of 1 or more"):
        functional.conv2d(x, Tensor.zeros([2, 2, 0, 3], PLAIN), None, options)
    with pytest.raises(ShapeError, match="2 channels cannot be cut into 3 groups"):
        functional.conv2d(x, weight, None, functional.ConvOptions((1, 1), ((0, 0), (0, 0)), (1, 1), 3))
    with pytest.raises(ShapeError, match="one entry per spatial dimension, 1"):
        functional.conv1d(x.flatten(2, 3), weight.flatten(2, 3), None, options)
    transposed = functional.ConvTransposeOptions((1, 1), (0, 0), (0,), (1, 1))
    with pytest.raises(ShapeError, match="one entry per spatial dimension, 2"):
        functional.conv_transpose2d(x, weight, None, transposed)
    with pytest.raises(KindError, match="options must be ConvTransposeOptions, but got ConvOptions"):
        functional.conv_transpose2d(x, weight, None, options)


def test_gradients_of_parameters_are_contiguous_and_no_bit_depends_on_the_batch_layout():
    backend = Autodiff(NumPy(seed=2))
    layer = Conv2dConfig((2, 3), (3, 2), stride=(2, 1)).init(backend)
    values = np.random.default_rng(0).random((4, 2, 7, 5)).astype(np.float32)
    results = []
    for x in (
        Tensor.from_data(values, backend),
        Tensor.from_data(values.transpose(2, 3, 1, 0).copy(), backend).permute([3, 2, 0, 1]),
    ):
        grads = layer(x).powi_scalar(2).sum().backward()
        found = [param.value.grad(grads).primitive for param in (layer.weight, layer.bias)]
        assert all(grad.flags.c_contiguous and grad.dtype == np.float32 for grad in found)
        results.append(found)
    for first, second in zip(*results, strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("dtype", [DType.F16, DType.F64])
def test_other_dtypes(dtype):
    backend = NumPy(seed=1, float_dtype=dtype)
    out = Conv2dConfig((1, 2), (2, 2)).init(backend)(Tensor.ones([1, 1, 3, 4], backend))
    assert (out.dtype, out.shape) == (dtype, (1, 2, 2, 3))
