"""What the settings of normalizations must be. ConfigError says what they are."""

from __future__ import annotations

import math

from minburn.module import ConfigError


def check_count(layer: str, name: str, count: int) -> None:
    if isinstance(count, bool) or count < 1:
        raise ConfigError(f"{layer}: {name} must be at least 1, but got {count}.")


def check_epsilon(layer: str, epsilon: float) -> None:
    """It keeps the division by the deviation of a constant finite."""
    if isinstance(epsilon, bool) or not (math.isfinite(epsilon) and epsilon > 0):
        raise ConfigError(f"{layer}: epsilon must be finite and greater than 0, but got {epsilon}.")
