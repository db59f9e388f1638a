"""Module ops with kernels of their own, by family."""

from minburn.backends.array.modules import ArrayModules
from minburn.backends.cupy_ops.modules.attention import CuPyAttention
from minburn.backends.cupy_ops.modules.conv import CuPyConv
from minburn.backends.cupy_ops.modules.linear import CuPyLinear
from minburn.backends.cupy_ops.modules.norm import CuPyNorm
from minburn.backends.cupy_ops.modules.pool import CuPyPool
from minburn.backends.cupy_ops.modules.resample import CuPyResample
from minburn.backends.cupy_ops.tables import CuPyFloats


class CuPyModules(CuPyLinear, CuPyConv, CuPyPool, CuPyResample, CuPyNorm, CuPyAttention, ArrayModules):
    floats: CuPyFloats


__all__ = ["CuPyModules"]
