"""Pooling where it hurts: ties, NaN, infinities, memory orders, second derivatives; and against loops over windows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import table_pool
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from minburn.backends import Autodiff, NumPy
from minburn.backends.default import DefaultModules
from minburn.backends.pool_options import PoolOptions
from minburn.dtype import DType

BACKEND = NumPy(float_dtype=DType.F64)
MODULES: Any = BACKEND.modules
DEFAULT: Any = DefaultModules(BACKEND.floats, BACKEND.ints)
NAN, INF = math.nan, math.inf
TWO = table_pool.plain(2, 2)
OVERLAPPING = PoolOptions((2, 2), (1, 1), ((0, 0), (0, 0)), (1, 1))
PADDED = PoolOptions((3, 3), (2, 2), ((1, 1), (1, 1)), (1, 1))
FIVE_BY_FIVE = PoolOptions((5, 5), (1, 2), ((2, 1), (0, 2)), (1, 1))  # large enough for a pass per dimension


@st.composite
def pools(draw: Any, rank: int, every_window_has_an_element: bool) -> tuple[Any, PoolOptions]:
    """An input, and a pool with at least one window."""
    numbers = st.integers(1, 3)
    space = tuple(draw(st.integers(1, 7)) for _ in range(rank))
    kernel, stride, dilation = (tuple(draw(numbers) for _ in range(rank)) for _ in range(3))
    most = [3] * rank
    if every_window_has_an_element:
        most, dilation = [k - 1 for k in kernel], (1,) * rank
    padding = tuple((draw(st.integers(0, m)), draw(st.integers(0, m))) for m in most)
    options = PoolOptions(kernel, stride, padding, dilation, draw(st.booleans()))
    assume(min(options.output_size(space)) >= 1)
    x = np.random.default_rng(draw(st.integers(0, 99))).integers(-3, 4, (2, 2, *space)).astype(float)  # many ties
    return x, options


def orders(x: Any) -> list[Any]:
    """The array in both memory orders: as it is, and with the batch last."""
    last = np.ascontiguousarray(np.moveaxis(x, 0, -1))
    return [x, np.moveaxis(last, -1, 0)]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 2).flatmap(lambda rank: pools(rank, True)))
def test_max_pools_equal_loops_over_windows(case: Any) -> None:
    x, options = case
    suffix = f"{x.ndim - 2}d"
    want, where = table_pool.max_pool_with_indices(x, options, None)
    grad = np.random.default_rng(1).standard_normal(want.shape)
    back = table_pool.scattered(grad, where, x.shape[2:])
    for modules in (MODULES, DEFAULT):
        for image in orders(x):
            out = getattr(modules, f"max_pool{suffix}")(image, options)
            np.testing.assert_array_equal(out, want)
            output, indices = getattr(modules, f"max_pool{suffix}_with_indices")(image, options, DType.I64)
            np.testing.assert_array_equal(output, want)
            np.testing.assert_array_equal(indices, where)
            for g in orders(grad):
                gradient = getattr(modules, f"max_pool{suffix}_backward")(image, out, g, options)
                np.testing.assert_allclose(gradient, back, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 2).flatmap(lambda rank: pools(rank, False)), st.booleans())
def test_average_pools_equal_loops_over_windows(case: Any, include_pad: bool) -> None:
    x, options = case
    suffix = f"{x.ndim - 2}d"
    want = table_pool.avg_pool(x, options, include_pad)
    grad = np.random.default_rng(1).standard_normal(want.shape)
    back = table_pool.avg_pool_backward(grad, x.shape[2:], options, include_pad)
    for modules in (MODULES, DEFAULT):
        for image, g in zip(orders(x), orders(grad), strict=True):
            np.testing.assert_allclose(
                getattr(modules, f"avg_pool{suffix}")(image, options, include_pad), want, atol=1e-12
            )
            gradient = getattr(modules, f"avg_pool{suffix}_backward")(g, x.shape[2:], options, include_pad)
            np.testing.assert_allclose(gradient, back, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=3), st.integers(0, 2))
def test_adaptive_pools_equal_means_of_their_windows(sizes: Any, batch: int) -> None:
    size, count = zip(*sizes, strict=True)
    rng = np.random.default_rng(3)
    x, grad = rng.standard_normal((batch, 2, *size)), rng.standard_normal((batch, 2, *count))
    name = f"adaptive_avg_pool{len(size)}d"
    want, back = table_pool.adaptive(x, count), table_pool.adaptive_backward(grad, size)
    for modules in (MODULES, DEFAULT):
        for image, g in zip(orders(x), orders(grad), strict=True):
            np.testing.assert_allclose(getattr(modules, name)(image, count), want, atol=1e-12)
            np.testing.assert_allclose(getattr(modules, f"{name}_backward")(g, size), back, atol=1e-12)


def image(rows: Any) -> Any:
    return np.array(rows, float)[None, None]


@pytest.mark.parametrize("modules", [MODULES, DEFAULT])
def test_a_nan_wins_and_the_last_one_is_where_it_was(modules: Any) -> None:
    x = image([[1, NAN, 3, 0], [NAN, 9, 2, 2], [0, 0, 5, 5], [0, 0, 5, 5]])
    output, indices = modules.max_pool2d_with_indices(x, TWO, DType.I32)
    np.testing.assert_array_equal(output[0, 0], [[NAN, 3], [0, 5]])
    assert indices.dtype == np.int32
    np.testing.assert_array_equal(indices[0, 0], [[4, 2], [8, 10]])  # of the zeros and fives the first
    grad = image([[1, 2], [3, 4]])
    back = np.zeros(16)
    back[[4, 2, 8, 10]] = [1, 2, 3, 4]
    np.testing.assert_array_equal(modules.max_pool2d(x, TWO), output)
    np.testing.assert_array_equal(modules.max_pool2d_backward(x, output, grad, TWO).ravel(), back)
    np.testing.assert_array_equal(modules.max_pool2d_with_indices_backward(grad, indices, (4, 4)).ravel(), back)


@pytest.mark.parametrize("modules", [MODULES, DEFAULT])
def test_minus_infinity_is_an_element_padding_is_none(modules: Any) -> None:
    x = np.full((1, 1, 2, 3), -INF)
    output, indices = modules.max_pool2d_with_indices(x, PADDED, DType.I64)
    assert (output == -INF).all()
    np.testing.assert_array_equal(indices[0, 0], [[0, 1]])  # the first real one of each window
    back = modules.max_pool2d_backward(x, output, np.array([[[[1.0, 2.0]]]]), PADDED)
    np.testing.assert_array_equal(back[0, 0], [[1, 2, 0], [0, 0, 0]])


@pytest.mark.parametrize("modules", [MODULES, DEFAULT])
@pytest.mark.parametrize("options", [TWO, OVERLAPPING])
def test_an_infinite_gradient_stays_where_it_belongs(modules: Any, options: PoolOptions) -> None:
    x = image([[1, 2, 0], [4, 3, 0]])
    output = modules.max_pool2d(x, options)
    grad = np.full(output.shape, INF)
    back = modules.max_pool2d_backward(x, output, grad, options)
    assert back[0, 0, 1, 0] == INF
    assert (back.ravel()[:3] == 0).all()


@pytest.mark.parametrize("modules", [MODULES, DEFAULT])
def test_an_infinite_element_spoils_no_other_mean(modules: Any) -> None:
    x = image([[INF, 1, 2, 3, 4]])
    np.testing.assert_array_equal(modules.adaptive_avg_pool2d(x, (1, 2)), [[[[INF, 3.0]]]])
    assert modules.avg_pool2d(x, table_pool.plain(1, 2), True).tolist() == [[[[INF, 2.5]]]]


@pytest.mark.parametrize("options", [TWO, OVERLAPPING, PADDED, FIVE_BY_FIVE])
@pytest.mark.parametrize("dtype", [DType.F32, DType.F16])
def test_the_memory_order_of_the_input_is_kept(options: PoolOptions, dtype: DType) -> None:
    backend = NumPy(float_dtype=dtype)
    modules: Any = backend.modules
    x = orders(backend.floats.from_data(np.random.default_rng(0).standard_normal((4, 3, 6, 5))))[1]
    for out in (modules.max_pool2d(x, options), modules.max_pool2d_with_indices(x, options, DType.I32)[0]):
        assert np.moveaxis(out, 0, -1).flags.c_contiguous
        assert out.dtype == x.dtype
    if dtype is DType.F32:
        out = modules.max_pool2d(x, options)
        back = modules.max_pool2d_backward(x, out, np.ones(out.shape, np.float32), options)
        assert np.moveaxis(back, 0, -1).flags.c_contiguous
        assert np.moveaxis(modules.avg_pool2d(x, options, True), 0, -1).flags.c_contiguous


@pytest.mark.parametrize("modules", [NumPy(float_dtype=DType.F16).modules])
def test_half_means_do_not_overflow(modules: Any) -> None:
    x = np.full((1, 1, 8, 8), 60000, np.float16)
    assert (modules.avg_pool2d(x, TWO, True) == 60000).all()
    assert (modules.adaptive_avg_pool2d(x, (1, 1)) == 60000).all()
    assert (modules.adaptive_avg_pool2d(x, (3, 2)) == 60000).all()


def test_a_forward_alone_looks_for_no_indices(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Autodiff(BACKEND)
    monkeypatch.setattr(type(MODULES), "_max_pool_with_indices", lambda *_: pytest.fail("indices"))
    floats = backend.floats
    x = floats.set_require_grad(floats.from_data(np.random.default_rng(0).standard_normal((2, 2, 4, 4))), True)
    grad = floats.grad(x, floats.backward(floats.sum(backend.modules.max_pool2d(x, TWO))))
    assert grad.sum() == 16


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("max_pool2d", (PADDED,)),
        ("max_pool2d", (TWO,)),
        ("avg_pool2d", (PADDED, False)),
        ("adaptive_avg_pool2d", ((2, 3),)),
    ],
)
def test_second_derivatives_of_what_is_pooled(name: str, arguments: Any) -> None:
    """Of Σ pool(x²)²: by decorating twice, and by differences of the first derivative."""
    once = Autodiff(BACKEND)
    twice = Autodiff(once)
    x = np.random.default_rng(5).uniform(0.5, 2.0, (1, 2, 5, 4))
    direction = np.random.default_rng(6).standard_normal(x.shape)

    def loss(backend: Any, leaf: Any) -> Any:
        floats = backend.floats
        pooled = getattr(backend.modules, name)(floats.mul(leaf, leaf), *arguments)
        return floats.sum(floats.mul(pooled, pooled))

    def gradient(at: Any) -> Any:
        floats = once.floats
        leaf = floats.set_require_grad(floats.from_data(at), True)
        return floats.grad(leaf, floats.backward(loss(once, leaf)))

    inner_leaf = once.floats.set_require_grad(once.floats.from_data(x), True)
    leaf = twice.floats.set_require_grad(twice.floats.from_inner(inner_leaf), True)
    first = twice.floats.grad(leaf, twice.floats.backward(loss(twice, leaf)))
    slope = once.floats.sum(once.floats.mul(first, once.floats.from_data(direction)))
    exact = once.floats.grad(inner_leaf, once.floats.backward(slope))
    step = 1e-6
    numeric = (gradient(x + step * direction) - gradient(x - step * direction)) / (2 * step)
    np.testing.assert_allclose(exact, numeric, rtol=1e-5, atol=1e-6)
