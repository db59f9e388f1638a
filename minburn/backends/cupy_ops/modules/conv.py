"""Convolutions on CUDA: columns in one launch, one product, and the adjoint in one launch.

Overrides: the inherited ones go block by block through the cache of a CPU. Here the columns are cut into blocks only
where they would take more than LARGEST elements. In the adjoint a thread owns an element of the image and adds what
belongs to it in a fixed order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from minburn.backends.array.basic import Array
from minburn.backends.array.modules.conv import ArrayConv, in_single_precision
from minburn.backends.base import Shape
from minburn.backends.conv_options import ConvOptions
from minburn.backends.cupy_ops.kernels import contiguous, launch_elements, raw
from minburn.backends.cupy_ops.modules.geometry import STRUCT, geometry
from minburn.backends.cupy_ops.tables import CuPyFloats

LARGEST = 1 << 28
"""Elements of the columns that are held at once: 1 GiB of F32."""

# out[c, e0, e1, e2, p0, p1, p2, n], n fastest.
COLUMNS = (
    STRUCT
    + """
extern "C" __global__ void columns(const T* x, T* out, Geometry g, long long count) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i >= count) return;
  long long rest = i;
  const long long n = rest % g.batch; rest /= g.batch;
  const long long p2 = rest % g.places[2]; rest /= g.places[2];
  const long long p1 = rest % g.places[1]; rest /= g.places[1];
  const long long p0 = rest % g.places[0]; rest /= g.places[0];
  const long long a2 = PLACE(2, p2, rest % g.kernel[2]); rest /= g.kernel[2];
  const long long a1 = PLACE(1, p1, rest % g.kernel[1]); rest /= g.kernel[1];
  const long long a0 = PLACE(0, p0, rest % g.kernel[0]); rest /= g.kernel[0];
  const bool inside = INSIDE(0, a0) && INSIDE(1, a1) && INSIDE(2, a2);
  out[i] = inside ? x[n * g.x[0] + rest * g.x[1] + a0 * g.x[2] + a1 * g.x[3] + a2 * g.x[4]] : T(0);
}
"""
)
# out[c, a0, a1, a2, n] (+ bias[c]): the sum of what the columns have for that element.
SPREAD = (
    STRUCT
    + """
extern "C" __global__ void spread(const T* columns, const T* bias, T* out, Geometry g, long long count) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i >= count) return;
  long long rest = i;
  const long long n = rest % g.batch; rest /= g.batch;
  const long long a2 = rest % g.size[2]; rest /= g.size[2];
  const long long a1 = rest % g.size[1]; rest /= g.size[1];
  const long long a0 = rest % g.size[0]; rest /= g.size[0];
  T total = 0;
  ELEMENTS {
    const long long p0 = WINDOW(0, a0, e0), p1 = WINDOW(1, a1, e1), p2 = WINDOW(2, a2, e2);
    if (p0 == NO_WINDOW || p1 == NO_WINDOW || p2 == NO_WINDOW) continue;
    const long long row = ((rest * g.kernel[0] + e0) * g.kernel[1] + e1) * g.kernel[2] + e2;
    total += columns[(((row * g.places[0] + p0) * g.places[1] + p1) * g.places[2] + p2) * g.batch + n];
  }
  out[i] = bias ? total + bias[rest] : total;
}
"""
)


class CuPyConv(ArrayConv):
    floats: CuPyFloats

    @in_single_precision
    def _conv_bias_backward(self, grad: Array) -> Array:
        axes = (0, *range(2, grad.ndim))
        return self.floats.xp.add.reduce(grad, axis=axes)

    @in_single_precision
    def _conv_weight_backward(self, x: Array, grad: Array, kernel: Shape, options: ConvOptions) -> Array:
        groups, channels = options.groups, grad.shape[1]
        rows = self._rows(grad, groups)
        total = None
        for block, columns in self._column_blocks(x, kernel, grad.shape[2:], options):
            part = self._grouped_product(rows[:, :, block], columns.swapaxes(1, 2))
            total = part if total is None else total + part
        return total.reshape(channels, x.shape[1] // groups, *kernel)  # type: ignore[union-attr]

    def _gather(self, x: Array, weight: Array, bias: Array | None, places: Shape, options: ConvOptions) -> Array:
        table, groups, channels = self.floats, options.groups, weight.shape[0]
        rows = weight.reshape(groups, channels // groups, -1)
        parts = [
            self._grouped_product(rows, columns)
            for _, columns in self._column_blocks(x, weight.shape[2:], places, options)
        ]
        out = parts[0] if len(parts) == 1 else table.xp.concatenate(parts, axis=2)
        return self._with_bias(out.reshape(channels, *places, x.shape[0]), bias)

    def _adjoint(self, weight: Array, values: Array, bias: Array | None, size: Shape, options: ConvOptions) -> Array:
        return self._spread(weight, values, bias, size, options)

    def _spread(self, weight: Array, values: Array, bias: Array | None, size: Shape, options: ConvOptions) -> Array:
        table, groups, batch = self.floats, options.groups, values.shape[0]
        kernel, places, channels = weight.shape[2:], values.shape[2:], groups * weight.shape[1]
        columns_of = weight.reshape(groups, weight.shape[0] // groups, -1).swapaxes(1, 2)
        columns = self._grouped_product(columns_of, self._rows(values, groups))
        out = table.empty((channels, *size, batch))
        record = geometry((batch, channels, *size), kernel, places, options, None, None)
        arrays = (columns, 0 if bias is None else contiguous(bias), out)
        launch_elements(raw("spread", SPREAD, out.dtype), out.size, *arrays, record)
        return out.transpose(out.ndim - 1, *range(out.ndim - 1))

    def _grouped_product(self, lhs: Array, rhs: Array) -> Array:
        """[groups, m, k] · [groups, k, n]."""
        if lhs.shape[0] == 1:
            return self.floats.xp.dot(lhs[0], rhs[0])[None]
        return self.floats.xp.matmul(lhs, rhs)

    def _column_blocks(
        self, x: Array, kernel: Shape, places: Shape, options: ConvOptions
    ) -> Iterator[tuple[slice, Array]]:
        """As inherited; a block is a range of places of the first dimension."""
        batch, channels, groups = x.shape[0], x.shape[1], options.groups
        height, run = channels * math.prod(kernel), math.prod(places[1:]) * batch
        step = max(1, min(places[0], LARGEST // max(1, height * run)))
        for start in range(0, places[0], step):
            count = min(step, places[0] - start)
            record = geometry(x.shape, kernel, (count, *places[1:]), options, x, None)
            first = 3 - len(places)
            record["padding"][first] -= start * options.stride[0]
            out = self.floats.empty((groups, height // groups, count * run))
            launch_elements(raw("columns", COLUMNS, x.dtype), out.size, x, out, record)
            yield slice(start * run, (start + count) * run), out

    conv1d_weight_backward = conv2d_weight_backward = conv3d_weight_backward = _conv_weight_backward
    conv1d_bias_backward = conv2d_bias_backward = conv3d_bias_backward = _conv_bias_backward
    conv_transpose1d_bias_backward = conv_transpose2d_bias_backward = _conv_bias_backward
    conv_transpose3d_bias_backward = _conv_bias_backward
