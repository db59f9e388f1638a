"""Gradients on CUDA against those on NumPy, which are checked by finite differences; in float64, of every row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from device import host
from rows import Case, Row, primitive
from test_gradients import DIFFERENTIABLE, float_arrays, with_arrays

from minburn.backends import Autodiff, CuPy, NumPy
from minburn.dtype import DType


def gradients(backend: Any, row: Row, case: Case) -> list[Any]:
    """Of Σ results · weights, for every float array of the case."""
    floats = backend.floats
    leaves = [floats.set_require_grad(primitive(backend, a), True) for a in float_arrays(case)]
    tracked = (type(leaves[0]),)

    def is_leaf(argument: Any) -> bool:
        return isinstance(argument[0] if isinstance(argument, list) else argument, tracked)

    arguments = [a if is_leaf(a) else primitive(backend, a) for a in with_arrays(case, leaves)]
    results = getattr(getattr(backend, row.table), row.op)(*arguments)
    total = floats.zeros((1,))
    for number, result in enumerate(results if isinstance(results, tuple) else (results,)):
        if isinstance(result, tracked) or getattr(result, "dtype", None) == np.float64:
            weights = np.random.default_rng(number + 1).standard_normal(floats.shape(result))
            total = floats.add(total, floats.sum(floats.mul(result, floats.from_data(weights))))
    found = floats.backward(total)
    return [host(floats.grad(leaf, found)) for leaf in leaves]


@pytest.mark.parametrize("row", DIFFERENTIABLE, ids=lambda r: r.name)
def test_gradient_equals_that_on_numpy(row: Row) -> None:
    for case in row.cases:
        ours = gradients(Autodiff(CuPy(float_dtype=DType.F64)), row, case)
        theirs = gradients(Autodiff(NumPy(float_dtype=DType.F64)), row, case)
        for got, want in zip(ours, theirs, strict=True):
            assert (got is None) == (want is None)
            if got is not None:
                np.testing.assert_allclose(got, want, 1e-9, 1e-11, err_msg=f"{row.name}{case}")
