"""Norms and normalized vectors: against NumPy, and where they are not smooth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import minburn
from minburn import linalg
from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.tensor import KindError, ShapeError, Tensor, TensorError
from minburn.testing import check_gradients

plain = NumPy(seed=1)
auto = Autodiff(plain)
ARRAY = np.random.default_rng(5).normal(size=(3, 4, 2)).astype(np.float32)
X = Tensor.from_data(ARRAY, plain)


@pytest.mark.parametrize("p", [0, 1, 2, 3, 4, 2.5, 0.5, -1, -2, math.inf, -math.inf])
@pytest.mark.parametrize("dim", [0, -1])
def test_norms_equal_numpys(p: float, dim: int) -> None:
    expected = np.linalg.norm(ARRAY, p, axis=dim, keepdims=True)
    np.testing.assert_allclose(linalg.vector_norm(X, p, dim).numpy(), expected, rtol=2e-6)
    np.testing.assert_allclose(linalg.lp_norm(X, p, dim).numpy(), expected, rtol=2e-6)
    flat = np.abs(ARRAY).transpose(1, 0, 2).reshape(4, -1)
    over = np.linalg.norm(flat, p, axis=1).reshape(1, 4, 1)
    np.testing.assert_allclose(linalg.vector_norm_dims(X, p, [0, 2]).numpy(), over, rtol=2e-6)


def test_named_norms_are_lp_norms() -> None:
    for name, p in (("l0", 0), ("l1", 1), ("l2", 2), ("max_abs", math.inf), ("min_abs", -math.inf)):
        for suffix, dims in (("", 1), ("_dims", [0, 1])):
            found = getattr(linalg, f"{name}_norm{suffix}")(X, dims)
            assert np.array_equal(found.numpy(), getattr(linalg, f"lp_norm{suffix}")(X, p, dims).numpy())
    assert np.array_equal(linalg.l1_norm_dims(X, []).numpy(), np.abs(ARRAY))  # each element by itself
    counts = Tensor.from_data([[3, 0, -4]], plain)
    assert linalg.l0_norm(counts, 1).numpy().tolist() == [[2]] and linalg.l1_norm(counts, 1).numpy().tolist() == [[7]]
    assert linalg.max_abs_norm(counts, 1).dtype == DType.I32


def test_halves_are_computed_in_single_precision() -> None:
    x = Tensor.from_data([300.0, 400.0], plain, DType.F16)  # whose squares are no halves
    assert linalg.l2_norm(x, 0).numpy().tolist() == [500] and linalg.l2_norm(x, 0).dtype == DType.F16


def test_gradients() -> None:
    for p in (1, 2, 3, 4, 2.5, -2, math.inf, -math.inf):
        check_gradients(lambda x, p=p: linalg.vector_norm(x, p, 1), X)
    check_gradients(lambda x: linalg.vector_normalize(x, 2, 1, 1e-6), X)
    check_gradients(lambda x, y: linalg.cosine_similarity(x, y, 1), X, X.exp())


@pytest.mark.parametrize("p", [2, 3, 4, 2.5])
def test_the_gradient_at_the_zero_vector_is_0(p: float) -> None:
    x = Tensor.from_data([[0.0, 0.0], [3.0, 4.0]], auto).require_grad()
    grad: Any = x.grad(linalg.vector_norm(x, p, 1).backward())
    assert grad.numpy()[0].tolist() == [0, 0] and (grad.numpy()[1] > 0).all()


def test_normalized_vectors() -> None:
    np.testing.assert_allclose(np.linalg.norm(linalg.vector_normalize(X, 2, 1, 0.0).numpy(), axis=1), 1, rtol=1e-6)
    zero = Tensor.from_data([[0.0, 0.0]], plain)
    assert linalg.vector_normalize(zero, 2, 1, 1e-6).numpy().tolist() == [[0, 0]]
    small = Tensor.from_data([[1e-18, 0.0]], plain)
    assert linalg.cosine_similarity(small, small, 1).item() == pytest.approx(1)
    assert linalg.cosine_similarity(zero, small, 1).item() == 0
    expected = (ARRAY[0] * ARRAY[1]).sum(0) / np.linalg.norm(ARRAY[0], axis=0) / np.linalg.norm(ARRAY[1], axis=0)
    np.testing.assert_allclose(linalg.cosine_similarity(X[0], X[1], 0).numpy()[0], expected, rtol=1e-5)


def test_what_has_no_norm() -> None:
    with pytest.raises(TensorError, match="lp_norm: p must be a number, but is nan"):
        linalg.vector_norm(X, float("nan"), 0)
    with pytest.raises(KindError, match="lp_norm: expected a float tensor, but got IntTensor"):
        linalg.l2_norm(Tensor.from_data([1], plain), 0)  # type: ignore[arg-type]
    with pytest.raises(KindError, match="l1_norm: expected a float or an int tensor, but got BoolTensor"):
        linalg.l1_norm(X > 0, 0)  # type: ignore[type-var]
    with pytest.raises(ShapeError, match="differ in rank"):
        linalg.cosine_similarity(X, X[0], 0)


def test_it_is_found_where_the_package_is() -> None:
    assert minburn.linalg is linalg
    with pytest.raises(AttributeError, match="module 'minburn' has no attribute 'linear'"):
        minburn.linear  # type: ignore[attr-defined]  # noqa: B018
