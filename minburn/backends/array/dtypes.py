"""What NumPy calls our dtypes, both ways."""

from __future__ import annotations

from typing import Any

import numpy as np

from minburn.backends.error import BackendError
from minburn.dtype import DType

_NUMPY: dict[DType, np.dtype[Any]] = {
    DType.F64: np.dtype(np.float64),
    DType.F32: np.dtype(np.float32),
    DType.F16: np.dtype(np.float16),
    DType.Flex32: np.dtype(np.float32),
    DType.I64: np.dtype(np.int64),
    DType.I32: np.dtype(np.int32),
    DType.I16: np.dtype(np.int16),
    DType.I8: np.dtype(np.int8),
    DType.U64: np.dtype(np.uint64),
    DType.U32: np.dtype(np.uint32),
    DType.U16: np.dtype(np.uint16),
    DType.U8: np.dtype(np.uint8),
    DType.Bool: np.dtype(np.bool_),
    DType.BoolU8: np.dtype(np.uint8),
    DType.BoolU32: np.dtype(np.uint32),
}
_DTYPE: dict[np.dtype[Any], DType] = {
    numpy: dtype for dtype, numpy in _NUMPY.items() if dtype not in (DType.Flex32, DType.BoolU8, DType.BoolU32)
}


def bfloat16() -> np.dtype[Any] | None:
    """NumPy's bfloat16 if the optional package ml_dtypes is installed."""
    try:
        import ml_dtypes  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None
    numpy: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return numpy


def to_numpy(dtype: DType) -> np.dtype[Any]:
    """The NumPy dtype that holds elements of `dtype`.

    Raises BackendError for BF16 without ml_dtypes, and for quantized dtypes.
    """
    numpy = _NUMPY.get(dtype)
    if numpy is not None:
        return numpy
    if dtype == DType.BF16:
        numpy = bfloat16()
        if numpy is not None:
            return numpy
        raise BackendError("BF16 arithmetic needs ml_dtypes: pip install 'minburn[bf16]', or cast the data to F32.")
    raise BackendError(f"NumPy has no dtype for {dtype}.")


def from_numpy(numpy: np.dtype[Any]) -> DType:
    """The dtype of a NumPy array. Raises BackendError for what tensors cannot hold (objects, text, complex …)."""
    dtype = _DTYPE.get(numpy.newbyteorder("=") if numpy.kind in "fiu" else numpy)
    if dtype is not None:
        return dtype
    if numpy.name == "bfloat16":
        return DType.BF16
    raise BackendError(f"tensors cannot hold NumPy's {numpy}: use floats, integers or bools.")


def check_dtypes(backend: str, float_dtype: DType, int_dtype: DType) -> None:
    """The default dtypes of a backend. Raises BackendError where they are not a float and an integer one."""
    if not (isinstance(float_dtype, DType) and float_dtype.is_float):
        raise BackendError(f"{backend}: float_dtype must be a float dtype such as DType.F32, but got {float_dtype!r}.")
    if not (isinstance(int_dtype, DType) and int_dtype.is_int):
        raise BackendError(f"{backend}: int_dtype must be an integer dtype such as DType.I32, but got {int_dtype!r}.")
