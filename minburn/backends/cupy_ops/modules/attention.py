"""Embedding and attention on CUDA.

Overrides: an embedding takes rows and checks indices in one launch; its gradient gives every row of the weight a block,
which goes through the indices in order, so sums are the same on every run; the weights of attention are one launch from
products to softmax, and one back. The inherited ones look at scores and indices.
"""

from __future__ import annotations

import math

import numpy as np

from minburn.backends.array.basic import Array
from minburn.backends.array.modules.attention import ArrayAttention
from minburn.backends.array.modules.linear import rows_of
from minburn.backends.cupy_ops.kernels import contiguous, elementwise, launch_rows, longs, raw, threads_for
from minburn.backends.cupy_ops.products import heads_product
from minburn.backends.cupy_ops.tables import CuPyFloats
from minburn.backends.default.attention import LIMITS, scale_of
from minburn.backends.module_ops import AttentionOptions

EMBEDDING = """
long long row = (long long)indices[i / size];
if (row < 0 || row >= rows) { refuse(slot, op, row, rows); row = 0; }
y = weight[row * size + i % size];
"""
EMBEDDING_BACKWARD = """
extern "C" __global__ void embedding_backward(const T* grad, const I* indices, T* out, long long count,
                                              long long size) {
  __shared__ int chosen[256];
  const long long row = blockIdx.x, column = blockIdx.y * (long long)blockDim.x + threadIdx.x;
  T total = 0;
  for (long long start = 0; start < count; start += blockDim.x) {
    const long long n = start + threadIdx.x;
    const int mine = n < count && (long long)indices[n] == row;
    chosen[threadIdx.x] = mine;
    if (__syncthreads_or(mine) && column < size)
      for (int k = 0; k < blockDim.x; k++)
        if (chosen[k]) total += grad[(start + k) * size + column];
    __syncthreads();
  }
  if (column < size) out[row * size + column] = total;
}
"""
# Row blockIdx.x is (n, h, query); a hidden key is one that the mask hides, or a later one. The steps of mask and bias
# are 0 where they are stretched.
WEIGHTS = """
struct Steps { long long n, h, q, k; };
extern "C" __global__ void attention_weights(const T* scores, const bool* mask, const T* bias, T* out, Steps m, Steps b,
                                             long long heads, long long queries, long long keys, double scale,
                                             double cap, double fill, double least, double tiny, int causal,
                                             int quiet) {
  __shared__ T shared[256];
  const long long row = blockIdx.x, q = row % queries, h = row / queries % heads, n = row / queries / heads;
  scores += row * keys;
  out += row * keys;
  T top = quiet ? T(0) : T(least), total = 0;
  for (long long k = threadIdx.x; k < keys; k += blockDim.x) {
    T s = scores[k] * T(scale);
    if (cap != 0) s = tanh(s / T(cap)) * T(cap);
    if (mask && mask[n * m.n + h * m.h + q * m.q + k * m.k]) s = T(fill);
    if (causal && k > q + keys - queries) s = T(fill);
    if (bias) s += bias[n * b.n + h * b.h + q * b.q + k * b.k];
    out[k] = s;
    top = larger(top, s);
  }
  top = block_max(top, shared);
  for (long long k = threadIdx.x; k < keys; k += blockDim.x) total += out[k] = exp(out[k] - top);
  total = block_sum(total, shared);
  if (quiet) total += exp(-top);
  if (!(total >= T(tiny)) && total == total) total = T(tiny);
  for (long long k = threadIdx.x; k < keys; k += blockDim.x) out[k] /= total;
}
"""
# for_bias = weights · (grad - Σ weights · grad); for_scores is 0 at hidden keys, whose scores were replaced.
WEIGHTS_BACKWARD = """
struct Steps { long long n, h, q, k; };
extern "C" __global__ void attention_weights_backward(const T* weights, const T* grad, const bool* mask, T* for_bias,
                                                      T* for_scores, Steps m, long long heads, long long queries,
                                                      long long keys, int causal) {
  __shared__ T shared[256];
  const long long row = blockIdx.x, q = row % queries, h = row / queries % heads, n = row / queries / heads;
  const long long first = row * keys;
  T total = 0;
  for (long long k = threadIdx.x; k < keys; k += blockDim.x) total += weights[first + k] * grad[first + k];
  total = block_sum(total, shared);
  for (long long k = threadIdx.x; k < keys; k += blockDim.x) {
    const T g = weights[first + k] * (grad[first + k] - total);
    const bool hidden = (mask && mask[n * m.n + h * m.h + q * m.q + k * m.k]) || (causal && k > q + keys - queries);
    for_bias[first + k] = g;
    for_scores[first + k] = hidden ? T(0) : g;
  }
}
"""
STEPS = np.dtype([(name, "i8") for name in "nhqk"])


