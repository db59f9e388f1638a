"""Convolutions beyond their rows: any sizes, memory orders, precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_conv import conv, conv_weight, conv_x

from minburn.backends import Autodiff, NumPy
from minburn.backends.array.layout import batch_first, batch_last
from minburn.backends.conv_options import ConvOptions, ConvTransposeOptions
from minburn.backends.default import DefaultModules
from minburn.backends.error import BackendError
from minburn.dtype import DType

BACKEND = NumPy(float_dtype=DType.F64)


@st.composite
def convolutions(draw: Any) -> tuple[Any, Any, ConvOptions]:
    """x, weight and options of one to three dimensions that fit together."""
    rank = draw(st.integers(1, 3))
    groups = draw(st.integers(1, 2))

    def each(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw(st.integers(low, high)) for _ in range(rank))

    kernel, stride, dilation = each(1, 3), each(1, 3), each(1, 2)
    padding = tuple(zip(each(0, 2), each(0, 2), strict=True))
    size = tuple(
        max(1, d * (k - 1) + 1 - b - e) + draw(st.integers(0, 3))
        for k, d, (b, e) in zip(kernel, dilation, padding, strict=True)
    )
    options = ConvOptions(stride, padding, dilation, groups)
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    x = rng.standard_normal((draw(st.integers(0, 2)), groups * draw(st.integers(1, 2)), *size))
    weight = rng.standard_normal((groups * draw(st.integers(1, 3)), x.shape[1] // groups, *kernel))
    return x, weight, options


@settings(max_examples=60, deadline=None)
@given(convolutions())
def test_a_convolution_and_its_gradients_equal_loops(case: tuple[Any, Any, ConvOptions]) -> None:
    x, weight, o = case
    modules: Any = BACKEND.modules
    name = f"conv{x.ndim - 2}d"
    out = getattr(modules, name)(x, weight, None, o)
    np.testing.assert_allclose(out, conv(x, weight, None, o), 1e-12, 1e-12)
    grad = np.random.default_rng(1).standard_normal(out.shape)
    of_x = getattr(modules, f"{name}_x_backward")(weight, grad, x.shape[2:], o)
    np.testing.assert_allclose(of_x, conv_x(weight, grad, x.shape[2:], o), 1e-12, 1e-12)
    of_weight = getattr(modules, f"{name}_weight_backward")(x, grad, weight.shape[2:], o)
    np.testing.assert_allclose(of_weight, conv_weight(x, grad, weight.shape[2:], o), 1e-12, 1e-12)


@settings(max_examples=40, deadline=None)
@given(convolutions())
def test_a_transposed_convolution_is_the_adjoint(case: tuple[Any, Any, ConvOptions]) -> None:
    x, weight, o = case
    places = o.output_size(x.shape[2:], weight.shape[2:])
    sides = tuple(begin for begin, _ in o.padding)
    symmetric = ConvOptions(o.stride, tuple((side, side) for side in sides), o.dilation, o.groups)
    wanted = symmetric.output_size(x.shape[2:], weight.shape[2:])
    if min(wanted) < 1 or min(places) < 1:
        return
    back = ConvTransposeOptions(o.stride, sides, (0,) * len(sides), o.dilation, o.groups)
    more = tuple(n - m for n, m in zip(x.shape[2:], back.output_size(wanted, weight.shape[2:]), strict=True))
    back = ConvTransposeOptions(o.stride, sides, more, o.dilation, o.groups)
    y = np.random.default_rng(2).standard_normal((len(x), len(weight), *wanted))
    rank = x.ndim - 2
    out = getattr(BACKEND.modules, f"conv{rank}d")(x, weight, None, symmetric)
    adjoint = getattr(BACKEND.modules, f"conv_transpose{rank}d")(y, weight, None, back)
    assert adjoint.shape == x.shape
    assert (out * y).sum() == pytest.approx((adjoint * x).sum(), rel=1e-10, abs=1e-10)


PLAIN = ConvOptions((1, 1), ((1, 1), (1, 0)), (1, 1))


def test_the_result_lies_channels_first_and_batch_last_and_the_input_may_lie_anyhow() -> None:
    backend = NumPy()
    modules, floats = backend.modules, backend.floats
    rng = np.random.default_rng(4)
    x, weight = floats.from_data(rng.random((3, 2, 5, 4))), floats.from_data(rng.random((4, 2, 3, 3)))
    out = modules.conv2d(x, weight, None, PLAIN)
    assert out.transpose(1, 2, 3, 0).flags.c_contiguous
    orders = [x, batch_first(batch_last(floats, x)), np.asfortranarray(x), x[:, ::-1].copy()[:, ::-1]]
    for same in orders:
        np.testing.assert_array_equal(modules.conv2d(same, weight, None, PLAIN), out)
    grad = floats.from_data(rng.random(out.shape))
    for of in (lambda g: modules.conv2d_x_backward(weight, g, (5, 4), PLAIN), modules.conv2d_bias_backward):
        np.testing.assert_array_equal(of(grad), of(batch_first(batch_last(floats, grad))))
    assert modules.conv2d_weight_backward(x, grad, (3, 3), PLAIN).flags.c_contiguous
    assert modules.conv2d_bias_backward(grad).flags.c_contiguous
    flat = floats.reshape(backend.activations.relu(out), (3, -1))
    np.testing.assert_array_equal(flat, np.maximum(np.ascontiguousarray(out).reshape(3, -1), 0))


def test_large_images_are_moved_a_few_at_a_time() -> None:
    floats = NumPy().floats
    x = np.random.default_rng(0).random((37, 4, 40, 30)).astype(np.float32)
    moved = batch_last(floats, x)
    assert moved.flags.c_contiguous
    np.testing.assert_array_equal(moved, np.moveaxis(x, 0, -1))
    assert batch_last(floats, batch_first(moved)).base is moved.base  # it lies so already


def test_new_memory_has_the_order_of_what_it_is_like() -> None:
    floats = NumPy().floats
    for shape in ((3, 2, 5, 4), (40, 20, 15, 12)):  # a small one and one from the pool
        x = np.zeros(shape, np.float32)
        for view in (x, x.transpose(3, 0, 2, 1), x.transpose(1, 2, 3, 0), x.T):
            assert floats.empty_like(view).strides == view.strides
            mask = floats.mask_like(view)
            assert mask.dtype == bool and mask.shape == view.shape
            assert mask.strides == tuple(step // 4 for step in view.strides)


@pytest.mark.parametrize("fused", [True, False])
def test_halves_are_summed_in_single_precision(fused: bool) -> None:
    backend = NumPy(float_dtype=DType.F16)
    modules: Any = backend.modules if fused else DefaultModules(backend.floats, backend.ints)
    ones, o = backend.floats.ones, ConvOptions((1, 1), ((0, 0), (0, 0)), (1, 1))  # a half stops counting at 2048
    assert modules.conv2d(ones((1, 4096, 1, 1)), ones((1, 4096, 1, 1)), None, o) == 4096
    assert modules.conv2d_x_backward(ones((4096, 1, 1, 1)), ones((1, 4096, 1, 1)), (1, 1), o) == 4096
    assert modules.conv2d_weight_backward(ones((1, 1, 64, 64)), ones((1, 1, 64, 64)), (1, 1), o) == 4096
    assert modules.conv2d_bias_backward(ones((2, 1, 64, 32))) == 4096
    out = modules.conv2d(ones((1, 1, 3, 3)), ones((1, 1, 2, 2)), ones((1,)), o)
    assert out.dtype == np.float16 and (out == 5).all()


def test_results_and_gradients_keep_their_dtype() -> None:
    for dtype in (DType.F32, DType.F64, DType.F16):
        backend = Autodiff(NumPy(float_dtype=dtype))
        floats, modules = backend.floats, backend.modules
        leaves = [floats.set_require_grad(floats.ones(shape), True) for shape in ((2, 1, 4, 3), (2, 1, 2, 2), (2,))]
        out = modules.conv2d(*leaves, PLAIN)
        gradients = floats.backward(floats.sum(out))
        for value in (out.value, *(floats.grad(leaf, gradients) for leaf in leaves)):
            assert value.dtype == NumPy(float_dtype=dtype).floats.np_dtype


@pytest.mark.parametrize(
    ("field", "value"), [("stride", (0, 1)), ("dilation", (1, 0)), ("groups", 0), ("padding", ((0, -1), (0, 0)))]
)
def test_options_that_cannot_work_are_refused(field: str, value: Any) -> None:
    good: dict[str, Any] = {"stride": (1, 1), "padding": ((0, 0), (0, 0)), "dilation": (1, 1), "groups": 1}
    with pytest.raises(BackendError, match=f"convolution: {field} must be a tuple"):
        ConvOptions(**{**good, field: value})
