"""The composed part of the tensor API on CuPy: the same numbers, and the same gradients, as on NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minburn import DType, Tensor, linalg, signal
from minburn.backends import Autodiff, NumPy
from minburn.backends.cupy import CuPy
from minburn.tensor import functional

rng = np.random.default_rng(2)
X = rng.normal(size=(3, 4, 4)).astype(np.float32)
GRID = rng.uniform(-1.3, 1.3, size=(1, 2, 3, 2)).astype(np.float32)
PLACES = np.array([[0, 3], [2, 1]])
NUMPY, CUPY = (Autodiff(backend) for backend in (NumPy(seed=4), CuPy(seed=4)))

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sort": lambda x, b: x.sort(1),
    "sort_descending": lambda x, b: x.sort_descending(-1),
    "topk": lambda x, b: x.topk(2, 0),
    "median": lambda x, b: x.median(2),
    "cumulative": lambda x, b: x.cumsum(0) + x.cumprod(1) + x.cummax(2) + x.cummin(1),
    "fmod": lambda x, b: x.fmod_scalar(0.7),
    "gather_nd": lambda x, b: x.gather_nd(Tensor.from_data(PLACES, b)),
    "scatter_nd": lambda x, b: x.scatter_nd(Tensor.from_data(PLACES, b), x.select_dim(0, 0).narrow(0, 0, 2), "mul"),
    "mask_select": lambda x, b: x.mask_select(x > 0.2),
    "unfold": lambda x, b: x.unfold(1, 2, 2),
    "cross": lambda x, b: x.cross(x.exp(), 0),
    "cov": lambda x, b: x.select_dim(0, 0).cov(0),
    "einsum": lambda x, b: Tensor.einsum("aij,bjk,ii->abk", [x, x, x.select_dim(0, 1)]),
    "meshgrid": lambda x, b: Tensor.meshgrid_stack([x.flatten().narrow(0, 0, 3), x.flatten().narrow(0, 3, 2)]),
    "grid_sample": lambda x, b: functional.grid_sample_2d(x.unsqueeze(), Tensor.from_data(GRID, b)),
    "norms": lambda x, b: linalg.vector_norm(x, 3, 1) + linalg.l2_norm(x, 1) + linalg.max_abs_norm(x, 1),
    "det": lambda x, b: linalg.det(x),
    "lu": lambda x, b: linalg.lu(x)[2],
    "qr": lambda x, b: linalg.qr(x)[1],
    "trace": lambda x, b: linalg.trace(x),
    "rfft": lambda x, b: signal.rfft(x, 1)[1],
    "stft": lambda x, b: signal.stft(x.select_dim(0, 0), signal.hann_window(2, b), signal.StftOptions(2)),
}


def results(function: Callable[[Any, Any], Any], backend: Any) -> tuple[Any, Any]:
    leaf = Tensor.from_data(X, backend).require_grad()
    out = function(leaf, backend)
    gradient: Any = leaf.grad((out * out).sum().backward())
    return out.numpy(), gradient.numpy()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_and_their_gradients(name: str) -> None:
    for found, expected in zip(results(FUNCTIONS[name], CUPY), results(FUNCTIONS[name], NUMPY), strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-5)


def test_what_has_no_gradient() -> None:
    for backend in (CUPY, NUMPY):
        x, ints = Tensor.from_data(X, backend), Tensor.from_data([[5, -3], [0, 9]], backend)
        assert np.array_equal((x > 0).argwhere().numpy(), np.argwhere(X > 0))
        assert np.array_equal(x.argsort_descending(1).numpy(), np.argsort(-X, 1, kind="stable"))
        assert (ints.powi(2) ^ (ints & 6)).numpy().tolist() == [[29, 13], [0, 81]]
        assert ints.sort(1).cumsum(1).cast(DType.I64).numpy().tolist() == [[-3, 2], [0, 9]]
        mask = Tensor.from_data([True, False], backend).scatter(
            0, Tensor.from_data([1], backend), (x > -9).flatten()[:1]
        )
        assert mask.numpy().tolist() == [True, True]
        u, s, v = linalg.svd(x)
        np.testing.assert_allclose(u.matmul(s.unsqueeze_dim(-1) * v).numpy(), X, atol=1e-5)
        assert x.abs().categorical(5).shape == (3, 4, 5)
        x.into_data().assert_approx_eq(x.mul_scalar(1.0).into_data())
