"""Two words that metrics, checkpointing strategies and early stopping share: which data, and which way is better.

Both are texts, so they are dictionary keys and JSON as they are. Burn: `crates/burn-train/src/metric/store/base.rs`.
"""

from __future__ import annotations

from enum import StrEnum


class Split(StrEnum):
    """The half of an epoch that a number was measured in."""

    Train = "train"
    Valid = "valid"


class Direction(StrEnum):
    """Which end of a metric is the good one."""

    Lowest = "lowest"
    Highest = "highest"

    def is_better(self, value: float, best: float) -> bool:
        """Strictly: a tie is no improvement, and neither is NaN."""
        return value < best if self is Direction.Lowest else value > best
