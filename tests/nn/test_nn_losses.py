"""Losses: gradients against differences, subgradients, refusals, display. The parity tests compare values with Burn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minburn import nn
from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.module import ConfigError
from minburn.nn import Reduction
from minburn.tensor import KindError, ShapeError, Tensor, TensorError
from minburn.testing import check_gradients

BACKEND = Autodiff(NumPy(seed=0, float_dtype=DType.F64))
RNG = np.random.default_rng(3)


def floats(*shape: int, low: float = -2.0, high: float = 2.0) -> Any:
    return Tensor.from_data(RNG.uniform(low, high, shape), BACKEND)


def signs(*shape: int) -> Any:
    return Tensor.from_data(RNG.choice([-1.0, 1.0], shape), BACKEND)


PAIRS = {
    "huber": nn.HuberLossConfig(0.8).init(),
    "smooth_l1": nn.SmoothL1LossConfig(0.5).init(),
    "smooth_l1_0": nn.SmoothL1LossConfig(0.0).init(),
    "l1": nn.LpLossConfig.l1(),
    "l2": nn.LpLossConfig.l2(),
    "lp_half": nn.LpLossConfig(0.5).init(),
    "lp_3": nn.LpLossConfig(3.0).init(),
    "kldiv": nn.KLDivLossConfig().init(),
    "kldiv_log": nn.KLDivLossConfig(log_target=True).init(),
    "poisson": nn.PoissonNllLossConfig(full=True).init(),
    "poisson_rate": nn.PoissonNllLossConfig(log_input=False).init(),
    "soft_margin": nn.SoftMarginLoss(),
}
"""Losses of two tensors."""
POSITIVE = {"poisson_rate", "kldiv", "poisson"}


@pytest.mark.parametrize("name", PAIRS)
def test_losses_of_pairs_have_the_gradients_of_their_values(name: str) -> None:
    positive = name in POSITIVE
    x = floats(3, 4, low=0.1 if positive else -2.0, high=0.9)
    y = floats(
        1, 4, low=1.2 if name.startswith("poisson") else 0.1 if positive else -2.0, high=3.0 if positive else 2.0
    )
    if name == "kldiv":
        y = floats(3, 4, low=0.1, high=0.9)
    check_gradients(PAIRS[name], x, y)
    check_gradients(PAIRS[name], x, y, order=2, rtol=1e-4, atol=1e-5)


def test_losses_of_three_have_the_gradients_of_their_values() -> None:
    a, b, c = floats(4, 3), floats(4, 3), floats(4, 3)
    for p in (1.0, 2.0, 2.5):
        check_gradients(nn.TripletMarginLossConfig(margin=3.0, p=p).init(), a, b, c)
    check_gradients(nn.GaussianNLLLossConfig(full=True).init(), a, b, floats(4, 3, low=0.2))
    check_gradients(nn.MarginRankingLossConfig(0.3).init(), a, b, signs(4, 3))
    labels = Tensor.from_data([1, -1, 0, -1], BACKEND)
    cosine = nn.CosineEmbeddingLossConfig(margin=-0.9).init()
    check_gradients(lambda x, y: cosine(x, y, labels), a, b)
    classes = Tensor.from_data([0, 2, 1, 1], BACKEND)
    for power in (1, 2):
        multi = nn.MultiMarginLossConfig(margin=0.7, p=power).init()
        check_gradients(lambda x, multi=multi: multi(x, classes), a)
    embedding = nn.HingeEmbeddingLossConfig(2.5).init()
    target = signs(4, 3)
    check_gradients(lambda x: embedding(x, target), a)


@pytest.mark.parametrize("name", ["huber", "smooth_l1", "smooth_l1_0", "l1", "l2", "lp_half", "lp_3"])
def test_no_error_costs_nothing_and_pulls_nowhere(name: str) -> None:
    x = floats(2, 3).require_grad()
    loss = PAIRS[name](x, x.inner().autodiff(BACKEND))
    assert (loss.numpy() == 0).all()
    assert (x.grad(loss.sum().backward()).numpy() == 0).all()


def test_equal_vectors_of_a_triplet_pull_nowhere() -> None:
    for p in (1.0, 2.0, 3.0):
        x = floats(2, 3).require_grad()
        loss = nn.TripletMarginLossConfig(p=p).init()(x, x, x)
        assert loss.item() == 1.0
        assert (x.grad(loss.backward()).numpy() == 0).all()


def test_large_errors_pull_as_hard_as_delta() -> None:
    x = Tensor.from_data([-np.inf, -1e30, 0.0, 1e30, np.inf], Autodiff(NumPy())).require_grad()
    grads = nn.HuberLossConfig(2.0).init()(x, x.zeros_like(), Reduction.Sum).backward()
    assert x.grad(grads).numpy().tolist() == [-2.0, -2.0, 0.0, 2.0, 2.0]


def test_a_probability_of_0_adds_nothing_to_a_divergence() -> None:
    x = Tensor.from_data([[-1.0, -2.0]], BACKEND).require_grad()
    t = Tensor.from_data([[0.0, 1.0]], BACKEND).require_grad()
    loss = nn.KLDivLossConfig().init()(x, t, Reduction.Sum)
    grads = loss.backward()
    assert loss.item() == 2.0
    assert np.isfinite(x.grad(grads).numpy()).all() and np.isfinite(t.grad(grads).numpy()).all()
    assert nn.KLDivLossConfig(log_target=True).init()(x, x).item() == 0.0


def test_auto_is_the_batch_mean_of_a_divergence_only() -> None:
    x, t = floats(4, 3, high=0.0), floats(4, 3, low=0.1, high=0.9)
    divergence = nn.KLDivLossConfig().init()
    auto, total = divergence(x, t, Reduction.Auto), divergence(x, t, Reduction.Sum)
    assert auto.item() == pytest.approx(total.item() / 4)
    assert divergence(x, t, Reduction.BatchMean).item() == auto.item()
    with pytest.raises(ValueError, match="BatchMean is not supported"):
        nn.LpLossConfig.l1()(x, t, Reduction.BatchMean)


def test_a_power_of_errors_per_image() -> None:
    x, y = floats(2, 3, 4, 5), floats(2, 3, 4, 5)
    loss = nn.LpLossConfig.l2().forward_reduce_dims(x, y, [1, -2, -1])
    assert loss.shape == (2, 1, 1, 1)
    np.testing.assert_allclose(loss.numpy().ravel(), ((x - y).numpy() ** 2).mean((1, 2, 3)), rtol=1e-5)


def test_losses_keep_the_dtype() -> None:
    backend = Autodiff(NumPy(float_dtype=DType.F16))
    x, y = Tensor.from_data([[0.5, 0.25]], backend), Tensor.from_data([[0.5, 0.75]], backend)
    for loss in PAIRS.values():
        assert loss(x, y).dtype == DType.F16
    assert nn.CosineEmbeddingLossConfig().init()(x, y, Tensor.from_data([1], backend)).dtype == DType.F16


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (nn.HuberLossConfig(-1.0), "HuberLoss: delta must be finite and at least 0, but got -1.0"),
        (nn.SmoothL1LossConfig(float("nan")), "beta must be finite and at least 0, but got nan"),
        (nn.LpLossConfig(0.0), "LpLoss: p must be finite and greater than 0, but got 0.0"),
        (nn.PoissonNllLossConfig(eps=0.0), "eps must be finite and greater than 0"),
        (nn.GaussianNLLLossConfig(eps=-1.0), "eps must be finite and at least 0"),
        (nn.MarginRankingLossConfig(-0.5), "margin must be finite and at least 0, but got -0.5"),
        (nn.MultiMarginLossConfig(p=3), "p must be 1 or 2, but got 3"),
        (nn.TripletMarginLossConfig(p=0.0), "p must be finite and greater than 0"),
        (nn.HingeEmbeddingLossConfig(float("inf")), "margin must be a finite number, but got inf"),
        (nn.CosineEmbeddingLossConfig(float("nan")), "margin must be a finite number, but got nan"),
    ],
)
def test_settings_that_mean_nothing_are_refused(config: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config.init()


def test_inputs_that_do_not_fit_are_refused() -> None:
    x, ints = floats(2, 3), Tensor.from_data([1, 0], BACKEND)
    with pytest.raises(ShapeError, match="do not broadcast"):
        nn.HuberLossConfig(1.0).init()(x, floats(3, 3))
    with pytest.raises(KindError, match="HuberLoss: target must be a float tensor, but got IntTensor"):
        nn.HuberLossConfig(1.0).init()(x, ints)
    with pytest.raises(ShapeError, match=r"one shape \[N, D\], but have \[2, 3\], \[2, 3\] and \[2, 2\]"):
        nn.TripletMarginLossConfig().init()(x, x, floats(2, 2))
    with pytest.raises(ShapeError, match=r"need targets \[N\], but have shapes \[2, 3\] and \[3\]"):
        nn.MultiMarginLossConfig().init()(x, Tensor.from_data([1, 0, 1], BACKEND))
    with pytest.raises(ShapeError, match=r"need a target of shape \[2\], but it has \[1\]"):
        nn.CosineEmbeddingLossConfig().init()(x, x, Tensor.from_data([1], BACKEND))
    with pytest.raises(TensorError, match=r"the target must not be negative, but has values down to -2"):
        nn.PoissonNllLossConfig().init()(x, Tensor.full([2, 3], -2.0, BACKEND))
    with pytest.raises(TensorError, match=r"a rate, as log_input is off.*-1"):
        nn.PoissonNllLossConfig(log_input=False).init()(
            Tensor.full([2, 3], -1.0, BACKEND), Tensor.ones([2, 3], BACKEND)
        )


def test_display() -> None:
    assert repr(PAIRS["huber"]) == "HuberLoss {delta: 0.8}"
    assert repr(nn.CosineEmbeddingLossConfig().init()) == "CosineEmbeddingLoss {margin: 0, reduction: Mean}"
    assert repr(nn.MultiMarginLossConfig().init()) == "MultiMarginLoss {margin: 1, p: 1}"
