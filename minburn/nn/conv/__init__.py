"""Convolutions and transposed convolutions of one to three spatial dimensions.

Burn: `crates/burn-nn/src/modules/conv/`.
"""

from minburn.nn.conv.convolution import Conv1d, Conv1dConfig, Conv2d, Conv2dConfig, Conv3d, Conv3dConfig
from minburn.nn.conv.transposed import (
    ConvTranspose1d,
    ConvTranspose1dConfig,
    ConvTranspose2d,
    ConvTranspose2dConfig,
    ConvTranspose3d,
    ConvTranspose3dConfig,
)

__all__ = [
    "Conv1d",
    "Conv1dConfig",
    "Conv2d",
    "Conv2dConfig",
    "Conv3d",
    "Conv3dConfig",
    "ConvTranspose1d",
    "ConvTranspose1dConfig",
    "ConvTranspose2d",
    "ConvTranspose2dConfig",
    "ConvTranspose3d",
    "ConvTranspose3dConfig",
]
