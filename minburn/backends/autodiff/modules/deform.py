"""The rule of deformable convolutions: that of what they are composed of."""

from __future__ import annotations

from minburn.backends.autodiff.modules.recorded import RecordedModules
from minburn.backends.autodiff.rule import composed
from minburn.backends.default.deform import DefaultDeform


class AutodiffDeform(RecordedModules, DefaultDeform):
    deform_conv2d = composed(DefaultDeform.deform_conv2d)
