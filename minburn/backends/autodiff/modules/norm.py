"""Rules of normalizations."""

from __future__ import annotations

from minburn.backends.autodiff.modules.recorded import RecordedModules
from minburn.backends.default.norm import DefaultNorm


class AutodiffNorm(RecordedModules, DefaultNorm):
    pass
