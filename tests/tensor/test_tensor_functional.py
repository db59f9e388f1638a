"""Activations and fused functions against their formulas, and how tensors print."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.tensor import DTypeError, FloatTensor, IndexOutOfBounds, KindError, ShapeError, Tensor
from minburn.tensor.activation import gelu, log_sigmoid, log_softmax, relu, sigmoid, silu, softmax, tanh
from minburn.tensor.functional import cross_entropy_with_logits, linear, linears

plain = NumPy(seed=1)
auto = Autodiff(plain)
X = np.array([[-3.0, -0.5, 0.0], [0.5, 2.0, 80.0]], np.float32)


@pytest.mark.parametrize("backend", [plain, auto])
def test_activations(backend: Any) -> None:
    x = Tensor.from_data(X, backend)
    wide = X.astype(np.float64)
    logistic = 1 / (1 + np.exp(-wide))
    shifted = np.exp(wide - wide.max(1, keepdims=True))
    soft = shifted / shifted.sum(1, keepdims=True)
    for result, expected in [
        (relu(x), np.maximum(X, 0)),
        (sigmoid(x), logistic),
        (log_sigmoid(x), np.log(logistic)),
        (tanh(x), np.tanh(wide)),
        (silu(x), wide * logistic),
        (softmax(x, 1), soft),
        (softmax(x.transpose(), 0), soft.T),
        (log_softmax(x, -1), wide - wide.max(1, keepdims=True) - np.log(shifted.sum(1, keepdims=True))),
    ]:
        assert isinstance(result, FloatTensor)
        assert result.dtype == DType.F32
        assert np.allclose(result.numpy(), expected, rtol=1e-5, atol=1e-6)
    assert np.allclose(gelu(x).numpy()[0], [-0.00404951, -0.15426877, 0.0], atol=1e-6)
    with pytest.raises(IndexOutOfBounds, match="softmax: dimension 2"):
        softmax(x, 2)


def test_linear() -> None:
    rng = np.random.default_rng(0)
    weight, bias = (rng.normal(size=shape).astype(np.float32) for shape in ((3, 4), (4,)))
    w, b = Tensor.from_data(weight, auto).require_grad(), Tensor.from_data(bias, auto).require_grad()
    for shape in ((2, 3), (5, 2, 3), (3,), (0, 3)):
        data = rng.normal(size=shape).astype(np.float32)
        for x in (Tensor.from_data(data, auto), Tensor.from_data(data, plain)):
            assert np.allclose(linear(x, w, b).numpy(), data @ weight + bias, atol=1e-5)
            assert np.allclose(linear(x, w).numpy(), data @ weight, atol=1e-5)
            assert linear(x, w, b).is_tracked
    for shapes, text in [
        (((2, 4), (3, 4), (4,)), "takes 3 in the last dimension"),
        (((2, 3), (3, 4), (3,)), r"bias must have shape \[4\]"),
        (((2, 3), (3, 4), (1, 4)), r"bias must have shape \[4\]"),
        (((2, 3), (3,), (4,)), r"\[d_in, d_out\]"),
        (((), (3, 4), (4,)), "takes 3"),
    ]:
        with pytest.raises(ShapeError, match=text):
            linear(*(Tensor.zeros(shape, plain) for shape in shapes))
    with pytest.raises(DTypeError, match="linear: dtypes"):
        linear(Tensor.zeros([2, 3], plain), Tensor.zeros([3, 4], plain, dtype=DType.F64))
    with pytest.raises(KindError):
        linear(Tensor.from_data([[1, 2, 3]], plain), w)  # type: ignore[arg-type]


def test_cross_entropy() -> None:
    logits = Tensor.from_data(X, auto).require_grad()
    classes, probabilities = Tensor.from_data([0, 2], auto), Tensor.from_data([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], auto)
    wide = X.astype(np.float64)
    log_probabilities = wide - np.log(np.exp(wide).sum(1, keepdims=True))
    expected = -(log_probabilities[0, 0] + log_probabilities[1, 2]) / 2
    for targets in (classes, probabilities):
        loss = cross_entropy_with_logits(logits, targets)
        assert loss.shape == (1,)
        assert np.isclose(loss.item(), expected, rtol=1e-5)
        gradient = logits.grad(loss.backward())
        assert gradient is not None
        assert np.allclose(gradient.numpy(), (np.exp(log_probabilities) - probabilities.numpy()) / 2, atol=1e-6)
    for attempt, error, text in [
        (lambda: cross_entropy_with_logits(logits[0], classes), ShapeError, r"\[N, C\]"),
        (lambda: cross_entropy_with_logits(logits, classes[:1]), ShapeError, r"targets must have shape \[2\]"),
        (lambda: cross_entropy_with_logits(logits, probabilities[:1]), ShapeError, "must be equal"),
        (lambda: cross_entropy_with_logits(logits, classes > 0), KindError, "BoolTensor"),  # type: ignore[arg-type]
        (lambda: cross_entropy_with_logits(logits, classes + 1), ValueError, "3"),
    ]:
        with pytest.raises(error, match=text):
            attempt()


def test_repr_shows_values_shape_dtype_kind_and_backend() -> None:
    x = Tensor.from_data([[1.0, 2.5], [1 / 3, 4.0]], auto)
    assert repr(x) == (
        "FloatTensor([[1.    , 2.5   ],\n"
        "             [0.3333, 4.    ]], shape=[2, 2], dtype=F32, backend=autodiff<numpy>, device=cpu)"
    )
    assert repr(x.require_grad()).endswith("device=cpu, requires grad)")
    assert repr(x.require_grad() * 2).endswith("device=cpu, tracked)")
    assert repr(Tensor.from_data([1, 2], plain)) == (
        "IntTensor([1, 2], shape=[2], dtype=I32, backend=numpy, device=cpu)"
    )
    assert repr(Tensor.from_data([True], plain)).startswith("BoolTensor([ True], shape=[1], dtype=Bool(Native)")
    assert len(repr(Tensor.zeros([1000, 1000], plain))) < 1000
    assert "[]" in repr(Tensor.zeros([0], plain))


def value_and_gradients(maps: Any, backend: Any, has_bias: list[bool]) -> list[Any]:
    """Of the three results, and of all leaves for the sum of their squares, weighed."""
    rng = np.random.default_rng(5)
    leaf = lambda *shape: Tensor.from_data(rng.normal(size=shape), backend).require_grad()  # noqa: E731
    x, weights = leaf(2, 4, 3), [leaf(3, 2) for _ in has_bias]
    biases = [leaf(2) if has else None for has in has_bias]
    results = maps(x, weights, biases)
    loss = sum(((result * result).sum() * (n + 1) for n, result in enumerate(results)), Tensor.zeros([1], backend))
    gradients = loss.backward()
    leaves = [x, *weights, *(bias for bias in biases if bias is not None)]
    return [*(result.inner().numpy() for result in results), *(leaf.grad(gradients).numpy() for leaf in leaves)]


@pytest.mark.parametrize("joins", [False, True])
@pytest.mark.parametrize("has_bias", [[True] * 3, [False] * 3, [True, False, True]], ids=str)
def test_linears_are_linear_for_each(joins: bool, has_bias: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Autodiff(NumPy(float_dtype=DType.F64))
    monkeypatch.setattr(type(backend.inner.modules), "joins_linears", joins)
    alone = value_and_gradients(
        lambda x, ws, cs: [linear(x, *pair) for pair in zip(ws, cs, strict=True)], backend, has_bias
    )
    together = value_and_gradients(linears, backend, has_bias)
    for one, two in zip(together, alone, strict=True):
        np.testing.assert_allclose(one, two, 1e-12)
    x, weight = Tensor.zeros([2, 3], backend), Tensor.zeros([3, 4], backend)
    for wrong in (Tensor.zeros([2, 4], backend), Tensor.from_data([[1, 2, 3]], backend)):
        with pytest.raises((ShapeError, KindError), match="linear"):
            linears(wrong, [weight, weight], [None, None])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="zip"):
        linears(x, [weight, weight], [None])
