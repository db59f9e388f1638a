"""The scalars of an update, rounded as Burn rounds them.

In Burn a beta, an epsilon, a penalty is an f32, and so is what is computed from it alone (1 - β, βᵗ, √(1 - βᵗ) …); the
learning rate and the dampening are f64. A product with a tensor happens in the tensor's dtype. So an update in float64
agrees with Burn to the last bit only if its constants go through float32: β₂ = 0.999 is 0.9990000128746033.

`single(x)` is that f32; its arithmetic stays in f32. `float(…)` widens it, exactly, for the product with a tensor.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

single = np.float32


def powi(base: Any, exponent: int) -> Any:
    """base to the power of a non-negative integer by repeated squaring, in the precision of the base, as Rust's `powi`.

    base: a float or an f32. Overflows to infinity, where Python's `**` raises.
    """
    result = None
    for square in squares(base):
        if exponent & 1:
            result = square if result is None else result * square
        exponent >>= 1
        if not exponent:
            break
    return type(base)(1.0) if result is None else result


@functools.lru_cache(maxsize=16)
def squares(base: Any) -> tuple[Any, ...]:
    """base, base², base⁴ … for exponents below 2⁶⁴."""
    found = [base]
    with np.errstate(all="ignore"):
        for _ in range(63):
            found.append(found[-1] * found[-1])
    return tuple(found)


def as_single(value: float) -> float:
    """The nearest f32 as a Python float."""
    return float(single(value))
