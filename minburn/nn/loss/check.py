"""What the losses check alike."""

from __future__ import annotations

from collections.abc import Sequence

from minburn.backends import Backend
from minburn.tensor import FloatTensor, ShapeError, Tensor

SMALLEST_NORMAL = {
    "F64": 2.0**-1022,
    "F32": 2.0**-126,
    "Flex32": 2.0**-126,
    "BF16": 2.0**-126,
    "F16": 2.0**-14,
}
"""By dtype name: below it a number loses digits, and 1 / x overflows soon."""


def check_smoothing(name: str, smoothing: float | None) -> None:
    if smoothing is not None and not 0.0 <= smoothing <= 1.0:
        raise ValueError(f"Alpha of {name} loss with smoothed labels should be in interval [0, 1]. Got {smoothing}.")


def weights_of(name: str, weights: list[float] | None, backend: Backend) -> FloatTensor | None:
    if weights is None:
        return None
    if not isinstance(weights, Sequence) or not all(isinstance(weight, (int, float)) for weight in weights):
        raise ValueError(f"Weights of {name} have to be a list of numbers. Got {weights!r}.")
    if not weights or not all(weight > 0 for weight in weights):
        raise ValueError(f"Weights of {name} have to be positive. Got {weights}.")
    return Tensor.from_floats(weights, backend)


def check_weights(name: str, weights: FloatTensor, classes: int) -> None:
    if weights.shape != (classes,):
        raise ShapeError(
            f"{name}: {classes} classes need weights of shape [{classes}], but they have {list(weights.shape)}."
        )
