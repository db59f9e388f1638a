"""Normalizations. Burn: `crates/burn-nn/src/modules/norm/`."""

from minburn.nn.norm.batch import BatchNorm, BatchNormConfig
from minburn.nn.norm.layer import LayerNorm, LayerNormConfig
from minburn.nn.norm.rms import RmsNorm, RmsNormConfig

__all__ = ["BatchNorm", "BatchNormConfig", "LayerNorm", "LayerNormConfig", "RmsNorm", "RmsNormConfig"]
