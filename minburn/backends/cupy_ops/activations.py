"""Activation functions, one launch each: a formula per element, or a block per row.

The inherited ones take a pass per operation, and `relu_backward` looks at its result.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minburn.backends.array.activations import ArrayActivations
from minburn.backends.array.basic import Array
from minburn.backends.cupy_ops.kernels import contiguous, elementwise, launch_rows, longs, raw
from minburn.backends.default.activation import GELU_CUBIC, GELU_LINEAR

# real: what formulas are computed in; v: x in it.
REAL = "typedef decltype(wide(x)) real; const real v = wide(x);"
GELU = """
const real phi = real(0.5) * erfc(-v * real(0.7071067811865476));
y = T(v * phi);"""
GELU_SLOPE = f"""
slope = T(phi + v * exp(v * v * real(-0.5)) * real({1.0 / math.sqrt(2.0 * math.pi)!r}));"""
TANH = f"""
const real square = v * v, t = tanh(v * (square * real({GELU_CUBIC!r}) + real({GELU_LINEAR!r})));
const real phi = t * real(0.5) + real(0.5);
y = T(v * phi);"""
TANH_SLOPE = f"""
const real bent = (real(1) - t * t) * real(0.5);
slope = T(phi + (bent == 0 ? real(0) : v * bent * (square * real({3.0 * GELU_CUBIC!r}) + real({GELU_LINEAR!r}))));"""
SIGMOID = "const real s = real(1) / (real(1) + exp(-v));"

ROWS = """
// Row number `blockIdx.x` of [outer, n, inner] runs along the middle.
#define ROW \\
  __shared__ T shared[256]; \\
  const long long base = blockIdx.x / inner * n * inner + blockIdx.x % inner;
#define ALONG(k) for (long long k = base + threadIdx.x * inner; k < base + n * inner; k += blockDim.x * inner)

