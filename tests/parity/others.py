"""Counterparts of ops/int_bool_cast_autodiff and ops/plain_device."""

from __future__ import annotations

from typing import Any

import numpy as np
from indexing import lcg, sampled, sums
from operations import named
from play import Play

from minburn import DType, Tensor
from minburn.tensor import activation

POINTS = np.array(
    [
        *(-1000.0, -88.5, -20.0, -3.5, -1.0, -0.5, -0.1, -0.0, 0.0, 0.1, 0.5, 1.0, 2.5, 20.0, 88.5, 1000.0),
        *(np.nan, np.inf, -np.inf),
    ]
)


def int_arithmetic(i: Any) -> dict[str, Any]:
    a, b = i.a, i.b
    return {
        "div": a.div(b),
        "remainder": a.remainder(b),
        "div_scalar": a.div_scalar(-2),
        "remainder_scalar": a.remainder_scalar(-3),
        "add": a.add(b),
        "mul": a.mul(b),
        "sub": a.sub(b),
    }


def int_reductions(i: Any) -> dict[str, Any]:
    a = i.a
    return {
        "sum": a.sum(),
        "mean": a.mean(),
        "mean_dim": a.mean_dim(1),
        "prod": a.prod(),
        "max": a.max(),
        "argmax": a.argmax(1).cast(DType.I64),  # Burn's indices of int tensors are I64, ours the backend's ints
        "sort": a.sort(1),
        "argsort": a.argsort(1).cast(DType.I64),
        "cumsum": a.cumsum(1),
        "cumprod": a.cumprod(1),
        "sign": a.sign(),
        "topk": a.topk(2, 1),
        "square": a.square(),
        "powi3": a.powi_scalar(3),
        "clamp": a.clamp(-1, 4),
        "max_abs": a.max_abs(),
        "any_dim": a.any_dim(1),
        "bool": a.bool(),
        "float": a.float(),
        "tril": a.tril(0),
        "cummax": a.cummax(1),
    }


def bitwise(i: Any) -> dict[str, Any]:
    a, b = i.a, i.b
    return {
        "and": a.bitwise_and(b),
        "or": a.bitwise_or(b),
        "xor": a.bitwise_xor(b),
        "not": a.bitwise_not(),
        "shl": a.bitwise_left_shift_scalar(2),
        "shr": a.bitwise_right_shift_scalar(1),
        "shl_t": a.bitwise_left_shift(i.s),
    }


def bools(i: Any) -> dict[str, Any]:
    a, b = i.a, i.b
    return {
        "and": a.bool_and(b),
        "or": a.bool_or(b),
        "xor": a.bool_xor(b),
        "not": a.bool_not(),
        "eq": a.equal(b),
        "ne": a.not_equal(b),
        "int": a.int(),
        "float": a.float(),
        "any": a.any(),
        "all": a.all(),
        "cat": Tensor.cat([a, b], 0),
        "argwhere": a.argwhere(),
        "nonzero0": a.nonzero()[0],
        "mask_where": a.mask_where(b, a.bool_not()),
        "select": a.select(0, i.data([3, 0])).cast(DType.U8),
        "gather": a.gather(0, i.data([1, 2])).cast(DType.U8),  # a bool tensor in Burn too, which says U8
    }


def gradients(i: Any, result: Any, *names: str) -> dict[str, Any]:
    """Of the sum of `result`, for the inputs with these names; None where there is none."""
    grads = result.backward()
    return {name: i.given[name].grad(grads) for name in names}


def non_leaf(i: Any) -> dict[str, Any]:
    b = i.a * 2.0
    grads = b.square().backward()
    return {"a": i.a.grad(grads), "b": b.grad(grads)}


def backward_twice(i: Any) -> Any:
    y = i.floats(2).square().sum()
    y.backward()
    return y.backward()


def quantized(i: Any) -> dict[str, Any]:
    from minburn.dtype import QuantScheme

    results = {}
    for value in ("Q8S", "Q8F", "Q4S", "Q2S"):
        q = i.a.quantize_dynamic(QuantScheme(value=value))
        burns = i.case.data["outputs"][value]
        back = q.dequantize().numpy()
        close = np.allclose(back.ravel(), burns["dequantized"]["data"], rtol=1e-6, atol=1e-7)
        scheme = {"value": value, "store": "Native", "mode": "Symmetric", "tensor": None, "block": None}
        dequantized = burns["dequantized"] if close else back.tolist()
        results[value] = {"bytes": list(q.bytes), "dequantized": dequantized, "dtype": {"QFloat": scheme}}
        assert q.dtype.scheme == QuantScheme(**scheme)
    return results


