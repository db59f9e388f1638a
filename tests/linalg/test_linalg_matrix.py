"""Parts, products and decompositions of matrices: what defines them, and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minburn import linalg
from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.tensor import GradError, KindError, ShapeError, Tensor, TensorError
from minburn.testing import check_gradients

plain = NumPy(seed=1, float_dtype=DType.F64)
auto = Autodiff(plain)
rng = np.random.default_rng(6)
SHAPES = [(1, 1), (3, 3), (5, 5), (4, 2), (2, 4), (2, 3, 3), (1, 2, 4, 3)]


def some(*shape: int) -> Any:
    return Tensor.from_data(rng.normal(size=shape), plain)


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_diagonals_and_traces(shape: tuple[int, ...]) -> None:
    x = some(*shape)
    expected = np.diagonal(x.numpy(), axis1=-2, axis2=-1)
    assert np.array_equal(linalg.diag(x).numpy(), expected)
    close(linalg.trace(x), expected.sum(-1, keepdims=True))
    assert linalg.diag(x > 0).numpy().dtype == bool
    check_gradients(linalg.diag, x)


def test_products() -> None:
    a, b = some(2, 3), some(2, 4)
    close(linalg.outer(a, b), np.einsum("bi,bj->bij", a.numpy(), b.numpy()))
    close(linalg.outer_dim(a, a, 0), np.einsum("ic,jc->ijc", a.numpy(), a.numpy()))
    matrix, vector = some(2, 3, 4), some(1, 4)
    close(linalg.matvec(matrix, vector), np.einsum("bij,bj->bi", matrix.numpy(), np.repeat(vector.numpy(), 2, 0)))
    assert linalg.matvec(Tensor.from_data([[1, 2]], plain), Tensor.from_data([3, 4], plain)).numpy().tolist() == [11]


@pytest.mark.parametrize("shape", SHAPES)
def test_lu(shape: tuple[int, ...]) -> None:
    x = some(*shape)
    p, lower, upper = linalg.lu(x)
    close(p.matmul(lower).matmul(upper), x.numpy())
    assert np.array_equal(lower.numpy(), np.tril(lower.numpy())) and np.array_equal(
        upper.numpy(), np.triu(upper.numpy())
    )
    assert (linalg.diag(lower).numpy() == 1).all() and np.abs(lower.numpy()).max() <= 1  # partial pivoting
    assert np.array_equal(p.matmul(p.transpose()).numpy(), np.broadcast_to(np.eye(shape[-2]), p.shape))
    check_gradients(lambda x: linalg.lu(x)[1] * 2.0 if shape[-2] > 1 else linalg.lu(x)[2], x, max_elements=12)
    check_gradients(lambda x: linalg.lu(x)[2], x, max_elements=12)


def test_lu_of_a_singular_matrix() -> None:
    x = Tensor.from_data([[0.0, 1.0, 2.0], [0.0, 2.0, 4.0], [0.0, 3.0, 7.0]], plain)
    p, lower, upper = linalg.lu(x)
    close(p.matmul(lower).matmul(upper), x.numpy())
    close(linalg.lu(x * 0.0)[1], np.eye(3))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reduced", [True, False])
def test_qr(shape: tuple[int, ...], reduced: bool) -> None:
    x = some(*shape)
    q, r = linalg.qr(x, reduced)
    expected = np.linalg.qr(x.numpy(), "reduced" if reduced else "complete")
    assert q.shape == expected[0].shape and r.shape == expected[1].shape
    close(q.matmul(r), x.numpy())
    close(q.transpose().matmul(q), np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], q.shape[-1], q.shape[-1])))
    assert np.array_equal(r.numpy(), np.triu(r.numpy()))
    check_gradients(lambda x: linalg.qr(x, reduced)[1], x, max_elements=12)
    check_gradients(lambda x: linalg.qr(x, reduced)[0], x, max_elements=12)


def test_qr_of_zeros_and_of_what_is_upper_already() -> None:
    close(linalg.qr(some(3, 2) * 0.0)[1], np.zeros((2, 2)))
    upper = some(3, 3).triu()
    q, r = linalg.qr(upper)
    close(q.matmul(r), upper.numpy())


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
def test_det(size: int) -> None:
    x = some(2, 2, size, size) if size < 4 else some(1, 2, size, size)
    np.testing.assert_allclose(linalg.det(x).numpy(), np.linalg.det(x.numpy()), rtol=1e-9)
    check_gradients(linalg.det, x, max_elements=30)
    twice = Tensor.cat([x.narrow(-2, 0, size - 1), x.narrow(-2, 0, 1)], -2) if size > 1 else x * 0.0
    assert np.abs(linalg.det(twice).numpy()).max() < 1e-12
    if size > 3:
        assert (linalg.det(twice).numpy() == 0).all()  # no pivot out of rounding errors


@pytest.mark.parametrize("shape", SHAPES)
def test_svd(shape: tuple[int, ...]) -> None:
    x = some(*shape)
    u, s, v = linalg.svd(x)
    close(u.matmul(s.unsqueeze_dim(-1) * v), x.numpy())
    assert (np.diff(s.numpy(), axis=-1) <= 0).all() and s.numpy().min() >= 0
    half = linalg.svd(x.cast(DType.F16))
    assert [part.dtype for part in half] == [DType.F16] * 3


def test_halves_and_levels_of_autodiff() -> None:
    x = some(4, 4).cast(DType.F16)
    for part in (*linalg.lu(x), *linalg.qr(x), linalg.det(x.unsqueeze())):
        assert part.dtype == DType.F16
    tracked = Tensor.from_data(rng.normal(size=(2, 4, 4)), auto).require_grad()
    gradient: Any = tracked.grad(linalg.det(tracked).backward())
    det = np.linalg.det(tracked.numpy())[:, None, None]
    np.testing.assert_allclose(gradient.numpy(), det * np.linalg.inv(tracked.numpy()).transpose(0, 2, 1), rtol=1e-8)


def test_what_is_refused() -> None:
    x = Tensor.from_data(rng.normal(size=(3, 3)), auto).require_grad()
    with pytest.raises(GradError, match="svd: it has no gradient"):
        linalg.svd(x)
    with pytest.raises(TensorError, match="svd: some element is infinite or NaN"):
        linalg.svd(some(2, 2) * float("nan"))
    with pytest.raises(ShapeError, match=r"det: it takes a batch of square matrices, but got shape \[3, 3\]"):
        linalg.det(x)
    with pytest.raises(ShapeError, match=r"lu: .* shape \[0, 3\] has no elements"):
        linalg.lu(Tensor.zeros((0, 3), plain))
    with pytest.raises(ShapeError, match="has rank 1"):
        linalg.qr(some(3))
    with pytest.raises(ShapeError, match=r"matvec: the matrix has shape \[2, 3\], the vector \[1, 3\]"):
        linalg.matvec(some(2, 3), some(1, 3))
    with pytest.raises(KindError, match="lu: expected a float tensor"):
        linalg.lu(Tensor.from_data([[1]], plain))  # type: ignore[arg-type]
