"""How numbers look in a metric's texts and log files: as Rust prints them, so that Burn's tools read our logs.

Burn: `format_float` in `crates/burn-train/src/metric/base.rs`; `{}` and `{:.2e}` of Rust's standard library.
"""

from __future__ import annotations

import math
from decimal import Decimal


def shortest(value: float) -> str:
    """The fewest digits that read back as the same float64, without an exponent: `1`, `0.5`, `0.0000001`, `NaN`."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    text = repr(float(value))
    if "e" in text:
        text = format(Decimal(text), "f")
    return text.removesuffix(".0")


def rounded(value: float, precision: int = 2) -> str:
    """For people: `precision` decimals, or `1.23e-4` when value ≤ 0.1^(precision - 1). So zero is `0.00e0`."""
    if not math.isfinite(value):
        return shortest(value)
    if value > 0.1 ** (precision - 1):
        return f"{value:.{precision}f}"
    digits, exponent = f"{value:.{precision}e}".split("e")
    return f"{digits}e{int(exponent)}"
