"""Words that metrics, checkpointing strategies and early stopping share: which data, and which way is better.

Split and Direction are texts, so they are dictionary keys and JSON as they are.

Burn: `crates/burn-train/src/metric/store/base.rs`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NoReturn

from minburn.train.error import TrainingError


class Word(StrEnum):
    """One of a few words; TrainingError names them for any other."""

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        known = " or ".join(repr(str(word)) for word in cls)
        raise TrainingError(f"{cls.__name__}: expected {known}, but got {type(value).__name__} {value!r}.")


class Split(Word):
    """The half of an epoch that a number was measured in."""

    Train = "train"
    Valid = "valid"


class Direction(Word):
    """Which end of a metric is the good one."""

    Lowest = "lowest"
    Highest = "highest"

    def is_better(self, value: float, best: float) -> bool:
        """Strictly: a tie is no improvement, and neither is NaN."""
        return value < best if self is Direction.Lowest else value > best


def epochs_text(count: int) -> str:
    return "1 epoch" if count == 1 else f"{count} epochs"
