"""conv 1→16→32, 3x3, padding 1, relu and a 2x2 max-pool after each, one layer to 10 classes; 28x28 images.

All arrays are [channels, height, width, batch]: with the batch innermost, the copies that make columns of an image, and
those that add columns up, run over long contiguous stretches. A convolution is one product of these columns.

    columns [9·in, h·w·n] → weight [out, 9·in] · columns = [out, h·w·n] → + bias → relu → largest of four slices
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from floors.arrays import F32, FlatAdam, Ints, Step, Weights, aligned, cross_entropy, flat


@dataclass
class Block:
    """A convolution with relu and pooling, on arrays of its own."""

    image: F32
    """Write the input [in, h, w, n] here: the inside of a zero border."""
    pooled: F32
    pooled_grad: F32
    image_grad: F32 | None
    """The gradient of the input; None if nobody wants it."""
    forward: Callable[[], None]
    backward: Callable[[], None]
    """From pooled_grad to the gradients of weight and bias, and to image_grad."""


def block(sizes: tuple[int, int, int, int], w: F32, b: F32, gw: F32, gb: F32, wants_image_grad: bool) -> Block:
    """sizes: input channels, height, width, batch. w: [9·in, out], rows in the order of `columns`."""
    ins, high, wide, n = sizes
    outs = b.size
    padded = aligned(ins, high + 2, (wide + 2) * n)
    columns = aligned(9, ins, high, wide * n)
    y, d = aligned(outs, high * wide * n), aligned(outs, high * wide * n)
    windows, d_windows = (a.reshape(outs, high // 2, 2, wide // 2, 2, n) for a in (y, d))
    corners = [windows[:, :, i, :, j] for i in (0, 1) for j in (0, 1)]
    pooled, pooled_grad = aligned(outs, high // 2, wide // 2, n), aligned(outs, high // 2, wide // 2, n)
    wide_pooled, wide_pooled_grad = (a[:, :, None, :, None, :] for a in (pooled, pooled_grad))
    is_largest, is_positive = np.empty(windows.shape, bool), np.empty(y.shape, bool)
    ones = np.ones(high * wide * n, np.float32)
    rows, bias = columns.reshape(9 * ins, -1), b[:, None]
    spots = [(columns[k], (slice(None), slice(i, i + high), slice(j * n, (j + wide) * n))) for k, (i, j) in OFFSETS]

    def forward() -> None:
        for column, spot in spots:
            np.copyto(column, padded[spot])
        np.matmul(w.T, rows, out=y)
        np.add(y, bias, y)
        np.maximum(y, 0, out=y)
        np.maximum(corners[0], corners[1], out=pooled)
        np.maximum(pooled, corners[2], out=pooled)
        np.maximum(pooled, corners[3], out=pooled)

    column_grads = aligned(*columns.shape) if wants_image_grad else None
    padded_grad = aligned(*padded.shape) if wants_image_grad else None

    def backward() -> None:
        # Equal positive values would all get the gradient; equal zeros get none, relu sees to that.
        np.equal(windows, wide_pooled, out=is_largest)
        np.multiply(wide_pooled_grad, is_largest, d_windows)
        np.greater(y, 0, out=is_positive)
        np.multiply(d, is_positive, d)
        np.dot(d, ones, gb)
        np.matmul(rows, d.T, out=gw)
        if column_grads is None or padded_grad is None:
            return
        np.matmul(w, d, out=column_grads.reshape(9 * ins, -1))
        padded_grad.fill(0)
        for k, (_, spot) in enumerate(spots):
            target = padded_grad[spot]
            np.add(target, column_grads[k], target)

    def inside(array: F32) -> F32:
        return array.reshape(ins, high + 2, wide + 2, n)[:, 1:-1, 1:-1]

    image_grad = None if padded_grad is None else inside(padded_grad)
    return Block(inside(padded), pooled, pooled_grad, image_grad, forward, backward)


OFFSETS = list(enumerate(itertools.product(range(3), repeat=2)))
"""Of the kernel: its number and its place."""


def cnn(weights: Weights, batches: Sequence[tuple[F32, Ints]]) -> Step:
    n = batches[0][0].shape[0]
    shapes = {"w1": (9, 16), "b1": (16,), "w2": (144, 32), "b2": (32,), "w3": (1568, 10), "b3": (10,)}
    params, p = flat(shapes)
    grads, g = flat(shapes)
    for number in ("1", "2"):
        kernels = weights[f"conv{number}.weight"]  # [out, in, 3, 3]
        p["w" + number][...] = kernels.transpose(2, 3, 1, 0).reshape(-1, kernels.shape[0])
        p["b" + number][...] = weights[f"conv{number}.bias"]
    p["w3"][...], p["b3"][...] = weights["linear.weight"], weights["linear.bias"]
    first = block((1, 28, 28, n), p["w1"], p["b1"], g["w1"], g["b1"], wants_image_grad=False)
    second = block((16, 14, 14, n), p["w2"], p["b2"], g["w2"], g["b2"], wants_image_grad=True)
    assert second.image_grad is not None
    image_grad = second.image_grad
    w3, b3, features, features_grad = p["w3"], p["b3"], second.pooled.reshape(1568, n), second.pooled_grad
    z, ones = aligned(n, 10), np.ones(n, np.float32)
    loss_of, adam = cross_entropy(z), FlatAdam(params, grads)
    turns = itertools.cycle([(x.transpose(1, 2, 3, 0), targets) for x, targets in batches])

    def step() -> float:
        x, targets = next(turns)
        first.image[...] = x
        first.forward()
        second.image[...] = first.pooled
        second.forward()
        np.matmul(features.T, w3, out=z)
        np.add(z, b3, z)
        loss = loss_of(targets)
        np.matmul(features, z, out=g["w3"])
        np.dot(ones, z, g["b3"])
        np.matmul(w3, z.T, out=features_grad.reshape(1568, n))
        second.backward()
        first.pooled_grad[...] = image_grad
        first.backward()
        adam.step()
        return loss

    return step
