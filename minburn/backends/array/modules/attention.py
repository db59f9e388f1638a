"""Embedding and attention over `xp`."""

from __future__ import annotations

from minburn.backends.array.floats import ArrayFloats
from minburn.backends.default.attention import DefaultAttention


class ArrayAttention(DefaultAttention):
    floats: ArrayFloats
