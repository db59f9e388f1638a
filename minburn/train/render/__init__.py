"""What a run shows: bars in a terminal, a line per epoch elsewhere, or nothing."""

from __future__ import annotations

import sys

from minburn.train.render.base import Progress, Renderer, RunInfo
from minburn.train.render.live import LiveRenderer
from minburn.train.render.plain import PlainRenderer

__all__ = ["LiveRenderer", "PlainRenderer", "Progress", "Renderer", "RunInfo", "default_renderer"]


def default_renderer() -> Renderer:
    """Bars if stdout is a terminal and rich is there, else one plain line per epoch."""
    stdout = sys.stdout
    if stdout is not None and stdout.isatty():
        try:
            import rich  # noqa: F401
        except ImportError:
            return PlainRenderer()
        return LiveRenderer()
    return PlainRenderer()
