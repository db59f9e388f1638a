"""The affine map and cross-entropy on CUDA.

Overrides: a bias gradient is a sum, not a product with ones that would have to be written first; cross-entropy is a
block per row and a sum over rows, where the inherited one is a dozen launches and looks at the targets. Several maps of
one input share the launches of everything that is not a product: their biases, their gradients' sums.
"""

from __future__ import annotations

import math

from minburn.backends.array.basic import Array
from minburn.backends.array.modules.linear import ArrayLinear, rows_of
from minburn.backends.cupy_ops.kernels import contiguous, elementwise, launch_rows, longs, raw
from minburn.backends.cupy_ops.products import product, products
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

    @property
    def joins_linears(self) -> bool:
        return not self.floats.is_half  # composed, for its products

    def linears(self, x: Array, weights: list[Array], biases: list[Array] | None) -> Array:
        if self.floats.is_half:
            return super().linears(x, weights, biases)
        rows, width = rows_of(x), weights[0].shape[1]
        out = self.floats.empty((len(weights), len(rows), width))
        for weight, part in zip(weights, out, strict=True):
            self.floats.xp.dot(rows, weight, part)
        if biases is not None:
            given = [f"b{n}" for n in range(len(biases))]
            chosen = (
                "".join(f"part == {n} ? b{n}[i % width] : " for n in range(len(biases) - 1)) + f"{given[-1]}[i % width]"
            )
            kernel = elementwise(
                f"add_{len(biases)}_biases",
                "".join(f"raw T {name}, " for name in given) + "int64 size, int64 width",
                "T y",
                f"const long long part = i / size; y += {chosen}",
            )
            kernel(*biases, len(rows) * width, width, out)
        return out.reshape(len(weights), *x.shape[:-1], width)

    def linears_x_backward(self, weights: list[Array], grad: Array) -> Array:
        if self.floats.is_half:
            return super().linears_x_backward(weights, grad)
        size = weights[0].shape[0]
        parts = grad.reshape(len(weights), math.prod(grad.shape[1:-1]), grad.shape[-1])
        out = self.floats.empty((parts.shape[1], size))
        for n, weight in enumerate(weights):
            product(parts[n], weight.T, out, adds=n > 0)
        return out.reshape(*grad.shape[1:-1], size)

    def linears_weight_backward(self, x: Array, grad: Array) -> tuple[Array, ...]:
        if self.floats.is_half:
            return super().linears_weight_backward(x, grad)
        rows, width = rows_of(x), grad.shape[-1]
        parts = contiguous(grad).reshape(len(grad), len(rows), width)
        return tuple(products(rows.T, parts, self.floats.empty((len(grad), rows.shape[1], width))))

    def linears_bias_backward(self, grad: Array) -> tuple[Array, ...]:
        table = self.floats
        parts = grad.reshape(len(grad), math.prod(grad.shape[1:-1]), grad.shape[-1])
        return tuple(table.narrow(table.xp.add.reduce(parts, axis=1, dtype=table.sum_dtype)))

    def _product(self, lhs: Array, rhs: Array) -> Array:
        return self.floats.xp.dot(lhs, rhs)

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
