"""Noise in training. Burn: `crates/burn-nn/src/modules/noise.rs`."""

from __future__ import annotations

import math

from minburn.backends import Distribution
from minburn.module import Config, ConfigError, Flag, Module, Param
from minburn.tensor import FloatTensor, KindError

__all__ = ["GaussianNoise", "GaussianNoiseConfig"]

STREAM = "gaussian_noise"


class GaussianNoise(Module):
    """In training x + N(0, std) per element, else x.

    Trains when the input is on an autodiff backend and `training` is on. The draws come from the stream
    `gaussian_noise` of the input's backend.
    """

    std: float
    training: Param[Flag]

    def check_fields(self) -> None:
        if isinstance(self.std, bool) or not math.isfinite(self.std) or self.std < 0:
            raise ConfigError(f"GaussianNoise: std must be finite and at least 0, but got {self.std}.")

    def forward(self, x: FloatTensor) -> FloatTensor:
        if not isinstance(x, FloatTensor):
            raise KindError(f"GaussianNoise: expected a float tensor, but got {type(x).__name__}.")
        if self.std == 0.0 or not x.backend.is_autodiff or not self.training.value:
            return x
        return x + x.random_like(Distribution.Normal(0.0, self.std), stream=STREAM)

    def display_attributes(self) -> dict[str, object]:
        return {"std": self.std, **({} if self.training.value else {"training": "disabled"})}


class GaussianNoiseConfig(Config):
    std: float

    def init(self) -> GaussianNoise:
        """ConfigError unless std ≥ 0 is finite."""
        return GaussianNoise(std=self.std, training=Param.from_bool(True))
