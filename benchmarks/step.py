"""Training steps against the floor: the same step written by hand in NumPy, with nothing left to save.

    python benchmarks/step.py [--rounds N] [--json FILE] [--check [--slack 1.5]]

Each comparison runs its two sides in turn, in one process, and takes the median of the rounds' ratios, because the
speed of a shared CPU drifts. `--check` exits with 1 if a ratio is above its bound times the slack.

    add       two tracked 8×8 tensors added; against np.add of the arrays
    tiny      MLP 2-16-16-1, tanh, batch 32, mean squared error, Adam: what the framework costs where nothing else does
    mlp64     MLP 784-512-256-10, relu, batch 64, cross-entropy, Adam: what it costs where the work is real

A step is forward, loss, backward, optimizer, and the loss as a Python number. The floor allocates nothing: all of its
arrays are made once, parameters and gradients lie in one flat array each, and Adam runs over these in blocks that stay
in the cache. Before anything is timed, both sides take a few steps from the same weights and must agree on the losses.

BLAS runs on one thread, which must be said before NumPy is imported: with more, the ratio would depend on the machine.
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1", OMP_NUM_THREADS="1", VECLIB_MAXIMUM_THREADS="1")

import argparse
import itertools
import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minburn import FloatTensor, Module, Tensor
from minburn.backends import Autodiff, NumPy
from minburn.nn import CrossEntropyLoss, Linear, LinearConfig, MseLoss
from minburn.optim import AdamConfig, GradientsParams
from minburn.tensor import activation

F32 = NDArray[np.float32]
Step = Callable[[], float]

LEARNING_RATE, BETA_1, BETA_2, EPSILON = 1e-3, 0.9, 0.999, 1e-8
BATCHES = 4
"""Batches made beforehand, used in turn."""
AGREEING_STEPS = 20
BLOCK = 64 * 1024
"""Elements of Adam's blocks in the floor: five arrays of it fit into a 2 MB cache."""
LINE = 64
"""Bytes of a cache line. malloc aligns to 16, and every AVX-512 access would then touch two lines."""


@dataclass
class Row:
    what: str
    ours: float
    """Microseconds, as is the floor."""
    floor: float
    ratio: float
    bound: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=31, help="rounds of each comparison (default 31)")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bound is missed")
    parser.add_argument("--slack", type=float, default=1.5, help="factor on the bounds of --check (default 1.5)")
    options = parser.parse_args()
    rows = [
        Row("add", *compared(*additions(), calls=5000, rounds=options.rounds), 4.5),
        Row("tiny", *compared(*tiny(), calls=50, rounds=options.rounds), 8.0),
        Row("mlp64", *compared(*mlp64(), calls=4, rounds=options.rounds), 1.25),
    ]
    slack = options.slack if options.check else 1.0
    print(f"{'':10}{'minburn':>12}{'NumPy':>12}{'ratio':>8}{'bound':>8}")
    for row in rows:
        verdict = "" if row.ratio <= row.bound * slack else "  MISSED"
        print(f"{row.what:10}{row.ours:9.1f} µs{row.floor:9.1f} µs{row.ratio:8.2f}{row.bound * slack:8.2f}{verdict}")
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return int(options.check and any(row.ratio > row.bound * slack for row in rows))


def compared(
    ours: Callable[[], object], floor: Callable[[], object], calls: int, rounds: int
) -> tuple[float, float, float]:
    """Median microseconds of a call on both sides, and the median ratio of the rounds; a first round is not counted."""
    pairs = []
    for turn in range(rounds + 1):
        if turn % 2:  # the side that comes second finds the caches as the other left them
            left, right = timed(ours, calls), timed(floor, calls)
        else:
            right, left = timed(floor, calls), timed(ours, calls)
        pairs.append((left, right))
    counted = pairs[1:]
    return (
        statistics.median(left for left, _ in counted),
        statistics.median(right for _, right in counted),
        statistics.median(left / right for left, right in counted),
    )


def timed(action: Callable[[], object], calls: int) -> float:
    turns = range(calls)
    start = time.perf_counter()
    for _ in turns:
        action()
    return (time.perf_counter() - start) / calls * 1e6


def additions() -> tuple[Callable[[], object], Callable[[], object]]:
    a, b = (np.random.default_rng(i).random((8, 8), np.float32) for i in range(2))
    backend = Autodiff(NumPy())
    x, y = (Tensor.from_data(array, backend).require_grad() for array in (a, b))
    assert np.array_equal((x + y).numpy(), a + b)
    return lambda: x + y, lambda: np.add(a, b)


# What a user writes


class Mlp(Module):
    layers: list[Linear]

    def forward(self, x: FloatTensor, act: Callable[[FloatTensor], FloatTensor]) -> FloatTensor:
        *hidden, last = self.layers
        for layer in hidden:
            x = act(layer(x))
        return last(x)


