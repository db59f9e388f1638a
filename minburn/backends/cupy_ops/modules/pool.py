"""Maxima of windows on CUDA, one launch each way.

Overrides: the inherited gradient looks at its result to find NaN, and at finiteness. Here a thread owns an element of
the input and asks every window over it whether it is the one: the first maximum, or the last NaN.
"""

from __future__ import annotations

from typing import Any

from minburn.backends.array.basic import Array
from minburn.backends.array.dtypes import to_numpy
from minburn.backends.array.modules.conv import in_single_precision
from minburn.backends.array.modules.pool import ArrayPool
from minburn.backends.base import Shape
from minburn.backends.cupy_ops.kernels import launch_elements, raw
from minburn.backends.cupy_ops.modules.geometry import STRUCT, geometry
from minburn.backends.cupy_ops.tables import CuPyFloats
from minburn.backends.default.pool import DefaultPool
from minburn.backends.pool_options import PoolOptions
from minburn.dtype import DType

WINNER = (
    STRUCT
    + """
// The flat place of the window's maximum in its plane, and the maximum.
__device__ long long winner(const T* x, const Geometry& g, long long p0, long long p1, long long p2, T& best) {
  long long found = -1;
  best = -INF;
  ELEMENTS {
    const long long a0 = PLACE(0, p0, e0), a1 = PLACE(1, p1, e1), a2 = PLACE(2, p2, e2);
    if (!INSIDE(0, a0) || !INSIDE(1, a1) || !INSIDE(2, a2)) continue;
    const T v = x[a0 * g.x[2] + a1 * g.x[3] + a2 * g.x[4]];
    if (v != v || found < 0 || v > best) { best = v; found = (a0 * g.size[1] + a1) * g.size[2] + a2; }
  }
  return found;
}
"""
)
MAX_POOL = (
    WINNER
    + """
extern "C" __global__ void max_pool(const T* x, T* y, I* indices, Geometry g, long long count) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i >= count) return;
  long long rest = i;
  const long long n = rest % g.batch; rest /= g.batch;
  const long long p2 = rest % g.places[2]; rest /= g.places[2];
  const long long p1 = rest % g.places[1]; rest /= g.places[1];
  const long long p0 = rest % g.places[0]; rest /= g.places[0];
  T best;
  const long long found = winner(x + n * g.x[0] + rest * g.x[1], g, p0, p1, p2, best);
  const long long at = n * g.y[0] + rest * g.y[1] + p0 * g.y[2] + p1 * g.y[3] + p2 * g.y[4];
  y[at] = best;
  if (indices) indices[at] = found;
}
"""
)
MAX_POOL_BACKWARD = (
    WINNER
    + """
// out lies as x does.
extern "C" __global__ void max_pool_backward(const T* x, const T* grad, T* out, Geometry g, long long count) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i >= count) return;
  long long rest = i;
  const long long n = rest % g.batch; rest /= g.batch;
  const long long a2 = rest % g.size[2]; rest /= g.size[2];
  const long long a1 = rest % g.size[1]; rest /= g.size[1];
  const long long a0 = rest % g.size[0]; rest /= g.size[0];
  const long long plane = n * g.x[0] + rest * g.x[1], here = (a0 * g.size[1] + a1) * g.size[2] + a2;
  T total = 0, best;
  ELEMENTS {
    const long long p0 = WINDOW(0, a0, e0), p1 = WINDOW(1, a1, e1), p2 = WINDOW(2, a2, e2);
    if (p0 == NO_WINDOW || p1 == NO_WINDOW || p2 == NO_WINDOW) continue;
    if (winner(x + plane, g, p0, p1, p2, best) == here)
      total += grad[n * g.y[0] + rest * g.y[1] + p0 * g.y[2] + p1 * g.y[3] + p2 * g.y[4]];
  }
  out[plane + a0 * g.x[2] + a1 * g.x[3] + a2 * g.x[4]] = total;
}
"""
)


class CuPyPool(ArrayPool):
    floats: CuPyFloats

    @in_single_precision
    def _max_pool(self, x: Array, options: PoolOptions) -> Array:
        return self._maxima(x, options, None)

    def _max_pool_with_indices(self, x: Array, options: PoolOptions, indices_dtype: DType) -> tuple[Array, Array]:
        table = self.floats
        if table.is_half:
            return DefaultPool._max_pool_with_indices(self, x, options, indices_dtype)
        dtype = to_numpy(indices_dtype)
        indices = table.empty_like(x, (*x.shape[:2], *options.output_size(x.shape[2:]))).astype(dtype, order="K")
        return self._maxima(x, options, indices), indices

    def _maxima(self, x: Array, options: PoolOptions, indices: Array | None) -> Array:
        table, places = self.floats, options.output_size(x.shape[2:])
        out = table.empty_like(x, (*x.shape[:2], *places))
        kernel: Any = raw("max_pool", MAX_POOL, x.dtype, *([] if indices is None else [indices.dtype]))
        record = geometry(x.shape, options.kernel_size, places, options, x, out)
        launch_elements(kernel, out.size, x, out, 0 if indices is None else indices, record)
        return out

    @in_single_precision
    def _max_pool_backward(self, x: Array, output: Array, grad: Array, options: PoolOptions) -> Array:
        table = self.floats
        source = x if x.flags.c_contiguous or 0 not in x.strides else table.xp.ascontiguousarray(x)
        out = table.empty_like(source)
        if out.strides != source.strides:
            source = table.xp.ascontiguousarray(source)
            out = table.empty(source.shape)
        record = geometry(x.shape, options.kernel_size, grad.shape[2:], options, source, grad)
        kernel = raw("max_pool_backward", MAX_POOL_BACKWARD, x.dtype)
        launch_elements(kernel, out.size, source, grad, out, record)
        return out

    def _max_pool_with_indices_backward(self, grad: Array, indices: Array, size: Shape) -> Array:
        return DefaultPool._max_pool_with_indices_backward(self, grad, indices, size)  # one launch: lines.py

    max_pool1d = max_pool2d = _max_pool
    max_pool1d_backward = max_pool2d_backward = _max_pool_backward
    max_pool1d_with_indices = max_pool2d_with_indices = _max_pool_with_indices
    max_pool1d_with_indices_backward = max_pool2d_with_indices_backward = _max_pool_with_indices_backward
