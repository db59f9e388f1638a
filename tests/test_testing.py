"""`check_gradients` passes what is right, and finds and names what is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minburn import DType, FloatTensor, Tensor
from minburn.backends import Autodiff, NumPy
from minburn.tensor import KindError, ShapeError, activation, custom_op, functional
from minburn.testing import GradientMismatch, check_gradients

plain = NumPy(seed=7)
X = Tensor.from_data(np.random.default_rng(0).normal(size=(3, 4)), plain)
W = Tensor.from_data(np.random.default_rng(1).normal(size=(4, 2)), plain)
B = Tensor.from_data([0.5, -0.5], Autodiff(plain))


@pytest.mark.parametrize("order", [1, 2])
def test_what_is_right_passes(order: int) -> None:
    report = check_gradients(lambda x, w, b: functional.linear(x, w, b).tanh(), X, W, B, order=order)
    assert report.elements == 12 + 8 + 2
    assert report.error < 0.1
    rows = Tensor.from_data([2, 0], plain)
    assert check_gradients(lambda x, r: activation.gelu(x.select(0, r)), X, rows, order=order).elements == 12
    narrow = Tensor.from_data([2, 0], plain, dtype=DType.U8)
    assert check_gradients(lambda x, r: x.exp() * float(r.sum().item()), X, narrow, order=order).elements == 12
    assert check_gradients(lambda x: x * 0.0 + 1.0, X, order=order).error == 0
    assert check_gradients(lambda x: Tensor.ones([1], x.backend), X, order=order).error == 0


def broken(where: int) -> Any:
    """x², with one element's gradient 1 % off."""

    @custom_op
    def square(x: FloatTensor) -> tuple[Any, ...]:
        factor = np.full(12, 2.0)
        factor[where] = 2.02
        factors: FloatTensor = Tensor.from_floats(factor.reshape(3, 4), x.backend)
        return x * x, lambda g: g * x * factors

    return square


def test_what_is_wrong_is_found_and_named() -> None:
    for where in range(12):
        square = broken(where)
        with pytest.raises(GradientMismatch) as caught:
            check_gradients(lambda y, x, op=square: op(x) + y.sum_dim(0), W.reshape(2, 4), X)
        report = caught.value.report
        assert (report.tensor, report.place) == (1, divmod(where, 4))
        assert abs(report.gradient / report.difference - 1.01) < 1e-6
        assert f"is {list(divmod(where, 4))} of float tensor 1: the gradient is" in str(caught.value)


def test_a_wrong_second_derivative_is_found() -> None:
    @custom_op
    def cube(x: FloatTensor) -> tuple[Any, ...]:
        return x * x * x, lambda g: g * x * x.detach() * 3.0  # half of the second derivative is cut off

    check_gradients(cube, X)
    with pytest.raises(GradientMismatch, match="the derivative of the gradient is another"):
        check_gradients(cube, X, order=2)


def test_a_nan_is_worst_of_all() -> None:
    @custom_op
    def hole(x: FloatTensor) -> tuple[Any, ...]:
        return x * 1.0, lambda g: g.mask_fill(x == 3.0, float("nan"))

    with pytest.raises(GradientMismatch, match=r"is \[1\] of float tensor 0: the gradient is nan"):
        check_gradients(hole, Tensor.from_data([1.0, 3.0, 2.0], plain))


def test_large_tensors_are_sampled_the_same_way_each_time() -> None:
    big = Tensor.from_data(np.linspace(-1, 1, 3000).reshape(30, 100), plain)
    one, other = (check_gradients(lambda x: x.sin(), big, max_elements=20) for _ in range(2))
    assert one == other
    assert one.elements == 20


def test_bad_input() -> None:
    with pytest.raises(KindError, match="got IntTensor"):
        check_gradients(lambda x: x, Tensor.from_data([1], plain))
    with pytest.raises(KindError, match="got nothing"):
        check_gradients(lambda: X)
    with pytest.raises(KindError, match="got FloatTensor, float"):
        check_gradients(lambda x, y: x, X, 1.0)  # type: ignore[arg-type]
    with pytest.raises(KindError, match="returned float"):
        check_gradients(lambda x: 1.0, X)  # type: ignore[arg-type, return-value]
    with pytest.raises(ValueError, match="order is 1 or 2, but got 3"):
        check_gradients(lambda x: x, X, order=3)
    with pytest.raises(ShapeError, match="no elements"):
        check_gradients(lambda x: x, Tensor.zeros((0, 2), plain))
