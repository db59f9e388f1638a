"""What every family of composed module ops works with."""

from __future__ import annotations

from typing import Any

from minburn.backends.base import FloatTensorOps


class Composed:
    """floats, ints: the tables that the ops are composed from."""

    def __init__(self, floats: FloatTensorOps[Any, Any, Any], ints: Any) -> None:
        self.floats = floats
        self.ints = ints
