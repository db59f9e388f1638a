"""conv 1→16→32, 3x3, padding 1, relu and a 2x2 max-pool after each, one layer to 10 classes; 28x28 images.

All arrays are [channels, height, width, batch]: with the batch innermost, the copies that make columns of an image run
over long contiguous stretches. A convolution is a product of these columns.

    columns [9·in, places] → weight [out, 9·in] · columns = [out, places] → + bias → relu → largest of four slices
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
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
    image_grad: F32
    """The gradient of the input, if it is wanted."""
    forward: Callable[[], None]
    backward: Callable[[], None]
    """From pooled_grad to the gradients of weight and bias, and to image_grad."""


def block(sizes: tuple[int, int, int, int], w: F32, b: F32, gw: F32, gb: F32, wants_image_grad: bool) -> Block:
    """sizes: input channels, height, width, batch. w: [9·in, out], rows in the order of `Columns`."""
    ins, high, wide, n = sizes
    outs = b.size
    padded = aligned(ins, high + 2, (wide + 2) * n)
    columns = Columns(padded, high, wide * n, n)
    y, padded_grad = aligned(outs, high * wide * n), aligned(outs, high + 2, (wide + 2) * n)
    d = aligned(outs, high * wide * n)
    windows, d_windows = (a.reshape(outs, high // 2, 2, wide // 2, 2, n) for a in (y, d))
    corners = [windows[:, :, i, :, j] for i in (0, 1) for j in (0, 1)]
    d_corners = [d_windows[:, :, i, :, j] for i in (0, 1) for j in (0, 1)]
    pooled, pooled_grad = aligned(outs, high // 2, wide // 2, n), aligned(outs, high // 2, wide // 2, n)
    share, is_largest = aligned(*pooled.shape), np.empty(pooled.shape, bool)
    is_positive = np.empty(y.shape, bool)
    ones, bias, part = np.ones(high * wide * n, np.float32), b[:, None], aligned(*gw.shape)
    d_columns = Columns(padded_grad, high, wide * n, n) if wants_image_grad else None
    image_grad = aligned(ins, high * wide * n)
    turned = aligned(9, outs, ins)

    def forward() -> None:
        for rows, where in columns:
            np.matmul(w.T, rows, out=y[:, where])
        np.add(y, bias, y)
        y.clip(0, np.inf, y)  # np.maximum with a number is not vectorized
        np.maximum(corners[0], corners[1], out=pooled)
        np.maximum(pooled, corners[2], out=pooled)
        np.maximum(pooled, corners[3], out=pooled)

    def backward() -> None:
        # Equal positive values would all get the gradient; equal zeros get none, relu sees to that.
        for corner, target in zip(corners, d_corners, strict=True):
            np.equal(corner, pooled, out=is_largest)
            np.multiply(pooled_grad, is_largest, share)
            target[...] = share  # a product straight into strided memory is slower
        np.greater(y, 0, out=is_positive)
        np.multiply(d, is_positive, d)
        np.dot(d, ones, gb)
        gw.fill(0)
        for rows, where in columns:
            np.matmul(rows, d[:, where].T, out=part)
            np.add(gw, part, gw)
        if d_columns is None:
            return
        # The gradient of the image is a convolution too: of d, by the kernels turned around.
        padded_grad.reshape(outs, high + 2, wide + 2, n)[:, 1:-1, 1:-1] = d.reshape(outs, high, wide, n)
        turned[...] = w.reshape(9, ins, outs)[::-1].swapaxes(1, 2)
        kernels = turned.reshape(9 * outs, ins).T
        for rows, where in d_columns:
            np.matmul(kernels, rows, out=image_grad[:, where])

    image = padded.reshape(ins, high + 2, wide + 2, n)[:, 1:-1, 1:-1]
    return Block(image, pooled, pooled_grad, image_grad.reshape(ins, high, wide, n), forward, backward)


class Columns:
    """What the kernel meets in `padded` [channels, height + 2, (width + 2) · n], a few rows of the image at a time.

    Such columns are still in the cache when they are multiplied. Gives [9 · channels, places], and which places.
    """

    def __init__(self, padded: F32, high: int, run: int, n: int) -> None:
        channels = padded.shape[0]
        step = max(1, COLUMNS // (9 * channels * run))
        memory = aligned(9, channels, step, run)
        self.blocks = []
        for start in range(0, high, step):
            copies = [
                (memory[k], padded[:, start + i : start + i + step, j * n : j * n + run])
                for k, (i, j) in enumerate(itertools.product(range(3), repeat=2))
            ]
            self.blocks.append((copies, slice(start * run, (start + step) * run)))
        self.rows = memory.reshape(9 * channels, step * run)

    def __iter__(self) -> Iterator[tuple[F32, slice]]:
        for copies, where in self.blocks:
            for target, source in copies:
                np.copyto(target, source)
            yield self.rows, where


COLUMNS = 1 << 15
"""Elements of a block of columns, if one row of the image is not more."""


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
        first.pooled_grad[...] = second.image_grad
        first.backward()
        adam.step()
        return loss

    return step