class CuPyAttention(ArrayAttention):
    floats: CuPyFloats

    def embedding(self, weight: Array, indices: Array) -> Array:
        table, (rows, size) = self.floats, weight.shape
        table.check_on_host("embedding", indices, rows)
        kernel = elementwise(
            "embedding",
            "raw T weight, raw I indices, int64 size, int64 rows, int64 op, uint64 slot",
            "T y",
            EMBEDDING,
        )
        refused = table.refusals.number_of("embedding"), table.refusals.slot
        return kernel(weight, indices, size, rows, *refused, table.empty((*indices.shape, size)))

    def embedding_backward(self, grad: Array, indices: Array, n_embedding: int) -> Array:
        table = self.floats
        table.check_indices("embedding_backward", indices, n_embedding)
        rows = contiguous(rows_of(grad.astype(table.sum_dtype) if table.is_half else grad))
        count, size = rows.shape
        out = table.xp.empty((n_embedding, size), rows.dtype)
        if out.size:
            threads = threads_for(size)
            kernel = raw("embedding_backward", EMBEDDING_BACKWARD, rows.dtype, indices.dtype)
            arguments = (rows, contiguous(indices), out, *longs(count, size))
            kernel((n_embedding, -(-size // threads)), (threads,), arguments)
        return table.narrow(out)

    def attention_weights(
        self, query: Array, key: Array, mask: Array | None, bias: Array | None, options: AttentionOptions
    ) -> Array:
        table = self.floats
        shape = (*query.shape[:3], key.shape[2])
        if self._is_inherited(query, key) or 0 in shape:
            return super().attention_weights(query, key, mask, bias, options)
        scores = heads_product(query, key.swapaxes(2, 3), table.empty(shape))
        out = table.empty(shape)
        largest, tiny = LIMITS[table.dtype.name]
        numbers = (scale_of(options, query.shape[3]), options.softcap or 0.0, options.fill, -largest, tiny)
        launch_rows(
            raw("attention_weights", WEIGHTS, scores.dtype),
            math.prod(shape[:3]),
            shape[3],
            *(scores, 0 if mask is None else mask, 0 if bias is None else bias, out),
            *(_steps(mask, shape), _steps(bias, shape)),
            *longs(*shape[1:]),
            *(np.float64(number) for number in numbers),
            *(np.int32(bool(options.is_causal)), np.int32(bool(options.is_quiet))),
        )
        return out

    def _is_inherited(self, query: Array, key: Array) -> bool:
        """Grouped heads are composed; halves are widened there, and come back here."""
        return self.floats.is_half or self._is_left_to_default(query, key)

    def attention_weights_backward(
        self, query: Array, key: Array, mask: Array | None, weights: Array, grad: Array, options: AttentionOptions
    ) -> tuple[Array, Array, Array]:
        if self._is_inherited(query, key) or not weights.size:
            return super().attention_weights_backward(query, key, mask, weights, grad, options)
        return self._from_weights(query, key, mask, weights, grad, options)

    def attention(
        self, query: Array, key: Array, value: Array, mask: Array | None, bias: Array | None, options: AttentionOptions
    ) -> tuple[Array, Array]:
        if self._is_inherited(query, key):
            return super().attention(query, key, value, mask, bias, options)
        weights = self.attention_weights(query, key, mask, bias, options)
        return heads_product(weights, value, self._empty_heads((*query.shape[:3], value.shape[3]))), weights

    def attention_backward(
        self,
        query: Array,
        key: Array,
        value: Array,
        mask: Array | None,
        weights: Array,
        output: Array,
        grad: Array,
        options: AttentionOptions,
    ) -> tuple[Array, Array, Array, Array]:
        if self._is_inherited(query, key) or not weights.size:
            return super().attention_backward(query, key, value, mask, weights, output, grad, options)
        for_value = heads_product(weights.swapaxes(2, 3), grad, self._empty_heads(value.shape))
        for_weights = heads_product(grad, value.swapaxes(2, 3), self.floats.empty(weights.shape))
        for_query, for_key, for_bias = self._from_weights(query, key, mask, weights, for_weights, options)
        return for_query, for_key, for_value, for_bias

    def _from_weights(
        self, query: Array, key: Array, mask: Array | None, weights: Array, grad: Array, options: AttentionOptions
    ) -> tuple[Array, Array, Array]:
        """The gradients of query, key and bias for that of the weights."""
        table, weights, shape = self.floats, contiguous(weights), weights.shape
        capped = options.softcap is not None
        hides = not capped and options.fill != -math.inf and (mask is not None or options.is_causal)
        for_bias = table.empty(shape)
        for_scores = table.empty(shape) if hides else for_bias
        launch_rows(
            raw("attention_weights_backward", WEIGHTS_BACKWARD, weights.dtype),
            math.prod(shape[:3]),
            shape[3],
            *(weights, contiguous(grad), mask if hides and mask is not None else 0, for_bias, for_scores),
            _steps(mask, shape),
            *longs(*shape[1:]),
            np.int32(bool(hides and options.is_causal)),
        )
        if capped:
            return self._from_scores(query, key, mask, for_bias, options)
        scale = scale_of(options, query.shape[3])
        for_query = heads_product(for_scores, key, self._empty_heads(query.shape), scale)
        for_key = heads_product(for_scores.swapaxes(2, 3), query, self._empty_heads(key.shape), scale)
        return for_query, for_key, for_bias


def _steps(array: Array | None, shape: tuple[int, ...]) -> np.ndarray[tuple[()], np.dtype[np.void]]:
    """The steps of an array that is stretched to `shape`."""
    record = np.zeros((), STEPS)
    if array is not None:
        sizes = (*(1 for _ in range(4 - array.ndim)), *array.shape)
        steps = (*(0 for _ in range(4 - array.ndim)), *(step // array.itemsize for step in array.strides))
        for name, size, step in zip("nhqk", sizes, steps, strict=True):
            record[name] = 0 if size == 1 else step
    return record
