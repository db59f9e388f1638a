"""Pooling layers. Burn: `crates/burn-nn/src/modules/pool/`."""

from __future__ import annotations

from minburn.module import Config, Module
from minburn.tensor import FloatTensor, functional
from minburn.tensor.functional.pool import sizes_of


class AdaptiveAvgPool1d(Module):
    """x [N, C, L] → [N, C, output_size]: means of windows that cover the input."""

    output_size: int

    def check_fields(self) -> None:
        sizes_of("AdaptiveAvgPool1d", "output_size", 1, self.output_size)

    def forward(self, x: FloatTensor) -> FloatTensor:
        return functional.adaptive_avg_pool1d(x, self.output_size)

    def display_attributes(self) -> dict[str, object]:
        return {"output_size": self.output_size}


class AdaptiveAvgPool1dConfig(Config):
    output_size: int

    def init(self) -> AdaptiveAvgPool1d:
        return AdaptiveAvgPool1d(output_size=self.output_size)


class AdaptiveAvgPool2d(Module):
    """x [N, C, H, W] → [N, C, *output_size]: means of windows that cover the input."""

    output_size: tuple[int, int]

    def check_fields(self) -> None:
        sizes_of("AdaptiveAvgPool2d", "output_size", 2, self.output_size)

    def forward(self, x: FloatTensor) -> FloatTensor:
        return functional.adaptive_avg_pool2d(x, self.output_size)

    def display_attributes(self) -> dict[str, object]:
        return {"output_size": self.output_size}


class AdaptiveAvgPool2dConfig(Config):
    output_size: tuple[int, int]

    def init(self) -> AdaptiveAvgPool2d:
        return AdaptiveAvgPool2d(output_size=self.output_size)


class AdaptiveAvgPool3d(Module):
    """x [N, C, D, H, W] → [N, C, *output_size]: means of windows that cover the input."""

    output_size: tuple[int, int, int]

    def check_fields(self) -> None:
        sizes_of("AdaptiveAvgPool3d", "output_size", 3, self.output_size)

    def forward(self, x: FloatTensor) -> FloatTensor:
        return functional.adaptive_avg_pool3d(x, self.output_size)

    def display_attributes(self) -> dict[str, object]:
        return {"output_size": self.output_size}


class AdaptiveAvgPool3dConfig(Config):
    output_size: tuple[int, int, int]

    def init(self) -> AdaptiveAvgPool3d:
        return AdaptiveAvgPool3d(output_size=self.output_size)
