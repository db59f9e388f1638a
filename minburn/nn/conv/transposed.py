"""Layers of transposed convolutions. Burn: `crates/burn-nn/src/modules/conv/conv_transpose{1d,2d,3d}.rs`.

Their fans are Burn's: fan_in = out/groups · elements of the kernel, and no fan_out, so a Xavier initializer is refused.
"""

from __future__ import annotations

import math

from minburn.backends import Backend
from minburn.module import Config, Initializer, Module, Param
from minburn.nn.conv.check import DEFAULT_INITIALIZER, check_settings
from minburn.tensor import FloatTensor, functional

__all__ = [
    "ConvTranspose1d",
    "ConvTranspose1dConfig",
    "ConvTranspose2d",
    "ConvTranspose2dConfig",
    "ConvTranspose3d",
    "ConvTranspose3dConfig",
]


class ConvTranspose1d(Module):
    """The adjoint of a convolution (see `functional.conv_transpose1d`): x [N, C, L] → [N, O, L'].

    weight: [C, O/groups, k]. bias: [O], or None. channels: (C, O).
    """

    weight: Param[FloatTensor]
    bias: Param[FloatTensor] | None
    stride: int
    kernel_size: int
    dilation: int
    groups: int
    padding: int
    padding_out: int
    channels: tuple[int, int]

    def forward(self, x: FloatTensor) -> FloatTensor:
        options = functional.ConvTransposeOptions(
            (self.stride,), (self.padding,), (self.padding_out,), (self.dilation,), self.groups
        )
        bias = self.bias
        return functional.conv_transpose1d(x, self.weight.value, None if bias is None else bias.value, options)

    def display_attributes(self) -> dict[str, object]:
        return displayed(self)


