"""Argument checks shared by entries, scalars and the writer: a PackError now rather than a strange file later."""

from __future__ import annotations

import operator

from minburn.pack.errors import PackError
from minburn.pack.format import U64_MAX


def check_text(what: str, value: object) -> None:
    """PackError unless `value` is a str that UTF-8 can hold."""
    if not isinstance(value, str):
        raise PackError(f"{what} must be a str, got {type(value).__name__} {value!r}.")
    if value.isascii():
        return
    try:
        value.encode()
    except UnicodeEncodeError:
        raise PackError(f"{what} {value!r} cannot be encoded as UTF-8: it has a lone surrogate.") from None


def to_u64(what: str, value: object) -> int:
    """The integer, if it is one of 64 unsigned bits."""
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if not 0 <= number <= U64_MAX:
        raise PackError(f"{what} must be an integer, 0 .. 2^64 - 1, got {type(value).__name__} {value!r}.")
    return number
