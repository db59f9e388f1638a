"""Python's indexing against NumPy's, Burn's slices against their rule, selections, masks and pieces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minburn.backends import Autodiff, NumPy
from minburn.tensor import FloatTensor, IndexOutOfBounds, IntTensor, KindError, ShapeError, Tensor, TensorError

plain = NumPy(seed=1)
auto = Autodiff(plain)


def counted(*shape: int, backend: Any = plain) -> FloatTensor:
    return Tensor.from_data(np.arange(np.prod(shape), dtype=np.float32).reshape(shape), backend)


bounds = st.none() | st.integers(-6, 6)
python_slices = st.builds(slice, bounds, bounds, st.none() | st.integers(-3, 3).filter(bool))


@st.composite
def shapes_and_keys(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """Parts for some leading and some trailing dimensions, `...` between them, and up to two `None` anywhere."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    leading = draw(st.integers(0, len(shape)))
    trailing = draw(st.integers(0, len(shape) - leading))
    key = [draw(python_slices | st.integers(-size, size - 1)) for size in shape[:leading]]
    if trailing or draw(st.booleans()):
        key += [..., *(draw(python_slices | st.integers(-size, size - 1)) for size in shape[len(shape) - trailing :])]
    for _ in range(draw(st.integers(0, 2))):
        key.insert(draw(st.integers(0, len(key))), None)
    return shape, tuple(key)


@settings(max_examples=300, deadline=None)
@given(shapes_and_keys())
def test_python_indexing_is_numpy_indexing(case: tuple[tuple[int, ...], tuple[Any, ...]]) -> None:
    shape, key = case
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    expected = array[key]
    result = Tensor.from_data(array, auto)[key]
    assert result.shape == expected.shape
    assert np.array_equal(result.numpy(), expected)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 6), bounds, bounds, st.none() | st.integers(-3, 3).filter(bool))
def test_burn_slices_walk_the_selected_range(size: int, start: Any, end: Any, step: Any) -> None:
    x = counted(size)
    selected = list(range(size))[start:end]  # negative bounds count from the end, bounds are clamped
    pace = step or 1
    expected = selected[::pace] if pace > 0 else selected[::-1][::-pace]
    for form in ((start, end, step), slice(start, end, step)):
        assert x.slice([form]).numpy().tolist() == expected
    assert x.slice_dim(0, (start, end, step)).numpy().tolist() == expected
    filled = x.slice_fill([(start, end, step)], -1).numpy()
    assert [i for i in range(size) if filled[i] == -1] == sorted(expected)
    values = Tensor.from_data(np.arange(len(expected), dtype=np.float32) + 100, plain)
    assigned = x.slice_assign([(start, end, step)], values)
    assert assigned.slice([(start, end, step)]).numpy().tolist() == values.numpy().tolist()
    assert x.numpy().tolist() == list(range(size))


def test_the_trap_between_the_two_notations() -> None:
    x = counted(5)
    assert x.slice([(0, 5, -2)]).numpy().tolist() == [4, 2, 0]
    assert x[0:5:-2].shape == (0,)
    assert x[4::-2].numpy().tolist() == [4, 2, 0]


def test_burn_slice_forms() -> None:
    x = counted(3, 4)
    assert x.slice(1).numpy().tolist() == [[4, 5, 6, 7]]  # an int keeps its dimension
    assert x.slice([-1, 0]).numpy().tolist() == [[8]]
    assert x.slice((1, 3)).shape == (2, 4)
    assert x.slice([None, (1, 3)]).shape == (3, 2)
    assert x.slice([(0, 99), (-99, 2)]).shape == (3, 2)
    assert x.slice([(2, 1)]).shape == (0, 4)
    assert x.slice([]).shape == (3, 4)
    assert Tensor.from_data([[True, False]], plain).slice_fill([0, 0], False).numpy().tolist() == [[False, False]]
    with pytest.raises(ShapeError, match="3 ranges for a tensor of rank 2"):
        x.slice([0, 0, 0])
    with pytest.raises(ShapeError, match="step of dimension 1 is 0"):
        x.slice([None, (0, 1, 0)])
    with pytest.raises(IndexOutOfBounds, match="index 3 is out of bounds for dimension 0, which has size 3"):
        x.slice([3])
    with pytest.raises(KindError, match="a bound must be an int"):
        x.slice([(0.5, 1)])  # type: ignore[list-item]
    with pytest.raises(ShapeError, match=r"slice has shape \[1, 4\], the values \[1, 3\]"):
        x.slice_assign([0], counted(1, 3))
    with pytest.raises(KindError):
        x.slice_assign([0], Tensor.from_data([[1, 2, 3, 4]], plain))  # type: ignore[arg-type]


