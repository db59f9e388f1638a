"""The CPU backend: the array implementation over NumPy, and what only NumPy needs.

The overrides: `empty` and `empty_like` take large arrays from a pool of aligned buffers (see `array/pool.py`), and some
results of bfloat16 ops are rounded back to bfloat16.
"""

from __future__ import annotations

import functools
import math
import warnings

import numpy as np

from minburn.backends.array.activations import ArrayActivations
from minburn.backends.array.basic import Array, in_order_of
from minburn.backends.array.dtypes import check_dtypes
from minburn.backends.array.floats import ArrayFloats
from minburn.backends.array.ints import ArrayBools, ArrayInts
from minburn.backends.array.modules import ArrayModules
from minburn.backends.array.numeric import rounded
from minburn.backends.array.philox import draw
from minburn.backends.array.pool import SMALLEST, Pool
from minburn.backends.base import Device, Shape
from minburn.backends.rng import Distribution, Streams
from minburn.dtype import DType

CPU = Device("cpu")
_pool = Pool()

# Burn's ops are silent: log(0) is -inf and 0/0 is NaN without a word. np.errstate would cost a microsecond an op, three
# times a small addition; a filter costs nothing until NumPy has something to say, and only for our own lines.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"minburn\.backends\.")


class NumPyFloats(ArrayFloats):
    def empty(self, shape: Shape) -> Array:
        if math.prod(shape) * self.dtype.size < SMALLEST:
            return np.empty(shape, self.np_dtype)
        return _pool.empty(shape, self.np_dtype)

    def empty_like(self, tensor: Array, shape: Shape | None = None) -> Array:
        # NumPy keeps the memory order by itself; only large arrays are worth a look into the pool.
        if shape is None and tensor.nbytes < SMALLEST:
            return np.empty_like(tensor)
        return super().empty_like(tensor, shape)

    def random(self, shape: Shape, distribution: Distribution, key: int, counter: int) -> Array:
        return draw(shape, distribution, key, counter, self.np_dtype, self.empty(shape))

    def mask_like(self, tensor: Array) -> Array:
        if tensor.size < SMALLEST:
            return np.empty_like(tensor, dtype=bool)
        return in_order_of(tensor, tensor.shape, lambda shape: _pool.empty(shape, np.dtype(bool)))


class NumPyBFloat16(NumPyFloats):
    """ml_dtypes gives float32 where a Python number takes part, and for matrix products."""

    add_scalar = rounded(NumPyFloats.add_scalar)
    sub_scalar = rounded(NumPyFloats.sub_scalar)
    mul_scalar = rounded(NumPyFloats.mul_scalar)
    div_scalar = rounded(NumPyFloats.div_scalar)
    remainder_scalar = rounded(NumPyFloats.remainder_scalar)
    powi_scalar = rounded(NumPyFloats.powi_scalar)
    powf_scalar = rounded(NumPyFloats.powf_scalar)
    recip = rounded(NumPyFloats.recip)
    clamp = rounded(NumPyFloats.clamp)
    clamp_min = rounded(NumPyFloats.clamp_min)
    clamp_max = rounded(NumPyFloats.clamp_max)
    matmul = rounded(NumPyFloats.matmul)


# One table per dtype, so that any two NumPy() values interoperate: tensors compare tables by identity.


@functools.cache
def _floats(dtype: DType) -> NumPyFloats:
    return (NumPyBFloat16 if dtype == DType.BF16 else NumPyFloats)(np, CPU, dtype)


@functools.cache
def _ints(dtype: DType) -> ArrayInts:
    return ArrayInts(np, CPU, dtype)


@functools.cache
def _bools() -> ArrayBools:
    return ArrayBools(np, CPU, DType.Bool)


@functools.cache
def _modules(dtype: DType) -> ArrayModules:
    return ArrayModules(_floats(dtype), _ints(DType.I32))


@functools.cache
def _activations(dtype: DType) -> ArrayActivations:
    return ArrayActivations(_floats(dtype))


class NumPy:
    """Tensors on the CPU.

    seed: names the random streams; None draws one from the operating system.
    float_dtype, int_dtype: what tensors get unless they ask otherwise. Burn's flex backend: F32 and I32.

    Errors: BackendError for dtypes of the wrong kind, and for BF16 without ml_dtypes.

    Burn: `Device::new`, `Device::cpu`, `Device::flex`, `Device::ndarray`, `Device::seed`, and `Backend::seed`.
    """

    def __init__(self, seed: int | None = None, float_dtype: DType = DType.F32, int_dtype: DType = DType.I32) -> None:
        check_dtypes("NumPy", float_dtype, int_dtype)
        self._build(Streams(seed), float_dtype, int_dtype)

    def _build(self, streams: Streams, float_dtype: DType, int_dtype: DType) -> None:
        self.streams = streams
        self.float_dtype = float_dtype
        self.int_dtype = int_dtype
        self.device = CPU
        self.is_autodiff = False
        self.floats = _floats(float_dtype)
        self.ints = _ints(int_dtype)
        self.bools = _bools()
        self.modules = _modules(float_dtype)
        self.activations = _activations(float_dtype)

    @property
    def name(self) -> str:
        return "numpy"

    @property
    def inner(self) -> NumPy:
        return self

    def with_dtypes(self, float_dtype: DType | None = None, int_dtype: DType | None = None) -> NumPy:
        float_dtype = self.float_dtype if float_dtype is None else float_dtype
        int_dtype = self.int_dtype if int_dtype is None else int_dtype
        check_dtypes("NumPy", float_dtype, int_dtype)
        if (float_dtype, int_dtype) == (self.float_dtype, self.int_dtype):
            return self
        return _restored(self.streams, float_dtype, int_dtype)

    def sync(self) -> None:
        """NumPy has always finished."""

    def __deepcopy__(self, memo: dict[int, object]) -> NumPy:
        """Itself: what is copied stays on its device and goes on with the same streams."""
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (self.streams, self.float_dtype, self.int_dtype)

    def __repr__(self) -> str:
        return f"NumPy(seed={self.streams.seed}, float_dtype={self.float_dtype}, int_dtype={self.int_dtype})"


def _restored(streams: Streams, float_dtype: DType, int_dtype: DType) -> NumPy:
    """With streams that exist already: a sibling, or what was pickled."""
    backend = NumPy.__new__(NumPy)
    backend._build(streams, float_dtype, int_dtype)
    return backend
