"""The rows of normalizations."""

from __future__ import annotations

from typing import Any

import numpy as np
from rows import Rows, f, positive

ROWS = Rows("modules")
row = ROWS.add
EPSILON = 1e-2


def normalized(x: Any, axes: Any) -> Any:
    """(x - mean) / √(variance + ε), mean, variance, 1/√(variance + ε)."""
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    recip_std = 1 / np.sqrt(variance + EPSILON)
    return (x - mean) * recip_std, mean, variance, recip_std


def pull(n: Any, recip_std: Any, gamma: Any, g: Any, axes: Any) -> Any:
    """The gradient of x, given n = x normalized and gamma in the rank of x."""
    g = g * gamma
    return recip_std * (g - g.mean(axes, keepdims=True) - n * (g * n).mean(axes, keepdims=True))


def layer_norm_train(x: Any, gamma: Any, beta: Any, epsilon: float) -> Any:
    n, _, _, recip_std = normalized(x, -1)
    return n * gamma + (0 if beta is None else beta), n, recip_std


def layer_norm_backward(n: Any, recip_std: Any, gamma: Any, g: Any) -> Any:
    rows = tuple(range(n.ndim - 1))
    return pull(n, recip_std, gamma, g, -1), (g * n).sum(rows), g.sum(rows)


LAYER = [(f(4, 3), f(3), f(3), EPSILON), (f(2, 4, 3), f(3), f(3), EPSILON), (f(4, 3), f(3), None, EPSILON),
         (f(3), f(3), f(3), EPSILON), (f(3, 4).T, f(3), f(3), EPSILON), (f(0, 3), f(3), f(3), EPSILON),
         (f(2, 1), f(1), f(1), EPSILON)]  # fmt: skip
row("layer_norm", LAYER, lambda *case: layer_norm_train(*case)[0])
row("layer_norm_train", LAYER, layer_norm_train)
row("layer_norm_backward",
    [(f(4, 3), positive(4, 1), f(3), f(4, 3)), (f(2, 4, 3), positive(2, 4, 1), f(3), f(2, 4, 3)),
     (f(3, 4).T, positive(4, 1), f(3), f(3, 4).T), (f(3), positive(1), f(3), f(3)),
     (f(0, 3), positive(0, 1), f(3), f(0, 3))], layer_norm_backward)  # fmt: skip


def rms_norm_train(x: Any, gamma: Any, epsilon: float) -> Any:
    recip_rms = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon)
    return x * recip_rms * gamma, x * recip_rms, recip_rms


def rms_norm_backward(n: Any, recip_rms: Any, gamma: Any, g: Any) -> Any:
    scaled = g * gamma
    x_grad = recip_rms * (scaled - n * (scaled * n).mean(-1, keepdims=True))
    return x_grad, (g * n).sum(tuple(range(n.ndim - 1)))


RMS = [(x, gamma, epsilon) for x, gamma, beta, epsilon in LAYER if beta is not None]
row("rms_norm", RMS, lambda *case: rms_norm_train(*case)[0])
row("rms_norm_train", RMS, rms_norm_train)
row("rms_norm_backward",
    [(f(4, 3), positive(4, 1), f(3), f(4, 3)), (f(2, 4, 3), positive(2, 4, 1), f(3), f(2, 4, 3)),
     (f(3, 4).T, positive(4, 1), f(3), f(3, 4).T), (f(0, 3), positive(0, 1), f(3), f(0, 3))],
    rms_norm_backward)  # fmt: skip


def channels(values: Any, x: Any) -> Any:
    return values.reshape(1, -1, *(1 for _ in x.shape[2:]))


def all_but_channels(x: Any) -> Any:
    return tuple(axis for axis in range(x.ndim) if axis != 1)


def batch_norm(x: Any, gamma: Any, beta: Any, mean: Any, variance: Any, epsilon: float) -> Any:
    scale = channels(gamma / np.sqrt(variance + epsilon), x)
    return (x - channels(mean, x)) * scale + channels(beta, x)


def batch_norm_train(x: Any, gamma: Any, beta: Any, epsilon: float) -> Any:
    n, mean, variance, _ = normalized(x, all_but_channels(x))
    return n * channels(gamma, x) + channels(beta, x), mean.reshape(-1), variance.reshape(-1)


def batch_norm_train_backward(x: Any, gamma: Any, mean: Any, variance: Any, g: Any, epsilon: float) -> Any:
    axes = all_but_channels(x)
    recip_std = channels(1 / np.sqrt(variance + epsilon), x)
    n = (x - channels(mean, x)) * recip_std
    scaled = g - g.mean(axes, keepdims=True) - n * (g * n).mean(axes, keepdims=True)
    return channels(gamma, x) * recip_std * scaled, (g * n).sum(axes), g.sum(axes)


SHAPES = [(4, 3), (2, 3, 5), (2, 3, 4, 2), (1, 2, 3, 3), (2, 2, 1, 1), (2, 1, 2, 2, 2)]
BATCH = [f(*shape) for shape in SHAPES] + [
    f(3, 4).T,
    np.moveaxis(f(3, 4, 2, 5), 3, 0),
    np.moveaxis(f(2, 4, 5, 3), 3, 1),
]
row("batch_norm", [(x, *(f(x.shape[1]) for _ in range(3)), positive(x.shape[1]), EPSILON) for x in BATCH], batch_norm)
row("batch_norm_train", [(x, f(x.shape[1]), f(x.shape[1]), EPSILON) for x in BATCH], batch_norm_train)
row("batch_norm_train_backward",
    [(x, f(x.shape[1]), f(x.shape[1]), positive(x.shape[1]), np.copy(f(*x.shape)), EPSILON) for x in BATCH],
    batch_norm_train_backward)  # fmt: skip
