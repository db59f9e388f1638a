"""Normalizations. Burn: `crates/burn-nn/src/modules/norm/`."""

from typing import TYPE_CHECKING

from minburn.lazy import lazy_names

if TYPE_CHECKING:
    from minburn.nn.norm.batch import *
    from minburn.nn.norm.choice import *
    from minburn.nn.norm.group import *
    from minburn.nn.norm.layer import *
    from minburn.nn.norm.local_response import *
    from minburn.nn.norm.rms import *
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "batch": ("BatchNorm", "BatchNormConfig"),
            "choice": ("Normalization", "NormalizationConfig"),
            "group": ("GroupNorm", "GroupNormConfig", "InstanceNorm", "InstanceNormConfig"),
            "layer": ("LayerNorm", "LayerNormConfig"),
            "local_response": ("LocalResponseNorm", "LocalResponseNormConfig"),
            "rms": ("RmsNorm", "RmsNormConfig"),
        },
    )
