"""Pooling layers: how they print, and what they refuse. tests/parity holds them to Burn's results."""

import pytest

from minburn import nn
from minburn.backends import NumPy
from minburn.tensor import Tensor


def test_display():
    shown = {
        nn.MaxPool1dConfig(3): "MaxPool1d {kernel_size: 3, stride: 3, padding: Valid, dilation: 1, ceil_mode: false}",
        nn.MaxPool2dConfig((3, 3)): "MaxPool2d {kernel_size: [3, 3], stride: [3, 3], padding: Valid, "
        "dilation: [1, 1], ceil_mode: false}",
        nn.AvgPool1dConfig(3): "AvgPool1d {kernel_size: 3, stride: 3, padding: Valid, count_include_pad: true, "
        "ceil_mode: false}",
        nn.AvgPool2dConfig((2, 3), padding=nn.PaddingConfig2d.Explicit(1, 0, 1, 2)): "AvgPool2d {kernel_size: [2, 3], "
        "stride: [2, 3], padding: Explicit(1, 0, 1, 2), count_include_pad: true, ceil_mode: false}",
        nn.AdaptiveAvgPool1dConfig(3): "AdaptiveAvgPool1d {output_size: 3}",
        nn.AdaptiveAvgPool2dConfig((3, 3)): "AdaptiveAvgPool2d {output_size: [3, 3]}",
    }
    for config, text in shown.items():
        assert repr(config.init()) == text


def test_same_padding_keeps_the_number_of_strides():
    backend = NumPy(seed=0)
    for size in range(1, 9):
        for kernel in (1, 2, 3):
            for stride in (1, 2, 3):
                x = Tensor.random([1, 2, size, 5], backend)
                same = nn.PaddingConfig2d.Same()
                for config in (nn.MaxPool2dConfig, nn.AvgPool2dConfig):
                    out = config((kernel, 1), (stride, 1), padding=same).init()(x)
                    assert out.shape == (1, 2, -(-size // stride), 5)


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: nn.MaxPool2dConfig((2, 0)).init(), r"MaxPool2d: kernel_size must be 1 or more, but is \[2, 0\]"),
        (lambda: nn.MaxPool1dConfig(2, 0).init(), r"MaxPool1d: stride must be 1 or more, but is \[0\]"),
        (lambda: nn.MaxPool2dConfig((2, 2), dilation=(0, 1)).init(), r"MaxPool2d: dilation .* \[0, 1\]"),
        (lambda: nn.AvgPool2dConfig((2, 2, 2)).init(), r"AvgPool2d: kernel_size \[2, 2, 2\] has 3 entries"),
        (lambda: nn.AvgPool1dConfig(2, padding=nn.PaddingConfig1d.Explicit(0, -1)).init(), r"AvgPool1d: .* -1"),
        (lambda: nn.AdaptiveAvgPool2dConfig((1, 0)).init(), r"AdaptiveAvgPool2d: output_size .* \[1, 0\]"),
        (lambda: nn.MaxPool2dConfig(3), "kernel_size must be tuple, but got int 3"),
        (lambda: nn.MaxPool2dConfig(), "missing field kernel_size"),
        (lambda: nn.MaxPool2dConfig((5, 5)).init()(X), r"the input \[4, 4\], no window fits"),
        (lambda: nn.MaxPool1dConfig(2).init()(X), r"max_pool1d: the input must have shape \[N, C, L\]"),
        (lambda: nn.MaxPool2dConfig((2, 2), padding=nn.PaddingConfig2d.Explicit(3, 0, 0, 0)).init()(X), "padding only"),
    ],
)
def test_what_cannot_work_is_refused_when_built_or_called(build, text):
    with pytest.raises((TypeError, ValueError), match=text):
        build()


X = Tensor.zeros([1, 2, 4, 4], NumPy())
