"""Convolutions and transposed convolutions of one to three spatial dimensions.

Burn: `crates/burn-nn/src/modules/conv/`.
"""

from typing import TYPE_CHECKING

from minburn.lazy import lazy_names

if TYPE_CHECKING:
    from minburn.nn.conv.convolution import *
    from minburn.nn.conv.deform import *
    from minburn.nn.conv.transposed import *
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "convolution": ("Conv1d", "Conv1dConfig", "Conv2d", "Conv2dConfig", "Conv3d", "Conv3dConfig"),
            "deform": ("DeformConv2d", "DeformConv2dConfig"),
            "transposed": (
                "ConvTranspose1d",
                "ConvTranspose1dConfig",
                "ConvTranspose2d",
                "ConvTranspose2dConfig",
                "ConvTranspose3d",
                "ConvTranspose3dConfig",
            ),
        },
    )
