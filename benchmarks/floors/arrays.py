"""What the floors share: aligned memory, flat parameters, Adam, and the softmax cross-entropy with its gradient."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy import add, divide, multiply, sqrt, subtract
from numpy.typing import NDArray

F32 = NDArray[np.float32]
Ints = NDArray[np.integer[Any]]
Step = Callable[[], float]
Weights = Mapping[str, F32]
"""A model's parameters by path."""

LEARNING_RATE, BETA_1, BETA_2, EPSILON = 1e-3, 0.9, 0.999, 1e-8
BLOCK = 64 * 1024
"""Elements of Adam's blocks: five arrays of it fit into a 2 MB cache."""
LINE = 64
"""Bytes of a cache line. malloc aligns to 16, and every AVX-512 access would then touch two lines."""


def aligned(*shape: int) -> F32:
    """Zeros that begin at a cache line."""
    size = math.prod(shape) * 4
    owner = np.zeros(size + LINE, np.uint8)
    start = -owner.ctypes.data % LINE
    return owner[start : start + size].view(np.float32).reshape(shape)


def flat(shapes: Mapping[str, tuple[int, ...]]) -> tuple[F32, dict[str, F32]]:
    """One array, and a part of it for each shape, beginning at a cache line."""
    starts, size = {}, 0
    for name, shape in shapes.items():
        starts[name] = size
        size += -(-math.prod(shape) * 4 // LINE) * LINE // 4
    whole = aligned(size)
    parts = {name: whole[starts[name] :][: math.prod(shape)].reshape(shape) for name, shape in shapes.items()}
    return whole, parts


def scalar(value: float) -> F32:
    """A 0-d array: a cheaper operand than a Python float."""
    return np.array(value, np.float32)


class FlatAdam:
    """Adam over flat arrays, in place. Both bias corrections are folded into the rate and epsilon."""

    def __init__(self, params: F32, grads: F32) -> None:
        size = params.size
        first, second, scratch = aligned(size), aligned(size), aligned(min(size, BLOCK))
        self.time = 0
        self.blocks = []
        for start in range(0, size, BLOCK):
            part = slice(start, start + BLOCK)
            p = params[part]
            self.blocks.append((p, grads[part], first[part], second[part], scratch[: p.size]))
        self.decay_1, self.decay_2 = scalar(BETA_1), scalar(BETA_2)
        self.gain_1, self.gain_2 = scalar(1 - BETA_1), scalar(1 - BETA_2)
        self.rate, self.epsilon = scalar(0), scalar(0)

    def step(self) -> None:
        self.time += 1
        root = math.sqrt(1 - BETA_2**self.time)
        self.rate[()] = LEARNING_RATE * root / (1 - BETA_1**self.time)
        self.epsilon[()] = EPSILON * root
        decay_1, decay_2, gain_1, gain_2 = self.decay_1, self.decay_2, self.gain_1, self.gain_2
        rate, epsilon = self.rate, self.epsilon
        for p, g, m, v, t in self.blocks:
            multiply(m, decay_1, m)
            multiply(g, gain_1, t)
            add(m, t, m)
            multiply(v, decay_2, v)
            multiply(g, g, t)
            multiply(t, gain_2, t)
            add(v, t, v)
            sqrt(v, t)
            add(t, epsilon, t)
            divide(m, t, t)
            multiply(t, rate, t)
            subtract(p, t, p)


def row_maxima(x: F32) -> Callable[[], F32]:
    """Of [rows, columns]: a function that finds the maximum of each row, as [rows, 1].

    A reduction of long rows is slow; finding the index and taking the element is twice as fast.
    """
    rows, columns = x.shape
    out = aligned(rows, 1)
    if columns <= 16:
        return lambda: np.maximum.reduce(x, axis=1, keepdims=True, out=out)
    flat_x, flat_out = x.reshape(-1), out.reshape(-1)
    starts, index = np.arange(rows) * columns, np.empty(rows, np.intp)

    def maxima() -> F32:
        np.argmax(x, axis=1, out=index)
        np.add(index, starts, index)
        flat_x.take(index, out=flat_out, mode="clip")
        return out

    return maxima


def cross_entropy(z: F32) -> Callable[[Ints], float]:
    """Mean over the rows of -log softmax(z)[target], for targets as given; its gradient is left in z."""
    rows, classes = z.shape
    maxima = row_maxima(z)
    sums, picked = aligned(rows, 1), aligned(rows)
    flat_z, flat_sums = z.reshape(-1), sums.reshape(-1)
    starts, ones, inverse = np.arange(rows) * classes, np.ones(classes, np.float32), np.float32(1 / rows)

    def loss(targets: Ints) -> float:
        chosen = starts + targets
        np.subtract(z, maxima(), z)
        flat_z.take(chosen, out=picked, mode="clip")
        np.exp(z, z)
        np.dot(z, ones, flat_sums)  # a sum of rows, as a product: several times faster
        mean = (float(np.log(flat_sums).sum()) - float(picked.sum())) / rows
        np.divide(inverse, sums, sums)
        np.multiply(z, sums, z)
        flat_z[chosen] -= inverse
        return mean

    return loss
