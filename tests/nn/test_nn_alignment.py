"""CTC and RNN-T against sums over every alignment, written out."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from minburn import nn
from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.module import ConfigError
from minburn.nn import Reduction
from minburn.tensor import IndexOutOfBounds, KindError, ShapeError, Tensor, activation, functional
from minburn.testing import check_gradients

BACKEND = Autodiff(NumPy(seed=0, float_dtype=DType.F64))
RNG = np.random.default_rng(11)


def log_probs(*shape: int) -> Any:
    return activation.log_softmax(Tensor.from_data(RNG.normal(size=shape), BACKEND), len(shape) - 1)


def ints(*values: Any) -> Any:
    return Tensor.from_data(list(values), BACKEND, DType.I32)


def ctc_by_hand(log_p: Any, labels: list[int], blank: int) -> float:
    """log_p [T, C]: every path of frames whose merged labels are these."""
    frames, classes = log_p.shape
    total = 0.0
    for path in itertools.product(range(classes), repeat=frames):
        merged = [label for label, _ in itertools.groupby(path) if label != blank]
        if merged == labels:
            total += math.exp(sum(log_p[t, label] for t, label in enumerate(path)))
    return -math.log(total) if total else math.inf


def rnnt_by_hand(log_p: Any, labels: list[int], blank: int) -> float:
    """log_p [T, U + 1, V]: every order of T - 1 blanks and U labels, then a last blank."""
    frames, total = log_p.shape[0], 0.0
    for order in set(itertools.permutations([0] * (frames - 1) + [1] * len(labels))):
        t = u = 0
        score = 0.0
        for says in order:
            score += log_p[t, u, labels[u] if says else blank]
            t, u = (t, u + 1) if says else (t + 1, u)
        total += math.exp(score + log_p[t, u, blank])
    return -math.log(total)


CASES: list[tuple[list[list[int]], list[int], int]] = [
    ([[1, 1], [2, 1]], [4, 3], 0),
    ([[1, 2], [2]], [4, 4], 0),
    ([[0, 1], []], [3, 2], 2),
    ([[], [1]], [1, 1], 0),
    ([[2], [2]], [2, 4], 1),
]


def padded(labels: list[list[int]], with_: int = 0) -> Any:
    longest = max(map(len, labels))
    return Tensor.from_data(np.array([row + [with_] * (longest - len(row)) for row in labels], np.int32), BACKEND)


@pytest.mark.parametrize(("labels", "frames", "blank"), CASES)
def test_ctc(labels: list[list[int]], frames: list[int], blank: int) -> None:
    x = log_probs(4, 2, 3)
    counts = ints(*map(len, labels))
    loss = nn.CTCLossConfig(blank).init()(x, padded(labels), ints(*frames), counts)
    wanted = [ctc_by_hand(x.numpy()[: frames[n], n], labels[n], blank) for n in range(2)]
    np.testing.assert_allclose(loss.numpy(), wanted, 1e-12)
    other = nn.CTCLossConfig(blank).init()(x, padded(labels, -7), ints(*frames), counts)
    np.testing.assert_array_equal(other.numpy(), loss.numpy())  # what pads the labels does not matter


@pytest.mark.parametrize(("labels", "frames", "blank"), CASES)
def test_rnnt(labels: list[list[int]], frames: list[int], blank: int) -> None:
    longest = max(map(len, labels))
    x = log_probs(2, 4, longest + 1, 3)
    loss = nn.RNNTLossConfig(blank, logits=False).init()(x, padded(labels), ints(*frames), ints(*map(len, labels)))
    wanted = [rnnt_by_hand(x.numpy()[n, : frames[n], : len(labels[n]) + 1], labels[n], blank) for n in range(2)]
    np.testing.assert_allclose(loss.numpy(), wanted, 1e-12)


def test_gradients() -> None:
    labels, counts = padded([[1, 1], [2]]), ints(2, 1)
    x = Tensor.from_data(RNG.normal(size=(4, 2, 3)), BACKEND)
    ctc = nn.CTCLossConfig().init()
    check_gradients(lambda x: ctc(activation.log_softmax(x, 2), labels, ints(4, 3), counts), x)
    check_gradients(lambda x: ctc(x, labels, ints(4, 3), counts), x, order=2, rtol=1e-4, atol=1e-6)
    logits = Tensor.from_data(RNG.normal(size=(2, 3, 3, 3)), BACKEND)
    rnnt = nn.RNNTLossConfig().init()
    check_gradients(lambda x: rnnt(x, labels, ints(3, 2), counts), logits)
    check_gradients(lambda x: rnnt(x, labels, ints(3, 2), counts), logits, order=2, rtol=1e-4, atol=1e-6)


def test_too_few_frames_are_infinite_and_pull_nowhere() -> None:
    x = log_probs(2, 2, 3).detach().require_grad()
    given = (padded([[1, 1], [2]]), ints(2, 2), ints(2, 1))
    loss = nn.CTCLossConfig().init()(x, *given)
    grad = x.grad(loss.sum().backward()).numpy()
    assert loss.numpy()[0] == math.inf and (grad[:, 0] == 0).all()
    assert np.isfinite(grad).all() and (grad[:, 1] != 0).any()
    zero = nn.CTCLossConfig(zero_infinity=True).init()
    assert zero(x, *given).numpy().tolist() == [0.0, loss.numpy()[1]]
    assert (x.grad(zero(x, *given).sum().backward()).numpy()[:, 0] == 0).all()


def test_impossible_classes_have_finite_gradients() -> None:
    x = Tensor.from_data([[[0.0, -np.inf, 0.0]], [[0.0, 0.0, -np.inf]]], BACKEND).require_grad()
    loss = functional.ctc_loss(x, padded([[1]]), ints(2), ints(1))
    grad = x.grad(loss.sum().backward()).numpy()
    assert loss.item() == 0.0
    assert np.isfinite(grad).all() and grad[0, 0, 1] == 0 and grad[1, 0, 1] == -1


def test_reductions() -> None:
    x, labels, counts = log_probs(4, 2, 3), padded([[1, 2], []]), ints(2, 0)
    ctc = nn.CTCLossConfig().init()
    each = ctc(x, labels, ints(4, 3), counts).numpy()
    given = (x, labels, ints(4, 3), counts)
    assert ctc.forward_with_reduction(*given, Reduction.Sum).item() == pytest.approx(each.sum())
    assert ctc.forward_with_reduction(*given).item() == pytest.approx((each[0] / 2 + each[1]) / 2)
    with pytest.raises(ValueError, match="BatchMean is not supported"):
        ctc.forward_with_reduction(*given, Reduction.BatchMean)


def test_halves_are_computed_in_f32() -> None:
    backend = Autodiff(NumPy(float_dtype=DType.F16))
    logits = RNG.normal(size=(60, 1, 5)).astype(np.float16)
    x = activation.log_softmax(Tensor.from_data(logits, backend), 2)
    exact = activation.log_softmax(Tensor.from_data(x.numpy().astype(np.float64), BACKEND), 2)
    given = (padded([[1, 2, 3]]), ints(60), ints(3))
    loss = functional.ctc_loss(x, *(tensor.to_device(backend) for tensor in given))
    assert loss.dtype == DType.F16
    assert loss.item() == pytest.approx(functional.ctc_loss(exact, *given).item(), rel=3e-3)


def test_what_does_not_fit_is_refused() -> None:
    x, labels, frames, counts = log_probs(4, 2, 3), padded([[1, 2], [1]]), ints(4, 4), ints(2, 1)
    ctc = nn.CTCLossConfig().init()
    with pytest.raises(ShapeError, match=r"log_probs must have shape \[T, N, C\]"):
        ctc(x.flatten(0, 1), labels, frames, counts)
    with pytest.raises(ShapeError, match=r"2 sequences need targets of shape \[2, …\], but they have \[1, 2\]"):
        ctc(x, labels.narrow(0, 0, 1), frames, counts)
    with pytest.raises(ShapeError, match="input_lengths must be between 1 and 4, but one is 5"):
        ctc(x, labels, ints(5, 4), counts)
    with pytest.raises(ShapeError, match="input_lengths must be between 1 and 4, but one is 0"):
        ctc(x, labels, ints(0, 4), counts)
    with pytest.raises(ShapeError, match=r"have 2 labels at most, but target_lengths has 3"):
        ctc(x, labels, frames, ints(3, 1))
    with pytest.raises(IndexOutOfBounds, match="the label 3 is not one of the 3 classes"):
        ctc(x, padded([[1, 3], [1]]), frames, counts)
    with pytest.raises(IndexOutOfBounds, match="blank must be one of the 3 classes, but got 3"):
        nn.CTCLossConfig(3).init()(x, labels, frames, counts)
    with pytest.raises(KindError, match="targets must be an int tensor, but got FloatTensor"):
        ctc(x, labels.float(), frames, counts)
    with pytest.raises(ConfigError, match="blank is the number of a class"):
        nn.CTCLossConfig(-1).init()
    with pytest.raises(ShapeError, match=r"need log_probs of shape \[N, T, 3, V\], but they have \[2, 4, 2, 3\]"):
        nn.RNNTLossConfig().init()(log_probs(2, 4, 2, 3), labels, frames, counts)
    assert repr(ctc) == "CTCLoss {blank: 0, zero_infinity: false}"
