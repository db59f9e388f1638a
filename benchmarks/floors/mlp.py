"""The perceptrons."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy import add, dot, greater, matmul, maximum, multiply, subtract, tanh

from floors.arrays import F32, FlatAdam, Ints, Step, Weights, aligned, cross_entropy, flat, scalar


def tiny(weights: Weights, batches: Sequence[tuple[F32, F32]]) -> Step:
    """2-16-16-1, tanh, batch 32, mean squared error.

    Everything transposed, [features, batch], with a row of ones under it, so that a bias is a column of a weight.
    """
    shapes = {"w1": (16, 3), "w2": (16, 17), "w3": (1, 17)}
    params, p = flat(shapes)
    grads, g = flat(shapes)
    w1, w2, w3 = p.values()
    g1, g2, g3 = g.values()
    for layer, w in enumerate((w1, w2, w3)):
        w[:, :-1] = weights[f"layers.{layer}.weight"].T
        w[:, -1] = weights[f"layers.{layer}.bias"]
    x1, h1, h2, y = aligned(3, 32), aligned(17, 32), aligned(17, 32), aligned(1, 32)
    for array in (x1, h1, h2):
        array[-1] = 1
    x, a1, a2, y_flat = x1[:-1], h1[:-1], h2[:-1], y.reshape(-1)
    w2_t, w3_t, x1_t, h1_t, h2_t = w2[:, :-1].T, w3[:, :-1].T, x1.T, h1.T, h2.T
    d1, d2, t = aligned(16, 32), aligned(16, 32), aligned(16, 32)
    one, scale = scalar(1), scalar(2 / 32)
    turns = itertools.cycle([(inputs.T, targets.T) for inputs, targets in batches])
    adam = FlatAdam(params, grads)

    def step() -> float:
        inputs, targets = next(turns)
        x[...] = inputs
        dot(w1, x1, a1)
        tanh(a1, a1)
        dot(w2, h1, a2)
        tanh(a2, a2)
        dot(w3, h2, y)
        subtract(y, targets, y)
        loss = float(dot(y_flat, y_flat)) / 32
        multiply(y, scale, y)
        dot(y, h2_t, g3)
        matmul(w3_t, y, d2)
        multiply(a2, a2, t)
        subtract(one, t, t)
        multiply(d2, t, d2)
        dot(d2, h1_t, g2)
        dot(w2_t, d2, d1)
        multiply(a1, a1, t)
        subtract(one, t, t)
        multiply(d1, t, d1)
        dot(d1, x1_t, g1)
        adam.step()
        return loss

    return step


def mlp(weights: Weights, batches: Sequence[tuple[F32, Ints]]) -> Step:
    """784-512-256-10, relu, cross-entropy."""
    rows = batches[0][0].shape[0]
    params, p = flat({name: weight.shape for name, weight in weights.items()})
    grads, g = flat({name: weight.shape for name, weight in weights.items()})
    for name, part in p.items():
        part[...] = weights[name]
    (w1, b1, w2, b2, w3, b3), (gw1, gb1, gw2, gb2, gw3, gb3) = p.values(), g.values()
    h1, h2, z = aligned(rows, 512), aligned(rows, 256), aligned(rows, 10)
    d1, d2 = aligned(rows, 512), aligned(rows, 256)
    mask1, mask2 = np.empty((rows, 512), bool), np.empty((rows, 256), bool)
    ones = np.ones(rows, np.float32)
    loss_of, adam = cross_entropy(z), FlatAdam(params, grads)
    turns = itertools.cycle(batches)

    def step() -> float:
        x, targets = next(turns)
        dot(x, w1, h1)
        add(h1, b1, h1)
        maximum(h1, 0, out=h1)
        dot(h1, w2, h2)
        add(h2, b2, h2)
        maximum(h2, 0, out=h2)
        dot(h2, w3, z)
        add(z, b3, z)
        loss = loss_of(targets)
        dot(h2.T, z, gw3)
        dot(ones, z, gb3)
        matmul(z, w3.T, out=d2)
        greater(h2, 0, out=mask2)  # and a product: seven times faster than where= or np.where
        multiply(d2, mask2, d2)
        dot(h1.T, d2, gw2)
        dot(ones, d2, gb2)
        matmul(d2, w2.T, out=d1)
        greater(h1, 0, out=mask1)
        multiply(d1, mask1, d1)
        dot(x.T, d1, gw1)
        dot(ones, d1, gb1)
        adam.step()
        return loss

    return step
