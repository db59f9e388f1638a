"""Rules of embedding and attention."""

from __future__ import annotations

from minburn.backends.autodiff.modules.recorded import RecordedModules
from minburn.backends.default.attention import DefaultAttention


class AutodiffAttention(RecordedModules, DefaultAttention):
    pass
