"""The settings of an optimizer or a schedule as plain values, to be compared with those of another process."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any


def settings(value: Any) -> dict[str, Any]:
    """The class of an object and its public attributes."""
    fields = vars(value) if hasattr(value, "__dict__") else {}
    if dataclasses.is_dataclass(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return {
        "class": type(value).__name__,
        **{name: plain(part) for name, part in fields.items() if not name.startswith("_")},
    }


def plain(value: Any) -> Any:
    """Numbers and texts as they are, containers of them too; of anything else its class and attributes."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if callable(value):
        return getattr(value, "__qualname__", type(value).__name__)
    return settings(value)
