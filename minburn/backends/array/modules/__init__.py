"""Module ops fused over `xp`: fewer passes and temporaries than the defaults they replace.

Work is done in place on arrays that the op itself has just made.
"""

from minburn.backends.array.floats import ArrayFloats
from minburn.backends.array.modules.attention import ArrayAttention
from minburn.backends.array.modules.conv import ArrayConv
from minburn.backends.array.modules.linear import ArrayLinear
from minburn.backends.array.modules.norm import ArrayNorm
from minburn.backends.array.modules.pool import ArrayPool
from minburn.backends.array.modules.recurrent import ArrayRecurrent
from minburn.backends.array.modules.resample import ArrayResample
from minburn.backends.default.deform import DefaultDeform


class ArrayModules(
    ArrayLinear, ArrayConv, DefaultDeform, ArrayPool, ArrayResample, ArrayNorm, ArrayAttention, ArrayRecurrent
):
    floats: ArrayFloats


__all__ = ["ArrayModules"]