class ConvTranspose1dConfig(Config):
    """channels: (in, out). initializer: of weight and bias; the default is U(±1/√fan_in), fan_in = out/groups · k."""

    channels: tuple[int, int]
    kernel_size: int
    stride: int = 1
    dilation: int = 1
    groups: int = 1
    padding: int = 0
    padding_out: int = 0
    bias: bool = True
    initializer: Initializer = DEFAULT_INITIALIZER

    def init(self, backend: Backend) -> ConvTranspose1d:
        """ConfigError for settings that cannot work."""
        channels, groups, kernel = self.channels, self.groups, (self.kernel_size,)
        sizes = {"kernel_size": kernel, "stride": (self.stride,), "dilation": (self.dilation,)}
        paddings = {"padding": (self.padding,), "padding_out": (self.padding_out,)}
        check_settings("ConvTranspose1d", 1, channels, groups, sizes, paddings)
        fan_in = channels[1] // groups * math.prod(kernel)
        shape = (channels[0], channels[1] // groups, *kernel)
        return ConvTranspose1d(
            weight=self.initializer.init_with(shape, fan_in, None, backend),
            bias=self.initializer.init_with(channels[1:], fan_in, None, backend) if self.bias else None,
            stride=self.stride,
            kernel_size=self.kernel_size,
            dilation=self.dilation,
            groups=groups,
            padding=self.padding,
            padding_out=self.padding_out,
            channels=channels,
        )


class ConvTranspose2d(Module):
    """The adjoint of a convolution (see `functional.conv_transpose2d`): x [N, C, H, W] → [N, O, H', W'].

    weight: [C, O/groups, kh, kw]. bias: [O], or None. channels: (C, O).
    """

    weight: Param[FloatTensor]
    bias: Param[FloatTensor] | None
    stride: tuple[int, int]
    kernel_size: tuple[int, int]
    dilation: tuple[int, int]
    groups: int
    padding: tuple[int, int]
    padding_out: tuple[int, int]
    channels: tuple[int, int]

    def forward(self, x: FloatTensor) -> FloatTensor:
        options = functional.ConvTransposeOptions(
            self.stride, self.padding, self.padding_out, self.dilation, self.groups
        )
        bias = self.bias
        return functional.conv_transpose2d(x, self.weight.value, None if bias is None else bias.value, options)

    def display_attributes(self) -> dict[str, object]:
        return displayed(self)


class ConvTranspose2dConfig(Config):
    """channels: (in, out). initializer: of weight and bias; the default is U(±1/√fan_in).

    fan_in = out/groups · kh · kw.
    """

    channels: tuple[int, int]
    kernel_size: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    padding: tuple[int, int] = (0, 0)
    padding_out: tuple[int, int] = (0, 0)
    bias: bool = True
    initializer: Initializer = DEFAULT_INITIALIZER

    def init(self, backend: Backend) -> ConvTranspose2d:
        """ConfigError for settings that cannot work."""
        channels, groups, kernel = self.channels, self.groups, self.kernel_size
        sizes = {"kernel_size": kernel, "stride": self.stride, "dilation": self.dilation}
        paddings = {"padding": self.padding, "padding_out": self.padding_out}
        check_settings("ConvTranspose2d", 2, channels, groups, sizes, paddings)
        fan_in = channels[1] // groups * math.prod(kernel)
        shape = (channels[0], channels[1] // groups, *kernel)
        return ConvTranspose2d(
            weight=self.initializer.init_with(shape, fan_in, None, backend),
            bias=self.initializer.init_with(channels[1:], fan_in, None, backend) if self.bias else None,
            stride=self.stride,
            kernel_size=self.kernel_size,
            dilation=self.dilation,
            groups=groups,
            padding=self.padding,
            padding_out=self.padding_out,
            channels=channels,
        )


class ConvTranspose3d(Module):
    """The adjoint of a convolution (see `functional.conv_transpose3d`): x [N, C, D, H, W] → [N, O, D', H', W'].

    weight: [C, O/groups, kd, kh, kw]. bias: [O], or None. channels: (C, O).
    """

    weight: Param[FloatTensor]
    bias: Param[FloatTensor] | None
    stride: tuple[int, int, int]
    kernel_size: tuple[int, int, int]
    dilation: tuple[int, int, int]
    groups: int
    padding: tuple[int, int, int]
    padding_out: tuple[int, int, int]
    channels: tuple[int, int]

    def forward(self, x: FloatTensor) -> FloatTensor:
        options = functional.ConvTransposeOptions(
            self.stride, self.padding, self.padding_out, self.dilation, self.groups
        )
        bias = self.bias
        return functional.conv_transpose3d(x, self.weight.value, None if bias is None else bias.value, options)

    def display_attributes(self) -> dict[str, object]:
        return displayed(self)


class ConvTranspose3dConfig(Config):
    """channels: (in, out). initializer: of weight and bias; the default is U(±1/√fan_in).

    fan_in = out/groups · kd · kh · kw.
    """

    channels: tuple[int, int]
    kernel_size: tuple[int, int, int]
    stride: tuple[int, int, int] = (1, 1, 1)
    dilation: tuple[int, int, int] = (1, 1, 1)
    groups: int = 1
    padding: tuple[int, int, int] = (0, 0, 0)
    padding_out: tuple[int, int, int] = (0, 0, 0)
    bias: bool = True
    initializer: Initializer = DEFAULT_INITIALIZER

    def init(self, backend: Backend) -> ConvTranspose3d:
        """ConfigError for settings that cannot work."""
        channels, groups, kernel = self.channels, self.groups, self.kernel_size
        sizes = {"kernel_size": kernel, "stride": self.stride, "dilation": self.dilation}
        paddings = {"padding": self.padding, "padding_out": self.padding_out}
        check_settings("ConvTranspose3d", 3, channels, groups, sizes, paddings)
        fan_in = channels[1] // groups * math.prod(kernel)
        shape = (channels[0], channels[1] // groups, *kernel)
        return ConvTranspose3d(
            weight=self.initializer.init_with(shape, fan_in, None, backend),
            bias=self.initializer.init_with(channels[1:], fan_in, None, backend) if self.bias else None,
            stride=self.stride,
            kernel_size=self.kernel_size,
            dilation=self.dilation,
            groups=groups,
            padding=self.padding,
            padding_out=self.padding_out,
            channels=channels,
        )


def displayed(layer: ConvTranspose1d | ConvTranspose2d | ConvTranspose3d) -> dict[str, object]:
    names = ("channels", "stride", "kernel_size", "dilation", "groups", "padding", "padding_out")
    return {name: getattr(layer, name) for name in names}