extern "C" __global__ void softmax(const T* x, T* y, long long n, long long inner, int logarithm) {
  ROW
  T top = -INF, total = 0;
  ALONG(k) top = larger(top, x[k]);
  top = block_max(top, shared);
  ALONG(k) total += exp(x[k] - top);
  total = block_sum(total, shared);
  if (logarithm) { ALONG(k) y[k] = x[k] - top - log(total); }
  else { ALONG(k) y[k] = exp(x[k] - top) / total; }
}
extern "C" __global__ void softmax_backward(const T* y, const T* grad, T* out, long long n, long long inner,
                                            int logarithm) {
  ROW
  T total = 0;
  ALONG(k) total += logarithm ? grad[k] : grad[k] * y[k];
  total = block_sum(total, shared);
  if (logarithm) { ALONG(k) out[k] = grad[k] - exp(y[k]) * total; }
  else { ALONG(k) out[k] = y[k] * (grad[k] - total); }
}
"""


class CuPyActivations(ArrayActivations):
    def _unary(self, name: str, formula: str, x: Array) -> Array:
        return elementwise(name, "T x", "T y", REAL + formula)(x, self.floats.empty_like(x))

    def _with_slope(self, name: str, formula: str, x: Array) -> tuple[Array, Array]:
        kernel = elementwise(name, "T x", "T y, T slope", REAL + formula)
        result: tuple[Array, Array] = kernel(x, self.floats.empty_like(x), self.floats.empty_like(x))
        return result

    def _with_grad(self, name: str, formula: str, x: Array, grad: Array) -> Array:
        return elementwise(name, "T x, T grad", "T y", REAL + formula)(x, grad, self.floats.empty_like(x))

    def relu(self, x: Array) -> Array:
        return self._unary("relu", "y = v <= 0 ? T(0) : x", x)

    def relu_backward(self, output: Array, grad: Array) -> Array:
        return self._with_grad("relu_backward", "y = v <= 0 ? T(0) : grad", output, grad)

    def leaky_relu(self, x: Array, negative_slope: float) -> Array:
        kernel = elementwise("leaky_relu", "T x, float64 a", "T y", REAL + "y = v < 0 ? T(v * real(a)) : x")
        return kernel(x, negative_slope, self.floats.empty_like(x))

    def leaky_relu_backward(self, x: Array, grad: Array, negative_slope: float) -> Array:
        formula = REAL + "y = v < 0 ? T(wide(grad) * real(a)) : grad"
        kernel = elementwise("leaky_relu_backward", "T x, T grad, float64 a", "T y", formula)
        return kernel(x, grad, negative_slope, self.floats.empty_like(x))

    def prelu(self, x: Array, alpha: Array) -> Array:
        kernel = elementwise("prelu", "T x, T alpha", "T y", REAL + "y = v < 0 ? T(v * wide(alpha)) : x")
        return kernel(x, alpha, self.floats.empty_like(x))

    def gelu(self, x: Array) -> Array:
        return self._unary("gelu", GELU, x)

    def gelu_train(self, x: Array) -> tuple[Array, Array]:
        return self._with_slope("gelu_train", GELU + GELU_SLOPE, x)

    def gelu_approximate(self, x: Array) -> Array:
        return self._unary("gelu_approximate", TANH, x)

    def gelu_approximate_train(self, x: Array) -> tuple[Array, Array]:
        return self._with_slope("gelu_approximate_train", TANH + TANH_SLOPE, x)

    def silu(self, x: Array) -> Array:
        return self._unary("silu", SIGMOID + "y = T(v * s)", x)

    def silu_train(self, x: Array) -> tuple[Array, Array]:
        formula = SIGMOID + "y = T(v * s); slope = T(s + v * s * (real(1) - s))"
        return self._with_slope("silu_train", formula, x)

    def sigmoid(self, x: Array) -> Array:
        return self._unary("sigmoid", SIGMOID + "y = T(s)", x)

    def sigmoid_backward(self, output: Array, grad: Array) -> Array:
        return self._with_grad("sigmoid_backward", "y = T(wide(grad) * v * (real(1) - v))", output, grad)

    def log_sigmoid(self, x: Array) -> Array:
        return self._unary("log_sigmoid", "y = T((v < 0 ? v : v == v ? real(0) : v) - log1p(exp(-abs(v))))", x)

    def log_sigmoid_backward(self, x: Array, grad: Array) -> Array:
        return self._with_grad("log_sigmoid_backward", "y = T(wide(grad) / (real(1) + exp(v)))", x, grad)

    def hard_sigmoid(self, x: Array, alpha: float, beta: float) -> Array:
        formula = REAL + "const real h = v * real(a) + real(b); y = T(h < 0 ? real(0) : h > 1 ? real(1) : h)"
        return elementwise("hard_sigmoid", "T x, float64 a, float64 b", "T y", formula)(
            x, alpha, beta, self.floats.empty_like(x)
        )

    def softmax(self, x: Array, dim: int) -> Array:
        return self._along("softmax", False, dim, x)

    def softmax_backward(self, output: Array, grad: Array, dim: int) -> Array:
        return self._along("softmax_backward", False, dim, output, grad)

    def log_softmax(self, x: Array, dim: int) -> Array:
        return self._along("softmax", True, dim, x)

    def log_softmax_backward(self, output: Array, grad: Array, dim: int) -> Array:
        return self._along("softmax_backward", True, dim, output, grad)

    def _along(self, name: str, logarithm: bool, dim: int, *inputs: Array) -> Array:
        """A kernel of one block per row along dim. Halves are widened."""
        table = self.floats
        arrays = [contiguous(x.astype(table.sum_dtype) if table.is_half else x) for x in inputs]
        shape: tuple[int, ...] = arrays[0].shape
        size, inner = shape[dim], math.prod(shape[dim + 1 :])
        out = table.xp.empty(shape, table.sum_dtype)
        kernel: Any = raw(name, ROWS, table.sum_dtype)
        launch_rows(kernel, out.size // max(size, 1), size, *arrays, out, *longs(size, inner), np.int32(logarithm))
        return table.narrow(out)
