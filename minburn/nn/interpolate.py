"""Resizing layers. Burn: `crates/burn-nn/src/modules/interpolate/`."""

from __future__ import annotations

import enum
import math
import sys

from minburn.module import Config, ConfigError, Module
from minburn.tensor import FloatTensor, functional
from minburn.tensor.check import show
from minburn.tensor.functional.pool import sizes_of, spatial_size

__all__ = ["Interpolate1d", "Interpolate1dConfig", "Interpolate2d", "Interpolate2dConfig", "InterpolateMode"]


class InterpolateMode(enum.Enum):
    """How a new element is made of those around it: see `minburn/backends/interpolate_options.py`."""

    Nearest = "Nearest"
    NearestExact = "NearestExact"
    Linear = "Linear"
    Cubic = "Cubic"
    Lanczos = "Lanczos"


def check_options(layer: str, rank: int, output_size: object, scale_factor: float | tuple[float, ...] | None) -> None:
    """Exactly one of the two, of positive numbers. Errors: ConfigError."""
    if output_size is None and scale_factor is None:
        raise ConfigError(f"{layer}: neither output_size nor scale_factor is given. Set one of them.")
    if output_size is not None and scale_factor is not None:
        raise ConfigError(
            f"{layer}: output_size {output_size} and scale_factor {scale_factor} are both given. Set only one of them."
        )
    if output_size is not None:
        sizes_of(layer, "output_size", rank, output_size)
    factors = factors_of(scale_factor)
    if scale_factor is not None and len(factors) != rank:
        raise ConfigError(
            f"{layer}: scale_factor must have one number for each of {rank} dimensions, but is {scale_factor!r:.80}."
        )
    for factor in factors:
        number = isinstance(factor, (int, float)) and not isinstance(factor, bool)
        if not (number and 0 < factor <= sys.float_info.max):
            raise ConfigError(f"{layer}: scale_factor must be positive and finite, but is {scale_factor!r:.80}.")


def factors_of(scale_factor: float | tuple[float, ...] | None) -> tuple[float, ...]:
    if scale_factor is None:
        return ()
    return scale_factor if isinstance(scale_factor, tuple) else (scale_factor,)


def scaled(layer: str, size: tuple[int, ...], scale_factor: float | tuple[float, ...]) -> tuple[int, ...]:
    """⌊n · factor⌋ of each dimension. Errors: ConfigError if that is nothing, or too large to be a size."""
    factors = factors_of(scale_factor)
    products = [n * factor for n, factor in zip(size, factors, strict=True)]
    if not all(1 <= product < 2**31 for product in products):
        raise ConfigError(
            f"{layer}: scale_factor {scale_factor} would make {products} out of the input {show(size)}. "
            "A size is 1 or more, and can be addressed."
        )
    return tuple(math.floor(product) for product in products)


class Interpolate1d(Module):
    """x [N, C, L] → [N, C, output_size], or ⌊L · scale_factor⌋."""

    output_size: int | None
    scale_factor: float | None
    mode: InterpolateMode
    align_corners: bool

    def check_fields(self) -> None:
        check_options("Interpolate1d", 1, self.output_size, self.scale_factor)

    def forward(self, x: FloatTensor) -> FloatTensor:
        size = spatial_size("Interpolate1d", 1, x)
        if self.scale_factor is not None:
            new = scaled("Interpolate1d", size, self.scale_factor)
        else:
            new = sizes_of("Interpolate1d", "output_size", 1, self.output_size)
        return functional.interpolate(x, new, self.mode.value, self.align_corners)

    def display_attributes(self) -> dict[str, object]:
        return {"mode": self.mode, "output_size": self.output_size, "scale_factor": self.scale_factor}


class Interpolate1dConfig(Config):
    """One of output_size and scale_factor."""

    output_size: int | None = None
    scale_factor: float | None = None
    mode: InterpolateMode = InterpolateMode.Nearest
    align_corners: bool = True

    def init(self) -> Interpolate1d:
        return Interpolate1d(
            output_size=self.output_size,
            scale_factor=self.scale_factor,
            mode=self.mode,
            align_corners=self.align_corners,
        )


class Interpolate2d(Module):
    """x [N, C, H, W] → [N, C, *output_size], or ⌊H · scale_factor[0]⌋, ⌊W · scale_factor[1]⌋."""

    output_size: tuple[int, int] | None
    scale_factor: tuple[float, float] | None
    mode: InterpolateMode
    align_corners: bool

    def check_fields(self) -> None:
        check_options("Interpolate2d", 2, self.output_size, self.scale_factor)

    def forward(self, x: FloatTensor) -> FloatTensor:
        size = spatial_size("Interpolate2d", 2, x)
        if self.scale_factor is not None:
            new = scaled("Interpolate2d", size, self.scale_factor)
        else:
            new = sizes_of("Interpolate2d", "output_size", 2, self.output_size)
        return functional.interpolate(x, new, self.mode.value, self.align_corners)

    def display_attributes(self) -> dict[str, object]:
        return {"mode": self.mode, "output_size": self.output_size, "scale_factor": self.scale_factor}


class Interpolate2dConfig(Config):
    """One of output_size and scale_factor."""

    output_size: tuple[int, int] | None = None
    scale_factor: tuple[float, float] | None = None
    mode: InterpolateMode = InterpolateMode.Nearest
    align_corners: bool = True

    def init(self) -> Interpolate2d:
        return Interpolate2d(
            output_size=self.output_size,
            scale_factor=self.scale_factor,
            mode=self.mode,
            align_corners=self.align_corners,
        )
