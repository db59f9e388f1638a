"""Checks of arguments: a StoreError now rather than an accident later."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from minburn.store.error import StoreError

T = TypeVar("T")


def as_list(what: str, values: Iterable[T]) -> list[T]:
    """What is listed. A text is not a list of its letters."""
    if not isinstance(values, (str, bytes)) and isinstance(values, Iterable):
        try:
            return list(values)
        except TypeError:  # NumPy's arrays of rank 0 only look iterable
            pass
    raise StoreError(f"{what} is a list, but got {type(values).__name__} {repr(values)[:80]}.")


def as_texts(what: str, values: Iterable[str]) -> list[str]:
    listed = as_list(what, values)
    for value in listed:
        as_text(f"{what}: each", value)
    return listed


def as_text(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise StoreError(f"{what} is a text, but got {type(value).__name__} {str(value)[:80]}.")
    return value


def as_flag(what: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise StoreError(f"{what} is True or False, but got {type(value).__name__} {str(value)[:80]}.")
    return value


def as_text_map(what: str, values: Any) -> dict[str, str]:
    if not isinstance(values, Mapping):
        raise StoreError(f"{what} is a dict of texts, but got {type(values).__name__}.")
    for name, text in values.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise StoreError(f"{what} is a dict of texts, but got {str(name)[:80]!r}: {str(text)[:80]!r}.")
        try:
            f"{name}{text}".encode()
        except UnicodeEncodeError:
            raise StoreError(f"{what}: {name!r}: {text!r} cannot be encoded as UTF-8.") from None
    return dict(values)
