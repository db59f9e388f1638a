"""Normalizations on CUDA: a block per row or per channel, one launch forward.

The inherited ones go block by block through the cache of a CPU, a dozen passes each.
"""

from __future__ import annotations

import numpy as np

from minburn.backends.array.basic import Array
from minburn.backends.array.modules.linear import rows_of
from minburn.backends.array.modules.norm import ArrayNorm, ChannelView
from minburn.backends.cupy_ops.kernels import THREADS, contiguous, launch_rows, longs, raw
from minburn.backends.cupy_ops.tables import CuPyFloats

ROW_NORM = """
extern "C" __global__ void row_norm(const T* x, const T* gamma, const T* beta, T* y, T* normalized, T* recip,
                                    long long n, double epsilon, int centred) {
  __shared__ T shared[256];
  const long long row = blockIdx.x;
  x += row * n;
  y += row * n;
  if (normalized) normalized += row * n;
  T mean = 0, square = 0;
  if (centred) {
    for (long long k = threadIdx.x; k < n; k += blockDim.x) mean += x[k];
    mean = block_sum(mean, shared) / T(n);
  }
  for (long long k = threadIdx.x; k < n; k += blockDim.x) square += (x[k] - mean) * (x[k] - mean);
  const T r = T(1) / sqrt(block_sum(square, shared) / T(n) + T(epsilon));
  for (long long k = threadIdx.x; k < n; k += blockDim.x) {
    const T v = (x[k] - mean) * r;
    if (normalized) normalized[k] = v;
    y[k] = v * gamma[k] + (beta ? beta[k] : T(0));
  }
  if (recip && threadIdx.x == 0) recip[row] = r;
}
"""
# The first `rows` blocks each have a row of the gradient of x,
#     1/std · (g·gamma - normalized · mean(g·gamma·normalized) - mean(g·gamma), the last one if centred),
# the others sum 32 columns each for the gradients of gamma and beta: thread t every 8th row, from t / 32 on.
ROW_NORM_BACKWARD = """
__device__ void column_sums(const T* normalized, const T* grad, T* gamma_grad, T* beta_grad, long long rows,
                            long long n) {
  __shared__ T products[8][32], sums[8][32];
  const int x = threadIdx.x % 32, y = threadIdx.x / 32;
  const long long column = (blockIdx.x - rows) * 32 + x;
  T product = 0, sum = 0;
  if (column < n)
    for (long long row = y; row < rows; row += 8) {
      const T g = grad[row * n + column];
      product += g * normalized[row * n + column];
      sum += g;
    }
  products[y][x] = product;
  sums[y][x] = sum;
  __syncthreads();
  if (y == 0 && column < n) {
    for (int other = 1; other < 8; other++) { product += products[other][x]; sum += sums[other][x]; }
    gamma_grad[column] = product;
    beta_grad[column] = sum;
  }
}
extern "C" __global__ void row_norm_backward(const T* normalized, const T* recip, const T* gamma, const T* grad, T* out,
                                             T* gamma_grad, T* beta_grad, long long rows, long long n, int centred) {
  __shared__ T shared[256];
  const long long row = blockIdx.x;
  if (row >= rows) { column_sums(normalized, grad, gamma_grad, beta_grad, rows, n); return; }
  normalized += row * n;
  grad += row * n;
  out += row * n;
  T mean = 0, product = 0;
  for (long long k = threadIdx.x; k < n; k += blockDim.x) {
    const T g = grad[k] * gamma[k];
    mean += g;
    product += g * normalized[k];
  }
  mean = centred ? block_sum(mean, shared) / T(n) : T(0);
  product = block_sum(product, shared) / T(n);
  for (long long k = threadIdx.x; k < n; k += blockDim.x)
    out[k] = recip[row] * (grad[k] * gamma[k] - mean - normalized[k] * product);
}
"""
# Channel blockIdx.x of [before, channels, after]; element k of it.
CHANNEL = """
#define AT(k) (((k) / after * channels + channel) * after + (k) % after)
#define EACH(k) for (long long k = threadIdx.x; k < before * after; k += blockDim.x)
"""
BATCH_NORM = (
    CHANNEL
    + """
extern "C" __global__ void batch_norm_train(const T* x, const T* gamma, const T* beta, T* y, T* means, T* variances,
                                            long long before, long long channels, long long after, double epsilon) {
  __shared__ T shared[256];
  const long long channel = blockIdx.x;
  T mean = 0, variance = 0;
  EACH(k) mean += x[AT(k)];
  mean = block_sum(mean, shared) / T(before * after);
  EACH(k) variance += (x[AT(k)] - mean) * (x[AT(k)] - mean);
  variance = block_sum(variance, shared) / T(before * after);
  const T scale = gamma[channel] / sqrt(variance + T(epsilon)), shift = beta[channel];
  EACH(k) y[AT(k)] = (x[AT(k)] - mean) * scale + shift;
  if (threadIdx.x == 0) { means[channel] = mean; variances[channel] = variance; }
}
"""
)
BATCH_NORM_BACKWARD = (
    CHANNEL
    + """
extern "C" __global__ void batch_norm_backward(const T* x, const T* gamma, const T* means, const T* variances,
                                               const T* grad, T* out, T* gamma_grad, T* beta_grad, long long before,
                                               long long channels, long long after, double epsilon) {
  __shared__ T shared[256];
  const long long channel = blockIdx.x;
  const T mean = means[channel], r = T(1) / sqrt(variances[channel] + T(epsilon)), count = T(before * after);
  T total = 0, product = 0;
  EACH(k) { total += grad[AT(k)]; product += grad[AT(k)] * (x[AT(k)] - mean); }
  total = block_sum(total, shared);
  product = block_sum(product, shared) * r;
  const T scale = gamma[channel] * r;
  EACH(k) out[AT(k)] = scale * (grad[AT(k)] - total / count - (x[AT(k)] - mean) * (product * r / count));
  if (threadIdx.x == 0) { gamma_grad[channel] = product; beta_grad[channel] = total; }
}
"""
)
BATCH_NORM_FIXED = (
    CHANNEL
    + """
extern "C" __global__ void batch_norm(const T* x, const T* gamma, const T* beta, const T* means, const T* variances,
                                      T* y, long long before, long long channels, long long after, double epsilon) {
  const long long channel = blockIdx.x;
  const T mean = means[channel], scale = gamma[channel] / sqrt(variances[channel] + T(epsilon)), shift = beta[channel];
  EACH(k) y[AT(k)] = (x[AT(k)] - mean) * scale + shift;
}
"""
)
NOTHING = np.uint64(0)
"""A null pointer."""


