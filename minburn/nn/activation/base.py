"""What the activation modules share."""

from __future__ import annotations

import math

from minburn.module import ConfigError, Module
from minburn.tensor import FloatTensor

__all__ = ["Activation"]


class Activation(Module):
    """A function of one tensor, as a module. Its fields are its settings."""

    def forward(self, x: FloatTensor) -> FloatTensor:
        raise TypeError(f"{type(self).__name__} is not one of the activations: use Relu() or another.")

    def display_attributes(self) -> dict[str, object]:
        return {name.removesuffix("_"): getattr(self, name) for name in self._module_layout.table.names}


def check_finite(layer: str, **settings: float) -> None:
    """ConfigError for a setting that is infinite, NaN, or True."""
    for name, value in settings.items():
        if isinstance(value, bool) or not math.isfinite(value):
            raise ConfigError(f"{layer}: {name.removesuffix('_')} must be a finite number, but got {value}.")
