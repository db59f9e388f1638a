"""Module and activation ops composed from `floats`: what they mean, for any backend.

A backend overrides the ones that it can do faster; each override is tested against the default here. `Autodiff` uses
the defaults where the backward of a backward is asked for.

Burn: default bodies in `crates/burn-backend/src/backend/ops/{modules,activation.rs}`; gelu's gradient is the exact
one of Burn's flex backend.
"""

from minburn.backends.default.activation import DefaultActivations
from minburn.backends.default.attention import DefaultAttention
from minburn.backends.default.conv import DefaultConv
from minburn.backends.default.deform import DefaultDeform
from minburn.backends.default.linear import DefaultLinear
from minburn.backends.default.norm import DefaultNorm
from minburn.backends.default.pool import DefaultPool
from minburn.backends.default.recurrent import DefaultRecurrent
from minburn.backends.default.resample import DefaultResample


class DefaultModules(
    DefaultLinear,
    DefaultConv,
    DefaultDeform,
    DefaultPool,
    DefaultResample,
    DefaultNorm,
    DefaultAttention,
    DefaultRecurrent,
):
    """Burn: the default bodies of `ModuleOps`."""


__all__ = ["DefaultActivations", "DefaultModules"]
