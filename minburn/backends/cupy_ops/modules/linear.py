"""The affine map and cross-entropy on CUDA.

Overrides: a bias gradient is a sum, not a product with ones that would have to be written first; cross-entropy is a
block per row and a sum over rows, where the inherited one is a dozen launches and looks at the targets.
"""

from __future__ import annotations

from minburn.backends.array.basic import Array
from minburn.backends.array.modules.linear import ArrayLinear, rows_of
from minburn.backends.cupy_ops.kernels import contiguous, elementwise, launch_rows, longs, raw
from minburn.backends.cupy_ops.tables import CuPyFloats

CROSS_ENTROPY = """
extern "C" __global__ void cross_entropy(const T* x, const I* targets, T* probs, T* losses, long long n, long long rows,
                                         long long op, unsigned long long slot) {
  __shared__ T shared[256];
  const long long row = blockIdx.x, target = (long long)targets[row];
  x += row * n;
  probs += row * n;
  T top = -INF, total = 0;
  for (long long k = threadIdx.x; k < n; k += blockDim.x) top = larger(top, x[k]);
  top = block_max(top, shared);
  for (long long k = threadIdx.x; k < n; k += blockDim.x) total += exp(x[k] - top);
  total = block_sum(total, shared);
  for (long long k = threadIdx.x; k < n; k += blockDim.x) probs[k] = exp(x[k] - top) / total;
  if (threadIdx.x == 0) {
    if (target < 0 || target >= n) { refuse(slot, op, target, n); losses[row] = 0; }
    else losses[row] = (log(total) - (x[target] - top)) / T(rows);
  }
}
"""
CROSS_ENTROPY_BACKWARD = "y = T((wide(p) - ((long long)targets[i / n] == i % n)) * (wide(grad[0]) / rows))"


class CuPyLinear(ArrayLinear):
    floats: CuPyFloats

    def linear_bias_backward(self, grad: Array) -> Array:
        table = self.floats
        return table.narrow(table.xp.add.reduce(rows_of(grad), axis=0, dtype=table.sum_dtype))

    def cross_entropy(self, logits: Array, targets: Array) -> tuple[Array, Array]:
        table, xp = self.floats, self.floats.xp
        rows, classes = logits.shape
        if not rows or not classes:
            return super().cross_entropy(logits, targets)
        table.check_on_host("cross_entropy", targets, classes)
        x = contiguous(logits.astype(table.sum_dtype) if table.is_half else logits)
        probs, losses = xp.empty(x.shape, x.dtype), xp.empty((rows,), x.dtype)
        kernel = raw("cross_entropy", CROSS_ENTROPY, x.dtype, targets.dtype)
        refused = longs(classes, rows, table.refusals.number_of("cross_entropy"), table.refusals.slot)
        launch_rows(kernel, rows, classes, x, contiguous(targets), probs, losses, *refused)
        return table.narrow(xp.add.reduce(losses).reshape(1)), table.narrow(probs)

    def cross_entropy_backward(self, softmax: Array, targets: Array, grad: Array) -> Array:
        rows, classes = softmax.shape
        kernel = elementwise(
            "cross_entropy_backward",
            "T p, raw I targets, raw T grad, int64 n, int64 rows",
            "T y",
            CROSS_ENTROPY_BACKWARD,
        )
        return kernel(softmax, targets, grad, classes, rows, self.floats.empty(softmax.shape))
