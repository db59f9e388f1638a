"""A convolution that learns where to look. Burn: `crates/burn-nn/src/modules/conv/deform_conv2d.rs`."""

from __future__ import annotations

import math

from minburn.backends import Backend
from minburn.module import Config, ConfigError, Initializer, Module, Param
from minburn.nn.conv.check import DEFAULT_INITIALIZER, check_settings
from minburn.nn.padding import PaddingConfig2d, check_padding
from minburn.tensor import FloatTensor, ShapeError, functional
from minburn.tensor.functional.conv import check_images

__all__ = ["DeformConv2d", "DeformConv2dConfig"]


class DeformConv2d(Module):
    """A deformable convolution (see `functional.deform_conv2d`): x [N, C, H, W] → [N, O, H', W'].

    weight: [O, C/weight_groups, kh, kw]. bias: [O], or None. The offsets, and the mask if there is one, come from
    another layer: usually a convolution of x.
    """

    weight: Param[FloatTensor]
    bias: Param[FloatTensor] | None
    stride: tuple[int, int]
    kernel_size: tuple[int, int]
    dilation: tuple[int, int]
    weight_groups: int
    offset_groups: int
    padding: PaddingConfig2d

    def forward(self, x: FloatTensor, offset: FloatTensor, mask: FloatTensor | None = None) -> FloatTensor:
        """offset [N, 2 · offset_groups · kh · kw, H', W'], mask [N, offset_groups · kh · kw, H', W'].

        Errors: ShapeError for sizes that do not fit, or a padding that differs on the two sides.
        """
        check_images("deform_conv2d", 2, x)
        pairs = self.padding.pairs(x.shape[2:], self.kernel_size, self.stride)
        if any(begin != end for begin, end in pairs):
            raise ShapeError(
                f"deform_conv2d: the padding {self.padding} of an input of size {list(x.shape[2:])} is {list(pairs)}, "
                "but must be equal on both sides. Use Explicit padding."
            )
        padding = (pairs[0][0], pairs[1][0])
        options = functional.DeformConvOptions(
            self.stride, padding, self.dilation, self.weight_groups, self.offset_groups
        )
        bias = None if self.bias is None else self.bias.value
        return functional.deform_conv2d(x, offset, self.weight.value, mask, bias, options)

    def display_attributes(self) -> dict[str, object]:
        return {
            "ch_in": self.weight.shape[1] * self.weight_groups,
            "ch_out": self.weight.shape[0],
            "stride": self.stride,
            "kernel_size": self.kernel_size,
            "dilation": self.dilation,
            "weight_groups": self.weight_groups,
            "offset_groups": self.offset_groups,
            "padding": self.padding,
        }


class DeformConv2dConfig(Config):
    """channels: (in, out). initializer: of weight and bias; the default is U(±1/√fan_in).

    fan_in = in/weight_groups · kh · kw, fan_out = out/weight_groups · kh · kw.
    """

    channels: tuple[int, int]
    kernel_size: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    weight_groups: int = 1
    offset_groups: int = 1
    padding: PaddingConfig2d = PaddingConfig2d.Valid()
    bias: bool = True
    initializer: Initializer = DEFAULT_INITIALIZER

    def init(self, backend: Backend) -> DeformConv2d:
        """ConfigError for settings that cannot work."""
        channels, groups, kernel = self.channels, self.weight_groups, self.kernel_size
        sizes = {"kernel_size": kernel, "stride": self.stride, "dilation": self.dilation}
        check_settings("DeformConv2d", 2, channels, groups, sizes)
        if self.offset_groups < 1 or isinstance(self.offset_groups, bool) or channels[0] % self.offset_groups:
            raise ConfigError(
                f"DeformConv2d: the {channels[0]} input channels must be divisible by offset_groups, but they are "
                f"{self.offset_groups}."
            )
        check_padding("DeformConv2d", self.padding)
        self._check_symmetric()
        elements = math.prod(kernel)
        fan_in, fan_out = channels[0] // groups * elements, channels[1] // groups * elements
        shape = (channels[1], channels[0] // groups, *kernel)
        return DeformConv2d(
            weight=self.initializer.init_with(shape, fan_in, fan_out, backend),
            bias=self.initializer.init_with(shape[:1], fan_in, fan_out, backend) if self.bias else None,
            stride=self.stride,
            kernel_size=kernel,
            dilation=self.dilation,
            weight_groups=groups,
            offset_groups=self.offset_groups,
            padding=self.padding,
        )

    def _check_symmetric(self) -> None:
        padding = self.padding
        if isinstance(padding, PaddingConfig2d.Same) and any(k % 2 == 0 for k in self.kernel_size):
            raise ConfigError(
                "DeformConv2d: Same padding with an even kernel size is not supported, but kernel_size is "
                f"{list(self.kernel_size)}. It would have to differ on the two sides."
            )
        if isinstance(padding, PaddingConfig2d.Explicit) and (
            padding.top != padding.bottom or padding.left != padding.right
        ):
            raise ConfigError(f"DeformConv2d: the padding must be equal on both sides, but is {padding}.")
