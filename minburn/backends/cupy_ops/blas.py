"""Matrix products: CuPy's own, and the same calls of cuBLAS while a step is recorded.

CuPy refuses every call of cuBLAS while a stream captures ("currently unsupported"); cuBLAS itself does not. So what is
recorded goes to cuBLAS directly: the same function with the same operands, orders and precision as CuPy's dot and
matmul choose, so that a recorded step gives the bits of an ordinary one.
"""

from __future__ import annotations

import ctypes
import functools
import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from minburn.backends.array.basic import Array
from minburn.backends.cupy_ops.addresses import table_of
from minburn.backends.cupy_ops.library import cp
from minburn.backends.cupy_ops.recording import recorder
from minburn.backends.error import BackendError, NotRecordable

DATA_TYPES = {"f": 0, "d": 1, "e": 2, "E": 14}
"""cudaDataType by the character of the dtype; E is that of ml_dtypes' bfloat16."""
DEFAULT, TENSOR_OP = -1, 99
"""cublasGemmAlgo_t."""
PEDANTIC, TF32 = 2, 7
"""What CuPy's compute types are called in `cupy._core._routines_linalg`."""
INT, LONG, POINTER = ctypes.c_int, ctypes.c_longlong, ctypes.c_void_p
SIGNATURES = {
    "cublasSetStream_v2": (POINTER, POINTER),
    "cublasGemmEx": (
        *(POINTER, INT, INT, INT, INT, INT, POINTER, POINTER, INT, INT, POINTER, INT, INT),
        *(POINTER, POINTER, INT, INT, INT, INT),
    ),
    "cublasGemmStridedBatchedEx": (
        *(POINTER, INT, INT, INT, INT, INT, POINTER, POINTER, INT, INT, LONG, POINTER, INT, INT, LONG),
        *(POINTER, POINTER, INT, INT, LONG, INT, INT, INT),
    ),
}
PLAIN = {
    "gemm": (POINTER, INT, INT, INT, INT, INT, POINTER, POINTER, INT, POINTER, INT, POINTER, POINTER, INT),
    "gemmBatched": (POINTER, INT, INT, INT, INT, INT, POINTER, POINTER, INT, POINTER, INT, POINTER, POINTER, INT, INT),
    "gemmStridedBatched": (
        *(POINTER, INT, INT, INT, INT, INT, POINTER, POINTER, INT, LONG, POINTER, INT, LONG),
        *(POINTER, POINTER, INT, LONG, INT),
    ),
}
SIGNATURES.update(
    {f"cublas{kind}{name}{'_v2' * (name == 'gemm')}": types for name, types in PLAIN.items() for kind in "SD"}
)


@functools.cache
def library() -> Any:
    """CuPy with these two products in place of its own: what tables compute with."""
    return SimpleNamespace(**{**vars(cp), "dot": dot, "matmul": matmul})


