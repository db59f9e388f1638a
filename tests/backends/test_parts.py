"""Gradients of tensors that were cut into pieces, which the engine collects before it joins them."""

from __future__ import annotations

import numpy as np
import pytest

from minburn import FloatTensor, Tensor
from minburn.backends import Autodiff, NumPy

Cut = list[tuple[slice, ...]]

CUTS: dict[str, Cut] = {
    "side by side": [(slice(0, 2),), (slice(2, 5),), (slice(5, 6),)],
    "in any order": [(slice(5, 6),), (slice(0, 2),), (slice(2, 5),)],
    "with gaps": [(slice(1, 2),), (slice(4, 5),)],
    "overlapping": [(slice(0, 4),), (slice(2, 6),)],
    "one twice": [(slice(1, 3),), (slice(1, 3),)],
    "another dimension": [(slice(0, 6), slice(0, 1)), (slice(0, 6), slice(2, 4))],
    "in two dimensions": [(slice(0, 3), slice(0, 2)), (slice(3, 6), slice(2, 4))],
    "with steps": [(slice(0, 6, 2),), (slice(1, 6, 2),)],
    "all of it": [(slice(0, 6),), (slice(0, 6),)],
    "nothing": [(slice(2, 2),), (slice(0, 1),)],
}


def summed(x: FloatTensor, cut: Cut) -> FloatTensor:
    """Σ over pieces of piece³ · its number."""
    total = None
    for number, where in enumerate(cut, start=1):
        term = (x[where].powi_scalar(3) * float(number)).sum()
        total = term if total is None else total + term
    assert total is not None
    return total


def expected(values: np.ndarray, cut: Cut, power: int) -> np.ndarray:
    out = np.zeros_like(values)
    for number, where in enumerate(cut, start=1):
        out[where] += number * (3 * values[where] ** 2 if power == 2 else 6 * values[where])
    return out


@pytest.mark.parametrize("of_leaf", [True, False])
@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS.keys())
def test_pieces_add_up(cut: Cut, of_leaf: bool) -> None:
    values = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)
    x = Tensor.from_data(values, Autodiff(NumPy())).require_grad()
    inner = x if of_leaf else x * 1.0
    grad = x.grad(summed(inner, cut).backward())
    assert grad is not None
    np.testing.assert_allclose(grad.numpy(), expected(values, cut, power=2), rtol=1e-6)


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS.keys())
def test_pieces_and_a_use_of_the_whole_add_up(cut: Cut) -> None:
    values = np.random.default_rng(1).standard_normal((6, 4)).astype(np.float32)
    x = Tensor.from_data(values, Autodiff(NumPy())).require_grad()
    inner = x * 1.0
    grad = x.grad((inner.sum() + summed(inner, cut) + inner.sum()).backward())
    assert grad is not None
    np.testing.assert_allclose(grad.numpy(), expected(values, cut, power=2) + 2, rtol=1e-6)


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS.keys())
def test_second_derivatives_go_through_pieces(cut: Cut) -> None:
    values = np.random.default_rng(2).standard_normal((6, 4)).astype(np.float32)
    once = Autodiff(NumPy())
    x = Tensor.from_data(values, once).require_grad()
    outer = Tensor.from_inner(x, Autodiff(once)).require_grad()
    first = outer.grad(summed(outer * 1.0, cut).backward())
    assert first is not None
    second = x.grad(first.sum().backward())
    assert second is not None
    np.testing.assert_allclose(second.numpy(), expected(values, cut, power=1), rtol=1e-6)
