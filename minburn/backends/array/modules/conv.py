"""Convolutions over `xp`."""

from __future__ import annotations

from minburn.backends.array.floats import ArrayFloats
from minburn.backends.default.conv import DefaultConv


class ArrayConv(DefaultConv):
    floats: ArrayFloats