def mlp(sizes: Sequence[int], backend: Autodiff) -> Mlp:
    return Mlp(layers=[LinearConfig(i, o).init(backend) for i, o in itertools.pairwise(sizes)])


def training(
    model: Mlp,
    act: Callable[[FloatTensor], FloatTensor],
    loss_of: Callable[[FloatTensor, Tensor], FloatTensor],
    batches: list[tuple[FloatTensor, Tensor]],
) -> Step:
    optim = AdamConfig(epsilon=EPSILON).init()
    number = 0

    def step() -> float:
        nonlocal model, number
        inputs, targets = batches[number % BATCHES]
        number += 1
        loss = loss_of(model(inputs, act), targets)
        grads = GradientsParams.from_grads(loss.backward(), model)
        model = optim.step(LEARNING_RATE, model, grads)
        return float(loss.into_scalar())

    return step


# The floor


def aligned(*shape: int) -> F32:
    """Zeros that begin at a cache line."""
    size = math.prod(shape) * 4
    owner = np.zeros(size + LINE, np.uint8)
    start = -owner.ctypes.data % LINE
    return owner[start : start + size].view(np.float32).reshape(shape)


def views(flat: F32, shapes: Sequence[tuple[int, ...]]) -> list[F32]:
    found, start = [], 0
    for shape in shapes:
        end = start + math.prod(shape)
        found.append(flat[start:end].reshape(shape))
        start = end
    return found


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
        # 0-d arrays are cheaper operands than Python floats.
        self.decay_1, self.decay_2 = np.array(BETA_1, np.float32), np.array(BETA_2, np.float32)
        self.gain_1, self.gain_2 = np.array(1 - BETA_1, np.float32), np.array(1 - BETA_2, np.float32)
        self.rate, self.epsilon = np.array(0, np.float32), np.array(0, np.float32)

    def step(self) -> None:
        self.time += 1
        root = math.sqrt(1 - BETA_2**self.time)
        self.rate[()] = LEARNING_RATE * root / (1 - BETA_1**self.time)
        self.epsilon[()] = EPSILON * root
        for p, g, m, v, t in self.blocks:
            np.multiply(m, self.decay_1, m)
            np.multiply(g, self.gain_1, t)
            np.add(m, t, m)
            np.multiply(v, self.decay_2, v)
            np.multiply(g, g, t)
            np.multiply(t, self.gain_2, t)
            np.add(v, t, v)
            np.sqrt(v, t)
            np.add(t, self.epsilon, t)
            np.divide(m, t, t)
            np.multiply(t, self.rate, t)
            np.subtract(p, t, p)


def tiny() -> tuple[Step, Step]:
    sizes = (2, 16, 16, 1)
    rng = np.random.default_rng(99)
    batches = []
    for _ in range(BATCHES):
        x = rng.uniform(-1, 1, (32, 2)).astype(np.float32)
        batches.append((x, np.sin(3 * x[:, :1]) * x[:, 1:]))
    backend = Autodiff(NumPy(seed=0))
    model = mlp(sizes, backend)
    given = [(Tensor.from_data(x, backend), Tensor.from_data(y, backend)) for x, y in batches]
    floor = tiny_floor(model, batches)
    return agreeing(training(model, activation.tanh, MseLoss(), given), floor)


def tiny_floor(model: Mlp, batches: list[tuple[F32, F32]]) -> Step:
    """Everything transposed, [features, batch], with a row of ones under it, so that a bias is a column of a weight."""
    shapes = [(16, 3), (16, 17), (1, 17)]
    size = sum(map(math.prod, shapes))
    params, grads = aligned(size), aligned(size)
    (w1, w2, w3), (g1, g2, g3) = views(params, shapes), views(grads, shapes)
    for weight, layer in zip((w1, w2, w3), model.layers, strict=True):
        weight[:, :-1] = layer.weight.value.numpy().T
        assert layer.bias is not None
        weight[:, -1] = layer.bias.value.numpy()
    x1, h1, h2, y = aligned(3, 32), aligned(17, 32), aligned(17, 32), aligned(1, 32)
    for array in (x1, h1, h2):
        array[-1] = 1
    x, a1, a2, y_flat = x1[:-1], h1[:-1], h2[:-1], y.reshape(-1)
    w2_t, w3_t, x1_t, h1_t, h2_t = w2[:, :-1].T, w3[:, :-1].T, x1.T, h1.T, h2.T
    d1, d2, t = aligned(16, 32), aligned(16, 32), aligned(16, 32)
    one, scale = np.array(1, np.float32), np.array(2 / 32, np.float32)
    transposed = [(inputs.T, targets.T) for inputs, targets in batches]
    adam = FlatAdam(params, grads)
    number = 0

    def step() -> float:
        nonlocal number
        inputs, targets = transposed[number % BATCHES]
        number += 1
        x[...] = inputs
        np.dot(w1, x1, a1)
        np.tanh(a1, a1)
        np.dot(w2, h1, a2)
        np.tanh(a2, a2)
        np.dot(w3, h2, y)
        np.subtract(y, targets, y)
        loss = float(np.dot(y_flat, y_flat)) / 32
        np.multiply(y, scale, y)
        np.dot(y, h2_t, g3)
        np.matmul(w3_t, y, d2)
        np.multiply(a2, a2, t)
        np.subtract(one, t, t)
        np.multiply(d2, t, d2)
        np.dot(d2, h1_t, g2)
        np.dot(w2_t, d2, d1)
        np.multiply(a1, a1, t)
        np.subtract(one, t, t)
        np.multiply(d1, t, d1)
        np.dot(d1, x1_t, g1)
        adam.step()
        return loss

    return step


