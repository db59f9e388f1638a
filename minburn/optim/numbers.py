"""The scalars of an update, rounded as Burn rounds them.

In Burn a beta, an epsilon, a penalty is an f32, and so is what is computed from it alone (1 - β, βᵗ, √(1 - βᵗ) …); the
learning rate and the dampening are f64. A product with a tensor happens in the tensor's dtype. So an update in float64
agrees with Burn to the last bit only if its constants go through float32: β₂ = 0.999 is 0.9990000128746033.

`single(x)` is that f32; its arithmetic stays in f32. `float(…)` widens it, exactly, for the product with a tensor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minburn.optim.error import OptimizerError

single = np.float32


def is_number(value: object) -> bool:
    """A real number, Python's or NumPy's, that a float can hold: no bool, NaN or infinity."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def check_fraction(name: str, value: float) -> None:
    """Of a running mean: how much of it stays. 1 would never learn, and more has no bias correction."""
    if not 0.0 <= value < 1.0:
        raise OptimizerError(f"optimizer: {name} must be at least 0 and less than 1, but is {value}.")


def squares(base: Any) -> tuple[Any, ...]:
    """base, base², base⁴ … as far as `powi` needs them for exponents below 2⁶⁴, in the precision of the base."""
    found = [base]
    with np.errstate(all="ignore"):  # they run off to 0 or infinity
        for _ in range(63):
            found.append(found[-1] * found[-1])
    return tuple(found)


def powi(powers: Sequence[Any], exponent: int) -> Any:
    """base to the power of a non-negative integer by repeated squaring, as Rust's `powi`.

    powers: `squares(base)`. Overflows to infinity, where Python's `**` raises.
    """
    result = None
    for power in powers:
        if exponent & 1:
            result = power if result is None else result * power
        exponent >>= 1
        if not exponent:
            break
    return type(powers[0])(1.0) if result is None else result


class SinglePowers:
    """`powi(squares(base), exponent)` in f32 for one exponent after the other, as the steps of a training ask for them.

    64 of them are computed together: they differ in the lowest six bits of the exponent, and `powi` multiplies from the
    lowest bit up, so the products of those bits are the same for every 64. Alone, a power costs as much as four passes
    over the parameters of a small model.
    """

    def __init__(self, base: float) -> None:
        self._squares = squares(single(base))
        self._low = np.array([powi(self._squares, exponent) for exponent in range(64)])
        self._block = (0, self._low)  # the first exponent, and the powers from there

    def __getitem__(self, exponent: int) -> np.float32:
        first, powers = self._block
        if not first <= exponent < first + 64:
            first, powers = self._block = self._from(exponent - exponent % 64)
        power: np.float32 = powers[exponent - first]
        return power

    def _from(self, first: int) -> tuple[int, np.ndarray[Any, np.dtype[np.float32]]]:
        powers = self._low
        with np.errstate(all="ignore"):
            for bit in range(6, first.bit_length()):
                if first >> bit & 1:
                    powers = powers * self._squares[bit]
        return first, powers


def as_single(value: float) -> float:
    """The nearest f32 as a Python float."""
    return float(single(value))
