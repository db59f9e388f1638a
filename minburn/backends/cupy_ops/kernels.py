"""How kernels are made: once per formula (elementwise), once per dtype (rows).

`elementwise("mul_add", "T x, T y", "T z", "z = x * y + 1")` is CuPy's ElementwiseKernel, kept.
`raw("softmax", source, dtype)` compiles CUDA C++ with T, INF and sums over a block in front. Sums have a fixed order,
so results are the same bits on every run. Halves are widened: only F32 and F64 reach a raw kernel.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from minburn.backends.array.basic import Array
from minburn.backends.cupy_ops.library import cp

THREADS = 256
INDEX = np.dtype(np.int32)

WIDE = """
__device__ inline double wide(double v) { return v; }
template <class V> __device__ inline float wide(V v) { return float(v); }
"""
"""wide(x): the value in the precision that formulas are computed in: F64 for F64, F32 for all shorter ones."""

REFUSE = """
// slot: {taken, which op, the index, the size}, see refusals.py. Only the first refusal is kept.
__device__ inline void refuse(unsigned long long slot, long long op, long long index, long long size) {
  unsigned long long* words = (unsigned long long*)slot;
  if (atomicCAS(words, 0ULL, 1ULL) == 0ULL) { words[1] = op; words[2] = index; words[3] = size; }
}
"""
HEADER = """
typedef %s T;
typedef %s I;
#define INF T(__longlong_as_double(0x7ff0000000000000LL))
// The sum (the maximum, a NaN wins) of one value per thread, in every thread; blockDim.x is a power of two.
__device__ T block_sum(T value, T* shared) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  T total = shared[0];
  __syncthreads();
  return total;
}
__device__ T larger(T a, T b) { return (a > b || a != a) ? a : b; }
__device__ T block_max(T value, T* shared) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] = larger(shared[threadIdx.x], shared[threadIdx.x + half]);
    __syncthreads();
  }
  T top = shared[0];
  __syncthreads();
  return top;
}
"""
C_TYPES = dict(zip("fdbhilqBHILQ", (
    "float", "double", "signed char", "short", "int", "long long", "long long",
    "unsigned char", "unsigned short", "unsigned", "unsigned long long", "unsigned long long",
), strict=True))  # fmt: skip
"""By the character of the NumPy dtype."""


@functools.cache
def elementwise(name: str, inputs: str, outputs: str, formula: str, preamble: str = "") -> Any:
    return cp.ElementwiseKernel(inputs, outputs, formula, f"minburn_{name}", preamble=WIDE + REFUSE + preamble)


@functools.cache
def raw(name: str, source: str, dtype: np.dtype[Any], index: np.dtype[Any] = INDEX) -> Any:
    """The kernel `name` of `source`, for T of that dtype and I of that of the indices."""
    return cp.RawKernel(HEADER % (C_TYPES[dtype.char], C_TYPES[index.char]) + REFUSE + source, name)


def threads_for(size: int) -> int:
    """Threads of a block that shares a row of `size` elements: a power of two from 32 to 256."""
    return int(min(THREADS, max(32, 2 ** math.ceil(math.log2(max(size, 1))))))


def launch_rows(kernel: Any, rows: int, size: int, *arguments: Any) -> None:
    """One block per row of `size` elements."""
    if rows:
        kernel((rows,), (threads_for(size),), arguments)


def launch_elements(kernel: Any, count: int, *arguments: Any) -> None:
    """One thread per element; the kernel returns where its number is not below `count`, its last argument."""
    if count:
        kernel((-(-count // THREADS),), (THREADS,), (*arguments, np.int64(count)))


def contiguous(x: Array) -> Array:
    return x if x.flags.c_contiguous else cp.ascontiguousarray(x)


def longs(*values: int) -> tuple[Any, ...]:
    """Sizes and strides as 64-bit arguments of a raw kernel."""
    return tuple(np.int64(value) for value in values)