def mlp64() -> tuple[Step, Step]:
    sizes = (784, 512, 256, 10)
    rng = np.random.default_rng(99)
    batches = [
        (rng.standard_normal((64, 784)).astype(np.float32), rng.integers(0, 10, 64).astype(np.int32))
        for _ in range(BATCHES)
    ]
    backend = Autodiff(NumPy(seed=0))
    model = mlp(sizes, backend)
    given = [(Tensor.from_data(x, backend), Tensor.from_data(y, backend)) for x, y in batches]
    floor = mlp64_floor(model, batches)
    return agreeing(training(model, activation.relu, CrossEntropyLoss(), given), floor)


def mlp64_floor(model: Mlp, batches: list[tuple[F32, NDArray[np.int32]]]) -> Step:
    shapes = [(784, 512), (512,), (512, 256), (256,), (256, 10), (10,)]
    # Each starts at a cache line: all sizes but the last are multiples of its 16 floats.
    size = sum(map(math.prod, shapes))
    params, grads = aligned(size), aligned(size)
    w1, b1, w2, b2, w3, b3 = weights = views(params, shapes)
    gw1, gb1, gw2, gb2, gw3, gb3 = views(grads, shapes)
    for layer, weight, bias in zip(model.layers, weights[::2], weights[1::2], strict=True):
        weight[...] = layer.weight.value.numpy()
        assert layer.bias is not None
        bias[...] = layer.bias.value.numpy()
    h1, h2, z = aligned(64, 512), aligned(64, 256), aligned(64, 10)
    d1, d2 = aligned(64, 512), aligned(64, 256)
    mask1, mask2 = np.empty((64, 512), bool), np.empty((64, 256), bool)
    highest, sums, picked = aligned(64, 1), aligned(64, 1), aligned(64)
    ones_of_rows, ones_of_classes = np.ones(64, np.float32), np.ones(10, np.float32)
    row_starts, inverse = np.arange(64) * 10, np.float32(1 / 64)
    z_flat, sums_flat = z.reshape(-1), sums.reshape(-1)
    adam = FlatAdam(params, grads)
    number = 0

    def step() -> float:
        nonlocal number
        x, targets = batches[number % BATCHES]
        number += 1
        np.dot(x, w1, h1)
        np.add(h1, b1, h1)
        np.maximum(h1, 0, out=h1)
        np.dot(h1, w2, h2)
        np.add(h2, b2, h2)
        np.maximum(h2, 0, out=h2)
        np.dot(h2, w3, z)
        np.add(z, b3, z)
        # Cross-entropy; its gradient is left in z.
        chosen = row_starts + targets
        np.maximum.reduce(z, axis=1, keepdims=True, out=highest)
        np.subtract(z, highest, z)
        z_flat.take(chosen, out=picked, mode="clip")
        np.exp(z, z)
        np.dot(z, ones_of_classes, sums_flat)
        loss = (float(np.log(sums_flat).sum()) - float(picked.sum())) / 64
        np.divide(inverse, sums, sums)
        np.multiply(z, sums, z)
        z_flat[chosen] -= inverse
        np.dot(h2.T, z, gw3)
        np.dot(ones_of_rows, z, gb3)
        np.matmul(z, w3.T, out=d2)
        np.greater(h2, 0, out=mask2)
        np.multiply(d2, mask2, d2)
        np.dot(h1.T, d2, gw2)
        np.dot(ones_of_rows, d2, gb2)
        np.matmul(d2, w2.T, out=d1)
        np.greater(h1, 0, out=mask1)
        np.multiply(d1, mask1, d1)
        np.dot(x.T, d1, gw1)
        np.dot(ones_of_rows, d1, gb1)
        adam.step()
        return loss

    return step


def agreeing(ours: Step, floor: Step) -> tuple[Step, Step]:
    """Both sides, after some steps in which their losses were the same but for rounding."""
    losses = np.array([(ours(), floor()) for _ in range(AGREEING_STEPS)])
    np.testing.assert_allclose(losses[:, 0], losses[:, 1], rtol=1e-3)
    return ours, floor


if __name__ == "__main__":
    sys.exit(main())
