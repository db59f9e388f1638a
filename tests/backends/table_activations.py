"""The rows of activation functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from rows import Rows, by_dim, each, erf, f, softmax, unary

ROWS = Rows("activations")
row = ROWS.add


def softmax_pull(out: Any, g: Any, dim: int) -> Any:
    return out * (g - (g * out).sum(axis=dim, keepdims=True))


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


PHI = lambda x: (1 + erf(x / math.sqrt(2))) / 2  # noqa: E731
row("relu", unary(f), lambda x: np.maximum(x, 0), kinked=True)
row("relu_backward", [(f(2, 3), f(2, 3)), (f(3, 2).T, f(2, 3))], lambda o, g: g * (o > 0), kinked=True)
row("leaky_relu", each(f, 0.3), lambda x, slope: np.where(x < 0, slope * x, x), kinked=True)
row("leaky_relu_backward", [(f(2, 3), f(2, 3), 0.3), (f(3, 2).T, f(2, 3), 1.5)],
    lambda x, g, slope: np.where(x < 0, slope * g, g), kinked=True)  # fmt: skip
row("prelu", [(f(2, 3), f(1, 3)), (f(3, 2).T, f(1, 1)), (f(2, 3), f(2, 3)), (f(0, 3), f(1, 3))],
    lambda x, alpha: np.where(x < 0, alpha * x, x), kinked=True)  # fmt: skip


def gelu_train(x: Any) -> Any:
    return x * PHI(x), PHI(x) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def gelu_approximate_train(x: Any) -> Any:
    c = math.sqrt(2 / math.pi)
    t = np.tanh(c * (x + 0.044715 * x**3))
    return x * (1 + t) / 2, (1 + t) / 2 + x * (1 - t * t) / 2 * c * (1 + 3 * 0.044715 * x * x)


row("gelu", unary(f), lambda x: x * PHI(x))
row("gelu_train", unary(f, low=-6.0, high=6.0), gelu_train)
row("gelu_backward", [(f(2, 3), f(2, 3)), (f(3, 2).T, f(2, 3))], lambda x, g: g * gelu_train(x)[1])
row("gelu_approximate", unary(f), lambda x: gelu_approximate_train(x)[0])
row("gelu_approximate_train", unary(f, low=-6.0, high=6.0), gelu_approximate_train)
row("silu", unary(f), lambda x: x * sigmoid(x))
row("silu_train", unary(f), lambda x: (x * sigmoid(x), sigmoid(x) * (1 + x * (1 - sigmoid(x)))))
row("sigmoid", unary(f), sigmoid)
row("sigmoid_backward", [(f(2, 3), f(2, 3)), (f(3, 2).T, f(2, 3))], lambda o, g: g * o * (1 - o))
row("log_sigmoid", unary(f), lambda x: np.log(sigmoid(x)))
row("log_sigmoid_backward", [(f(2, 3), f(2, 3)), (f(3, 2).T, f(2, 3))], lambda x, g: g * sigmoid(-x))
row("hard_sigmoid", each(f, 0.4, 0.3), lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1), kinked=True)
row("softmin", by_dim(f), lambda x, dim: softmax(-x, dim))
row("softmax", by_dim(f), softmax)
row("softmax_backward", [(f(2, 3), f(2, 3), 1), (f(3, 2).T, f(2, 3), 0)], softmax_pull)
row("log_softmax", by_dim(f), lambda x, dim: np.log(softmax(x, dim)) if x.size else x)
row("log_softmax_backward", [(f(2, 3), f(2, 3), 1), (f(3, 2).T, f(2, 3), 0)],
    lambda o, g, dim: g - np.exp(o) * g.sum(axis=dim, keepdims=True))  # fmt: skip