def test_indexing_with_tensors_and_none() -> None:
    x, rows = counted(3, 4), Tensor.from_data([2, 0], plain)
    assert x[rows].numpy().tolist() == x.numpy()[[2, 0]].tolist()
    assert x[:, rows].numpy().tolist() == x.numpy()[:, [2, 0]].tolist()
    assert x[1:, rows, None].numpy().tolist() == x.numpy()[1:, [2, 0], None].tolist()
    assert x[np.int64(1)].numpy().tolist() == [4, 5, 6, 7]
    assert [row.shape for row in x] == [(4,)] * 3
    assert x[0, 1].shape == ()
    assert (x[0, 1] + x[1, 1]).item() == 6.0
    assert x[..., 0].shape == (3,)


@pytest.mark.parametrize(
    ("key", "error", "text"),
    [
        (3, IndexOutOfBounds, "index: index 3 is out of bounds for dimension 0, which has size 3."),
        ((0, -5), IndexOutOfBounds, "index -5 is out of bounds for dimension 1, which has size 4."),
        ((0, 0, 0), ShapeError, "3 indices for a tensor of rank 2"),
        ((..., ...), ShapeError, "only once"),
        (True, KindError, "bool True"),
        (1.0, KindError, "float 1.0"),
        ("a", KindError, "str 'a'"),
        ([0, 1], KindError, "Tensor.from_data([0, 1], backend)"),
        (slice(None, None, 0), KindError, "no slice"),
        (slice(0.5, None), KindError, "no slice"),
        (Tensor.from_data([True], plain), KindError, "mask_fill"),
        (Tensor.from_data([[0]], plain), ShapeError, "rank 1"),
        (Tensor.from_data([3], plain), ValueError, "3"),
    ],
)
def test_keys_that_are_refused(key: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        counted(3, 4)[key]
    assert text in str(caught.value)
    with pytest.raises(IndexError):  # what Python's protocols expect
        counted(3)[3]


@pytest.mark.parametrize("backend", [plain, auto])
def test_select_take_gather(backend: Any) -> None:
    x = counted(3, 4, backend=backend)
    index = Tensor.from_data([2, 0, 2], backend)
    for dim in (0, 1, -1):
        assert np.array_equal(x.select(dim, index).numpy(), np.take(x.numpy(), [2, 0, 2], axis=dim))
        square = Tensor.from_data([[0, 2], [1, 1]], backend)
        assert np.array_equal(x.take(dim, square).numpy(), np.take(x.numpy(), [[0, 2], [1, 1]], axis=dim))
    spots = Tensor.from_data([[0, 3], [1, 1], [2, 0]], backend)
    assert np.array_equal(x.gather(1, spots).numpy(), np.take_along_axis(x.numpy(), spots.numpy(), 1))
    assert np.array_equal(x.int().gather(-1, spots).numpy(), np.take_along_axis(x.numpy(), spots.numpy(), 1))
    assert x.select_dim(1, -1).numpy().tolist() == [3, 7, 11]
    with pytest.raises(ShapeError, match=r"take\(\)"):
        x.select(0, spots)
    with pytest.raises(KindError, match="indices must be an int tensor, but got a float tensor"):
        x.select(0, x)  # type: ignore[arg-type]
    with pytest.raises(KindError, match="but got list"):
        x.select(0, [1])  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="may differ in dimension 1 only, but dimension 0 is 3 and 2"):
        x.gather(1, Tensor.from_data([[0], [0]], backend))
    with pytest.raises(ShapeError, match="rank"):
        x.gather(1, index)
    for bad in (3, -1):
        with pytest.raises(ValueError, match=str(bad)):
            x.select(0, Tensor.from_data([bad], backend))
        with pytest.raises(ValueError, match=str(bad)):
            x.gather(0, Tensor.from_data([[bad] * 4], backend))
    with pytest.raises(IndexOutOfBounds, match=r"dimension 2 does not exist in a tensor of rank 2\. Use -2 to 1"):
        x.select(2, index)


@pytest.mark.parametrize("update", ["add", "mul", "min", "max"])
def test_scatter_and_select_assign(update: Any) -> None:
    x = Tensor.from_data([1.0, 0.0, 2.0, 0.0], plain)
    index = Tensor.from_data([0, 1, 2, 2, 3], plain)
    values = Tensor.from_data([10.0, 20.0, 30.0, 7.5, 0.0], plain)
    start = x.numpy().copy()
    array = start.copy()
    ufunc = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}[update]
    ufunc.at(array, index.numpy(), values.numpy())
    assert x.scatter(0, index, values, update).numpy().tolist() == array.tolist()
    assert x.select_assign(0, index, values, update).numpy().tolist() == array.tolist()
    assert np.array_equal(x.numpy(), start)


def test_scatter_refuses() -> None:
    x, index = counted(2, 3), Tensor.from_data([[0, 1, 1]], plain)
    assert x.scatter(0, index, counted(1, 3) * 0 + 1).numpy().tolist() == [[1, 1, 2], [3, 5, 6]]
    assert x.int().select_assign(
        1, Tensor.from_data([1], plain), Tensor.from_data([[9], [8]], plain), "assign"
    ).numpy()[:, 1].tolist() == [9, 8]
    with pytest.raises(TensorError, match="no update 'sum'"):
        x.scatter(0, index, counted(1, 3), "sum")  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="the values' shape"):
        x.scatter(0, index, counted(1, 2))
    with pytest.raises(ShapeError, match=r"values must have shape \[2, 1\]"):
        x.select_assign(1, Tensor.from_data([1], plain), counted(2, 3))
    with pytest.raises(ValueError, match="5"):
        x.scatter(0, Tensor.from_data([[5, 0, 0]], plain), counted(1, 3))


