"""Every fused op against the default it replaces, and elementwise programs against their ops one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rows import primitive
from table import by_name

from minburn.backends import NumPy
from minburn.backends.array.activations import ArrayActivations
from minburn.backends.array.modules import ArrayModules
from minburn.backends.array.pool import Pool
from minburn.backends.default import DefaultActivations, DefaultModules
from minburn.backends.elementwise import trace
from minburn.dtype import DType

FUSED = [
    (table, op)
    for table, cls, default in (
        ("modules", ArrayModules, DefaultModules),
        ("activations", ArrayActivations, DefaultActivations),
    )
    for op in dir(cls)
    if not op.startswith("_") and callable(getattr(cls, op)) and getattr(cls, op) is not getattr(default, op)
]
TOLERANCE = {DType.F64: 1e-13, DType.F32: 3e-6, DType.F16: 5e-3}


def test_there_is_something_to_compare() -> None:
    assert {("modules", "linear"), ("activations", "softmax")} <= set(FUSED)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("table", "op"), FUSED)
def test_fused_equals_its_default(table: str, op: str, dtype: DType) -> None:
    backend = NumPy(float_dtype=dtype)
    default: Any = (
        DefaultModules(backend.floats, backend.ints) if table == "modules" else DefaultActivations(backend.floats)
    )
    fused: Any = getattr(backend, table)
    for case in by_name()[f"{table}.{op}"].cases:
        arguments = [primitive(backend, a) for a in case]
        got, want = getattr(fused, op)(*arguments), getattr(default, op)(*arguments)
        pairs = zip(got, want, strict=True) if isinstance(got, tuple) else [(got, want)]
        for a, c in pairs:
            assert (a.shape, a.dtype) == (c.shape, c.dtype)
            np.testing.assert_allclose(a, c, TOLERANCE[dtype], TOLERANCE[dtype], err_msg=f"{op}{case}")


def test_relu_and_its_gradient_at_nan_and_infinity() -> None:
    backend = NumPy()
    default = DefaultActivations(backend.floats)
    x = backend.floats.from_data(np.array([-1.0, 0.0, 2.0, np.nan, np.inf, -np.inf]))
    grad = backend.floats.from_data(np.array([np.inf, np.nan, np.inf, 1.0, -np.inf, np.nan]))
    np.testing.assert_array_equal(backend.activations.relu(x), default.relu(x))
    np.testing.assert_array_equal(backend.activations.relu_backward(x, grad), default.relu_backward(x, grad))


def adam_like(theta: Any, grad: Any, moment: Any, rate: Any, decay: Any) -> tuple[Any, Any]:
    moment = moment * decay + grad * grad * 0.1
    return theta - grad * rate / (moment.sqrt() + 1e-5), moment


@pytest.mark.parametrize("dtype", [DType.F64, DType.F32])
def test_a_program_gives_the_bits_of_its_ops(dtype: DType) -> None:
    floats = NumPy(float_dtype=dtype).floats
    rng = np.random.default_rng(3)
    shapes = [(3,), (4, 5), (1,), (0,), (200, 100), (70_001,), (20_000,)]
    columns = [[floats.from_data(rng.random(shape) + 0.1) for shape in shapes] for _ in range(3)]
    rate, decay = 0.01, 0.9
    updated, moments = floats.run_elementwise(columns, trace(adam_like, inputs=3, scalars=2), (rate, decay))
    for t in range(len(shapes)):
        theta, grad, moment = (column[t] for column in columns)
        square = floats.mul_scalar(floats.mul(grad, grad), 0.1)
        moment = floats.add(floats.mul_scalar(moment, decay), square)
        bottom = floats.add_scalar(floats.sqrt(moment), 1e-5)
        theta = floats.sub(theta, floats.div(floats.mul_scalar(grad, rate), bottom))
        assert updated[t].shape == shapes[t]
        np.testing.assert_array_equal(updated[t], theta)
        np.testing.assert_array_equal(moments[t], moment)


def test_the_pool_never_hands_out_a_live_buffer() -> None:
    pool, single = Pool(), np.dtype(np.float32)
    live = [pool.empty((100, 100), single) for _ in range(8)]
    for number, array in enumerate(live):
        array[...] = number
    assert all((array == number).all() for number, array in enumerate(live))
    assert all(array.ctypes.data % 64 == 0 for array in live)
    view = live[0][3:5, ::2].T
    del live
    del array
    for _ in range(20):
        pool.empty((100, 100), single)[...] = -1.0
    held = [pool.empty((100, 100), single) for _ in range(8)]
    for other in held:
        other[...] = 7.0
    assert (view == 0).all()  # the view alone kept its buffer


def test_the_pool_reuses_what_is_free() -> None:
    pool, single = Pool(), np.dtype(np.float32)
    first = pool.empty((100, 100), single)
    address = first.ctypes.data
    del first
    assert pool.empty((100, 100), single).ctypes.data == address


def test_the_pool_keeps_what_a_loop_needs_and_gives_back_what_was_needed_before() -> None:
    pool, single = Pool(limit=1_000_000), np.dtype(np.float32)

    def loop(rows: int) -> set[int]:
        return {array.ctypes.data for array in [pool.empty((rows, 100), single) for _ in range(10)]}

    assert loop(500) == loop(500) == loop(500)  # 2 MB
    loop(600)  # another size: what was kept for the first is beyond the limit
    assert sum(map(len, pool._free.values())) == 10
    assert loop(600) == loop(600)


@pytest.mark.parametrize("shape", [(64, 65), (300, 8), (4, 8, 20, 20)])
def test_softmax_over_many_long_rows(shape: tuple[int, ...]) -> None:
    backend = NumPy(float_dtype=DType.F64)
    default = DefaultActivations(backend.floats)
    x, grad = (backend.floats.from_data(np.random.default_rng(seed).standard_normal(shape)) for seed in (1, 2))
    dim = len(shape) - 1
    for op in ("softmax", "log_softmax"):
        out = getattr(backend.activations, op)(x, dim)
        np.testing.assert_allclose(out, getattr(default, op)(x, dim), rtol=1e-13)
        pulled = getattr(backend.activations, f"{op}_backward")(out, grad, dim)
        np.testing.assert_allclose(pulled, getattr(default, f"{op}_backward")(out, grad, dim), rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(backend.activations.softmax(x * np.nan, dim), np.nan)


def test_large_elementwise_ops_run_in_blocks_that_leave_nothing_out() -> None:
    backend = NumPy(float_dtype=DType.F32)
    default = DefaultActivations(backend.floats)
    for size in (32 * 1024, 32 * 1024 + 1, 70_001):
        x = backend.floats.from_data(np.random.default_rng(size).standard_normal((size,)) * 3)
        for op in ("gelu_train", "gelu_approximate_train"):
            for got, want in zip(getattr(backend.activations, op)(x), getattr(default, op)(x), strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-6)
        np.testing.assert_array_equal(backend.activations.relu(x), default.relu(x))
