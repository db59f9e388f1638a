"""Dropout. Burn: `crates/burn-nn/src/modules/dropout.rs`."""

from __future__ import annotations

import math

from minburn.backends import Distribution
from minburn.module import Config, Flag, Module, Param
from minburn.tensor import FloatTensor, KindError, Tensor

__all__ = ["Dropout", "DropoutConfig"]

STREAM = "dropout"


class Dropout(Module):
    """In training, each element is 0 with probability p, else x / (1 - p): x · Bernoulli(1 - p) · 1 / (1 - p).

    Trains when the input is on an autodiff backend and `training` is on; otherwise it is the identity. The mask comes
    from the stream `dropout` of the input's backend.
    """

    prob: float
    training: Param[Flag]

    def check_fields(self) -> None:
        check_prob(self.prob)

    def forward(self, x: FloatTensor) -> FloatTensor:
        if not isinstance(x, FloatTensor):
            raise KindError(f"dropout: expected a float tensor, but got {type(x).__name__}.")
        if not self.is_active(x):
            return x
        keep = 1.0 - self.prob
        mask = Tensor.random(x.shape, x.backend, Distribution.Bernoulli(keep), stream=STREAM)
        return x * (mask * (1.0 / keep))  # the mask is 0 or 1, so scaling it first changes no bit

    def is_active(self, x: FloatTensor) -> bool:
        """Whether forward(x) drops anything."""
        return self.prob != 0.0 and x.backend.is_autodiff and bool(self.training.value)

    def display_attributes(self) -> dict[str, object]:
        return {"prob": self.prob, **({} if self.training.value else {"training": "disabled"})}


class DropoutConfig(Config):
    prob: float

    def init(self) -> Dropout:
        """ValueError unless 0 ≤ prob < 1."""
        check_prob(self.prob)
        return Dropout(prob=self.prob, training=Param.from_bool(True))


def check_prob(prob: float) -> None:
    if not (math.isfinite(prob) and 0.0 <= prob < 1.0):
        raise ValueError(f"Dropout probability must be finite and in the range [0, 1), but got {prob}.")
