"""Kernels at sizes around and beyond those of a block, which the rows of the op table do not reach: against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from device import host
from rows import primitive

from minburn.backends import CuPy, NumPy
from minburn.backends.array.dtypes import bfloat16
from minburn.backends.conv_options import ConvOptions
from minburn.backends.module_ops import AttentionOptions
from minburn.backends.pool_options import PoolOptions
from minburn.dtype import DType

HERE, THERE = CuPy(float_dtype=DType.F64), NumPy(float_dtype=DType.F64)
RNG = np.random.default_rng(7)


def f(*shape: int) -> Any:
    return RNG.standard_normal(shape)


def same(table: str, op: str, *arguments: Any) -> None:
    results = []
    for backend in (HERE, THERE):
        result = getattr(getattr(backend, table), op)(*(primitive(backend, argument) for argument in arguments))
        results.append(host(result if isinstance(result, tuple) else (result,)))
    for got, want in zip(*results, strict=True):
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, 1e-10, 1e-11, err_msg=op)


@pytest.mark.parametrize("size", [1, 31, 33, 255, 257, 700])
def test_rows_of_any_length(size: int) -> None:
    x, grad = f(3, size), f(3, size)
    for dim in (0, 1):
        for op in ("softmax", "log_softmax"):
            same("activations", op, x, dim)
            same("activations", f"{op}_backward", x, grad, dim)
    same("modules", "cross_entropy", x, RNG.integers(0, size, 3))
    same("modules", "layer_norm_train", x, f(size), f(size), 1e-5)
    same("modules", "layer_norm_backward", x, np.abs(f(3, 1)), f(size), grad)
    same("modules", "rms_norm_train", x, f(size), 1e-5)


@pytest.mark.parametrize("rows", [1, 7, 9, 40])
def test_gradients_of_row_norms_sum_any_number_of_rows(rows: int) -> None:
    for op in ("layer_norm_backward", "rms_norm_backward"):
        same("modules", op, f(rows, 70), np.abs(f(rows, 1)), f(70), f(rows, 70))


@pytest.mark.parametrize("shape", [(2, 3, 40, 5), (300, 2), (1, 4, 1)])
def test_channels_of_any_size(shape: tuple[int, ...]) -> None:
    x, grad = f(*shape), f(*shape)
    gamma, beta, mean, variance = f(shape[1]), f(shape[1]), f(shape[1]), np.abs(f(shape[1])) + 0.1
    same("modules", "batch_norm_train", x, gamma, beta, 1e-3)
    same("modules", "batch_norm_train_backward", x, gamma, mean, variance, grad, 1e-3)
    same("modules", "batch_norm", x.transpose(*range(1, x.ndim), 0).copy().transpose(x.ndim - 1, *range(x.ndim - 1)),
         gamma, beta, mean, variance, 1e-3)  # fmt: skip


@pytest.mark.parametrize("options", [
    AttentionOptions(), AttentionOptions(is_causal=True), AttentionOptions(is_causal=True, fill=-2.0),
    AttentionOptions(softcap=3.0, is_quiet=True), AttentionOptions(scale=0.3, fill=-1e4),
])  # fmt: skip
@pytest.mark.parametrize("keys", [1, 40, 300])
def test_attention_over_any_number_of_keys(keys: int, options: AttentionOptions) -> None:
    # Heads as a model makes them: views of [n, s, h · d].
    query = f(2, 3, 2, 4).swapaxes(1, 2)
    key, value = f(2, keys, 2, 4).swapaxes(1, 2), f(2, keys, 2, 5).swapaxes(1, 2)
    mask, bias = RNG.random((2, 1, 3, keys)) < 0.3, f(1, 2, 1, keys)
    for masked, biased in ((None, None), (mask, bias)):
        same("modules", "attention", query, key, value, masked, biased, options)
        weights = THERE.modules.attention_weights(query, key, masked, biased, options)
        output = THERE.modules.attention(query, key, value, masked, biased, options)[0]
        given = (query, key, value, masked, np.ascontiguousarray(weights), np.ascontiguousarray(output), f(2, 2, 3, 5))
        same("modules", "attention_backward", *given, options)


@pytest.mark.parametrize(("count", "size"), [(1, 1), (700, 3), (300, 300)])
def test_embedding_gradients_of_any_size(count: int, size: int) -> None:
    indices = RNG.integers(0, 9, count)
    same("modules", "embedding_backward", f(count, size), indices, 11)
    same("floats", "select_assign", f(11, size), indices, f(count, size), 0, "add")


def test_convolutions_and_pools_of_many_elements() -> None:
    options = ConvOptions((2, 1), ((1, 1), (0, 2)), (1, 2), 2)
    x, weight = f(3, 4, 12, 13), f(6, 2, 3, 2)
    out = THERE.modules.conv2d(x, weight, None, options)
    grad = f(*out.shape)
    same("modules", "conv2d", x, weight, f(6), options)
    same("modules", "conv2d_x_backward", weight, grad, (12, 13), options)
    same("modules", "conv2d_weight_backward", x, grad, (3, 2), options)
    windows = PoolOptions((3, 2), (2, 2), ((1, 1), (0, 0)), (1, 1))
    pooled = THERE.modules.max_pool2d(x, windows)
    same("modules", "max_pool2d", x, windows)
    same("modules", "max_pool2d_backward", x, np.ascontiguousarray(pooled), f(*pooled.shape), windows)
    x[0, 0, 2:5, 3] = np.nan
    same("modules", "max_pool2d_with_indices", x, windows, DType.I32)


@pytest.mark.parametrize("maps", [1, 2, 3, 9])
@pytest.mark.parametrize(("rows", "d_in", "d_out"), [(1, 1, 1), (70, 33, 41), (0, 3, 2)])
def test_several_maps_of_one_input(maps: int, rows: int, d_in: int, d_out: int) -> None:
    x, weights, biases = f(d_in, rows).T, [f(d_in, d_out) for _ in range(maps)], [f(d_out) for _ in range(maps)]
    weights[0] = f(d_out, d_in).T
    same("modules", "linears", x, weights, biases)
    same("modules", "linears", x.reshape(rows, 1, d_in), weights, None)
    grad = f(maps, d_out, rows).swapaxes(1, 2)
    same("modules", "linears_x_backward", weights, grad)
    same("modules", "linears_weight_backward", x, grad)
    same("modules", "linears_bias_backward", grad)


@pytest.mark.parametrize("count", [1, 2, 5, 8, 9])
def test_any_number_of_tensors_is_joined(count: int) -> None:
    sizes = RNG.integers(0, 4, count)
    for make in (f, lambda *shape: RNG.integers(-9, 9, shape), lambda *shape: RNG.random(shape) < 0.5):
        table = {"f": "floats", "i": "ints", "b": "bools"}[make(1).dtype.kind]
        for dim in range(3):
            shapes = [[*(4, 3, 5)[:dim], int(size), *(4, 3, 5)[dim + 1 :]] for size in sizes]
            same(table, "cat", [make(*shape) for shape in shapes], dim)
            same(table, "cat", [make(*shape[::-1]).transpose(2, 1, 0) for shape in shapes], dim)


@pytest.mark.parametrize("dtype", [DType.F16, *([DType.BF16] if bfloat16() is not None else [])])
def test_halves_that_meet_at_one_place_are_added_up_in_single_precision(dtype: DType) -> None:
    floats, ints = CuPy(float_dtype=dtype).floats, CuPy().ints
    at = ints.zeros((4096,))
    ones, none = floats.ones((4096,)), floats.zeros((1,))
    for op in (floats.scatter, floats.select_assign):
        assert float(host(op(none, at, ones, 0, "add"))[0]) == 4096
        assert float(host(op(floats.ones((1,)), at[:4], floats.full((4,), 1.125), 0, "mul"))[0]) == np.float32(
            floats.np_dtype.type(1.125**4)
        )
