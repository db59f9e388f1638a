"""Pooling layers. Windows are side by side unless a stride is given; padding as in `padding.py`.

Burn: `crates/burn-nn/src/modules/pool/`.
"""

from __future__ import annotations

from minburn.module import Config, Module, same_as
from minburn.nn.padding import PaddingConfig1d, PaddingConfig2d, check_padding
from minburn.tensor import FloatTensor, functional
from minburn.tensor.functional.pool import sizes_of, spatial_size

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool1dConfig",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool2dConfig",
    "AdaptiveAvgPool3d",
    "AdaptiveAvgPool3dConfig",
    "AvgPool1d",
    "AvgPool1dConfig",
    "AvgPool2d",
    "AvgPool2dConfig",
    "MaxPool1d",
    "MaxPool1dConfig",
    "MaxPool2d",
    "MaxPool2dConfig",
]


def check_sizes(layer: str, rank: int, **sizes: object) -> None:
    """One int of 1 or more for each dimension. Errors: KindError, TensorError."""
    for what, value in sizes.items():
        sizes_of(layer, what, rank, value)


class Pool(Module):
    """A layer without parameters, shown with all of its settings."""

    def display_attributes(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self._module_layout.table.names}


class MaxPool1d(Pool):
    """The maximum of each window of x [N, C, L]. Padding is never the maximum."""

    kernel_size: int
    stride: int
    padding: PaddingConfig1d
    dilation: int
    ceil_mode: bool

    def check_fields(self) -> None:
        check_sizes("MaxPool1d", 1, kernel_size=self.kernel_size, stride=self.stride, dilation=self.dilation)
        check_padding("MaxPool1d", self.padding)

    def forward(self, x: FloatTensor) -> FloatTensor:
        size = spatial_size("max_pool1d", 1, x)
        padding = self.padding.pairs(size, (self.kernel_size,), (self.stride,))
        return functional.max_pool1d(x, self.kernel_size, self.stride, padding, self.dilation, self.ceil_mode)


class MaxPool1dConfig(Config):
    kernel_size: int
    stride: int = same_as("kernel_size")
    padding: PaddingConfig1d = PaddingConfig1d.Valid()
    dilation: int = 1
    ceil_mode: bool = False

    def init(self) -> MaxPool1d:
        return MaxPool1d(
            kernel_size=self.kernel_size,
            stride=self.stride,
            padding=self.padding,
            dilation=self.dilation,
            ceil_mode=self.ceil_mode,
        )


class MaxPool2d(Pool):
    """The maximum of each window of x [N, C, H, W]. Padding is never the maximum."""

    kernel_size: tuple[int, int]
    stride: tuple[int, int]
    padding: PaddingConfig2d
    dilation: tuple[int, int]
    ceil_mode: bool

    def check_fields(self) -> None:
        check_sizes("MaxPool2d", 2, kernel_size=self.kernel_size, stride=self.stride, dilation=self.dilation)
        check_padding("MaxPool2d", self.padding)

    def forward(self, x: FloatTensor) -> FloatTensor:
        size = spatial_size("max_pool2d", 2, x)
        padding = self.padding.pairs(size, self.kernel_size, self.stride)
        return functional.max_pool2d(x, self.kernel_size, self.stride, padding, self.dilation, self.ceil_mode)


class MaxPool2dConfig(Config):
    kernel_size: tuple[int, int]
    strides: tuple[int, int] = same_as("kernel_size")
    padding: PaddingConfig2d = PaddingConfig2d.Valid()
    dilation: tuple[int, int] = (1, 1)
    ceil_mode: bool = False

    def init(self) -> MaxPool2d:
        return MaxPool2d(
            kernel_size=self.kernel_size,
            stride=self.strides,
            padding=self.padding,
            dilation=self.dilation,
            ceil_mode=self.ceil_mode,
        )


