"""Where windows lie: what kernels of convolutions and pools are told, whatever the rank.

A struct handed to the kernel by value. Fewer than three spatial dimensions are filled up with ones in front, so that
one kernel serves all ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minburn.backends.array.basic import Array
from minburn.backends.base import Shape
from minburn.backends.conv_options import ConvOptions
from minburn.backends.pool_options import PoolOptions

FIELDS = ("kernel", "places", "size", "stride", "dilation", "padding")
RECORD = np.dtype(
    [("batch", "i8"), ("channels", "i8"), *((name, "i8", 3) for name in FIELDS), ("x", "i8", 5), ("y", "i8", 5)]
)
STRUCT = """
// x and y: the steps in memory [batch, channel, three of space] of the image and of the windows' values.
struct Geometry {
  long long batch, channels, kernel[3], places[3], size[3], stride[3], dilation[3], padding[3], x[5], y[5];
};
// The place in the image along dimension d of element e of window p; outside of [0, size): padding.
#define PLACE(d, p, e) ((p) * g.stride[d] + (e) * g.dilation[d] - g.padding[d])
#define INSIDE(d, at) ((at) >= 0 && (at) < g.size[d])
// The window along d that has element e at `at`; NO_WINDOW if there is none.
#define WINDOW(d, at, e) window_of((at) + g.padding[d] - (e) * g.dilation[d], g.stride[d], g.places[d])
#define NO_WINDOW -1
__device__ inline long long window_of(long long from, long long stride, long long places) {
  return from < 0 || from % stride || from / stride >= places ? NO_WINDOW : from / stride;
}
#define ELEMENTS \\
  for (long long e0 = 0; e0 < g.kernel[0]; e0++) \\
    for (long long e1 = 0; e1 < g.kernel[1]; e1++) \\
      for (long long e2 = 0; e2 < g.kernel[2]; e2++)
"""


def geometry(
    shape: Shape, kernel: Shape, places: Shape, options: ConvOptions | PoolOptions, x: Array | None, y: Array | None
) -> Any:
    """Of images of `shape` [N, C, …]; x, y: the arrays whose steps are needed."""
    record = np.zeros((), RECORD)
    record["batch"], record["channels"] = shape[:2]
    padding = [before for before, _ in options.padding]
    values = (kernel, places, shape[2:], options.stride, options.dilation, padding)
    for name, value, filler in zip(FIELDS, values, (1, 1, 1, 1, 1, 0), strict=True):
        record[name] = _three(value, filler)
    for name, array in (("x", x), ("y", y)):
        if array is not None:
            steps = [step // array.itemsize for step in array.strides]
            record[name] = [*steps[:2], *_three(steps[2:], 0)]
    return record


def _three(values: Sequence[int], filler: int) -> list[int]:
    return [filler] * (3 - len(values)) + list(values)
