"""The error of this layer, and the checks that its parts share."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

T = TypeVar("T")


class DataError(ValueError):
    """A dataset, file, batcher or loader was given something it cannot use.

    Burn: `DatasetError` in `crates/burn-dataset/src/dataset/error.rs`.
    """


def integer(owner: str, name: str, value: object, minimum: int | None = None) -> int:
    """`value` as a Python int of at least `minimum`; a bool or a float is refused."""
    if isinstance(value, bool):
        raise DataError(f"{owner}: {name} must be an integer, but got {value!r}.")
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise DataError(f"{owner}: {name} must be an integer, but got {type(value).__name__} {value!r}.") from None
    if minimum is not None and number < minimum:
        raise DataError(f"{owner}: {name} must be at least {minimum}, but got {number}.")
    return number


def check_index(owner: object, index: int, length: int) -> None:
    """IndexError unless 0 ≤ index < length. Negative indices do not count from the end: they are mistakes."""
    if index.__class__ is not int:
        index = integer(type(owner).__name__, "index", index)
    if not 0 <= index < length:
        raise IndexError(
            f"{type(owner).__name__}: index {index} is outside a dataset of {length} items. "
            f"{f'Use 0 to {length - 1}.' if length else 'It has no items.'}"
        )


def check_indices(owner: object, indices: Sequence[int], length: int) -> None:
    """`check_index` for all of them, at the price of a minimum and a maximum."""
    try:
        if not len(indices) or (operator.index(min(indices)) >= 0 and operator.index(max(indices)) < length):
            return
    except (TypeError, ValueError):  # None, texts, tables
        raise DataError(f"{type(owner).__name__}: indices must be integers, but got {indices!r}.") from None
    for index in indices:
        check_index(owner, index, length)


def items_of(owner: str, name: str, values: Iterable[T]) -> list[T]:
    """The values as a list; DataError for what cannot be looped over."""
    try:
        return list(values)
    except TypeError:
        raise DataError(f"{owner}: {name} must be a list, but got {type(values).__name__} {values!r}.") from None


def as_path(owner: str, path: str | os.PathLike[str]) -> Path:
    """DataError for what can be no path."""
    if not isinstance(path, (str, os.PathLike)) or "\0" in str(path):
        raise DataError(f"{owner}: expected the path of a file, but got {type(path).__name__} {path!r}.")
    return Path(path)


def cannot_read(path: str | os.PathLike[str], error: OSError) -> DataError:
    return DataError(f"{path}: cannot be read: {error.strerror or error}. Is the path right?")


def as_indices(owner: str, indices: object) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """A read-only copy of a one-dimensional sequence of integers."""
    try:
        array = np.array(indices)
    except ValueError:
        raise DataError(f"{owner}: indices must be a flat sequence of integers, but got {indices!r}.") from None
    if array.size == 0:
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataError(
            f"{owner}: indices must be a flat sequence of integers, but got dtype {array.dtype}, shape {array.shape}."
        )
    array = array.astype(np.int64)
    array.flags.writeable = False
    return array


def describe(error: BaseException) -> str:
    """An error inside another one's message: its type and text; a DataError speaks for itself."""
    return str(error) if isinstance(error, DataError) else f"{type(error).__name__}: {error}"
