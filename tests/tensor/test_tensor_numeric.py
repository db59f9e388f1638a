"""Reductions, extremes, clamping, triangles, padding, one-hot: against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.tensor import (
    BoolTensor,
    IndexOutOfBounds,
    IntTensor,
    KindError,
    ShapeError,
    Tensor,
    TensorError,
)

plain = NumPy(seed=1)
auto = Autodiff(plain)
ARRAY = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)


@pytest.mark.parametrize("backend", [plain, auto])
def test_reductions_keep_their_dimension(backend: Any) -> None:
    x = Tensor.from_data(ARRAY, backend)
    for name in ("sum", "mean", "prod", "max", "min"):
        reduce = getattr(np, name)
        full = getattr(x, name)()
        assert full.shape == (1,)
        assert full.dtype == DType.F32
        assert np.allclose(full.numpy(), reduce(ARRAY), rtol=1e-5)
        for dim in range(-3, 3):
            part = getattr(x, f"{name}_dim")(dim)
            assert part.shape == reduce(ARRAY, axis=dim, keepdims=True).shape
            assert part.numpy().dtype == np.float32
            assert np.allclose(part.numpy(), reduce(ARRAY, axis=dim, keepdims=True), rtol=1e-5, atol=1e-6)
        several = getattr(x, f"{name}_dims")([0, -1])
        assert np.allclose(several.numpy(), reduce(ARRAY, axis=(0, 2), keepdims=True), rtol=1e-5, atol=1e-6)
        assert np.array_equal(getattr(x, f"{name}_dims")([]).numpy(), ARRAY)
        with pytest.raises(IndexOutOfBounds, match=f"{name}_dim: dimension 3 does not exist"):
            getattr(x, f"{name}_dim")(3)
        with pytest.raises(ShapeError, match="named twice"):
            getattr(x, f"{name}_dims")([0, -3])
    assert x.sum_dims_squeeze([0, 2]).shape == (3,)


def test_extremes() -> None:
    x = Tensor.from_data(ARRAY, auto)
    for dim in (0, 1, -1):
        for name in ("max", "min"):
            arg = getattr(np, f"arg{name}")(ARRAY, axis=dim, keepdims=True)
            indices = getattr(x, f"arg{name}")(dim)
            assert isinstance(indices, IntTensor)
            assert indices.dtype == DType.I32
            assert np.array_equal(indices.numpy(), arg)
            values, where = getattr(x, f"{name}_dim_with_indices")(dim)
            assert np.array_equal(where.numpy(), arg)
            assert np.array_equal(x.gather(dim, where).numpy(), values.numpy())
    assert x.max_abs().item() == np.abs(ARRAY).max()
    assert np.array_equal(x.max_abs_dim(1).numpy(), np.abs(ARRAY).max(1, keepdims=True))
    assert np.array_equal(x.max_abs_dims([]).numpy(), np.abs(ARRAY))
    ties = Tensor.from_data([[1.0, 1.0, 0.0], [float("nan"), 5.0, float("nan")]], plain)
    assert ties.argmax(1).numpy().tolist() == [[0], [0]]
    assert ties.argmin(1).numpy().tolist() == [[2], [0]]
    assert np.isnan(ties.max().item())
    empty = Tensor.zeros([0, 2], plain)
    for attempt in (empty.max, empty.min, lambda: empty.max_dim(0), lambda: empty.argmin(0)):
        with pytest.raises(ShapeError, match="no largest or smallest"):
            attempt()
    assert empty.max_dim(1).shape == (0, 1)
    assert empty.sum().item() == 0
    wide = NumPy(int_dtype=DType.I64)
    assert Tensor.from_data([1.0, 2.0], wide).argmax(0).dtype == DType.I64


def test_pairs_and_clamps() -> None:
    nan = float("nan")
    x, y = Tensor.from_data([1.0, nan, 3.0, 4.0], plain), Tensor.from_data([2.0, 0.0, nan, 4.0], plain)
    assert np.array_equal(x.max_pair(y).numpy(), [2, nan, 3, 4], equal_nan=True)
    assert np.array_equal(x.min_pair(y).numpy(), [1, nan, 3, 4], equal_nan=True)
    assert np.array_equal(x.clamp(1.5, 3).numpy(), [1.5, nan, 3, 3], equal_nan=True)
    assert np.array_equal(x.clamp_min(2).numpy(), [2, nan, 3, 4], equal_nan=True)
    assert np.array_equal(x.clamp_max(2).numpy(), [1, nan, 2, 2], equal_nan=True)
    assert Tensor.from_data([5, -5], plain).clamp(0, 3).numpy().tolist() == [3, 0]
    for backend in (plain, auto):
        for low, high in ((1, -1), (nan, 1.0)):
            with pytest.raises(TensorError, match="is not at most"):
                Tensor.from_data([1.0], backend).clamp(low, high)
    with pytest.raises(KindError):
        Tensor.from_data([1], plain).clamp(0.5, 2)
    assert x.bool().numpy().tolist() == [True] * 4
    assert Tensor.from_data([0, 3], plain).bool().numpy().tolist() == [False, True]


def test_any_and_all() -> None:
    array = np.array([[0, 2], [0, 0]])
    for x in (
        Tensor.from_data(array, plain),
        Tensor.from_data(array, plain).float(),
        Tensor.from_data(array != 0, plain),
    ):
        assert isinstance(x.any(), BoolTensor)
        assert (x.any().shape, x.any().item(), x.all().item()) == ((1,), True, False)
        assert x.any_dim(0).numpy().tolist() == [[False, True]]
        assert x.all_dim(-1).numpy().tolist() == [[False], [False]]
        with pytest.raises(IndexOutOfBounds):
            x.any_dim(2)
    assert Tensor.zeros([0], plain).all().item() is True


@pytest.mark.parametrize("diagonal", [-2, -1, 0, 1, 3])
def test_triangles(diagonal: int) -> None:
    for array in (ARRAY, ARRAY[0].T, (ARRAY * 9).astype(np.int32)):
        x = Tensor.from_data(array, auto)
        assert np.array_equal(x.triu(diagonal).numpy(), np.triu(array, diagonal))
        assert np.array_equal(x.tril(diagonal).numpy(), np.tril(array, diagonal))
    assert np.array_equal(
        BoolTensor.tril_mask([2, 3, 4], diagonal, plain).numpy(), np.tril(np.ones((2, 3, 4)), diagonal) == 0
    )
    assert np.array_equal(BoolTensor.diag_mask([3, 4], diagonal, plain).numpy(), np.eye(3, 4, diagonal) == 0)
    with pytest.raises(ShapeError, match="rank 1"):
        Tensor.zeros([3], plain).triu()


def test_padding() -> None:
    x = Tensor.from_data(ARRAY, auto)
    for mode in ("constant", "reflect", "edge"):
        expected = np.pad(ARRAY, ((0, 0), (1, 2), (2, 0)), mode=mode)  # type: ignore[call-overload]
        assert np.array_equal(x.pad([(1, 2), (2, 0)], mode).numpy(), expected)
        assert np.array_equal(x.pad((2, 0, 1, 2), mode).numpy(), expected)  # left, right, top, bottom
    assert np.array_equal(
        x.int().pad([(0, 1)], value=7).numpy(), np.pad(x.int().numpy(), ((0, 0), (0, 0), (0, 1)), constant_values=7)
    )
    for attempt, error, text in [
        (lambda: x.pad([(3, 0)] * 3, "reflect"), ShapeError, "dimension 0 has 2"),
        (lambda: x.pad([(-1, 0)]), ShapeError, "negative"),
        (lambda: x.pad([(0, 0)] * 4), ShapeError, "4 pairs for a tensor of rank 3"),
        (lambda: x.pad([1]), KindError, "no \\(before, after\\) pair"),  # type: ignore[list-item]
        (lambda: x.pad(1), KindError, "must be a list"),  # type: ignore[arg-type]
        (lambda: x.pad([(0, 1)], "circular"), TensorError, "no mode 'circular'"),  # type: ignore[arg-type]
        (lambda: Tensor.zeros([0], plain).pad([(1, 0)], "edge"), ShapeError, "no edge"),
    ]:
        with pytest.raises(error, match=text):
            attempt()


def test_one_hot() -> None:
    classes = Tensor.from_data([2, 0, -1], plain)
    expected = [[0, 0, 1], [1, 0, 0], [0, 0, 1]]
    assert classes.one_hot(3).numpy().tolist() == expected
    assert classes.one_hot(3).dtype == DType.I32
    assert classes.float().one_hot(3).dtype == DType.F32
    assert Tensor.from_data([[1]], plain, dtype=DType.U8).one_hot(2).dtype == DType.U8
    assert Tensor.from_data([[1], [0]], plain).one_hot(2).shape == (2, 1, 2)
    assert Tensor.from_data([2.0], auto).one_hot(3).numpy().tolist() == [[0, 0, 1]]
    with pytest.raises(IndexOutOfBounds, match="class 2 is out of bounds for 2 classes"):
        classes.one_hot(2)
    with pytest.raises(ShapeError, match="at least 2"):
        classes.one_hot(1)
