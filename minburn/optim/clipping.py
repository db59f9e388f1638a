"""Limits on gradients, each parameter's for itself: there is no global norm, as in Burn.

    Value(v)   every element into [-v, v]; NaN stays
    Norm(c)    g ← g · min(1, c / (‖g‖₂ + tiny)), tiny the smallest normal number; half precision computes in F32

In JSON `{"Value": 1.0}` and `{"Norm": 1.0}`.

Burn: `crates/burn-optim/src/grad_clipping/base.rs`.
"""

from __future__ import annotations

import sys
from typing import ClassVar

import numpy as np

from minburn.dtype import DType
from minburn.module import Config
from minburn.optim.error import OptimizerError
from minburn.tensor import FloatTensor

__all__ = ["GradientClippingConfig"]

TINY = {DType.F64: sys.float_info.min, DType.F32: float(np.finfo(np.float32).tiny)}


class GradientClippingConfig(Config):
    """`GradientClippingConfig.Value(1.0)` or `.Norm(1.0)`.

    Burn: `GradientClipping` in `crates/burn-optim/src/grad_clipping/base.rs`.
    """

    Value: ClassVar[type[ClipByValue]]
    Norm: ClassVar[type[ClipByNorm]]

    def clip(self, grad: FloatTensor) -> FloatTensor:
        """The limited gradient of one parameter. Burn: `GradientClipping::clip_gradient`."""
        raise TypeError("GradientClippingConfig: use GradientClippingConfig.Value(limit) or .Norm(limit).")

    def check(self) -> None:
        """Errors: OptimizerError for a limit that is not a positive number."""
        limit = next(iter(self.__dict__.values()))
        if not limit > 0.0:
            raise OptimizerError(
                f"gradient clipping: the limit must be greater than 0, but is {limit}. None switches clipping off."
            )


class ClipByValue(GradientClippingConfig, variant="Value", tuple_variant=True):
    value: float

    def clip(self, grad: FloatTensor) -> FloatTensor:
        return grad.clamp(-self.value, self.value)


class ClipByNorm(GradientClippingConfig, variant="Norm", tuple_variant=True):
    norm: float

    def clip(self, grad: FloatTensor) -> FloatTensor:
        if grad.dtype not in TINY:
            clipped: FloatTensor = self.clip(grad.cast(DType.F32)).cast(grad.dtype)
            return clipped
        norm = (grad * grad).sum().sqrt().reshape([1] * grad.rank)
        return grad * (self.norm / (norm + TINY[grad.dtype])).clamp_max(1.0)


GradientClippingConfig.Value = ClipByValue
GradientClippingConfig.Norm = ClipByNorm
