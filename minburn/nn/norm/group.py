"""Group and instance normalization. Burn: `crates/burn-nn/src/modules/norm/{group,instance}.rs`."""

from __future__ import annotations

import math

from minburn.backends import Backend
from minburn.module import Config, ConfigError, Initializer, Module, Param
from minburn.nn.norm.check import check_count, check_epsilon
from minburn.tensor import FloatTensor, ShapeError, Tensor, functional
from minburn.tensor.activation import check_float

__all__ = ["GroupNorm", "GroupNormConfig", "InstanceNorm", "InstanceNormConfig"]


class GroupNorm(Module):
    """y = (x - mean) / √(variance + epsilon) · gamma + beta, statistics of each group of channels of each sample.

    x [N, num_channels, ...]; gamma, beta [num_channels], or None. Wu & He 2018. Half floats are normalized in F32.
    """

    gamma: Param[FloatTensor] | None
    beta: Param[FloatTensor] | None
    num_groups: int
    num_channels: int
    epsilon: float
    affine: bool

    def check_fields(self) -> None:
        check_groups(self.num_groups, self.num_channels)
        check_epsilon("GroupNorm", self.epsilon)

    def forward(self, x: FloatTensor) -> FloatTensor:
        normalized = normalize_groups("GroupNorm", x, self.num_groups, self.num_channels, self.epsilon)
        return scale_channels(normalized, self.gamma, self.beta)

    def display_attributes(self) -> dict[str, object]:
        names = ("num_groups", "num_channels", "epsilon", "affine")
        return {name: getattr(self, name) for name in names}


class GroupNormConfig(Config):
    """affine: with gamma (starts at 1) and beta (starts at 0)."""

    num_groups: int
    num_channels: int
    epsilon: float = 1e-5
    affine: bool = True

    def init(self, backend: Backend) -> GroupNorm:
        """ConfigError unless num_groups ≥ 1 divides num_channels and epsilon > 0."""
        check_groups(self.num_groups, self.num_channels)
        check_epsilon("GroupNorm", self.epsilon)
        gamma, beta = channel_params(self.num_channels, self.affine, backend)
        return GroupNorm(gamma=gamma, beta=beta, **self.__dict__)


class InstanceNorm(Module):
    """GroupNorm with a group for each channel. Ulyanov et al. 2016.

    x [N, num_channels, ...]; gamma, beta [num_channels], or None.
    """

    gamma: Param[FloatTensor] | None
    beta: Param[FloatTensor] | None
    num_channels: int
    epsilon: float
    affine: bool

    def check_fields(self) -> None:
        check_count("InstanceNorm", "num_channels", self.num_channels)
        check_epsilon("InstanceNorm", self.epsilon)

    def forward(self, x: FloatTensor) -> FloatTensor:
        normalized = normalize_groups("InstanceNorm", x, self.num_channels, self.num_channels, self.epsilon)
        return scale_channels(normalized, self.gamma, self.beta)

    def display_attributes(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in ("num_channels", "epsilon", "affine")}


class InstanceNormConfig(Config):
    """affine: with gamma (starts at 1) and beta (starts at 0)."""

    num_channels: int
    epsilon: float = 1e-5
    affine: bool = True

    def init(self, backend: Backend) -> InstanceNorm:
        """ConfigError unless num_channels ≥ 1 and epsilon > 0."""
        check_count("InstanceNorm", "num_channels", self.num_channels)
        check_epsilon("InstanceNorm", self.epsilon)
        gamma, beta = channel_params(self.num_channels, self.affine, backend)
        return InstanceNorm(gamma=gamma, beta=beta, **self.__dict__)


def check_groups(num_groups: int, num_channels: int) -> None:
    check_count("GroupNorm", "num_groups", num_groups)
    check_count("GroupNorm", "num_channels", num_channels)
    if num_channels % num_groups:
        raise ConfigError(
            f"GroupNorm: {num_channels} channels cannot be split into {num_groups} groups of equal size. "
            "num_groups must divide num_channels."
        )


def channel_params(
    num_channels: int, affine: bool, backend: Backend
) -> tuple[Param[FloatTensor] | None, Param[FloatTensor] | None]:
    """gamma and beta."""
    if not affine:
        return None, None
    return Initializer.Ones().init([num_channels], backend), Initializer.Zeros().init([num_channels], backend)


def normalize_groups(layer: str, x: FloatTensor, num_groups: int, num_channels: int, epsilon: float) -> FloatTensor:
    """x with the mean 0 and the variance 1 in each group of each sample: a layer norm over the group as one row."""
    check_float(layer, x)
    if x.rank < 2 or x.shape[1] != num_channels:
        raise ShapeError(
            f"{layer}: it takes {num_channels} channels, as [N, {num_channels}, ...], but x has shape {list(x.shape)}."
        )
    size = math.prod(x.shape)
    if size <= 2:
        raise ShapeError(
            f"{layer}: x has shape {list(x.shape)}. Statistics of {size} elements in total mean nothing: 3 or more."
        )
    rows = x.reshape([x.shape[0] * num_groups, size // (x.shape[0] * num_groups)])
    return functional.layer_norm(rows, Tensor.ones([rows.shape[1]], x.backend), None, epsilon).reshape(x.shape)


def scale_channels(x: FloatTensor, gamma: Param[FloatTensor] | None, beta: Param[FloatTensor] | None) -> FloatTensor:
    """x · gamma + beta along dimension 1, each where it is there."""
    shape = [1, -1, *(1 for _ in x.shape[2:])]
    if gamma is not None:
        x = x * gamma.value.reshape(shape)
    return x if beta is None else x + beta.value.reshape(shape)
