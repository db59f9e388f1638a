"""Layers of convolutions. Burn: `crates/burn-nn/src/modules/conv/conv{1d,2d,3d}.rs`."""

from __future__ import annotations

import math

from minburn.backends import Backend
from minburn.module import Config, ConfigError, Initializer, Module, Param
from minburn.nn.conv.check import DEFAULT_INITIALIZER, check_settings
from minburn.nn.padding import PaddingConfig1d, PaddingConfig2d, PaddingConfig3d, check_padding
from minburn.tensor import FloatTensor, functional
from minburn.tensor.functional.conv import check_images

__all__ = ["Conv1d", "Conv1dConfig", "Conv2d", "Conv2dConfig", "Conv3d", "Conv3dConfig"]


class Conv1d(Module):
    """A convolution (see `functional.conv1d`): x [N, C, L] → [N, O, L'].

    weight: [O, C/groups, kernel_size]. bias: [O], or None.
    """

    weight: Param[FloatTensor]
    bias: Param[FloatTensor] | None
    stride: int
    kernel_size: int
    dilation: int
    groups: int
    padding: PaddingConfig1d

    def forward(self, x: FloatTensor) -> FloatTensor:
        check_images("conv1d", 1, x)
        padding = self.padding.pairs(x.shape[2:], (self.kernel_size,), (self.stride,))
        options = functional.ConvOptions((self.stride,), padding, (self.dilation,), self.groups)
        bias = self.bias
        return functional.conv1d(x, self.weight.value, None if bias is None else bias.value, options)

    def display_attributes(self) -> dict[str, object]:
        return displayed(self)


