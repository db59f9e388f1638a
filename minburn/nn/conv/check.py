"""What the settings of convolutions must be. ConfigError says what they are."""

from __future__ import annotations

import math
from collections.abc import Mapping

from minburn.backends.conv_options import LARGEST
from minburn.module import ConfigError, Initializer

DEFAULT_INITIALIZER = Initializer.KaimingUniform(gain=1.0 / math.sqrt(3.0), fan_out_only=False)
"""U(±1/√fan_in)."""


def check_settings(
    layer: str,
    rank: int,
    channels: tuple[int, ...],
    groups: int,
    at_least_one: Mapping[str, tuple[int, ...]],
    at_least_zero: Mapping[str, tuple[int, ...]] | None = None,
) -> None:
    """Channels (in, out) that groups divide, and settings with one number per spatial dimension, by name."""
    _check_numbers(layer, "channels", channels, 2, 1)
    for name, numbers in at_least_one.items():
        _check_numbers(layer, name, numbers, rank, 1)
    for name, numbers in (at_least_zero or {}).items():
        _check_numbers(layer, name, numbers, rank, 0)
    _check_numbers(layer, "groups", (groups,), 1, 1)
    if channels[0] % groups or channels[1] % groups:
        raise ConfigError(
            f"{layer}: both channels must be divisible by the number of groups, but got {channels[0]} in, "
            f"{channels[1]} out and {groups} groups."
        )


def _check_numbers(layer: str, name: str, numbers: tuple[int, ...], count: int, least: int) -> None:
    shown = numbers[0] if len(numbers) == count == 1 else list(numbers)
    if len(numbers) != count:
        raise ConfigError(f"{layer}: {name} must be {count} numbers, but is {shown}.")
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int) or number < least:
            raise ConfigError(f"{layer}: {name} must be {least} or more, but is {shown}.")
        if number > LARGEST:
            raise ConfigError(f"{layer}: {name} must be at most {LARGEST}, but is {shown}.")