def dot(lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    """As cupy.dot."""
    if recorder() is None or lhs.dtype.char not in DATA_TYPES or rhs.ndim > 2 or lhs.ndim > 2:
        return cp.dot(lhs, rhs, out)
    rows = lhs if lhs.ndim == 2 else lhs[None]
    columns = rhs if rhs.ndim == 2 else rhs[:, None]
    (n, k), m = rows.shape, columns.shape[1]
    if not n * m * k or n * m == 1:  # no product, or none that CuPy gives to cuBLAS
        return cp.dot(lhs, rhs, out)
    if out is None:
        out = cp.empty((*lhs.shape[:-1], *rhs.shape[1:]), lhs.dtype)
    # Column-major, as cuBLAS is, everything is transposed: outᵀ = columnsᵀ · rowsᵀ.
    left, flip_left, left_step = _operand(rows.T, False)
    right, flip_right, right_step = _operand(columns, True)
    kind, numbers = DATA_TYPES[lhs.dtype.char], _one_and_zero(lhs.dtype)
    alpha, beta = numbers.ctypes.data, numbers.ctypes.data + numbers.itemsize
    orders, sizes = (int(flip_right), int(flip_left)), (m, n, k)
    operands = (right.data.ptr, kind, right_step, left.data.ptr, kind, left_step)
    how = _precision(lhs.dtype), _algorithm(lhs.dtype)
    _call("cublasGemmEx", *orders, *sizes, alpha, *operands, beta, out.data.ptr, kind, m, *how)
    return out


def matmul(lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    """As cupy.matmul."""
    if recorder() is None or lhs.dtype.char not in DATA_TYPES:
        return cp.matmul(lhs, rhs, out=out)
    if lhs.ndim <= 2 and rhs.ndim <= 2:
        if out is None or out.flags.c_contiguous:
            return dot(lhs, rhs, out)
        out[...] = dot(lhs, rhs)
        return out
    rank = max(lhs.ndim, rhs.ndim)
    one, other = ((1,) * (rank - x.ndim) + x.shape for x in (lhs, rhs))
    if min(lhs.ndim, rhs.ndim) < 2 or rank > 4:
        raise NotRecordable("it has a batched matrix product of more than two batch dimensions, or of vectors")
    batch = np.broadcast_shapes(one[:-2], other[:-2])
    (n, k), m = one[-2:], other[-1]
    if not math.prod(batch) * n * m * k:
        return cp.matmul(lhs, rhs, out=out)
    dtype = lhs.dtype if lhs.dtype.char in "fd" else np.dtype(np.float32)  # CuPy widens halves here
    left = cp.ascontiguousarray(lhs, dtype).reshape(one)
    right = cp.ascontiguousarray(rhs, dtype).reshape(other)
    direct = out is not None and out.flags.c_contiguous and out.dtype == dtype
    result: Array = out if direct else cp.empty((*batch, n, m), dtype)
    (_stretched if one[:-2] != other[:-2] else _batched)(left, right, result)
    if out is None:
        return result if dtype == lhs.dtype else result.astype(lhs.dtype)
    if not direct:
        out[...] = result
    return out


def _batched(left: Array, right: Array, out: Array) -> None:
    """Products of as many matrices, row-major and one after the other."""
    *batch, n, m = out.shape
    k, kind, numbers = left.shape[-1], DATA_TYPES[out.dtype.char], _one_and_zero(out.dtype)
    alpha, beta = numbers.ctypes.data, numbers.ctypes.data + numbers.itemsize
    operands = (right.data.ptr, kind, m, k * m, left.data.ptr, kind, k, n * k)
    cublas = cp.cuda.cublas
    how = cublas.CUBLAS_COMPUTE_64F if out.dtype.char == "d" else cublas.CUBLAS_COMPUTE_32F
    target = (out.data.ptr, kind, m, n * m, math.prod(batch), how, DEFAULT)
    _call("cublasGemmStridedBatchedEx", 0, 0, m, n, k, alpha, *operands, beta, *target)


def _stretched(left: Array, right: Array, out: Array) -> None:
    """Products where a matrix of one side meets several of the other."""
    *batch, n, m = out.shape
    k, numbers = left.shape[-1], _one_and_zero(out.dtype)
    alpha, beta = numbers.ctypes.data, numbers.ctypes.data + numbers.itemsize
    first, second, third = (_table(cp.broadcast_to(x, (*batch, *x.shape[-2:]))) for x in (right, left, out))
    gemm("gemmBatched", out.dtype, 0, 0, m, n, k, alpha, first, m, second, k, beta, third, m, math.prod(batch))


def _table(x: Array) -> int:
    """The address of the table of its matrices."""
    counts, steps = (1, *x.shape[:-2])[-2:], (0, *x.strides[:-2])[-2:]
    return int(table_of(*counts, x.data.ptr, *steps).data.ptr)


def gemm(name: str, dtype: np.dtype[Any], *arguments: Any) -> None:
    """cublasSgemm or cublasDgemm, or the gemmBatched, gemmStridedBatched of these, with what comes after the handle."""
    kind = "s" if dtype.char == "f" else "d"
    if recorder() is None:
        getattr(cp.cuda.cublas, kind + name)(cp.cuda.device.get_cublas_handle(), *arguments)
    else:
        _call(f"cublas{kind.upper()}{name}{'_v2' * (name == 'gemm')}", *arguments)


def _operand(x: Array, flip: bool) -> tuple[Array, bool, int]:
    """x [k, …] or a copy; whether cuBLAS is to transpose it, if it would be given `flip` for column-major memory; the
    elements from one column or row to the next."""
    if x.flags.f_contiguous:
        return x, flip, max(x.strides[1] // x.itemsize, x.shape[0])
    if not x.flags.c_contiguous:
        x = cp.ascontiguousarray(x)
    return x, not flip, x.strides[0] // x.itemsize


@functools.cache
def _one_and_zero(dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """alpha and beta, in the precision of the computation."""
    return np.array([1, 0], np.float64 if dtype.char == "d" else np.float32)


def _precision(dtype: np.dtype[Any]) -> int:
    """cublasComputeType_t, as CuPy's settings have it."""
    cublas, chosen = cp.cuda.cublas, cp._core.get_compute_type(dtype)
    pedantic = chosen == PEDANTIC
    if dtype.char == "d":
        return int(cublas.CUBLAS_COMPUTE_64F_PEDANTIC if pedantic else cublas.CUBLAS_COMPUTE_64F)
    if dtype.char == "f" and chosen == TF32:
        return int(cublas.CUBLAS_COMPUTE_32F_FAST_TF32)
    return int(cublas.CUBLAS_COMPUTE_32F_PEDANTIC if pedantic else cublas.CUBLAS_COMPUTE_32F)


def _algorithm(dtype: np.dtype[Any]) -> int:
    capability = int(cp.cuda.device.get_compute_capability())
    return TENSOR_OP if capability >= 80 or (capability >= 70 and dtype.char == "e") else DEFAULT


@functools.cache
def _cublas() -> dict[str, Any]:
    """The functions of the library that CuPy has loaded."""
    name = f"libcublas.so.{cp.cuda.runtime.runtimeGetVersion() // 1000}"
    try:
        loaded = ctypes.CDLL(name)
        functions = {function: getattr(loaded, function) for function in SIGNATURES}
    except (OSError, AttributeError) as error:
        raise NotRecordable(f"it has matrix products, and {name} cannot be called ({error})") from error
    for function, signature in SIGNATURES.items():
        functions[function].argtypes = signature
    return functions


def _call(name: str, *arguments: Any) -> None:
    functions, handle = _cublas(), cp.cuda.device.get_cublas_handle()
    failed = functions["cublasSetStream_v2"](handle, cp.cuda.get_current_stream().ptr)
    failed = failed or functions[name](handle, *arguments)
    if failed:
        raise BackendError(f"{name} failed with status {failed} while a step was recorded.")
