"""One of the normalizations, chosen by a config.

    NormalizationConfig.Batch(BatchNormConfig(16)).init(backend)        {"Batch": {"num_features": 16, …}} in JSON

In a record the choice is a part of the path, as for every enum module: `norm.Batch.gamma`.

Burn: `crates/burn-nn/src/modules/norm/normalization_wrapper.rs`.
"""

from __future__ import annotations

from typing import ClassVar

from minburn.backends import Backend
from minburn.module import Config, Module
from minburn.nn.norm.batch import BatchNorm, BatchNormConfig
from minburn.nn.norm.group import GroupNorm, GroupNormConfig, InstanceNorm, InstanceNormConfig
from minburn.nn.norm.layer import LayerNorm, LayerNormConfig
from minburn.nn.norm.rms import RmsNorm, RmsNormConfig
from minburn.tensor import FloatTensor

__all__ = ["Normalization", "NormalizationConfig"]


class Normalization(Module):
    """One of its variants: `Normalization.Identity()`, or what a NormalizationConfig makes."""

    Identity: ClassVar[type[NoNormalization]]
    Batch: ClassVar[type[BatchNormalization]]
    Group: ClassVar[type[GroupNormalization]]
    Instance: ClassVar[type[InstanceNormalization]]
    Layer: ClassVar[type[LayerNormalization]]
    Rms: ClassVar[type[RmsNormalization]]


class NoNormalization(Normalization, variant="Identity"):
    def forward(self, x: FloatTensor) -> FloatTensor:
        return x


class BatchNormalization(Normalization, BatchNorm, variant="Batch"):
    """A BatchNorm."""


class GroupNormalization(Normalization, GroupNorm, variant="Group"):
    """A GroupNorm."""


class InstanceNormalization(Normalization, InstanceNorm, variant="Instance"):
    """An InstanceNorm."""


class LayerNormalization(Normalization, LayerNorm, variant="Layer"):
    """A LayerNorm."""


class RmsNormalization(Normalization, RmsNorm, variant="Rms"):
    """An RmsNorm."""


Normalization.Identity = NoNormalization
Normalization.Batch = BatchNormalization
Normalization.Group = GroupNormalization
Normalization.Instance = InstanceNormalization
Normalization.Layer = LayerNormalization
Normalization.Rms = RmsNormalization


class NormalizationConfig(Config):
    """One of its variants."""

    Identity: ClassVar[type[IdentityChoice]]
    Batch: ClassVar[type[BatchChoice]]
    Group: ClassVar[type[GroupChoice]]
    Instance: ClassVar[type[InstanceChoice]]
    Layer: ClassVar[type[LayerChoice]]
    Rms: ClassVar[type[RmsChoice]]

    def init(self, backend: Backend) -> Normalization:
        raise TypeError("NormalizationConfig: use one of its variants, such as NormalizationConfig.Layer(config).")

    def with_num_features(self, num_features: int) -> NormalizationConfig:
        """The same choice for inputs of another size: what a model that builds several of them calls."""
        raise TypeError("NormalizationConfig: use one of its variants, such as NormalizationConfig.Layer(config).")


class IdentityChoice(NormalizationConfig, variant="Identity"):
    def init(self, backend: Backend) -> Normalization:
        return NoNormalization()

    def with_num_features(self, num_features: int) -> NormalizationConfig:
        return self


class BatchChoice(NormalizationConfig, variant="Batch", tuple_variant=True):
    config: BatchNormConfig

    def init(self, backend: Backend) -> Normalization:
        return BatchNormalization(**self.config.init(backend).__dict__)

    def with_num_features(self, num_features: int) -> NormalizationConfig:
        return BatchChoice(self.config.replace(num_features=num_features))


class GroupChoice(NormalizationConfig, variant="Group", tuple_variant=True):
    config: GroupNormConfig

    def init(self, backend: Backend) -> Normalization:
        return GroupNormalization(**self.config.init(backend).__dict__)

    def with_num_features(self, num_features: int) -> NormalizationConfig:
        return GroupChoice(self.config.replace(num_channels=num_features))


class InstanceChoice(NormalizationConfig, variant="Instance", tuple_variant=True):
    config: InstanceNormConfig

    def init(self, backend: Backend) -> Normalization:
        return InstanceNormalization(**self.config.init(backend).__dict__)

    def with_num_features(self, num_features: int) -> NormalizationConfig:
        return InstanceChoice(self.config.replace(num_channels=num_features))


class LayerChoice(NormalizationConfig, variant="Layer", tuple_variant=True):
    config: LayerNormConfig

    def init(self, backend: Backend) -> Normalization:
        return LayerNormalization(**self.config.init(backend).__dict__)

    def with_num_features(self, num_features: int) -> NormalizationConfig:
        return LayerChoice(self.config.replace(d_model=num_features))


class RmsChoice(NormalizationConfig, variant="Rms", tuple_variant=True):
    config: RmsNormConfig

    def init(self, backend: Backend) -> Normalization:
        return RmsNormalization(**self.config.init(backend).__dict__)

    def with_num_features(self, num_features: int) -> NormalizationConfig:
        return RmsChoice(self.config.replace(d_model=num_features))


NormalizationConfig.Identity = IdentityChoice
NormalizationConfig.Batch = BatchChoice
NormalizationConfig.Group = GroupChoice
NormalizationConfig.Instance = InstanceChoice
NormalizationConfig.Layer = LayerChoice
NormalizationConfig.Rms = RmsChoice
