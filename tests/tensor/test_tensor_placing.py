"""Scattered updates, coordinates, masks that pick, windows, grids, products of vectors: against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.tensor import BoolTensor, IndexOutOfBounds, IntTensor, KindError, ShapeError, Tensor, TensorError
from minburn.testing import check_gradients

plain = NumPy(seed=1)
auto = Autodiff(plain)
rng = np.random.default_rng(4)
ARRAY = rng.normal(size=(3, 4, 2)).astype(np.float32)
PLACES = np.array([[[0, 3], [2, 1]], [[2, 1], [1, 0]]])  # [2, 2, 2]: coordinates of the first two dimensions
UPDATES = {"assign": None, "add": np.add, "mul": np.multiply, "min": np.fmin, "max": np.fmax}


def ints(values: Any, dtype: DType | None = None) -> Any:
    return Tensor.from_data(np.array(values), plain, dtype)


def test_gather_nd_takes_the_blocks_at_coordinates() -> None:
    x = Tensor.from_data(ARRAY, plain)
    assert np.array_equal(x.gather_nd(ints(PLACES)).numpy(), ARRAY[PLACES[..., 0], PLACES[..., 1]])
    assert np.array_equal(x.gather_nd(ints([[2], [0]], DType.I8)).numpy(), ARRAY[[2, 0]])
    assert x.gather_nd(ints([[2, 3, 1]])).numpy().tolist() == [ARRAY[2, 3, 1]]
    assert x.gather_nd(ints(np.zeros((0, 2), int))).shape == (0, 2)
    assert Tensor.from_data(ARRAY > 0, plain).gather_nd(ints([[1, 2]])).numpy().tolist() == [(ARRAY[1, 2] > 0).tolist()]


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("kind", ["float", "int", "bool"])
def test_scatter_nd_updates_the_blocks_at_coordinates(update: str, kind: str) -> None:
    make = {"float": lambda a: a, "int": lambda a: np.trunc(a * 4).astype(np.int32), "bool": lambda a: a > 0}[kind]
    start, values = make(ARRAY), make(rng.normal(size=(2, 2, 2)).astype(np.float32))
    places = PLACES if update != "assign" else np.array([[[0, 3], [2, 1]], [[2, 2], [1, 0]]])
    expected = start.copy()
    at = places[..., 0], places[..., 1]
    if update == "assign":
        expected[at] = values
    else:
        UPDATES[update].at(expected, at, values)  # type: ignore[union-attr]
    x = Tensor.from_data(start, auto)
    found = x.scatter_nd(Tensor.from_data(places, auto), Tensor.from_data(values, auto), update)  # type: ignore[arg-type]
    assert np.allclose(found.numpy(), expected) and found.dtype == x.dtype
    assert np.array_equal(x.numpy(), start)


def test_bools_are_scattered_too() -> None:
    mask, rows = Tensor.from_data([True, False, False], plain), ints([2, 0])
    values = Tensor.from_data([True, False], plain)
    expected = {"add": [1, 0, 1], "max": [1, 0, 1], "mul": [0, 0, 0], "min": [0, 0, 0], "assign": [0, 0, 1]}
    for update, after in expected.items():
        assert mask.scatter(0, rows, values, update).numpy().tolist() == [bool(v) for v in after]  # type: ignore[arg-type]
        assert mask.select_assign(0, rows, values, update).numpy().tolist() == [bool(v) for v in after]  # type: ignore[arg-type]
    many = Tensor.zeros([1], plain, DType.Bool).select_assign(0, ints([0] * 256), Tensor.ones([256], plain, DType.Bool))
    assert many.numpy().tolist() == [True]  # any number of times


@pytest.mark.parametrize("backend", [plain, auto])
def test_masks_pick(backend: Any) -> None:
    x, mask = Tensor.from_data(ARRAY, backend), Tensor.from_data(ARRAY > 0.3, backend)
    assert np.array_equal(x.mask_select(mask).numpy(), ARRAY[ARRAY > 0.3])
    assert isinstance(mask, BoolTensor) and isinstance(mask.argwhere(), IntTensor)
    assert np.array_equal(mask.argwhere().numpy(), np.argwhere(ARRAY > 0.3))
    for found, expected in zip(mask.nonzero(), np.nonzero(ARRAY > 0.3), strict=True):
        assert np.array_equal(found.numpy(), expected)
    assert x.mask_select(x > 100.0).shape == (0,)
    with pytest.raises(ShapeError, match=r"mask_select: the mask has shape \[1, 4, 2\], the tensor \[3, 4, 2\]"):
        x.mask_select(mask.narrow(0, 0, 1))


@pytest.mark.parametrize(("dim", "size", "step"), [(0, 2, 1), (1, 2, 2), (-2, 3, 1), (1, 4, 3), (2, 1, 5)])
def test_unfold_gives_the_windows(dim: int, size: int, step: int) -> None:
    windows = np.lib.stride_tricks.sliding_window_view(ARRAY, size, dim)
    expected = np.take(windows, np.arange(0, windows.shape[dim % 3], step), dim % 3)
    assert np.array_equal(Tensor.from_data(ARRAY, plain).unfold(dim, size, step).numpy(), expected)
    assert np.array_equal(Tensor.from_data(ARRAY > 0, plain).unfold(dim, size, step).numpy(), expected > 0)


def test_gradients() -> None:
    x, v = Tensor.from_data(ARRAY, plain), Tensor.from_data(rng.normal(size=(2, 2)), plain)
    places = ints([[0, 3], [2, 1]])
    check_gradients(lambda x: x.gather_nd(places), x)
    check_gradients(lambda x: x.unfold(1, 3, 1), x)
    check_gradients(lambda x: x.mask_select(x > 0.3), x)
    for update in UPDATES:
        check_gradients(lambda x, v, u=update: x.scatter_nd(places, v, u), x, v)
    a, b = (Tensor.from_data(rng.normal(size=shape), plain) for shape in ((2, 3), (1, 3)))
    check_gradients(lambda a, b: a.cross(b, 1), a, b)
    check_gradients(lambda x, y: x.fmod(y), a, b)
    check_gradients(lambda x: x.cov(0), a)
    check_gradients(lambda a, b: Tensor.meshgrid_stack([a.flatten(), b.flatten()]), a, b)
    check_gradients(lambda a: a.flatten().dot(a.exp().flatten()), a)


def test_products_of_vectors() -> None:
    a, b = rng.normal(size=(4, 3)), rng.normal(size=(1, 3))
    found = Tensor.from_data(a, plain).cross(Tensor.from_data(b, plain), -1)
    assert np.allclose(found.numpy(), np.cross(a, b), atol=1e-6)
    assert np.allclose(Tensor.from_data(a.T.copy(), plain).cross(Tensor.from_data(b.T.copy(), plain), 0).numpy(),
                       np.cross(a, b).T, atol=1e-6)  # fmt: skip
    assert ints([1, 2, 3]).dot(ints([4, 5, 6])).numpy().tolist() == [32]
    assert np.allclose(Tensor.from_data(a, plain).cov(0).numpy(), np.cov(a.T), atol=1e-6)
    assert np.allclose(Tensor.from_data(a, plain).cov(0, 0).numpy(), np.cov(a.T, ddof=0), atol=1e-6)
    with pytest.raises(ShapeError, match="cross: dimension 0 must have size 3 in both tensors, but has 4 and 1"):
        Tensor.from_data(a, plain).cross(Tensor.from_data(b, plain), 0)
    with pytest.raises(ShapeError, match="dot: it takes two vectors of one size"):
        ints([1, 2]).dot(ints([1, 2, 3]))


def test_grids() -> None:
    vectors = [rng.normal(size=n).astype(np.float32) for n in (2, 3, 4)]
    for indexing, theirs in (("matrix", "ij"), ("cartesian", "xy")):
        found = Tensor.meshgrid([Tensor.from_data(v, plain) for v in vectors], indexing)  # type: ignore[arg-type]
        for ours, expected in zip(found, np.meshgrid(*vectors, indexing=theirs), strict=True):  # type: ignore[call-overload]
            assert np.array_equal(ours.numpy(), expected)
    pair = [ints([1, 2]), ints([5, 6, 7])]
    assert Tensor.meshgrid_stack(pair).shape == (2, 3, 2) and Tensor.meshgrid_stack(pair, dim=0).shape == (2, 2, 3)
    assert IntTensor.cartesian_grid((2, 2), plain).numpy().tolist() == [[[0, 0], [0, 1]], [[1, 0], [1, 1]]]
    with pytest.raises(TensorError, match="meshgrid: indexing is 'matrix' or 'cartesian', but got 'ij'"):
        Tensor.meshgrid(pair, "ij")  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match=r"meshgrid: it takes vectors, but tensor 1 has shape \[3, 4, 2\]"):
        Tensor.meshgrid([Tensor.from_data(vectors[0], plain), Tensor.from_data(ARRAY, plain)])


def test_one_hot_fill() -> None:
    classes = ints([[0, -1]])
    assert classes.one_hot_fill(3, 5, -1).numpy().tolist() == [[[5, -1, -1], [-1, -1, 5]]]
    assert classes.one_hot_fill(3, 5, -1, 0).numpy()[:, 0, 1].tolist() == [-1, -1, 5]
    assert classes.float().one_hot_fill(3, 0.1, 0.2).numpy().dtype == np.float32
    with pytest.raises(KindError, match="an int tensor and the float"):
        classes.one_hot_fill(3, 0.5, 0)
    with pytest.raises(IndexOutOfBounds, match="one_hot_fill: class -4 is out of bounds for 3 classes"):
        ints([-4]).one_hot_fill(3, 1, 0)


def test_what_cannot_be_placed() -> None:
    x = Tensor.from_data(ARRAY, plain)
    with pytest.raises(IndexOutOfBounds, match="gather_nd: index 4 is out of bounds for dimension 1, which has size 4"):
        x.gather_nd(ints([[0, 4]]))  # row 4 of the merged dimensions exists
    with pytest.raises(IndexOutOfBounds, match="gather_nd: index -1 is out of bounds"):
        x.gather_nd(ints([[-1]]))
    with pytest.raises(ShapeError, match=r"hold coordinates of length 4, but shape .* has 3 dimensions"):
        x.gather_nd(ints([[0, 0, 0, 0]]))
    with pytest.raises(ShapeError, match=r"scatter_nd: .* values must have shape \[1, 4, 2\], but have \[1, 4, 1\]"):
        x.scatter_nd(ints([[0]]), x.narrow(0, 0, 1).narrow(2, 0, 1))
    with pytest.raises(TensorError, match="there is no update 'plus'"):
        x.scatter_nd(ints([[0]]), x.narrow(0, 0, 1), "plus")  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match=r"unfold: dimension 1 of .* has size 4, so no window of 5 fits"):
        x.unfold(1, 5, 1)
    with pytest.raises(ShapeError, match="size and step are 1 or more, but got 2 and 0"):
        x.unfold(1, 2, 0)