def tied_sorts(i: Any) -> dict[str, Any]:
    """Of 100 values in four groups, Burn's order within a group is not stable: the sorted values count."""
    x = Tensor.from_data(np.array(i.case.data["outputs"]["x"]["data"], np.float32), i.plain)
    return {
        "x": x,
        "argmax": x.argmax(0),
        "argmin": x.argmin(0),
        "argsort": Sorted(x, x.argsort(0)),
        "argsort_descending": Sorted(x, x.argsort_descending(0)),
        "topk": Sorted(x, x.argtopk(10, 0)),
    }


class Sorted:
    """Places that stand for the values there."""

    def __init__(self, x: Any, places: Any) -> None:
        self.x, self.places = x.numpy(), places.numpy()

    def agrees(self, places: Any) -> bool:
        return bool(np.array_equal(self.x[self.places], self.x[places]))


def mixed(i: Any) -> dict[str, Any]:
    outputs = i.case.data["outputs"]
    a = Tensor.from_data(np.array(outputs["a"]["data"], np.float32), i.plain)
    b = i.tensor(outputs["b"])
    out = a * b
    return {"a": a, "b": b, "out": out, "grad_a": None, "grad_b": b.grad(out.backward())}


def points(i: Any, dtype: DType = DType.F32) -> Any:
    return Tensor.from_data(POINTS, i.plain, dtype)


OTHERS: dict[str, Play] = {
    "int_div_rem": int_arithmetic,
    "int_rem_zero": lambda i: i.data([7]).remainder(i.data([0])),
    "int_overflow": lambda i: named(
        "add mul neg abs sum", i.a.add_scalar(1), i.a.mul(i.a), i.a.neg(), i.a.abs(), i.a.sum()
    ),
    "int_from_large": lambda i: i.data([4294967296]),
    "int_reductions": int_reductions,
    "int_powi": lambda i: i.a.powi(i.b),
    "int_powi_negative": lambda i: i.a.powi(i.b),
    "int_bitwise": bitwise,
    "int_compare": lambda i: named("gt eq le", i.a.greater(i.b), i.a.equal(i.b), i.a.lower_equal(i.b)),
    "int_cast_wrap": lambda i: {name: i.a.cast(getattr(DType, name)) for name in ("I8", "U8", "I16", "U32", "I64")},
    "int_mixed_dtype_add": lambda i: i.data([300, -1]) + i.data([1, 2]).cast(DType.I64),
    "bool_ops": bools,
    "bool_scatter": lambda i: {
        "add": i.a.scatter(0, i.data([2, 0]), i.data([True, False]), "add"),
        "assign": None,
        "mul": None,
    },
    "float_from_int_data": lambda i: named(
        "f i b",
        Tensor.from_data([1, 2], i.backend, DType.F32),
        Tensor.from_data([1.9, -1.9], i.backend, DType.I32),
        Tensor.from_data([0, 2], i.backend, DType.Bool),
    ),
    "scalar_reads": lambda i: {"f64": i.a.into_scalar(), "i32": {"Ok": int(i.a.into_scalar())}},
    "into_scalar_many": lambda i: i.floats(2).into_scalar(),
    "backward_vector_seed": lambda i: {"grad": gradients(i, i.a * i.a, "a")["a"]},
    "backward_twice": backward_twice,
    "grad_of_non_leaf": non_leaf,
    "detach": lambda i: gradients(i, i.a * i.a.detach(), "a"),
    "backward_plain_device": lambda i: Tensor.from_data([1.0], i.plain).backward(),
    "require_grad_plain": lambda i: Tensor.from_data([1.0], i.plain).require_grad(),
    "grad_unused": lambda i: gradients(i, i.a.sum(), "b"),
    "quantize_dynamic": quantized,
}

PLAIN: dict[str, Play] = {
    "clamp_inverted": lambda i: points(i).clamp(1.0, -1.0),
    "clamp_inverted_f64": lambda i: points(i, DType.F64).clamp(1.0, -1.0),
    "clamp_nan_max": lambda i: points(i).clamp_max(float("nan")),
    "hard_sigmoid_f64": lambda i: activation.hard_sigmoid(points(i, DType.F64), 0.2, 0.5),
    "sigmoid_f64": lambda i: activation.sigmoid(points(i, DType.F64)),
    "softmax_rows": lambda i: activation.softmax(Tensor.from_data(lcg(7, (3, 4)), i.plain), 1),
    "threshold_nan": lambda i: activation.threshold(points(i), 0.1, -7.0),
    "powi_0": lambda i: points(i).powi_scalar(0),
    "unfold_too_big": lambda i: i.floats(2, 2).unfold(1, 3, 2),
    "grid_sample_nearest": lambda i: sampled(i, "nearest"),
    "grid_sample_bilinear": lambda i: sampled(i, "bilinear"),
    "argsort_ties_100": tied_sorts,
    "mixed_devices": mixed,
    "sum_precision": sums,
}