class CuPyNorm(ArrayNorm):
    floats: CuPyFloats

    def _row_norm(self, x: Array, gamma: Array, beta: Array | None, epsilon: float, centred: bool) -> Array:
        rows = contiguous(rows_of(x))
        out = self.floats.empty(rows.shape)
        self._launch_row_norm(rows, gamma, beta, out, NOTHING, NOTHING, epsilon, centred)
        return out.reshape(x.shape)

    def _row_norm_train(
        self, x: Array, gamma: Array, beta: Array | None, epsilon: float, centred: bool
    ) -> tuple[Array, Array, Array]:
        table, rows = self.floats, contiguous(rows_of(x))
        out, normalized, recip = table.empty(rows.shape), table.empty(rows.shape), table.empty((*x.shape[:-1], 1))
        self._launch_row_norm(rows, gamma, beta, out, normalized, recip, epsilon, centred)
        return out.reshape(x.shape), normalized.reshape(x.shape), recip

    def _launch_row_norm(
        self,
        rows: Array,
        gamma: Array,
        beta: Array | None,
        out: Array,
        normalized: Array,
        recip: Array,
        epsilon: float,
        centred: bool,
    ) -> None:
        kernel = raw("row_norm", ROW_NORM, rows.dtype)
        shift = NOTHING if beta is None else contiguous(beta)
        size = rows.shape[1]
        settings = (np.int64(size), np.float64(epsilon), np.int32(centred))
        launch_rows(kernel, len(rows), size, rows, contiguous(gamma), shift, out, normalized, recip, *settings)

    def _row_norm_backward(
        self, normalized: Array, recip_std: Array, gamma: Array, grad: Array, centred: bool
    ) -> tuple[Array, Array, Array]:
        table = self.floats
        n, g = contiguous(rows_of(normalized)), contiguous(rows_of(grad))
        rows, size = g.shape
        out, gamma_grad, beta_grad = table.empty(grad.shape), table.empty((size,)), table.empty((size,))
        kernel = raw("row_norm_backward", ROW_NORM_BACKWARD, g.dtype)
        arrays = (n, contiguous(recip_std), contiguous(gamma), g, out, gamma_grad, beta_grad)
        kernel((rows + -(-size // 32),), (THREADS,), (*arrays, *longs(rows, size), np.int32(centred)))
        return out, gamma_grad, beta_grad

    def batch_norm(self, x: Array, gamma: Array, beta: Array, mean: Array, variance: Array, epsilon: float) -> Array:
        if self.floats.is_half or not x.size:
            return super().batch_norm(x, gamma, beta, mean, variance, epsilon)
        view = ChannelView(self.floats, x)
        out = self.floats.empty(view.shape)
        channels = [contiguous(values) for values in (gamma, beta, mean, variance)]
        kernel = raw("batch_norm", BATCH_NORM_FIXED, x.dtype)
        self._launch_channels(kernel, view, epsilon, contiguous(view.values), *channels, out)
        return view.restore(out)

    def batch_norm_train(self, x: Array, gamma: Array, beta: Array, epsilon: float) -> tuple[Array, Array, Array]:
        table = self.floats
        if table.is_half or not x.size:
            return super().batch_norm_train(x, gamma, beta, epsilon)
        view = ChannelView(table, x)
        out, mean, variance = table.empty(view.shape), table.empty(gamma.shape), table.empty(gamma.shape)
        kernel = raw("batch_norm_train", BATCH_NORM, x.dtype)
        arrays = (contiguous(view.values), contiguous(gamma), contiguous(beta), out, mean, variance)
        self._launch_channels(kernel, view, epsilon, *arrays)
        return view.restore(out), mean, variance

    def batch_norm_train_backward(
        self, x: Array, gamma: Array, mean: Array, variance: Array, grad: Array, epsilon: float
    ) -> tuple[Array, Array, Array]:
        table = self.floats
        if table.is_half or not x.size:
            return super().batch_norm_train_backward(x, gamma, mean, variance, grad, epsilon)
        view = ChannelView(table, x)
        out, gamma_grad, beta_grad = table.empty(view.shape), table.empty(gamma.shape), table.empty(gamma.shape)
        kernel = raw("batch_norm_backward", BATCH_NORM_BACKWARD, x.dtype)
        channels = [contiguous(values) for values in (gamma, mean, variance)]
        arrays = (contiguous(view.values), *channels, contiguous(view.like(grad)), out, gamma_grad, beta_grad)
        self._launch_channels(kernel, view, epsilon, *arrays)
        return view.restore(out), gamma_grad, beta_grad

    def _launch_channels(self, kernel: object, view: ChannelView, epsilon: float, *arrays: Array) -> None:
        """One block per channel."""
        launch_rows(kernel, view.shape[1], view.count, *arrays, *longs(*view.shape), np.float64(epsilon))
