"""Convolutions, composed from `floats`."""

from __future__ import annotations

from minburn.backends.default.composed import Composed


class DefaultConv(Composed):
    pass
