"""What the losses check alike."""

from __future__ import annotations

import math
from collections.abc import Sequence

from minburn.backends import Backend
from minburn.module import ConfigError
from minburn.tensor import FloatTensor, KindError, ShapeError, Tensor

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


def check_pair(name: str, input: FloatTensor, target: FloatTensor) -> None:
    """Both must be float tensors; whether their shapes broadcast, the first operation tells."""
    for what, tensor in (("input", input), ("target", target)):
        if not isinstance(tensor, FloatTensor):
            raise KindError(f"{name}: {what} must be a float tensor, but got {type(tensor).__name__}.")


def check_setting(name: str, setting: str, value: float, above_zero: bool = False) -> None:
    """ConfigError unless the value is finite and at least (or above) 0."""
    if isinstance(value, bool) or not math.isfinite(value) or value < 0 or (above_zero and value == 0):
        bound = "greater than 0" if above_zero else "at least 0"
        raise ConfigError(f"{name}: {setting} must be finite and {bound}, but got {value}.")


def check_blank(name: str, blank: int) -> None:
    if isinstance(blank, bool) or blank < 0:
        raise ConfigError(f"{name}: blank is the number of a class and must be at least 0, but got {blank}.")


def power(size: FloatTensor, exponent: float) -> FloatTensor:
    """size^exponent of what is not negative. Below 1 the slope at 0 is infinite; the gradient there is 0 instead."""
    if exponent == 1.0:
        return size
    if exponent == 2.0:
        return size * size
    if exponent > 1.0:
        return size.powf_scalar(exponent)
    at_zero = size.equal_scalar(0.0)
    away = size.mask_fill(at_zero, 1.0)
    return (away.sqrt() if exponent == 0.5 else away.powf_scalar(exponent)).mask_fill(at_zero, 0.0)
