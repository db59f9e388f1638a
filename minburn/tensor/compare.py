"""Comparing numbers up to rounding, and saying where they differ.

    found.into_data().assert_approx_eq(expected, Tolerance.rel_abs(1e-4, 1e-5).set_half_precision_relative(1e-2))

Burn: `crates/burn-std/src/data/compare.rs`, whose `Tolerance<F>` belongs to one float type; this one knows the numbers
of each, and takes those of the data it compares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minburn.dtype import DType
from minburn.tensor.check import TensorError, show

if TYPE_CHECKING:
    from minburn.tensor.data import TensorData

HALF, SINGLE, DOUBLE = ("F16", "BF16"), ("F32", "Flex32"), ("F64",)
SMALLEST_NORMAL = {"F64": 2.0**-1022, "F32": 2.0**-126, "Flex32": 2.0**-126, "BF16": 2.0**-126, "F16": 2.0**-14}
SHOWN = 5


class Tolerance:
    """x and y are equal enough if |x - y| < max(absolute, relative · max(|x|, |y|)), or if they are equal.

    The default is Burn's "balanced": relative 0.005, absolute 1e-5. Each `set_…` returns another tolerance.

    Errors: TensorError unless 0 ≤ relative ≤ 1 and absolute ≥ 0.
    """

    __slots__ = ("_pairs",)

    def __init__(self, relative: float = 0.005, absolute: float = 1e-5) -> None:
        self._pairs = dict.fromkeys(SMALLEST_NORMAL, (as_relative(relative), as_absolute(absolute)))

    @staticmethod
    def strict() -> Tolerance:
        """Relative 0, absolute 64 times the smallest normal number of the dtype."""
        result = Tolerance(0.0, 0.0)
        result._pairs = {name: (0.0, 64 * smallest) for name, smallest in SMALLEST_NORMAL.items()}
        return result

    @staticmethod
    def balanced() -> Tolerance:
        """Relative 0.005, absolute 1e-5: the default."""
        return Tolerance()

    @staticmethod
    def permissive() -> Tolerance:
        """Relative 0.01, absolute 0.01."""
        return Tolerance(0.01, 0.01)

    @staticmethod
    def rel_abs(relative: float, absolute: float) -> Tolerance:
        return Tolerance(relative, absolute)

    @staticmethod
    def relative(tolerance: float) -> Tolerance:
        """Only the relative difference counts."""
        return Tolerance(tolerance, 0.0)

    @staticmethod
    def absolute(tolerance: float) -> Tolerance:
        """Only the absolute difference counts."""
        return Tolerance(0.0, tolerance)

    def set_relative(self, tolerance: float) -> Tolerance:
        return self._with((*HALF, *SINGLE, *DOUBLE), relative=tolerance)

    def set_half_precision_relative(self, tolerance: float) -> Tolerance:
        """For F16 and BF16 only."""
        return self._with(HALF, relative=tolerance)

    def set_single_precision_relative(self, tolerance: float) -> Tolerance:
        return self._with(SINGLE, relative=tolerance)

    def set_double_precision_relative(self, tolerance: float) -> Tolerance:
        return self._with(DOUBLE, relative=tolerance)

    def set_absolute(self, tolerance: float) -> Tolerance:
        return self._with((*HALF, *SINGLE, *DOUBLE), absolute=tolerance)

    def set_half_precision_absolute(self, tolerance: float) -> Tolerance:
        return self._with(HALF, absolute=tolerance)

    def set_single_precision_absolute(self, tolerance: float) -> Tolerance:
        return self._with(SINGLE, absolute=tolerance)

    def set_double_precision_absolute(self, tolerance: float) -> Tolerance:
        return self._with(DOUBLE, absolute=tolerance)

    def approx_eq(self, x: float, y: float, dtype: DType = DType.F32) -> bool:
        """Whether two numbers of a dtype are equal enough. NaN is equal to nothing."""
        if not isinstance(dtype, DType):
            raise TensorError(f"approx_eq: expected a dtype such as DType.F32, but got {type(dtype).__name__}.")
        first, second = as_number("approx_eq: x", x), as_number("approx_eq: y", y)
        return bool(self.close(np.float64(first), np.float64(second), dtype))

    def close(self, x: Any, y: Any, dtype: DType) -> Any:
        """approx_eq() of arrays, element by element."""
        relative, absolute = self._pairs.get(dtype.name, self._pairs["F64"])
        with np.errstate(invalid="ignore", over="ignore"):
            bound = np.maximum(absolute, relative * np.maximum(np.abs(x), np.abs(y)))
            return (x == y) | (np.abs(x - y) < bound)

    def _with(self, names: tuple[str, ...], relative: float | None = None, absolute: float | None = None) -> Tolerance:
        result = Tolerance()
        result._pairs = dict(self._pairs)
        for name in names:
            old = self._pairs[name]
            result._pairs[name] = (
                old[0] if relative is None else as_relative(relative),
                old[1] if absolute is None else as_absolute(absolute),
            )
        return result

    def __repr__(self) -> str:
        return f"Tolerance({self._pairs})"


def as_relative(value: object) -> float:
    number = as_number("Tolerance: a tolerance", value)
    if not 0 <= number <= 1:
        raise TensorError(f"Tolerance: a relative tolerance is from 0 to 1, but got {value!r}.")
    return number


def as_absolute(value: object) -> float:
    number = as_number("Tolerance: a tolerance", value)
    if not number >= 0:
        raise TensorError(f"Tolerance: an absolute tolerance is 0 or more, but got {value!r}.")
    return number


def as_number(what: str, value: object) -> float:
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            pass
    raise TensorError(f"{what} must be a number that a float can hold, but got {value!r:.60}.")


def assert_eq(data: TensorData, other: TensorData, strict: bool) -> None:
    """`TensorData.assert_eq`."""
    if strict and data.dtype != other.dtype:
        raise AssertionError(f"assert_eq: the dtypes differ: {data.dtype} and {other.dtype}.")
    check_same_shape("assert_eq", data, other)
    if data.dtype.kind == "qfloat" or other.dtype.kind == "qfloat":
        if data != other:
            raise AssertionError("assert_eq: the quantized data differ.")
        return
    x = data.numpy()
    y = other.numpy() if other.dtype == data.dtype else other.numpy().astype(x.dtype)
    refuse_where("assert_eq", x, y, x != y, "")


def assert_approx_eq(data: TensorData, other: TensorData, tolerance: Tolerance) -> None:
    """`TensorData.assert_approx_eq`."""
    if not isinstance(tolerance, Tolerance):
        raise TensorError(f"assert_approx_eq: expected a Tolerance, but got {type(tolerance).__name__} {tolerance!r}.")
    check_same_shape("assert_approx_eq", data, other)
    x, y = data.cast(DType.F64).numpy(), other.cast(DType.F64).numpy()
    dtype = data.dtype if data.dtype.is_float else DType.F64
    wrong = ~(tolerance.close(x, y, dtype) | (np.isnan(x) & np.isnan(y)))
    refuse_where("assert_approx_eq", x, y, wrong, f" with {tolerance}" if wrong.any() else "")


def assert_within(data: TensorData, low: float, high: float, inclusive: bool) -> None:
    """`TensorData.assert_within_range` and `assert_within_range_inclusive`."""
    low, high = as_number("assert_within_range: a bound", low), as_number("assert_within_range: a bound", high)
    x = data.cast(DType.F64).numpy()
    outside = ~((x >= low) & ((x <= high) if inclusive else (x < high)))
    if outside.any():
        place = tuple(int(index) for index in np.argwhere(outside)[0])
        shown = f"[{low}, {high}{']' if inclusive else ')'}"
        raise AssertionError(f"assert_within_range: {x[place]} at {list(place)} is not in {shown}.")


def check_same_shape(name: str, data: TensorData, other: TensorData) -> None:
    if data.shape != other.shape:
        raise AssertionError(f"{name}: the shapes differ: {show(data.shape)} and {show(other.shape)}.")


def refuse_where(name: str, x: Any, y: Any, wrong: Any, remark: str) -> None:
    if not wrong.any():
        return
    places = [tuple(int(index) for index in place) for place in np.argwhere(wrong)]
    told = [f"at {list(place)}: {x[place]} and {y[place]}" for place in places[:SHOWN]]
    more = f", and {len(places) - SHOWN} more" if len(places) > SHOWN else ""
    raise AssertionError(f"{name}: {len(places)} of {x.size} elements differ{remark}: {'; '.join(told)}{more}.")
