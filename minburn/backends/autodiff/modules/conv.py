"""Rules of convolutions."""

from __future__ import annotations

from minburn.backends.autodiff.modules.recorded import RecordedModules
from minburn.backends.default.conv import DefaultConv


class AutodiffConv(RecordedModules, DefaultConv):
    pass
