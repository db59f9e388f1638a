"""Users' own ops: gradients at every level, what is refused, what a rule cannot spoil."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from minburn import DType, FloatTensor, IntTensor, Tensor
from minburn.backends import Autodiff, AutodiffError, BalancedCheckpointing, NumPy
from minburn.backends.autodiff.graph import Node
from minburn.tensor import DeviceError, DTypeError, KindError, ShapeError, activation, custom_array_op, custom_op
from minburn.testing import check_gradients

plain = NumPy(seed=7)
auto = Autodiff(plain)
twice = Autodiff(auto)
thrice = Autodiff(twice)


@custom_op
def product(x: FloatTensor, y: FloatTensor) -> tuple[Any, ...]:
    """x · y²."""
    return x * y * y, lambda g: g * y * y, lambda g: g * x * y * 2.0


@custom_array_op
def array_product(xp: Any, x: Any, y: Any) -> tuple[Any, ...]:
    return x * y * y, lambda g: g * y * y, lambda g: xp.multiply(g * x, y * 2.0)


@custom_op
def straight(x: FloatTensor) -> tuple[Any, ...]:
    """Rounds, and passes its gradient on."""
    return x.round(), lambda g: g


@custom_array_op
def array_straight(xp: Any, x: Any) -> tuple[Any, ...]:
    return xp.rint(x), lambda g: g


@custom_op
def picked(x: FloatTensor, rows: IntTensor, scale: float = 1.0, *, shift: float = 0.0) -> tuple[Any, ...]:
    def pullback(grad: FloatTensor) -> FloatTensor:
        return x.zeros_like().select_assign(0, rows, grad * scale)

    return x.select(0, rows) * scale + shift, pullback


def leaf(backend: Any, *values: float) -> FloatTensor:
    return Tensor.from_data(list(values), backend).require_grad()


def grads(loss: FloatTensor, *leaves: FloatTensor) -> list[Any]:
    gradients = loss.sum().backward()
    found = [x.grad(gradients) for x in leaves]
    return [None if g is None else g.numpy().tolist() for g in found]


@pytest.mark.parametrize("op", [product, array_product], ids=["tensors", "arrays"])
def test_values_and_gradients(op: Any) -> None:
    x, y = Tensor.from_data([[1.0, 2.0], [3.0, 4.0]], plain), Tensor.from_data([[2.0, 3.0]], plain)
    assert op(x, y).numpy().tolist() == [[4.0, 18.0], [12.0, 36.0]]
    assert op(x, y).backend is plain
    a, b = (t.autodiff(auto).require_grad() for t in (x, y))
    result = op(a, b)
    assert (result.backend, result.dtype, result.is_tracked) == (auto, DType.F32, True)
    assert grads(result, a, b) == [[[4.0, 9.0], [4.0, 9.0]], [[16.0, 36.0]]]  # y was broadcast
    assert grads(op(a, y), a) == [[[4.0, 9.0], [4.0, 9.0]]]  # a plain operand is a constant
    assert not op(a.set_require_grad(False), y).is_tracked
    assert op(a.set_require_grad(False), y).backend is auto
    assert grads(op(a, a), a) == [[[3.0, 12.0], [27.0, 48.0]]]


@pytest.mark.parametrize("float_dtype", [DType.F16, DType.F32, DType.F64], ids=str)
@pytest.mark.parametrize("op", [product, array_product], ids=["tensors", "arrays"])
def test_dtypes_stay(op: Any, float_dtype: DType) -> None:
    backend = Autodiff(NumPy(float_dtype=float_dtype))
    x, y = leaf(backend, 1.0), leaf(backend, 3.0)
    gradients = op(x, y).backward()
    assert {t.dtype for t in (op(x, y), x.grad(gradients), y.grad(gradients))} == {float_dtype}  # type: ignore[union-attr]


@custom_array_op
def wide(xp: Any, x: Any) -> tuple[Any, ...]:
    return xp.float64(2) * x.astype(xp.float64), lambda g: g.astype(xp.float64) * 2


def test_a_stray_float64_is_converted() -> None:
    x = leaf(auto, 1.0)
    gradients = wide(x).backward()
    assert (wide(x).dtype, x.grad(gradients).dtype) == (DType.F32, DType.F32)  # type: ignore[union-attr]
    assert wide(x).numpy().dtype == np.float32


def test_int_tensors_options_and_names() -> None:
    x = Tensor.from_data([[1.0], [2.0], [3.0]], auto).require_grad()
    rows = Tensor.from_data([2, 0, 2], auto)
    assert picked(x, rows, 2.0, shift=1.0).numpy().tolist() == [[7.0], [3.0], [7.0]]
    assert grads(picked(x, rows, 2.0), x) == [[[2.0], [0.0], [4.0]]]
    assert check_gradients(picked, x.detach(), rows).elements == 3
    assert picked.__name__ == "picked"
    assert product.__doc__ == "x · y²."


@pytest.mark.parametrize("strategy", [None, BalancedCheckpointing])
def test_second_and_third_derivatives(strategy: Any) -> None:
    once = auto if strategy is None else Autodiff(plain, strategy)
    levels = [once, Autodiff(once), Autodiff(Autodiff(once))]
    first = leaf(levels[0], 3.0)
    second = first.autodiff(levels[1]).require_grad()
    third = second.autodiff(levels[2]).require_grad()
    result = product(third, third)  # x³
    d1 = third.grad(result.backward())
    assert d1 is not None and d1.item() == 27.0
    d2 = second.grad(d1.backward())
    assert d2 is not None and d2.item() == 18.0
    d3 = first.grad(d2.backward())
    assert d3 is not None and d3.item() == 6.0
    lowest = leaf(once, 3.0)
    lifted = lowest.autodiff(levels[2])
    assert grads(product(lifted, lifted).inner().inner(), lowest) == [[27.0]]


@pytest.mark.parametrize("op", [straight, array_straight], ids=["tensors", "arrays"])
def test_inner_levels_use_the_gradient_of_the_rule_too(op: Any) -> None:
    below = leaf(auto, 1.2)
    assert grads(op(below.autodiff(twice)).inner(), below) == [[1.0]]
    above = below.autodiff(twice).require_grad()
    gradient = above.grad((op(above) * op(above) * above).backward())  # 2 r x + r², as r' = 1
    assert gradient is not None
    assert gradient.item() == pytest.approx(2 * 1.2 + 1)
    if op is straight:
        assert grads(gradient, below) == [pytest.approx([2 * 1.2 + 2 + 2])]  # 2 x + 2 r + 2 r


def test_a_random_rule_runs_once() -> None:
    runs = []

    @custom_op
    def noisy(x: FloatTensor) -> tuple[Any, ...]:
        runs.append(x.backend)
        factor = float(len(runs))
        return x * factor, lambda g: g * factor

    below = leaf(auto, 1.0)
    above = below.autodiff(twice).require_grad()
    result = noisy(above)
    assert grads(result, above) == [[1.0]]
    assert runs == [auto]


def test_array_code_has_no_second_derivative_and_says_so() -> None:
    for above, below in ((leaf(twice, 2.0), None), (leaf(auto, 2.0).autodiff(twice).require_grad(), True)):
        gradient = above.grad(array_product(above, above).backward())
        assert gradient is not None
        assert gradient.item() == 12.0
        assert gradient.is_tracked == bool(below)
        if below:
            with pytest.raises(AutodiffError, match=r"array_product: its backward is written with arrays.*custom_op"):
                gradient.backward()

    @custom_op
    def repaired(x: FloatTensor, y: FloatTensor) -> tuple[Any, ...]:
        return array_product(x, y), lambda g: g * y * y, lambda g: g * x * y * 2.0

    points = Tensor.from_data([0.5, -2.0], plain)
    for op in (product, repaired):
        assert check_gradients(op, points, points, order=2).elements == 4
    with pytest.raises(AutodiffError, match="array_product"):
        check_gradients(array_product, points, points, order=2)


def test_rules_that_are_wrong_are_told_so() -> None:
    x = leaf(auto, 1.0, 2.0)

    def rule(returned: Any) -> Any:
        def mine(x: FloatTensor) -> Any:
            return returned(x)

        return custom_op(mine)

    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda x: x, KindError, r"mine: a rule returns \(result, pullback.*returned FloatTensor"),
        (lambda x: (x,), KindError, r"It was given 1 and returned FloatTensor\."),
        (lambda x: (x, None), KindError, "returned FloatTensor, NoneType"),
        (lambda x: (x, lambda g: g, lambda g: g), KindError, "given 1 and returned FloatTensor, function, function"),
        (lambda x: (x.numpy(), lambda g: g), KindError, "a result is a float tensor, but its rule made ndarray"),
        (lambda x: (x > 0, lambda g: g), KindError, "made BoolTensor"),
        (lambda x: (x.cast(DType.F64), lambda g: g), DTypeError, "mine: dtypes F64 and F32"),
    ]
    for returned, error, text in cases:
        for operand in (x, x.inner()):
            with pytest.raises(error, match=text):
                rule(returned)(operand)
    captured = rule(lambda y: (x * 2, lambda g: g))  # a tensor that is no argument lies above the graph
    with pytest.raises(DeviceError, match=r"a result belongs to autodiff<numpy>.*to numpy\. Pass every tensor"):
        captured(x)
    pullbacks: list[tuple[Any, type[Exception], str]] = [
        (lambda g: g.sum(), ShapeError, r"operand 0 has shape \[2\], but its pullback returned .* \[1\]"),
        (lambda g: g.unsqueeze(), ShapeError, r"shape \[1, 2\]"),
        (lambda g: None, KindError, "the gradient of float operand 0 is a float tensor, but its rule made NoneType"),
        (lambda g: g.cast(DType.F64), DTypeError, "mine: dtypes"),
        (lambda g: x * 2, DeviceError, "the gradient of float operand 0 belongs to autodiff"),
    ]
    for pullback, error, text in pullbacks:
        result = rule(lambda x, pullback=pullback: (x * 2, pullback))(x)
        with pytest.raises(error, match=text):
            result.sum().backward()


def test_arguments_that_are_wrong() -> None:
    with pytest.raises(KindError, match="product: a custom op takes a float tensor, by position, but got none"):
        product(1.0, 2.0)  # type: ignore[arg-type]
    with pytest.raises(DTypeError, match="product: dtypes F32 and F64"):
        product(leaf(auto, 1.0), Tensor.from_data([1.0], auto, dtype=DType.F64))
    with pytest.raises(TypeError, match="argument"):
        product(leaf(auto, 1.0))  # type: ignore[call-arg]


def test_array_rules_cannot_write_to_what_they_are_given() -> None:
    @custom_array_op
    def rude(xp: Any, x: Any) -> tuple[Any, ...]:
        x *= 2
        return x, lambda g: g

    @custom_array_op
    def rude_backward(xp: Any, x: Any) -> tuple[Any, ...]:
        def pullback(g: Any) -> Any:
            g += 1
            return g

        return x + 1, pullback

    x = leaf(auto, 1.0)
    with pytest.raises(ValueError, match="read-only"):
        rude(x)
    with pytest.raises(ValueError, match="read-only"):
        rude_backward(x).backward()
    assert x.item() == 1.0


def test_graphs_of_custom_ops_are_freed_by_reference_counts() -> None:
    def alive() -> int:
        return sum(type(item) is Node for item in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        x, y = leaf(auto, 1.0), leaf(auto, 2.0)
        before = alive()
        for op in (product, array_product):
            loss = x
            for _ in range(50):
                loss = activation.sigmoid(op(loss, y))
            assert alive() > before
            loss.backward()
            del loss
            assert alive() == before
            unused = op(op(x, y), y)
            del unused
            assert alive() == before
    finally:
        gc.enable()