def test_masks() -> None:
    x = counted(2, 3, backend=auto)
    mask = x > 2
    assert x.mask_fill(mask, -1).numpy().tolist() == [[0, 1, 2], [-1, -1, -1]]
    assert x.mask_where(mask, x * 10).numpy().tolist() == [[0, 1, 2], [30, 40, 50]]
    assert x.mask_where(mask[:, :1], Tensor.zeros([1, 1], auto)).numpy().tolist() == [[0, 1, 2], [0, 0, 0]]
    assert x.int().mask_fill(mask, 7).numpy().tolist() == [[0, 1, 2], [7, 7, 7]]
    assert mask.mask_fill(mask, False).any().item() is False
    with pytest.raises(KindError, match="the mask must be a bool tensor, but got a float tensor"):
        x.mask_fill(x, 0)  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="rank"):
        x.mask_fill(mask[0], 0)
    with pytest.raises(KindError):
        x.int().mask_fill(mask, 0.5)
    with pytest.raises(KindError, match="expected a tensor"):
        x.mask_where(mask, 0)  # type: ignore[arg-type]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 7), st.integers(1, 4), st.integers(1, 5))
def test_pieces_join_again(size: int, piece: int, count: int) -> None:
    x = counted(2, size)
    parts = x.split(piece, 1)
    assert all(part.shape[1] == piece for part in parts[:-1])
    assert np.array_equal(Tensor.cat(parts, 1).numpy(), x.numpy())
    chunks = x.chunk(count, -1)
    assert len(chunks) <= count
    assert np.array_equal(Tensor.cat(chunks, 1).numpy(), x.numpy())
    assert [part.shape for part in x.iter_dim(1)] == [(2, 1)] * size
    assert np.array_equal(x.roll(count, 1).numpy(), np.roll(x.numpy(), count, 1))


def test_pieces() -> None:
    x = counted(2, 10)
    assert [part.shape[1] for part in x.chunk(3, 1)] == [4, 4, 2]
    assert [part.shape[1] for part in x.chunk(20, 1)] == [1] * 10
    assert [part.shape[1] for part in x.split_with_sizes([1, 0, 9], 1)] == [1, 0, 9]
    assert x.narrow(1, 2, 3).numpy()[0].tolist() == [2, 3, 4]
    assert np.array_equal(x.roll([1, -2], [0, 1]).numpy(), np.roll(x.numpy(), (1, -2), (0, 1)))
    for bad in (
        lambda: x.chunk(0, 0),
        lambda: x.split(0, 0),
        lambda: x.split_with_sizes([1, 2], 1),
        lambda: x.split_with_sizes([11, -1], 1),
        lambda: x.roll([1], [0, 1]),
    ):
        with pytest.raises(ShapeError):
            bad()
    with pytest.raises(IndexOutOfBounds, match="length must be greater than 0"):
        x.narrow(1, 0, 0)
    with pytest.raises(IndexOutOfBounds, match="entries 9 to 10 of dimension 1, which has size 10"):
        x.narrow(1, 9, 2)
    with pytest.raises(IndexOutOfBounds):
        x.select_dim(1, 10)


def test_cat_and_stack() -> None:
    x, y = counted(2, 3), counted(1, 3)
    assert np.array_equal(Tensor.cat([x, y], 0).numpy(), np.concatenate([x.numpy(), y.numpy()]))
    assert np.array_equal(Tensor.stack([x, x], -1).numpy(), np.stack([x.numpy(), x.numpy()], -1))
    assert isinstance(Tensor.stack([x.int(), x.int()]), IntTensor)
    assert Tensor.stack([x > 0, x > 1], 1).shape == (2, 2, 3)
    mixed = Tensor.cat([x, Tensor.from_data([[1.0, 2.0, 3.0]], auto).require_grad()], 0)
    assert mixed.is_tracked
    with pytest.raises(ShapeError, match="nothing to join"):
        Tensor.cat([], 0)
    with pytest.raises(ShapeError, match="tensor 1's shape"):
        Tensor.cat([x, y], 1)
    with pytest.raises(ShapeError, match="rank"):
        Tensor.cat([x, x[0]], 0)
    with pytest.raises(ShapeError, match=r"tensor 1 \[1, 3\].*cat\(\)"):
        Tensor.stack([x, y])
    with pytest.raises(KindError, match="found ndarray"):
        Tensor.cat([x, np.ones((2, 3))], 0)  # type: ignore[type-var]
    with pytest.raises(KindError):
        Tensor.cat([x, x.int()], 0)
