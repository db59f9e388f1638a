"""Counterparts of activations.json."""

from __future__ import annotations

from typing import Any

from play import Play

from minburn.tensor import activation as act

FUNCTIONS: dict[str, Play] = {
    "relu": lambda i: act.relu(i.x),
    "leaky_relu": lambda i: act.leaky_relu(i.x, 0.01),
    "leaky_relu_0.3": lambda i: act.leaky_relu(i.x, 0.3),
    "relu6": lambda i: act.relu6(i.x),
    "gelu": lambda i: act.gelu(i.x),
    "gelu_approximate": lambda i: act.gelu_approximate(i.x),
    "sigmoid": lambda i: act.sigmoid(i.x),
    "hard_sigmoid": lambda i: act.hard_sigmoid(i.x, 0.2, 0.5),
    "log_sigmoid": lambda i: act.log_sigmoid(i.x),
    "silu": lambda i: act.silu(i.x),
    "hard_swish": lambda i: act.hard_swish(i.x),
    "mish": lambda i: act.mish(i.x),
    "tanh": lambda i: act.tanh(i.x),
    "softplus_2.5": lambda i: act.softplus(i.x, 2.5),
    "softplus_threshold": lambda i: act.softplus_with_threshold(i.x, 1.0, 2.0),
    "elu": lambda i: act.elu(i.x, 1.0),
    "elu_0.4": lambda i: act.elu(i.x, 0.4),
    "celu": lambda i: act.celu(i.x, 1.0),
    "celu_2": lambda i: act.celu(i.x, 2.0),
    "selu": lambda i: act.selu(i.x),
    "tanhshrink": lambda i: act.tanhshrink(i.x),
    "softsign": lambda i: act.softsign(i.x),
    "soft_shrink": lambda i: act.soft_shrink(i.x, 0.5),
    "shrink": lambda i: act.shrink(i.x, 0.4, 0.2),
    "threshold": lambda i: act.threshold(i.x, 0.1, -7.0),
    "prelu_1": lambda i: act.prelu(i.given.get("x", f64(i)), i.data([0.25])),
    "softmax": lambda i: {"d0": act.softmax(i.x, 0), "d1": act.softmax(i.x, -1)},
    "log_softmax": lambda i: {"d0": act.log_softmax(i.x, 0), "d1": act.log_softmax(i.x, 1)},
    "softmin": lambda i: act.softmin(i.x, 1),
    "quiet_softmax": lambda i: act.quiet_softmax(i.x, 1),
    "softmax_large": lambda i: act.softmax(i.x, 1),
    "softmax_all_neg_inf": lambda i: act.softmax(i.x, 1),
    "softmax_bad_dim": lambda i: act.softmax(i.floats(3, 4), 2),
    "glu": lambda i: act.glu(i.x, 1),
}


def f64(i: Any) -> Any:
    """Floats of another dtype than the backend's."""
    return i.tensor({"data": [1.0, -1.0], "dtype": "F64", "shape": [2]})
