"""What every family of module rules works with."""

from __future__ import annotations

from typing import Any

from minburn.backends.default.composed import Composed


class RecordedModules(Composed):
    """floats: the autodiff table, for the defaults. inner: the module ops below."""

    def __init__(self, floats: Any, ints: Any, inner: Any, inner_activations: Any) -> None:
        super().__init__(floats, ints)
        self.inner = inner
        self.inner_floats = floats.inner
        self.inner_activations = inner_activations
