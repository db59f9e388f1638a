"""Local response normalization. Burn: `crates/burn-nn/src/modules/norm/local_response.rs`."""

from __future__ import annotations

import math

from minburn.module import Config, ConfigError, Module
from minburn.nn.norm.check import check_count
from minburn.tensor import FloatTensor, ShapeError
from minburn.tensor.activation import check_float

__all__ = ["LocalResponseNorm", "LocalResponseNormConfig"]


class LocalResponseNorm(Module):
    """y = x / (k + alpha · mean of x² over `size` neighbouring channels)^beta. Krizhevsky et al. 2012.

    x [N, C, ...] of rank 3 or more. The window of channel c is c - ⌊(size - 1) / 2⌋ … c + ⌊size / 2⌋, so an even one
    reaches one further up (PyTorch: down). Channels beyond the ends count as 0: the mean always divides by `size`.
    """

    size: int
    alpha: float
    beta: float
    k: float

    def check_fields(self) -> None:
        check_settings(self.size, self.alpha, self.beta, self.k)

    def forward(self, x: FloatTensor) -> FloatTensor:
        check_float("LocalResponseNorm", x)
        if x.rank < 3:
            raise ShapeError(
                f"LocalResponseNorm: x must have shape [N, C, ...] of rank 3 or more, not {list(x.shape)}."
            )
        # Further than all channels nothing is met but zeros.
        before, after = min((self.size - 1) // 2, x.shape[1]), min(self.size // 2, x.shape[1])
        padded = (x * x).pad([(before, after), *((0, 0) for _ in x.shape[2:])])
        total = padded.narrow(1, 0, x.shape[1])
        for start in range(1, before + after + 1):
            total = total + padded.narrow(1, start, x.shape[1])
        return x / (total * (self.alpha / self.size) + self.k).powf_scalar(self.beta)

    def display_attributes(self) -> dict[str, object]:
        return {"size": self.size, "alpha": self.alpha, "beta": self.beta, "k": self.k}


class LocalResponseNormConfig(Config):
    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0

    def init(self) -> LocalResponseNorm:
        """ConfigError unless size ≥ 1 and the numbers are finite."""
        check_settings(self.size, self.alpha, self.beta, self.k)
        return LocalResponseNorm(**self.__dict__)


def check_settings(size: int, alpha: float, beta: float, k: float) -> None:
    check_count("LocalResponseNorm", "size", size)
    for name, value in (("alpha", alpha), ("beta", beta), ("k", k)):
        if not math.isfinite(value):
            raise ConfigError(f"LocalResponseNorm: {name} must be finite, but got {value}.")
