"""Shapes: reshape, permutations, squeezing, expanding."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minburn.backends import Autodiff, NumPy
from minburn.tensor import FloatTensor, IndexOutOfBounds, KindError, ShapeError, Tensor

plain = NumPy(seed=1)
auto = Autodiff(plain)


def counted(*shape: int, backend: Any = plain) -> FloatTensor:
    return Tensor.from_data(np.arange(np.prod(shape), dtype=np.float32).reshape(shape), backend)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_reshape_keeps_the_order(sizes: list[int], data: st.DataObject) -> None:
    x = counted(*sizes, backend=auto)
    target = [*data.draw(st.permutations(sizes)), 1]
    expected = x.numpy().reshape(target)
    unknown = data.draw(st.integers(0, len(target) - 1))
    inferred = [-1 if place == unknown else size for place, size in enumerate(target)]
    for result in (x.reshape(target), x.reshape(*target), x.reshape(inferred)):
        assert np.array_equal(result.numpy(), expected)
        assert result.shape == expected.shape


def test_reshape_copies_and_refuses() -> None:
    x = counted(2, 6)
    assert x.reshape(0, 2, 3).shape == (2, 2, 3)
    assert x.reshape([0, -1]).shape == (2, 6)
    for sizes, text in [
        ([5], r"shape \[2, 6\] has 12 elements, \[5\] has 5"),
        ([-1, -1], "more than one -1"),
        ([-1, 5], "known sizes multiply to 5"),
        ([-2, 6], "negative size"),
    ]:
        with pytest.raises(ShapeError, match=text):
            x.reshape(sizes)
    with pytest.raises(IndexOutOfBounds, match="0 copies the size of dimension 2"):
        x.reshape(2, 6, 0)
    with pytest.raises(KindError, match=r"float 2\.0"):
        x.reshape(2.0, 6)  # type: ignore[arg-type]


def test_permutations() -> None:
    x = counted(2, 3, 4, backend=auto)
    for order in itertools.permutations(range(3)):
        assert np.array_equal(x.permute(*order).numpy(), x.numpy().transpose(order))
        assert np.array_equal(x.permute([dim - 3 for dim in order]).numpy(), x.numpy().transpose(order))
    for src, dst in itertools.product(range(-3, 3), repeat=2):
        assert np.array_equal(x.movedim(src, dst).numpy(), np.moveaxis(x.numpy(), src, dst))
        assert np.array_equal(x.swap_dims(src, dst).numpy(), x.numpy().swapaxes(src, dst))
    assert np.array_equal(x.movedim([0, 1], [-1, 0]).numpy(), np.moveaxis(x.numpy(), [0, 1], [-1, 0]))
    assert np.array_equal(x.transpose().numpy(), x.numpy().swapaxes(1, 2))
    assert np.array_equal(x.t().numpy(), x.transpose().numpy())
    assert np.array_equal(x.flip(0, -1).numpy(), x.numpy()[::-1, :, ::-1])
    for bad, text in [
        (lambda: x.permute(0, 1), "2 axes for a tensor of rank 3"),
        (lambda: x.permute(0, 0, 1), "named twice"),
        (lambda: x[0, 0].transpose(), r"swaps the last two dimensions, but shape \[4\] has rank 1"),
        (lambda: x.movedim([0, 1], [0]), "2 dimensions to move"),
    ]:
        with pytest.raises(ShapeError, match=text):
            bad()
    with pytest.raises(IndexOutOfBounds, match="dimension 3 does not exist"):
        x.swap_dims(0, 3)


def test_flatten() -> None:
    x = counted(2, 3, 4)
    assert x.flatten().shape == (24,)
    assert x.flatten(1, 2).shape == (2, 12)
    assert x.flatten(0, -2).shape == (6, 4)
    assert x.flatten(1, 1).shape == (2, 3, 4)
    with pytest.raises(ShapeError, match="comes after"):
        x.flatten(2, 1)


def test_squeeze_and_unsqueeze() -> None:
    x = counted(1, 3, 1)
    assert x.squeeze().shape == (3,)
    assert Tensor.zeros([1, 1], plain).squeeze().shape == (1,)
    assert x.squeeze_dim(0).shape == (3, 1)
    assert x.squeeze_dims([0, -1]).shape == (3,)
    assert x.unsqueeze().shape == (1, 1, 3, 1)
    assert x.unsqueeze(5).shape == (1, 1, 1, 3, 1)
    assert x.unsqueeze(3).shape == (1, 3, 1)
    assert x.unsqueeze_dim(1).shape == (1, 1, 3, 1)
    assert x.unsqueeze_dim(-1).shape == (1, 3, 1, 1)
    assert x.unsqueeze_dims([0, -1]).shape == (1, 1, 3, 1, 1)
    with pytest.raises(ShapeError, match=r"dimension 1 of shape \[1, 3, 1\] has size 3"):
        x.squeeze_dim(1)
    with pytest.raises(ShapeError, match="more than 2"):
        x.unsqueeze(2)
    with pytest.raises(IndexOutOfBounds, match="rank 4"):
        x.unsqueeze_dim(4)


def test_expand_and_repeat() -> None:
    x = counted(1, 3, backend=auto)
    assert np.array_equal(x.expand(2, 3).numpy(), np.broadcast_to(x.numpy(), (2, 3)))
    assert x.expand([4, 2, -1]).shape == (4, 2, 3)
    assert x.expand(0, 3).shape == (0, 3)
    for sizes in ([2, 2], [3], [-1, 1, 3], [1, -2]):
        with pytest.raises(ShapeError, match="expand"):
            x.expand(sizes)
    assert np.array_equal(x.repeat_dim(1, 2).numpy(), np.tile(x.numpy(), (1, 2)))
    assert x.repeat_dim(0, 0).shape == (0, 3)
    assert np.array_equal(x.repeat([2, 3]).numpy(), np.tile(x.numpy(), (2, 3)))
    assert x.repeat(2).shape == (2, 3)
    with pytest.raises(ShapeError, match="-1 times"):
        x.repeat_dim(0, -1)
    with pytest.raises(ShapeError, match="3 counts"):
        x.repeat(1, 1, 1)


def test_rank_zero_and_len() -> None:
    scalar = Tensor.from_data(np.float32([2.0]), plain).reshape(())
    assert scalar.shape == ()
    assert (scalar * 2 + scalar).item() == 6.0
    assert scalar.unsqueeze().shape == (1,)
    assert scalar.sum().shape == (1,)
    with pytest.raises(ShapeError, match="rank 0"):
        len(scalar)
    with pytest.raises(IndexOutOfBounds, match="rank 0"):
        scalar.sum_dim(0)