class AvgPool1d(Pool):
    """The mean of each window of x [N, C, L]; count_include_pad: padding counts as zeros."""

    kernel_size: int
    stride: int
    padding: PaddingConfig1d
    count_include_pad: bool
    ceil_mode: bool

    def check_fields(self) -> None:
        check_sizes("AvgPool1d", 1, kernel_size=self.kernel_size, stride=self.stride)
        check_padding("AvgPool1d", self.padding)

    def forward(self, x: FloatTensor) -> FloatTensor:
        size = spatial_size("avg_pool1d", 1, x)
        padding = self.padding.pairs(size, (self.kernel_size,), (self.stride,))
        return functional.avg_pool1d(x, self.kernel_size, self.stride, padding, self.count_include_pad, self.ceil_mode)


class AvgPool1dConfig(Config):
    kernel_size: int
    stride: int = same_as("kernel_size")
    padding: PaddingConfig1d = PaddingConfig1d.Valid()
    count_include_pad: bool = True
    ceil_mode: bool = False

    def init(self) -> AvgPool1d:
        return AvgPool1d(
            kernel_size=self.kernel_size,
            stride=self.stride,
            padding=self.padding,
            count_include_pad=self.count_include_pad,
            ceil_mode=self.ceil_mode,
        )


class AvgPool2d(Pool):
    """The mean of each window of x [N, C, H, W]; count_include_pad: padding counts as zeros."""

    kernel_size: tuple[int, int]
    stride: tuple[int, int]
    padding: PaddingConfig2d
    count_include_pad: bool
    ceil_mode: bool

    def check_fields(self) -> None:
        check_sizes("AvgPool2d", 2, kernel_size=self.kernel_size, stride=self.stride)
        check_padding("AvgPool2d", self.padding)

    def forward(self, x: FloatTensor) -> FloatTensor:
        size = spatial_size("avg_pool2d", 2, x)
        padding = self.padding.pairs(size, self.kernel_size, self.stride)
        return functional.avg_pool2d(x, self.kernel_size, self.stride, padding, self.count_include_pad, self.ceil_mode)


class AvgPool2dConfig(Config):
    kernel_size: tuple[int, int]
    strides: tuple[int, int] = same_as("kernel_size")
    padding: PaddingConfig2d = PaddingConfig2d.Valid()
    count_include_pad: bool = True
    ceil_mode: bool = False

    def init(self) -> AvgPool2d:
        return AvgPool2d(
            kernel_size=self.kernel_size,
            stride=self.strides,
            padding=self.padding,
            count_include_pad=self.count_include_pad,
            ceil_mode=self.ceil_mode,
        )


class AdaptiveAvgPool1d(Pool):
    """x [N, C, L] → [N, C, output_size]: means of windows that cover the input."""

    output_size: int

    def check_fields(self) -> None:
        check_sizes("AdaptiveAvgPool1d", 1, output_size=self.output_size)

    def forward(self, x: FloatTensor) -> FloatTensor:
        return functional.adaptive_avg_pool1d(x, self.output_size)


class AdaptiveAvgPool1dConfig(Config):
    output_size: int

    def init(self) -> AdaptiveAvgPool1d:
        return AdaptiveAvgPool1d(output_size=self.output_size)


class AdaptiveAvgPool2d(Pool):
    """x [N, C, H, W] → [N, C, *output_size]: means of windows that cover the input."""

    output_size: tuple[int, int]

    def check_fields(self) -> None:
        check_sizes("AdaptiveAvgPool2d", 2, output_size=self.output_size)

    def forward(self, x: FloatTensor) -> FloatTensor:
        return functional.adaptive_avg_pool2d(x, self.output_size)


class AdaptiveAvgPool2dConfig(Config):
    output_size: tuple[int, int]

    def init(self) -> AdaptiveAvgPool2d:
        return AdaptiveAvgPool2d(output_size=self.output_size)


class AdaptiveAvgPool3d(Pool):
    """x [N, C, D, H, W] → [N, C, *output_size]: means of windows that cover the input."""

    output_size: tuple[int, int, int]

    def check_fields(self) -> None:
        check_sizes("AdaptiveAvgPool3d", 3, output_size=self.output_size)

    def forward(self, x: FloatTensor) -> FloatTensor:
        return functional.adaptive_avg_pool3d(x, self.output_size)


class AdaptiveAvgPool3dConfig(Config):
    output_size: tuple[int, int, int]

    def init(self) -> AdaptiveAvgPool3d:
        return AdaptiveAvgPool3d(output_size=self.output_size)
