"""Pooling over `xp`."""

from __future__ import annotations

from minburn.backends.array.floats import ArrayFloats
from minburn.backends.default.pool import DefaultPool


class ArrayPool(DefaultPool):
    floats: ArrayFloats
