"""Every rule against finite differences in float64, by random projections, and once more on second derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rows import Case, Row, primitive
from table import ROWS
from test_complete import TABLES, ZERO_GRADIENT, is_differentiable, methods

from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType

INNER = NumPy(float_dtype=DType.F64)
ONCE = Autodiff(INNER)
TWICE = Autodiff(ONCE)


def has_gradient(row: Row) -> bool:
    protocol, _, autodiff = TABLES[row.table]
    return autodiff is not None and row.name not in ZERO_GRADIENT and is_differentiable(methods(protocol)[row.op])


NO_PATH = {"relu_backward", "leaky_relu_backward", "max_pool1d_backward", "max_pool2d_backward"}
"""Ops that only compare some of their inputs: no gradient reaches them."""
DIFFERENTIABLE = [row for row in ROWS if has_gradient(row)]


def float_arrays(case: Case) -> list[Any]:
    """The differentiable arguments of a case."""
    items = [item for argument in case for item in (argument if isinstance(argument, list) else [argument])]
    return [a for a in items if isinstance(a, np.ndarray) and a.dtype.kind == "f"]


def with_arrays(case: Case, arrays: list[Any]) -> Case:
    """The case with other values for its differentiable arguments."""
    rest = iter(arrays)

    def pick(argument: Any) -> Any:
        if isinstance(argument, list):
            return [pick(item) for item in argument]
        return next(rest) if isinstance(argument, np.ndarray) and argument.dtype.kind == "f" else argument

    return tuple(pick(argument) for argument in case)


def moved(arrays: list[Any], directions: list[Any], step: float) -> list[Any]:
    """New values in the memory order of the old ones, so that non-contiguous ones stay so."""
    return [(a + step * d).copy(order="K") for a, d in zip(arrays, directions, strict=True)]


def directions(arrays: list[Any], seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [np.copyto(d := np.empty_like(a), rng.standard_normal(a.shape)) or d for a in arrays]


def projected(backend: Any, row: Row, arguments: Case) -> Any:
    """Σ result · weights, as a primitive of shape [1]; the weights are the same at each call."""
    floats = backend.floats
    results = getattr(getattr(backend, row.table), row.op)(*arguments)
    total = floats.zeros((1,))
    for number, result in enumerate(results if isinstance(results, tuple) else (results,)):
        if isinstance(result, np.ndarray) and result.dtype.kind != "f":
            continue  # indices
        weights = np.random.default_rng(number + 1).standard_normal(floats.shape(result))
        total = floats.add(total, floats.sum(floats.mul(result, floats.from_data(weights))))
    return total


def value(row: Row, case: Case, arrays: list[Any]) -> float:
    arguments = tuple(primitive(INNER, a) for a in with_arrays(case, arrays))
    return float(projected(INNER, row, arguments)[0])


def gradient(row: Row, case: Case, arrays: list[Any], backend: Any = ONCE) -> list[Any]:
    floats = backend.floats
    leaves = [floats.set_require_grad(primitive(backend, a), True) for a in arrays]
    arguments = tuple(a if _has_leaf(a) else primitive(backend, a) for a in with_arrays(case, leaves))
    gradients = floats.backward(projected(backend, row, arguments))
    found = []
    for leaf, array in zip(leaves, arrays, strict=True):
        grad = floats.grad(leaf, gradients)
        if grad is None and row.op in NO_PATH:
            grad = np.zeros(array.shape)
        assert grad is not None, f"{row.name}: an input got no gradient"
        assert grad.shape == array.shape
        assert grad.dtype == np.float64
        found.append(grad)
    return found


def _has_leaf(argument: Any) -> bool:
    return not isinstance(argument[0] if isinstance(argument, list) else argument, (np.ndarray, int, float, str, tuple))


def dot(left: list[Any], right: list[Any]) -> float:
    return float(sum((np.asarray(a) * np.asarray(c)).sum() for a, c in zip(left, right, strict=True)))


def central(function: Callable[[list[Any]], float], arrays: list[Any], along: list[Any], step: float = 1e-5) -> float:
    return (function(moved(arrays, along, step)) - function(moved(arrays, along, -step))) / (2 * step)


def is_finite_case(row: Row, case: Case) -> bool:
    """Not: the mean of nothing, or a variance of one element, which are NaN."""
    with np.errstate(all="ignore"):
        return bool(np.isfinite(value(row, case, float_arrays(case))))


@pytest.mark.parametrize("row", DIFFERENTIABLE, ids=lambda r: r.name)
def test_gradient_equals_finite_differences(row: Row) -> None:
    checked = 0
    for case in row.cases:
        arrays = float_arrays(case)
        if not is_finite_case(row, case):
            continue
        grads = gradient(row, case, arrays)
        for seed in range(3):
            along = directions(arrays, seed)
            numeric = central(lambda values, c=case: value(row, c, values), arrays, along)
            assert dot(grads, along) == pytest.approx(numeric, rel=1e-6, abs=1e-7), f"{row.name}, case {case}"
        checked += 1
    assert checked


@pytest.mark.parametrize("row", [row for row in DIFFERENTIABLE if not row.kinked], ids=lambda r: r.name)
def test_second_derivative_equals_finite_differences_of_the_gradient(row: Row) -> None:
    once, twice = ONCE.floats, TWICE.floats
    for case in row.cases:
        arrays = float_arrays(case)
        if not is_finite_case(row, case):
            continue
        first, second = directions(arrays, 10), directions(arrays, 11)
        inner_leaves = [once.set_require_grad(primitive(ONCE, a), True) for a in arrays]
        leaves = [twice.set_require_grad(twice.from_inner(leaf), True) for leaf in inner_leaves]
        arguments = tuple(a if _has_leaf(a) else primitive(TWICE, a) for a in with_arrays(case, leaves))
        gradients = twice.backward(projected(TWICE, row, arguments))
        slope = once.zeros((1,))
        for leaf, direction in zip(leaves, first, strict=True):
            slope = once.add(slope, once.sum(once.mul(twice.grad(leaf, gradients), once.from_data(direction))))
        exact = 0.0
        if once.is_tracked(slope):
            hessian = once.backward(slope)
            found = [(once.grad(leaf, hessian), d) for leaf, d in zip(inner_leaves, second, strict=True)]
            exact = sum(float((g * d).sum()) for g, d in found if g is not None)
        numeric = central(lambda values, c=case, v=first: dot(gradient(row, c, values), v), arrays, second)
        assert exact == pytest.approx(numeric, rel=1e-5, abs=1e-6), f"{row.name}, case {case}"


def run(op: Callable[..., Any], *values: Any) -> list[list[float]]:
    """The gradients of Σ op(values), as lists."""
    floats = ONCE.floats
    leaves = [floats.set_require_grad(floats.from_data(np.asarray(v, float)), True) for v in values]
    gradients = floats.backward(op(*leaves))
    return [floats.grad(leaf, gradients).tolist() for leaf in leaves]


def test_ties_follow_the_documented_subgradient() -> None:
    floats, activations = ONCE.floats, ONCE.activations
    tied = [2.0, 5.0, 5.0]
    assert run(floats.max, tied) == [[0, 1, 0]]  # the first of a tie takes the whole gradient
    assert run(floats.min, [3.0, 1.0, 1.0]) == [[0, 1, 0]]
    assert run(lambda x: floats.max_dim(x, 1), [tied, [4.0, 4.0, 4.0]]) == [[[0, 1, 0], [1, 0, 0]]]
    assert run(lambda x: floats.min_dim(x, 1), [[1.0, 1.0, 2.0]]) == [[[1, 0, 0]]]
    assert run(floats.abs, [-2.0, 0.0, 2.0]) == [[-1, 0, 1]]
    assert run(floats.sign, [-2.0, 0.0, 2.0]) == [[0, 0, 0]]
    assert run(activations.relu, [-2.0, 0.0, 2.0]) == [[0, 0, 1]]
    at_bounds = [-2.0, -1.0, 0.0, 1.0, 2.0]
    assert run(lambda x: floats.clamp(x, -1.0, 1.0), at_bounds) == [[0, 1, 1, 1, 0]]
    assert run(lambda x: floats.clamp_min(x, -1.0), at_bounds) == [[0, 1, 1, 1, 1]]
    assert run(lambda x: floats.clamp_max(x, 1.0), at_bounds) == [[1, 1, 1, 1, 0]]


@pytest.mark.parametrize("update", ["min", "max"])
def test_a_tie_of_an_indexed_minimum_gives_its_gradient_to_both(update: str) -> None:
    floats, index = ONCE.floats, ONCE.ints.from_data(np.array([0]))
    assert run(lambda x, v: floats.scatter(x, index, v, 0, update), [3.0, 1.0], [3.0]) == [[1, 1], [1]]
    assert run(lambda x, v: floats.select_assign(x, index, v, 0, update), [3.0, 1.0], [3.0]) == [[1, 1], [1]]


def test_products_with_zeros() -> None:
    floats = ONCE.floats
    assert run(floats.prod, [2.0, 0.0, 3.0]) == [[0, 6, 0]]
    assert run(floats.prod, [2.0, 0.0, 0.0]) == [[0, 0, 0]]
    assert run(lambda x: floats.prod_dim(x, 1), [[2.0, 0.0, 3.0], [1.0, 2.0, 3.0]]) == [[[0, 6, 0], [6, 3, 2]]]


def test_tied_inputs_add_their_gradients() -> None:
    floats = ONCE.floats
    assert run(lambda x: floats.mul(x, x), [3.0]) == [[6]]
    assert run(lambda x: floats.sub(x, x), [3.0]) == [[0]]
    assert run(lambda x: floats.cat([x, x, x], 0), [3.0, 4.0]) == [[3, 3]]
    assert run(lambda x: floats.matmul(x, x), [[1.0, 2.0], [3.0, 4.0]]) == [[[7, 11], [9, 13]]]
    assert run(lambda x: floats.slice_assign(x, x, ((0, 2, -1),)), [3.0, 4.0]) == [[1, 1]]


def test_the_gradient_of_a_cast_has_the_dtype_of_its_leaf() -> None:
    half, single = Autodiff(NumPy(float_dtype=DType.F16)).floats, Autodiff(NumPy()).floats
    leaf = half.set_require_grad(half.from_data(np.array([[1.0, 2.0]])), True)
    wide = single.mul(half.cast(leaf, DType.F32), single.from_data(np.array([[3.0], [4.0]])))
    grad = half.grad(leaf, single.backward(wide))
    assert grad.dtype == np.float16 and grad.tolist() == [[7, 7]]
