"""Gradients against differences of the functions themselves, in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minburn.backends import Backend
from minburn.cli.selftest.ops import CUBE, A, Outcome, floats, ints, positive
from minburn.tensor import FloatTensor, IntTensor, Tensor, activation, functional
from minburn.testing import check_gradients

Function = Callable[..., FloatTensor]
AWAY = np.where(np.abs(A) < 0.1, 0.3, A)
"""Away from the kink of relu and abs."""


def cross_entropy(logits: FloatTensor) -> FloatTensor:
    from minburn.nn import CrossEntropyLoss

    return CrossEntropyLoss()(logits, IntTensor.from_ints([0, 3, 1, 6, 2], logits.backend))


def convolution(x: FloatTensor, w: FloatTensor) -> FloatTensor:
    return functional.conv2d(x, w, None, functional.ConvOptions((2, 1), ((1, 0), (0, 1)), (1, 1), 1))


def gathered(x: FloatTensor) -> FloatTensor:
    return x.gather(1, IntTensor.from_ints(ints(7, 5, 9), x.backend))


def embedded(weight: FloatTensor) -> FloatTensor:
    return functional.embedding(weight, IntTensor.from_ints([[0, 2], [2, 2]], weight.backend))


SAMPLE: dict[str, tuple[Function, list[Any]]] = {
    "mul, broadcast": (lambda a, b: a * b, [A, floats(1, 7)]),
    "div": (lambda a, b: a / b, [A, positive(5, 7)]),
    "matmul": (lambda a, b: a.matmul(b), [CUBE, floats(2, 5, 4)]),
    "exp, log, sqrt": (lambda a: (a.exp() + 1.0).log().sqrt(), [A]),
    "tanh": (lambda a: a.tanh(), [A]),
    "abs": (lambda a: a.abs(), [AWAY]),
    "powf": (lambda a: a.powf_scalar(2.5), [positive(4, 3)]),
    "relu": (activation.relu, [AWAY]),
    "gelu": (activation.gelu, [A]),
    "sigmoid": (activation.sigmoid, [A]),
    "softmax": (lambda a: activation.softmax(a, 1), [A]),
    "log_softmax": (lambda a: activation.log_softmax(a, 1), [A]),
    "max_dim": (lambda a: a.max_dim(1), [A]),
    "mean_dim, var": (lambda a: a.mean_dim(2) + a.var(2), [CUBE]),
    "slice, cat": (lambda a: Tensor.cat([a[1:3], a[:2] * 2.0], 0), [A]),
    "gather": (gathered, [A]),
    "embedding": (embedded, [floats(4, 3)]),
    "mask_fill": (lambda a: a.mask_fill(a > 0.5, 0.0) * a, [AWAY]),
    "linear": (functional.linear, [CUBE, floats(5, 4), floats(4)]),
    "layer_norm": (lambda x, g, b: functional.layer_norm(x, g, b, 1e-5), [floats(3, 8), floats(8), floats(8)]),
    "conv2d": (convolution, [floats(2, 2, 5, 4), floats(3, 2, 3, 2)]),
    "avg_pool2d": (lambda x: functional.avg_pool2d(x, (2, 2), (1, 2)), [floats(2, 2, 5, 4)]),
    "max_pool2d": (lambda x: functional.max_pool2d(x, (2, 2), (2, 2)), [floats(2, 2, 5, 4)]),
    "attention": (
        lambda q, k, v: functional.attention(q, k, v),
        [floats(1, 2, 3, 4), floats(1, 2, 5, 4), floats(1, 2, 5, 4)],
    ),
    "cross_entropy": (cross_entropy, [A]),
}


def check(backend: Backend) -> list[Outcome]:
    """The sample; an error above 1 is a wrong gradient."""
    return [outcome(name, function, arrays, backend) for name, (function, arrays) in SAMPLE.items()]


def outcome(name: str, function: Function, arrays: list[Any], backend: Backend) -> Outcome:
    try:
        tensors = [Tensor.from_floats(array, backend) for array in arrays]
        report = check_gradients(function, *tensors, rtol=1e-6, atol=1e-7, max_elements=24)
    except Exception as error:  # also a GradientMismatch, which tells the element
        return Outcome(name, float("inf"), f"{type(error).__name__}: {error}".splitlines()[0])
    return Outcome(name, report.error, "")
