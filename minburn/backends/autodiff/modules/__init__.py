"""Rules of module ops. Their backward ops are composed of differentiable ones, for second derivatives."""

from minburn.backends.autodiff.modules.attention import AutodiffAttention
from minburn.backends.autodiff.modules.conv import AutodiffConv
from minburn.backends.autodiff.modules.deform import AutodiffDeform
from minburn.backends.autodiff.modules.linear import AutodiffLinear
from minburn.backends.autodiff.modules.norm import AutodiffNorm
from minburn.backends.autodiff.modules.pool import AutodiffPool
from minburn.backends.autodiff.modules.recurrent import AutodiffRecurrent
from minburn.backends.autodiff.modules.resample import AutodiffResample


class AutodiffModules(
    AutodiffLinear,
    AutodiffConv,
    AutodiffDeform,
    AutodiffPool,
    AutodiffResample,
    AutodiffNorm,
    AutodiffAttention,
    AutodiffRecurrent,
):
    """Of all families."""


__all__ = ["AutodiffModules"]
