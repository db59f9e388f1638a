"""The rows of activation functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from rows import Rows, by_dim, erf, f, softmax, unary

ROWS = Rows("activations")
row = ROWS.add


def softmax_pull(out: Any, g: Any, dim: int) -> Any:
    return out * (g - (g * out).sum(axis=dim, keepdims=True))


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


PHI = lambda x: (1 + erf(x / math.sqrt(2))) / 2  # noqa: E731
row("relu", unary(f), lambda x: np.maximum(x, 0), kinked=True)
row("relu_backward", [(f(2, 3), f(2, 3)), (f(3, 2).T, f(2, 3))], lambda o, g: g * (o > 0), kinked=True)
row("gelu", unary(f), lambda x: x * PHI(x))
row("gelu_backward", [(f(2, 3), f(2, 3)), (f(3, 2).T, f(2, 3))],
    lambda x, g: g * (PHI(x) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)))  # fmt: skip
row("sigmoid", unary(f), sigmoid)
row("sigmoid_backward", [(f(2, 3), f(2, 3)), (f(3, 2).T, f(2, 3))], lambda o, g: g * o * (1 - o))
row("log_sigmoid", unary(f), lambda x: np.log(sigmoid(x)))
row("softmax", by_dim(f), softmax)
row("softmax_backward", [(f(2, 3), f(2, 3), 1), (f(3, 2).T, f(2, 3), 0)], softmax_pull)
row("log_softmax", by_dim(f), lambda x, dim: np.log(softmax(x, dim)) if x.size else x)
row("log_softmax_backward", [(f(2, 3), f(2, 3), 1), (f(3, 2).T, f(2, 3), 0)],
    lambda o, g, dim: g - np.exp(o) * g.sum(axis=dim, keepdims=True))  # fmt: skip
