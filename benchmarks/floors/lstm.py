"""The LSTM: 64 → 128, 32 steps, batch 32, and a layer on its last state.

Each gate's part of every array lies together, [gate, time, batch, features], so that the four gates of a step are one
product and one tanh, σ(x) being (1 + tanh(x / 2)) / 2. The products of the input are made for all steps at once, and so
are the gradients of the weights. Both biases of a gate are two rows of its weight, for two columns of ones beside x.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy import add, matmul, multiply, subtract, tanh

from floors.arrays import F32, FlatAdam, Ints, Step, Weights, aligned, cross_entropy, flat, scalar

GATES = ("input_gate", "forget_gate", "output_gate", "cell_gate")


def lstm(weights: Weights, batches: Sequence[tuple[F32, Ints]]) -> Step:
    n, time, ins = batches[0][0].shape
    wide = weights["rnn.cell_gate.hidden_transform.weight"].shape[0]
    classes = weights["linear.bias"].size
    shapes = {"w": (4, ins + 2, wide), "u": (4, wide, wide), "v": (wide, classes), "b": (classes,)}
    params, p = flat(shapes)
    grads, g = flat(shapes)
    w, u, v, b = p.values()
    gw, gu, gv, gb = g.values()
    for gate, name in enumerate(GATES):
        for row, transform in ((ins, "input_transform"), (ins + 1, "hidden_transform")):
            w[gate, row] = weights[f"rnn.{name}.{transform}.bias"]
        w[gate, :ins] = weights[f"rnn.{name}.input_transform.weight"]
        u[gate] = weights[f"rnn.{name}.hidden_transform.weight"]
    v[...], b[...] = weights["linear.weight"], weights["linear.bias"]
    x = aligned(time, n, ins + 2)
    x[:, :, ins:] = 1
    gates, d_gates = aligned(4, time, n, wide), aligned(4, time, n, wide)
    hidden, cell, bent = aligned(time + 1, n, wide), aligned(time + 1, n, wide), aligned(time, n, wide)
    part, slopes, t, d_hidden, d_cell = (
        aligned(4, n, wide),
        aligned(4, n, wide),
        aligned(n, wide),
        aligned(n, wide),
        aligned(n, wide),
    )
    z, ones, half, one = aligned(n, classes), np.ones(n, np.float32), scalar(0.5), scalar(1)
    rows, flat_gates, flat_d = (
        x.reshape(time * n, -1),
        gates.reshape(4, time * n, wide),
        d_gates.reshape(4, time * n, wide),
    )
    before, u_turned = hidden[:-1].reshape(time * n, wide), u.swapaxes(1, 2)
    loss_of, adam = cross_entropy(z), FlatAdam(params, grads)
    turns = itertools.cycle(batches)

    def forward(step: int) -> None:
        now = gates[:, step]
        sigmoids = now[:3]
        matmul(hidden[step], u, out=part)
        add(now, part, now)
        multiply(sigmoids, half, sigmoids)
        tanh(now, now)
        multiply(sigmoids, half, sigmoids)
        add(sigmoids, half, sigmoids)
        i, f, o, c = now
        after = cell[step + 1]
        multiply(f, cell[step], after)
        multiply(i, c, t)
        add(after, t, after)
        tanh(after, bent[step])
        multiply(o, bent[step], hidden[step + 1])

    def backward(step: int) -> None:
        now, out = gates[:, step], d_gates[:, step]
        i, f, o, c = now
        subtract(one, now[:3], slopes[:3])
        multiply(slopes[:3], now[:3], slopes[:3])
        multiply(c, c, slopes[3])
        subtract(one, slopes[3], slopes[3])
        multiply(d_hidden, bent[step], out[2])
        multiply(d_hidden, o, d_hidden)
        multiply(bent[step], bent[step], t)
        multiply(t, d_hidden, t)
        subtract(d_hidden, t, t)
        add(d_cell, t, d_cell)
        multiply(d_cell, c, out[0])
        multiply(d_cell, cell[step], out[1])
        multiply(d_cell, i, out[3])
        multiply(out, slopes, out)
        multiply(d_cell, f, d_cell)
        matmul(out, u_turned, out=part)
        add.reduce(part, axis=0, out=d_hidden)

    def step() -> float:
        inputs, targets = next(turns)
        x[:, :, :ins] = inputs.swapaxes(0, 1)
        matmul(rows, w, out=flat_gates)
        for at in range(time):
            forward(at)
        np.dot(hidden[time], v, z)
        add(z, b, z)
        loss = loss_of(targets)
        np.dot(hidden[time].T, z, gv)
        np.dot(ones, z, gb)
        matmul(z, v.T, out=d_hidden)
        d_cell.fill(0)
        for at in reversed(range(time)):
            backward(at)
        matmul(rows.T, flat_d, out=gw)
        matmul(before.T, flat_d, out=gu)
        adam.step()
        return loss

    return step
