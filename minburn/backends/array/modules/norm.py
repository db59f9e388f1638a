"""Normalizations over `xp`."""

from __future__ import annotations

from minburn.backends.array.floats import ArrayFloats
from minburn.backends.default.norm import DefaultNorm


class ArrayNorm(DefaultNorm):
    floats: ArrayFloats