class Conv1dConfig(Config):
    """initializer: of weight and bias, fan_in = C/groups · kernel_size; the default is U(±1/√fan_in).

    The bias has no fan_out, as in Burn, so a Xavier initializer needs bias=False.
    """

    channels_in: int
    channels_out: int
    kernel_size: int
    stride: int = 1
    dilation: int = 1
    groups: int = 1
    padding: PaddingConfig1d = PaddingConfig1d.Valid()
    bias: bool = True
    initializer: Initializer = DEFAULT_INITIALIZER

    def init(self, backend: Backend) -> Conv1d:
        """ConfigError for settings that cannot work."""
        channels, groups, k = (self.channels_in, self.channels_out), self.groups, self.kernel_size
        sizes = {"kernel_size": (k,), "stride": (self.stride,), "dilation": (self.dilation,)}
        check_settings("Conv1d", 1, channels, groups, sizes)
        check_padding("Conv1d", self.padding)
        fan_in, fan_out = channels[0] // groups * k, channels[1] // groups * k
        shape = (channels[1], channels[0] // groups, k)
        return Conv1d(
            weight=self.initializer.init_with(shape, fan_in, fan_out, backend),
            bias=self.initializer.init_with(shape[:1], fan_in, None, backend) if self.bias else None,
            stride=self.stride,
            kernel_size=k,
            dilation=self.dilation,
            groups=groups,
            padding=self.padding,
        )


class Conv2d(Module):
    """A convolution (see `functional.conv2d`): x [N, C, H, W] → [N, O, H', W'].

    weight: [O, C/groups, kh, kw]. bias: [O], or None.
    """

    weight: Param[FloatTensor]
    bias: Param[FloatTensor] | None
    stride: tuple[int, int]
    kernel_size: tuple[int, int]
    dilation: tuple[int, int]
    groups: int
    padding: PaddingConfig2d

    def forward(self, x: FloatTensor) -> FloatTensor:
        check_images("conv2d", 2, x)
        padding = self.padding.pairs(x.shape[2:], self.kernel_size, self.stride)
        options = functional.ConvOptions(self.stride, padding, self.dilation, self.groups)
        bias = self.bias
        return functional.conv2d(x, self.weight.value, None if bias is None else bias.value, options)

    def display_attributes(self) -> dict[str, object]:
        return displayed(self)


class Conv2dConfig(Config):
    """channels: (in, out). initializer: of weight and bias; the default is U(±1/√fan_in).

    fan_in = in/groups · kh · kw, fan_out = out/groups · kh · kw.
    """

    channels: tuple[int, int]
    kernel_size: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    padding: PaddingConfig2d = PaddingConfig2d.Valid()
    bias: bool = True
    initializer: Initializer = DEFAULT_INITIALIZER

    def init(self, backend: Backend) -> Conv2d:
        """ConfigError for settings that cannot work."""
        channels, groups, kernel = self.channels, self.groups, self.kernel_size
        sizes = {"kernel_size": kernel, "stride": self.stride, "dilation": self.dilation}
        check_settings("Conv2d", 2, channels, groups, sizes)
        check_padding("Conv2d", self.padding)
        elements = math.prod(kernel)
        fan_in, fan_out = channels[0] // groups * elements, channels[1] // groups * elements
        shape = (channels[1], channels[0] // groups, *kernel)
        return Conv2d(
            weight=self.initializer.init_with(shape, fan_in, fan_out, backend),
            bias=self.initializer.init_with(shape[:1], fan_in, fan_out, backend) if self.bias else None,
            stride=self.stride,
            kernel_size=kernel,
            dilation=self.dilation,
            groups=groups,
            padding=self.padding,
        )


class Conv3d(Module):
    """A convolution (see `functional.conv3d`): x [N, C, D, H, W] → [N, O, D', H', W'].

    weight: [O, C/groups, kd, kh, kw]. bias: [O], or None.
    """

    weight: Param[FloatTensor]
    bias: Param[FloatTensor] | None
    stride: tuple[int, int, int]
    kernel_size: tuple[int, int, int]
    dilation: tuple[int, int, int]
    groups: int
    padding: PaddingConfig3d

    def forward(self, x: FloatTensor) -> FloatTensor:
        check_images("conv3d", 3, x)
        padding = self.padding.pairs(x.shape[2:], self.kernel_size, self.stride)
        options = functional.ConvOptions(self.stride, padding, self.dilation, self.groups)
        bias = self.bias
        return functional.conv3d(x, self.weight.value, None if bias is None else bias.value, options)

    def display_attributes(self) -> dict[str, object]:
        return displayed(self)


class Conv3dConfig(Config):
    """channels: (in, out). initializer: of weight and bias; the default is U(±1/√fan_in).

    fan_in = in/groups · kd · kh · kw, fan_out = out/groups · kd · kh · kw. As in Burn, Same padding needs odd kernel
    sizes.
    """

    channels: tuple[int, int]
    kernel_size: tuple[int, int, int]
    stride: tuple[int, int, int] = (1, 1, 1)
    dilation: tuple[int, int, int] = (1, 1, 1)
    groups: int = 1
    padding: PaddingConfig3d = PaddingConfig3d.Valid()
    bias: bool = True
    initializer: Initializer = DEFAULT_INITIALIZER

    def init(self, backend: Backend) -> Conv3d:
        """ConfigError for settings that cannot work."""
        channels, groups, kernel = self.channels, self.groups, self.kernel_size
        sizes = {"kernel_size": kernel, "stride": self.stride, "dilation": self.dilation}
        check_settings("Conv3d", 3, channels, groups, sizes)
        check_padding("Conv3d", self.padding)
        if isinstance(self.padding, PaddingConfig3d.Same) and any(k % 2 == 0 for k in kernel):
            raise ConfigError(
                f"Conv3d: Same padding with an even kernel size is not supported, but kernel_size is {list(kernel)}. "
                "It would have to differ on the two sides."
            )
        elements = math.prod(kernel)
        fan_in, fan_out = channels[0] // groups * elements, channels[1] // groups * elements
        shape = (channels[1], channels[0] // groups, *kernel)
        return Conv3d(
            weight=self.initializer.init_with(shape, fan_in, fan_out, backend),
            bias=self.initializer.init_with(shape[:1], fan_in, fan_out, backend) if self.bias else None,
            stride=self.stride,
            kernel_size=kernel,
            dilation=self.dilation,
            groups=groups,
            padding=self.padding,
        )


def displayed(layer: Conv1d | Conv2d | Conv3d) -> dict[str, object]:
    return {
        "ch_in": layer.weight.shape[1] * layer.groups,
        "ch_out": layer.weight.shape[0],
        "stride": layer.stride,
        "kernel_size": layer.kernel_size,
        "dilation": layer.dilation,
        "groups": layer.groups,
        "padding": layer.padding,
    }
