"""Channels as pixels, and back. Burn: `crates/burn-nn/src/modules/pixel_shuffle.rs`; Shi et al. 2016."""

from __future__ import annotations

from minburn.module import Config, Module
from minburn.tensor import FloatTensor, ShapeError
from minburn.tensor.check import show
from minburn.tensor.functional.pool import sizes_of, spatial_size

__all__ = ["PixelShuffle", "PixelShuffleConfig", "PixelUnshuffle", "PixelUnshuffleConfig"]


class PixelShuffle(Module):
    """x [N, C · r², H, W] → [N, C, H · r, W · r]: of a channel's r² planes, plane i·r + j has the pixels at (i, j)."""

    upscale_factor: int

    def check_fields(self) -> None:
        sizes_of("PixelShuffle", "upscale_factor", 1, self.upscale_factor)

    def forward(self, x: FloatTensor) -> FloatTensor:
        height, width = spatial_size("PixelShuffle", 2, x)
        r, channels = self.upscale_factor, x.shape[1]
        if channels % (r * r):
            raise ShapeError(
                f"PixelShuffle: the input {show(x.shape)} has {channels} channels, which {r}² = {r * r} does not "
                "divide. Use another upscale_factor, or give the layer before it a multiple of that."
            )
        planes = x.reshape([x.shape[0], channels // (r * r), r, r, height, width])
        return planes.permute([0, 1, 4, 2, 5, 3]).reshape([x.shape[0], channels // (r * r), height * r, width * r])

    def display_attributes(self) -> dict[str, object]:
        return {"upscale_factor": self.upscale_factor}


class PixelShuffleConfig(Config):
    upscale_factor: int

    def init(self) -> PixelShuffle:
        return PixelShuffle(upscale_factor=self.upscale_factor)


class PixelUnshuffle(Module):
    """The inverse of PixelShuffle: x [N, C, H · r, W · r] → [N, C · r², H, W]."""

    downscale_factor: int

    def check_fields(self) -> None:
        sizes_of("PixelUnshuffle", "downscale_factor", 1, self.downscale_factor)

    def forward(self, x: FloatTensor) -> FloatTensor:
        height, width = spatial_size("PixelUnshuffle", 2, x)
        r, channels = self.downscale_factor, x.shape[1]
        if height % r or width % r:
            raise ShapeError(
                f"PixelUnshuffle: the image {show([height, width])} is not a multiple of downscale_factor {r}. "
                "Use another factor, or pad the image."
            )
        blocks = x.reshape([x.shape[0], channels, height // r, r, width // r, r])
        return blocks.permute([0, 1, 3, 5, 2, 4]).reshape([x.shape[0], channels * r * r, height // r, width // r])

    def display_attributes(self) -> dict[str, object]:
        return {"downscale_factor": self.downscale_factor}


class PixelUnshuffleConfig(Config):
    downscale_factor: int

    def init(self) -> PixelUnshuffle:
        return PixelUnshuffle(downscale_factor=self.downscale_factor)
