"""The rows of the affine map and of cross-entropy."""

from __future__ import annotations

from typing import Any

import numpy as np
from rows import Rows, f, softmax

ROWS = Rows("modules")
row = ROWS.add


def cross_entropy(logits: Any, targets: Any) -> Any:
    probs = softmax(logits, 1)
    return np.reshape(-np.mean(np.log(probs[np.arange(len(targets)), targets])), 1), probs


LINEAR = [(f(4, 3), f(3, 2), f(2)), (f(2, 4, 3), f(3, 2), f(2)), (f(4, 3), f(3, 2), None), (f(3), f(3, 2), f(2)),
          (f(3, 4).T, f(2, 3).T, f(2)), (f(0, 3), f(3, 2), f(2)), (f(1, 1), f(1, 1), f(1))]  # fmt: skip
row("linear", LINEAR, lambda x, w, c: x @ w + (0 if c is None else c))
row("linear_x_backward", [(f(3, 2), f(4, 2)), (f(2, 3).T, f(2, 4, 2))], lambda w, g: g @ w.T)
row("linear_weight_backward", [(f(4, 3), f(4, 2)), (f(2, 4, 3), f(2, 4, 2)), (f(0, 3), f(0, 2))],
    lambda x, g: x.reshape(-1, 3).T @ g.reshape(-1, 2))  # fmt: skip
row("linear_bias_backward", [(f(4, 2),), (f(2, 4, 2),), (f(0, 2),)], lambda g: g.reshape(-1, 2).sum(0))


def linears(x: Any, weights: Any, biases: Any) -> Any:
    return np.stack([x @ w + c for w, c in zip(weights, biases or [0] * len(weights), strict=True)])


row("linears", [(f(4, 3), [f(3, 2), f(3, 2)], [f(2), f(2)]), (f(2, 4, 3), [f(3, 5), f(5, 3).T, f(3, 5)], None),
                (f(3, 4).T, [f(3, 2)], [f(2)]), (f(0, 3), [f(3, 2), f(3, 2)], [f(2), f(2)])], linears)  # fmt: skip
row("linears_x_backward", [([f(3, 2), f(2, 3).T], f(2, 4, 2)), ([f(3, 2)], f(1, 2, 4, 2)), ([f(3, 2)], f(1, 0, 2))],
    lambda w, g: sum(gi @ wi.T for wi, gi in zip(w, g, strict=True)))  # fmt: skip
row("linears_weight_backward", [(f(4, 3), f(2, 4, 2)), (f(2, 4, 3), f(3, 2, 4, 2)), (f(3, 4).T, f(2, 4, 2))],
    lambda x, g: tuple(x.reshape(-1, 3).T @ gi.reshape(-1, 2) for gi in g))  # fmt: skip
row("linears_bias_backward", [(f(2, 4, 2),), (f(3, 2, 4, 2),), (f(2, 0, 2),)],
    lambda g: tuple(g.reshape(len(g), -1, 2).sum(1)))  # fmt: skip
TARGETS = np.array([0, 2, 2, 1])
row("cross_entropy", [(f(4, 3), TARGETS), (f(3, 4).T, TARGETS), (f(1, 1), TARGETS[:1])], cross_entropy)
row("cross_entropy_backward", [(f(4, 3), TARGETS, f(1)), (f(3, 4).T, TARGETS, f(1))],
    lambda p, t, g: (p - np.eye(3)[t]) * g / 4)  # fmt: skip
