"""Counterparts of ops/unary, ops/reductions and ops/binary_matmul_einsum."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from play import Play

import minburn
from minburn import DType, Tensor

UNARY: dict[str, Callable[[Any], Any]] = {
    **{
        name: lambda x, name=name: getattr(x, name)()
        for name in (
            *("abs", "neg", "sign", "exp", "log", "log1p", "sqrt", "square", "recip", "erf", "sin", "cos", "tan"),
            *("sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "floor", "ceil", "round"),
            *("trunc", "deg2rad", "rad2deg", "sum", "mean", "prod", "max", "min"),
        )
    },
    "powi_2": lambda x: x.powi_scalar(2),
    "powi_3": lambda x: x.powi_scalar(3),
    "powi_0": lambda x: x.powi_scalar(0),
    "powi_m1": lambda x: x.powi_scalar(-1),
    "powi_m3": lambda x: x.powi_scalar(-3),
    "powf_half": lambda x: x.powf_scalar(0.5),
    "powf_1.5": lambda x: x.powf_scalar(1.5),
    "powf_2": lambda x: x.powf_scalar(2.0),
    "powf_m1": lambda x: x.powf_scalar(-1.0),
    "powf_0": lambda x: x.powf_scalar(0.0),
    "powf_1": lambda x: x.powf_scalar(1.0),
    "powf_third": lambda x: x.powf_scalar(0.33333),
    "clamp": lambda x: x.clamp(-1.0, 1.0),
    "clamp_min": lambda x: x.clamp_min(0.5),
    "clamp_max": lambda x: x.clamp_max(-0.5),
    "clamp_inverted": lambda x: x.clamp(1.0, -1.0),
    "add_scalar": lambda x: x.add_scalar(1.5),
    "sub_scalar": lambda x: x.sub_scalar(1.5),
    "mul_scalar": lambda x: x.mul_scalar(-0.3),
    "div_scalar": lambda x: x.div_scalar(3.0),
    "div_scalar_0": lambda x: x.div_scalar(0.0),
    "rsub": lambda x: 2.0 - x,
    "rdiv": lambda x: 2.0 / x,
    "remainder_scalar_3": lambda x: x.remainder_scalar(3.0),
    "remainder_scalar_m3": lambda x: x.remainder_scalar(-3.0),
    "remainder_scalar_0.3": lambda x: x.remainder_scalar(0.3),
    "fmod_scalar_3": lambda x: x.fmod_scalar(3.0),
    "fmod_scalar_m3": lambda x: x.fmod_scalar(-3.0),
    "cumsum": lambda x: x.cumsum(0),
    "cummin": lambda x: x.cummin(0),
    "cummax": lambda x: x.cummax(0),
    "sort": lambda x: x.sort(0),
    "sort_descending": lambda x: x.sort_descending(0),
    "flip": lambda x: x.flip(0),
}
"""By the name of the case, of its input x."""


def tests_of_floats(i: Any) -> dict[str, Any]:
    x = i.x
    casts = {f"cast_{name}": x.cast(getattr(DType, name)) for name in ("F16", "BF16", "F64")}
    ints = {f"cast_{name}": x.cast(getattr(DType, name)) for name in ("I8", "I16", "I64", "U8", "U32")}
    return {
        **casts,
        **ints,
        "is_nan": x.is_nan(),
        "is_inf": x.is_inf(),
        "is_finite": x.is_finite(),
        "contains_nan": x.contains_nan(),
        "bool": x.bool(),
        "int": x.int(),
        "any": x.any(),
        "all": x.all(),
        "argmax": x.argmax(0),
        "argmin": x.argmin(0),
        "argsort": x.argsort(0),
        "argsort_descending": x.argsort_descending(0),
        "equal": x.equal_scalar(0.5),
        "not_equal": x.not_equal_scalar(0.5),
        "greater": x.greater_scalar(0.5),
        "greater_equal": x.greater_equal_scalar(0.5),
        "lower": x.lower_scalar(0.5),
        "lower_equal": x.lower_equal_scalar(0.5),
        "equal_self": x.equal(x),
    }


def ties(i: Any) -> dict[str, Any]:
    x = i.x
    top, places = x.topk_with_indices(2, 1)
    return {
        "argmax": x.argmax(1),
        "argmin": x.argmin(1),
        "argsort": x.argsort(1),
        "argsort_desc": x.argsort_descending(1),
        "max": x.max_dim(1),
        "min": x.min_dim(1),
        "max_abs": x.max_abs_dim(1),
        "topk": top,
        "itopk": places,
        "median": x.median(1),
    }


def named(names: str, *results: Any) -> dict[str, Any]:
    return dict(zip(names.split(), results, strict=True))


REDUCTIONS: dict[str, Play] = {
    **{name: lambda i, name=name: getattr(i.x, name)() for name in ("sum", "mean", "prod", "max", "min")},
    "sum_dim_0": lambda i: i.x.sum_dim(0),
    "sum_dim_1": lambda i: i.x.sum_dim(1),
    "sum_dim_m1": lambda i: i.x.sum_dim(-1),
    "sum_dims": lambda i: i.x.sum_dims([0, 2]),
    "sum_dims_squeeze": lambda i: i.x.sum_dims_squeeze([0, 2]),
    "mean_dim_1": lambda i: i.x.mean_dim(1),
    "mean_dims": lambda i: i.x.mean_dims([1, 2]),
    "prod_dim_1": lambda i: i.x.prod_dim(1),
    "prod_dims": lambda i: i.x.prod_dims([0, 1]),
    "max_dim_1": lambda i: i.x.max_dim(1),
    "min_dim_m1": lambda i: i.x.min_dim(-1),
    "max_dims": lambda i: i.x.max_dims([0, 1]),
    "min_dims": lambda i: i.x.min_dims([1, 2]),
    "max_abs_dim": lambda i: i.x.max_abs_dim(1),
    "max_abs_dims": lambda i: i.x.max_abs_dims([0, 1]),
    "var_1": lambda i: i.x.var(1),
    "var_bias_1": lambda i: i.x.var_bias(1),
    "median_1": lambda i: i.x.median(1),
    "median_0": lambda i: i.x.median(0),
    "cumsum_1": lambda i: i.x.cumsum(1),
    "cumprod_1": lambda i: i.x.cumprod(1),
    "cummax_m1": lambda i: i.x.cummax(-1),
    "sort_1": lambda i: i.x.sort(1),
    "sort_descending_m1": lambda i: i.x.sort_descending(-1),
    "cov": lambda i: i.x.cov(1, 1),
    "sum_dim_bad_neg": lambda i: i.floats(2, 3, 2).sum_dim(-4),
    "topk_too_many": lambda i: i.floats(2, 3, 2).topk(4, 1),
    "l1_norm": lambda i: minburn.linalg.l1_norm(i.x, 1),
    "lp_norm_3": lambda i: minburn.linalg.lp_norm(i.x, 3.0, 1),
    "max_abs_norm": lambda i: minburn.linalg.max_abs_norm(i.x, 1),
    "min_abs_norm": lambda i: minburn.linalg.min_abs_norm(i.x, 1),
    "vector_norm_inf": lambda i: minburn.linalg.vector_norm(i.x, math.inf, 2),
    "vector_normalize": lambda i: minburn.linalg.vector_normalize(i.x, 2.0, 2, 1e-6),
    "var_mean": lambda i: named("var mean var_bias_0 mean_0", *i.x.var_mean(1), *i.x.var_mean_bias(0)),
    "var_one_element": lambda i: named("var var_bias", i.x.var(1), i.x.var_bias(1)),
    "max_dim_with_indices": lambda i: named(
        "max imax min imin", *i.x.max_dim_with_indices(1), *i.x.min_dim_with_indices(0)
    ),
    "sort_with_indices": lambda i: named(
        "asc iasc desc idesc", *i.x.sort_with_indices(1), *i.x.sort_descending_with_indices(0)
    ),
    "median_with_indices": lambda i: named("v i", *i.x.median_with_indices(1)),
    "ties": ties,
    "prod_zero": lambda i: named("prod_dim prod", i.x.prod_dim(1), i.x.prod()),
    "cumprod_zero": lambda i: named("cumprod", i.x.cumprod(1)),
    "empty_max": lambda i: i.data(np.zeros((0,), np.float32)).max(),
    "det": lambda i: minburn.linalg.det(i.floats(3, 3)),
    "trace_diag": lambda i: named("diag trace", minburn.linalg.diag(i.x), minburn.linalg.trace(i.x)),
    "lu": lambda i: named("p l u", *minburn.linalg.lu(i.x)),
    "linalg_cosine_similarity": lambda i: minburn.linalg.cosine_similarity(i.x, i.y, 1),
}

PAIRS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "matmul": lambda a, b: a.matmul(b),
    **{
        name: lambda a, b, name=name: getattr(a, name)(b)
        for name in ("remainder", "fmod", "powf", "atan2", "hypot", "max_pair", "min_pair")
    },
}
"""By the first part of the name: add_bc is add of two shapes that broadcast."""

COMPARISONS = ("greater", "greater_equal", "lower", "lower_equal", "equal", "not_equal")


def equation(i: Any) -> Any:
    text = i.config["equation"]
    operands = [i.a, i.b] if "," in text else [i.a]
    return Tensor.einsum(text, operands)


BINARY: dict[str, Play] = {
    "compare_bc": lambda i: {name: getattr(i.a, name)(i.b) for name in COMPARISONS},
    "compare_nan": lambda i: {
        **{name: getattr(i.a, name)(i.b) for name in COMPARISONS},
        "is_close": i.a.is_close(i.b),
    },
    "add_shape_mismatch": lambda i: i.floats(2, 3) + i.floats(2, 4),
    "add_dtype_mismatch": lambda i: i.floats(2) + i.tensor({"data": [1.0, 2.0], "dtype": "F64", "shape": [2]}),
    "cross": lambda i: i.a.cross(i.b, 1),
    "cross_bad": lambda i: i.floats(2, 4).cross(i.floats(2, 4), 1),
    "powi_tensor": lambda i: i.a.powi(i.b),
    "matmul_transposed": lambda i: i.a.transpose().matmul(i.b.transpose()),
    "matmul_bad": lambda i: i.floats(2, 3).matmul(i.floats(2, 3)),
    "matmul_batch_bad": lambda i: i.floats(2, 2, 3).matmul(i.floats(3, 3, 2)),
    "dot": lambda i: i.a.dot(i.b),
    "einsum_diag": lambda i: Tensor.einsum("ii->i", [i.a]),
    "einsum_batch_ellipsis": lambda i: Tensor.einsum("...ij,...jk->...ik", [i.a, i.b]),
    "einsum_unknown_label": lambda i: Tensor.einsum("ij->ik", [i.floats(3, 3)]),
    "einsum_operand_count": lambda i: Tensor.einsum("ij,jk->ik", [i.floats(3, 3)]),
    "einsum_repeated_output": lambda i: Tensor.einsum("ij->ii", [i.floats(3, 3)]),
}


def unary(name: str) -> Play | None:
    function = UNARY.get(name)
    if name == "tests":
        return tests_of_floats
    return None if function is None else lambda i: function(i.x)


def binary(name: str) -> Play | None:
    if name in BINARY:
        return BINARY[name]
    if name.startswith("einsum_"):
        return equation
    function = next((PAIRS[pair] for pair in sorted(PAIRS, reverse=True) if name.startswith(pair)), None)
    return None if function is None else lambda i: function(i.a, i.b)
