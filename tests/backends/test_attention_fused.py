"""Fused attention against the composed one where rows need a shift, lose digits, or see nothing; on strided views."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from minburn.backends import NumPy
from minburn.backends.default import DefaultModules
from minburn.backends.module_ops import AttentionOptions
from minburn.dtype import DType

N, HEADS, QUERIES, KEYS, SIZE = 3, 4, 17, 9, 8


def views(rng: np.random.Generator, floats: Any, length: int, spread: float) -> Any:
    """Heads as layers split them: [n, h, s, d] over memory [n, s, h · d]."""
    rows = floats.from_data(rng.standard_normal((N, length, HEADS, SIZE)) * spread)
    return floats.swap_dims(rows, 1, 2)


@pytest.mark.parametrize("dtype", [DType.F64, DType.F32])
@pytest.mark.parametrize("spread", [0.5, 5.0, 30.0])
def test_fused_equals_composed(spread: float, dtype: DType) -> None:
    backend = NumPy(float_dtype=dtype)
    floats, fused = backend.floats, backend.modules
    composed = DefaultModules(floats, backend.ints)
    rng = np.random.default_rng(7)
    query, key, value, grad = (
        views(rng, floats, length, scale)
        for length, scale in ((QUERIES, spread), (KEYS, spread), (KEYS, 1.0), (QUERIES, 1.0))
    )
    mask = backend.bools.from_data(rng.random((N, 1, QUERIES, KEYS)) < 0.5)
    mask[0] = True  # one batch entry sees nothing
    bias = floats.from_data(rng.standard_normal((1, HEADS, QUERIES, KEYS)))
    tolerance = 1e-10 if dtype == DType.F64 else 3e-4
    for fill, quiet, causal, cap, hidden, added in itertools.product(
        (-math.inf, -1e4, -20.0), (False, True), (False, True), (None, 10.0), (None, mask), (None, bias)
    ):
        options = AttentionOptions(None, cap, causal, fill, quiet)
        outputs = [m.attention(query, key, value, hidden, added, options) for m in (fused, composed)]
        output, weights = outputs[1]
        back = [m.attention_backward(query, key, value, hidden, weights, output, grad, options)
                for m in (fused, composed)]  # fmt: skip
        for got, want in zip((*outputs[0], *back[0]), (*outputs[1], *back[1]), strict=True):
            assert np.isfinite(got).all(), options
            np.testing.assert_allclose(got, want, tolerance, tolerance * spread, err_msg=str(options))
        again = fused.attention_weights_backward(query, key, hidden, weights, fused.floats.matmul(
            grad, floats.swap_dims(value, 2, 3)), options)  # fmt: skip
        for got, want in zip(again, (back[1][0], back[1][1], back[1][3]), strict=True):
            np.testing.assert_allclose(got, want, tolerance * 10, tolerance * 10 * spread, err_msg=str(options))


def test_results_lie_as_the_layers_merge_them() -> None:
    backend = NumPy()
    rng = np.random.default_rng(1)
    query, key, value = (views(rng, backend.floats, QUERIES, 1.0) for _ in range(3))
    output, weights = backend.modules.attention(query, key, value, None, None, AttentionOptions())
    grads = backend.modules.attention_backward(query, key, value, None, weights, output, query, AttentionOptions())
    for heads in (output, *grads[:3]):
        assert heads.swapaxes(1, 2).flags.c_contiguous
