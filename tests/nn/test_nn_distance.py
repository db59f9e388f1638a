"""Distances; their values are Burn's in the parity tests."""

import numpy as np
import pytest

from minburn.backends import Autodiff, NumPy
from minburn.module import ConfigError
from minburn.nn import CosineSimilarityConfig, PairwiseDistanceConfig
from minburn.tensor import ShapeError, Tensor

BACKEND = Autodiff(NumPy(seed=0))


def test_values_and_display():
    x, y = Tensor.from_data([[3.0, 4.0]], BACKEND), Tensor.from_data([[0.0, 0.0]], BACKEND)
    assert PairwiseDistanceConfig(eps=0.0).init()(x, y).numpy().tolist() == [5.0]
    assert PairwiseDistanceConfig(p=1.0, eps=0.0).init()(x, y).numpy().tolist() == [7.0]
    assert CosineSimilarityConfig().init()(x, x).item() == pytest.approx(1.0)
    assert repr(PairwiseDistanceConfig().init()) == "PairwiseDistance {p: 2, eps: 0.000001}"
    assert repr(CosineSimilarityConfig().init()) == "CosineSimilarity {dim: 1, eps: 0.00000001}"


def test_zero_vectors_have_finite_gradients():
    x = Tensor.zeros([2, 3], BACKEND).require_grad()
    y = CosineSimilarityConfig().init()(x, Tensor.ones([2, 3], BACKEND))
    assert (y.numpy() == 0).all()
    assert np.isfinite(x.grad(y.sum().backward()).numpy()).all()
    distance = PairwiseDistanceConfig().init()(x, x)
    assert np.isfinite(x.grad(distance.sum().backward()).numpy()).all()


def test_tiny_vectors_keep_their_direction():
    x = Tensor.full([1, 4], 1e-15, BACKEND)
    assert CosineSimilarityConfig(eps=1e-30).init()(x, x).item() == pytest.approx(1.0, rel=1e-5)


def test_what_does_not_fit_is_refused():
    x, y = Tensor.zeros([2, 3], BACKEND), Tensor.zeros([2, 4], BACKEND)
    for layer in (PairwiseDistanceConfig().init(), CosineSimilarityConfig().init()):
        with pytest.raises(ShapeError, match=r"\[2, 3\] and \[2, 4\]"):
            layer(x, y)
    with pytest.raises(ConfigError, match="p must be finite and greater than 0, but got 0"):
        PairwiseDistanceConfig(p=0.0).init()
    with pytest.raises(ConfigError, match=r"eps .* -1"):
        CosineSimilarityConfig(eps=-1.0).init()
