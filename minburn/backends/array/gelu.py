"""GELU and its derivative, in place over blocks that fit the cache.

Some twenty passes over an array that does not fit would each wait for the memory. The error-function form (for F32)
needs no erf: with Φ and φ the normal distribution function and density, and a ≥ 0,

    Φ(-a) = φ(a) · M(a)        M(a) = c0·w⁶ + c1·w⁵ + … + c5·w, w = 1 / (a + 1/0.28)

where M is Mills' ratio. The constants are a minimax fit of M weighted by √Φ(-a): the error of Φ is below 3e-8, half the
rounding of an F32 near 1, and φ serves the derivative as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from minburn.backends.array.basic import Array
from minburn.backends.array.floats import ArrayFloats
from minburn.backends.default.activation import GELU_CUBIC, GELU_LINEAR

BLOCK = 32 * 1024
OFFSET = 1.0 / 0.28
MILLS = tuple(
    c / math.sqrt(2.0 * math.pi) * OFFSET ** (6 - power)
    for power, c in enumerate((-0.2659562, 0.9807689273, -0.6005692142, 0.6799986681, 0.1665293677, 0.2925427699))
)
"""Without the factor √(2π) of the density, and scaled for w."""
DENSITY = 1.0 / math.sqrt(2.0 * math.pi)
SIGN_BIT = -(2**31)

Step = Callable[[Any, Array, Array, Array | None, Array, Array, Array], None]


def blocked(table: ArrayFloats, step: Step, x: Array, slope: bool) -> tuple[Array, Array | None]:
    """step(xp, x, out, slope, three scratch arrays) over all of x, block by block, as x lies in memory."""
    order = range(x.ndim) if x.flags.c_contiguous else sorted(range(x.ndim), key=lambda dim: -abs(x.strides[dim]))
    ordered = x.transpose(*order)
    back = [order.index(dim) for dim in range(x.ndim)]
    out = table.empty(ordered.shape)
    derivative = table.empty(ordered.shape) if slope else None
    flat_x, flat_out = ordered.reshape(-1), out.reshape(-1)
    flat_derivative = None if derivative is None else derivative.reshape(-1)
    scratch = [table.empty((min(BLOCK, x.size),)) for _ in range(3)]
    for start in range(0, x.size, BLOCK):
        part = slice(start, min(start + BLOCK, x.size))
        d = None if flat_derivative is None else flat_derivative[part]
        step(table.xp, flat_x[part], flat_out[part], d, *(array[: part.stop - start] for array in scratch))
    return out.transpose(back), None if derivative is None else derivative.transpose(back)


def gelu_step(xp: Any, x: Array, out: Array, slope: Array | None, w: Array, e: Array, q: Array) -> None:
    xp.abs(x, w)
    xp.add(w, OFFSET, w)
    xp.divide(1.0, w, w)
    xp.multiply(x, x, e)
    xp.multiply(e, -0.5, e)
    xp.exp(e, e)
    xp.multiply(w, MILLS[0], q)
    for c in MILLS[1:]:
        xp.add(q, c, q)
        xp.multiply(q, w, q)
    xp.multiply(q, e, q)  # Φ(-|x|)
    # Φ(x) = 1/2 ± (1/2 - Φ(-|x|)) with the sign of x, copied as a bit: xp.copysign takes three times as long.
    xp.subtract(0.5, q, q)
    bits = w.view(xp.int32)
    xp.bitwise_and(x.view(xp.int32), SIGN_BIT, bits)
    xp.bitwise_or(q.view(xp.int32), bits, q.view(xp.int32))
    xp.add(q, 0.5, q)
    xp.multiply(x, q, out)
    if slope is not None:
        xp.multiply(e, x, e)
        xp.multiply(e, DENSITY, e)
        xp.add(e, q, slope)


def gelu_approximate_step(xp: Any, x: Array, out: Array, slope: Array | None, s: Array, t: Array, p: Array) -> None:
    xp.multiply(x, x, s)
    xp.multiply(s, GELU_CUBIC, t)
    xp.add(t, GELU_LINEAR, t)
    xp.multiply(t, x, t)
    xp.tanh(t, t)
    xp.multiply(t, 0.5, p)
    xp.add(p, 0.5, p)  # Φ(x)
    xp.multiply(x, p, out)
    if slope is not None:  # Φ + x·(1 - tanh²)/2·u', u' = GELU_LINEAR + 3·GELU_CUBIC·x²
        xp.multiply(t, t, t)
        xp.subtract(1.0, t, t)
        xp.multiply(s, 1.5 * GELU_CUBIC, s)
        xp.add(s, 0.5 * GELU_LINEAR, s)
        xp.multiply(s, x, s)
        xp.multiply(s, t, s)
        xp.add(s, p, slope)
