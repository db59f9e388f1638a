"""Rules of pooling."""

from __future__ import annotations

from minburn.backends.autodiff.modules.recorded import RecordedModules
from minburn.backends.default.pool import DefaultPool


class AutodiffPool(RecordedModules, DefaultPool):
    pass
