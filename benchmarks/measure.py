"""Timing of sides that do the same work, in turn, in one process: the speed of a shared CPU drifts, ratios do not."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

Action = Callable[[], object]


def interleaved(sides: Mapping[str, Action], calls: int, rounds: int) -> dict[str, list[float]]:
    """Microseconds of a call, per side and round. A first round is not counted."""
    found: dict[str, list[float]] = {name: [] for name in sides}
    order = list(sides)
    for _ in range(rounds + 1):
        order.reverse()  # the side that comes second finds the caches as the first left them
        for name in order:
            found[name].append(timed(sides[name], calls))
    return {name: times[1:] for name, times in found.items()}


def timed(action: Action, calls: int) -> float:
    turns = range(calls)
    start = time.process_time()  # not the time in which another process had the core
    for _ in turns:
        action()
    return (time.process_time() - start) / calls * 1e6


def ratio(times: Mapping[str, list[float]], of: str, to: str) -> float:
    """The median of the rounds' ratios."""
    return statistics.median(left / right for left, right in zip(times[of], times[to], strict=True))
