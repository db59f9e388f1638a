"""The CPU backend: the array implementation over NumPy, and what only NumPy needs.

Overrides, with their reasons:
- `empty` takes large arrays from a pool of aligned buffers (see `array/pool.py`).
- Ops that divide, take logarithms or overflow are silent, as Burn's are: NumPy would print a warning for log(0).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from minburn.backends.array.basic import Array
from minburn.backends.array.floats import ArrayFloats
from minburn.backends.array.fused import ArrayActivations, ArrayModules
from minburn.backends.array.ints import ArrayBools, ArrayInts
from minburn.backends.array.pool import Pool
from minburn.backends.base import Device, Shape
from minburn.backends.rng import Streams
from minburn.dtype import DType

CPU = Device("cpu")
_pool = Pool()

_Method = TypeVar("_Method", bound=Callable[..., Any])


def quiet(method: _Method) -> _Method:
    """The method without NumPy's floating-point warnings."""

    @functools.wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with np.errstate(all="ignore"):
            return method(*args, **kwargs)

    return wrapped  # type: ignore[return-value]


class NumPyFloats(ArrayFloats):
    def empty(self, shape: Shape) -> Array:
        return _pool.empty(shape, self.np_dtype)

    div = quiet(ArrayFloats.div)
    div_scalar = quiet(ArrayFloats.div_scalar)
    remainder = quiet(ArrayFloats.remainder)
    remainder_scalar = quiet(ArrayFloats.remainder_scalar)
    powi_scalar = quiet(ArrayFloats.powi_scalar)
    powf = quiet(ArrayFloats.powf)
    powf_scalar = quiet(ArrayFloats.powf_scalar)
    recip = quiet(ArrayFloats.recip)
    exp = quiet(ArrayFloats.exp)
    log = quiet(ArrayFloats.log)
    log1p = quiet(ArrayFloats.log1p)
    sqrt = quiet(ArrayFloats.sqrt)
    sin = quiet(ArrayFloats.sin)
    cos = quiet(ArrayFloats.cos)
    tan = quiet(ArrayFloats.tan)
    cosh = quiet(ArrayFloats.cosh)
    sinh = quiet(ArrayFloats.sinh)
    acos = quiet(ArrayFloats.acos)
    asin = quiet(ArrayFloats.asin)
    acosh = quiet(ArrayFloats.acosh)
    atanh = quiet(ArrayFloats.atanh)
    hypot = quiet(ArrayFloats.hypot)
    erf = quiet(ArrayFloats.erf)
    mean = quiet(ArrayFloats.mean)
    mean_dim = quiet(ArrayFloats.mean_dim)
    var_dim = quiet(ArrayFloats.var_dim)
    matmul = quiet(ArrayFloats.matmul)
    cast = quiet(ArrayFloats.cast)
    into_int = quiet(ArrayFloats.into_int)
    run_elementwise = quiet(ArrayFloats.run_elementwise)


class NumPyInts(ArrayInts):
    # Arithmetic wraps around silently.
    div = quiet(ArrayInts.div)
    powi_scalar = quiet(ArrayInts.powi_scalar)
    remainder = quiet(ArrayInts.remainder)


class NumPyModules(ArrayModules):
    linear = quiet(ArrayModules.linear)
    cross_entropy = quiet(ArrayModules.cross_entropy)


class NumPyActivations(ArrayActivations):
    sigmoid = quiet(ArrayActivations.sigmoid)
    softmax = quiet(ArrayActivations.softmax)
    log_softmax = quiet(ArrayActivations.log_softmax)


# One table per dtype, so that any two NumPy() values interoperate: tensors compare tables by identity.


@functools.cache
def _floats(dtype: DType) -> NumPyFloats:
    return NumPyFloats(np, CPU, dtype)


@functools.cache
def _ints(dtype: DType) -> NumPyInts:
    return NumPyInts(np, CPU, dtype)


@functools.cache
def _bools() -> ArrayBools:
    return ArrayBools(np, CPU, DType.Bool)


@functools.cache
def _modules(dtype: DType) -> NumPyModules:
    return NumPyModules(_floats(dtype), _ints(DType.I32))


@functools.cache
def _activations(dtype: DType) -> NumPyActivations:
    return NumPyActivations(_floats(dtype))


class NumPy:
    """Tensors on the CPU.

    seed: names the random streams; None draws one from the operating system.
    float_dtype, int_dtype: what tensors get unless they ask otherwise. Burn's flex backend: F32 and I32.

    Raises BackendError for BF16 without ml_dtypes, and ValueError for dtypes of the wrong kind.
    """

    def __init__(self, seed: int | None = None, float_dtype: DType = DType.F32, int_dtype: DType = DType.I32) -> None:
        self._build(Streams(seed), float_dtype, int_dtype)

    def _build(self, streams: Streams, float_dtype: DType, int_dtype: DType) -> None:
        if not float_dtype.is_float:
            raise ValueError(f"NumPy: float_dtype must be a float dtype, but got {float_dtype}.")
        if not int_dtype.is_int:
            raise ValueError(f"NumPy: int_dtype must be an integer dtype, but got {int_dtype}.")
        self.streams = streams
        self.float_dtype = float_dtype
        self.int_dtype = int_dtype
        self.device = CPU
        self.floats = _floats(float_dtype)
        self.ints = _ints(int_dtype)
        self.bools = _bools()
        self.modules = _modules(float_dtype)
        self.activations = _activations(float_dtype)

    @property
    def name(self) -> str:
        return "numpy"

    @property
    def is_autodiff(self) -> bool:
        return False

    @property
    def inner(self) -> NumPy:
        return self

    def with_dtypes(self, float_dtype: DType | None = None, int_dtype: DType | None = None) -> NumPy:
        float_dtype, int_dtype = float_dtype or self.float_dtype, int_dtype or self.int_dtype
        if (float_dtype, int_dtype) == (self.float_dtype, self.int_dtype):
            return self
        sibling = NumPy.__new__(NumPy)
        sibling._build(self.streams, float_dtype, int_dtype)
        return sibling

    def sync(self) -> None:
        """NumPy has always finished."""

    def __repr__(self) -> str:
        return f"NumPy(seed={self.streams.seed}, float_dtype={self.float_dtype}, int_dtype={self.int_dtype})"
