"""Normalizations. Burn: `crates/burn-nn/src/modules/norm/`."""

from minburn.nn.norm.batch import BatchNorm, BatchNormConfig
from minburn.nn.norm.choice import Normalization, NormalizationConfig
from minburn.nn.norm.group import GroupNorm, GroupNormConfig, InstanceNorm, InstanceNormConfig
from minburn.nn.norm.layer import LayerNorm, LayerNormConfig
from minburn.nn.norm.local_response import LocalResponseNorm, LocalResponseNormConfig
from minburn.nn.norm.rms import RmsNorm, RmsNormConfig

__all__ = [
    "BatchNorm",
    "BatchNormConfig",
    "GroupNorm",
    "GroupNormConfig",
    "InstanceNorm",
    "InstanceNormConfig",
    "LayerNorm",
    "LayerNormConfig",
    "LocalResponseNorm",
    "LocalResponseNormConfig",
    "Normalization",
    "NormalizationConfig",
    "RmsNorm",
    "RmsNormConfig",
]
