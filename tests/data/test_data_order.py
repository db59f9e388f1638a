"""Random orders are functions of integers. The literals must never change: a run resumed by a later version relies on
them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minburn.data.order import epoch_order, permutation, sample

seeds = st.integers(min_value=-(2**70), max_value=2**70)


def test_golden_orders() -> None:
    assert epoch_order(10, seed=42, epoch=1).tolist() == [1, 3, 6, 8, 7, 4, 9, 0, 5, 2]
    assert epoch_order(10, seed=42, epoch=2).tolist() == [0, 2, 7, 9, 5, 6, 1, 8, 4, 3]


@settings(max_examples=50, deadline=None)
@given(length=st.integers(0, 300), seed=seeds, epoch=st.integers(1, 10**12))
def test_an_order_holds_every_index_once_and_is_repeatable(length: int, seed: int, epoch: int) -> None:
    order = epoch_order(length, seed, epoch)
    assert order.dtype == np.int64
    assert sorted(order.tolist()) == list(range(length))
    assert np.array_equal(order, epoch_order(length, seed, epoch))


def test_seeds_epochs_and_names_give_different_orders() -> None:
    orders = [epoch_order(50, seed, epoch).tolist() for seed in range(5) for epoch in range(1, 6)]
    orders.append(permutation(50, 0, "other").tolist())
    assert len({tuple(order) for order in orders}) == len(orders)


def test_orders_are_uniform() -> None:
    """Each of the 24 orders of four items: chi-square with 23 degrees of freedom below its 1 - 1e-6 quantile."""
    counts: dict[tuple[int, ...], int] = {}
    for epoch in range(1, 2401):
        order = tuple(epoch_order(4, 7, epoch).tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 24
    assert sum((count - 100) ** 2 / 100 for count in counts.values()) < 70


def test_an_order_is_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        epoch_order(3, 0, 1)[0] = 1


@settings(max_examples=50, deadline=None)
@given(length=st.integers(1, 50), size=st.integers(0, 200), seed=seeds)
def test_a_sample_without_replacement_is_balanced(length: int, size: int, seed: int) -> None:
    drawn = sample(length, size, seed, "s", replacement=False)
    counts = np.bincount(drawn, minlength=length)
    assert len(drawn) == size
    assert len(counts) == length
    assert set(counts.tolist()) <= {size // length, -(-size // length)}


@settings(max_examples=50, deadline=None)
@given(length=st.integers(1, 50), size=st.integers(0, 200), seed=seeds)
def test_a_sample_with_replacement_is_in_range(length: int, size: int, seed: int) -> None:
    drawn = sample(length, size, seed, "s", replacement=True)
    assert len(drawn) == size
    assert all(0 <= index < length for index in drawn.tolist())
