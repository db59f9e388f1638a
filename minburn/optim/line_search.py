"""How far to go along a direction: a search for a step that meets the strong Wolfe conditions.

Along x + t·d let f(t) be the loss and f'(t) = g·d its slope. A step is good enough if

    f(t) ≤ f(0) + c₁ t f'(0)          it goes down at least a share of what the slope promised
    |f'(t)| ≤ c₂ |f'(0)|              and the slope there is flatter

First an interval that holds such a step is bracketed, going further and further; then it is narrowed. Both guess the
next t as the minimum of the cubic through two points with their slopes.

Source: Nocedal and Wright, "Numerical Optimization", algorithms 3.5 and 3.6. Burn:
`crates/burn-optim/src/optim/lbfgs.rs`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from minburn.tensor import FloatTensor

C1 = 1e-4
C2 = 0.9
GUARD = 0.1
"""The share of an interval next to its ends in which a guess makes too little progress."""


class Sample(NamedTuple):
    """What a step of length t leads to."""

    t: float
    loss: float
    grad: FloatTensor
    slope: float


def strong_wolfe(
    evaluate: Callable[[float], Sample],
    start: Sample,
    t: float,
    largest: float,
    tolerance: float,
    limit: int,
) -> tuple[Sample, int]:
    """The sample to go to, and how often `evaluate` was called: at most limit + 1 times.

    start: the sample of t = 0, whose slope is negative. t: the first guess. largest: max |d|; an interval is narrow
    enough when no element of x moves by more than `tolerance` across it.
    """

    def goes_down(sample: Sample) -> bool:
        return not sample.loss > start.loss + C1 * sample.t * start.slope

    def is_flat(sample: Sample) -> bool:
        return abs(sample.slope) <= -C2 * start.slope

    before, sample = start, evaluate(t)
    rounds = 0
    ends: list[Sample] | None = None
    while rounds < limit:
        if not goes_down(sample) or (rounds > 1 and sample.loss >= before.loss):
            ends = [before, sample]
            break
        if is_flat(sample):
            return sample, rounds + 1
        if sample.slope >= 0:
            ends = [before, sample]
            break
        bounds = (sample.t + 0.01 * (sample.t - before.t), sample.t * 10.0)
        before, sample = sample, evaluate(cubic_minimum(before, sample, bounds))
        rounds += 1
    ends = ends or [start, sample]

    stuck = False
    low = lower(ends)
    while rounds < limit:
        left, right = sorted((ends[0].t, ends[1].t))
        if (right - left) * largest < tolerance:
            break
        t = cubic_minimum(ends[0], ends[1], (left, right))
        margin = GUARD * (right - left)
        if min(right - t, t - left) < margin:  # twice in a row, or at the very end: move inwards
            if stuck or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        sample = evaluate(t)
        rounds += 1
        best = ends[low]
        if not (goes_down(sample) and sample.loss < best.loss):
            ends[1 - low] = sample
        else:
            if is_flat(sample):
                return sample, rounds + 1
            if sample.slope * (ends[1 - low].t - best.t) >= 0:
                ends[1 - low] = best
            ends[low] = sample
        low = lower(ends)
    return ends[low], rounds + 1


def lower(ends: list[Sample]) -> int:
    return 0 if ends[0].loss <= ends[1].loss else 1


def cubic_minimum(a: Sample, b: Sample, bounds: tuple[float, float]) -> float:
    """Where the cubic through both samples has its minimum, within the bounds; their middle if it has none."""
    if a.t > b.t:
        a, b = b, a
    least, most = bounds
    middle = (least + most) / 2.0
    if a.t == b.t:
        return middle
    sum_of_slopes = a.slope + b.slope - 3.0 * (a.loss - b.loss) / (a.t - b.t)
    square = sum_of_slopes * sum_of_slopes - a.slope * b.slope
    if not square >= 0.0:
        return middle
    root = math.sqrt(square)
    curvature = b.slope - a.slope + 2.0 * root
    if curvature == 0.0:
        return middle
    guess = b.t - (b.t - a.t) * ((b.slope + root - sum_of_slopes) / curvature)
    return least if math.isnan(guess) else min(max(guess, least), most)
