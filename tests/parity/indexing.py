"""Counterparts of ops/indexing and ops/shape_creation_module."""

from __future__ import annotations

from typing import Any

import numpy as np
from play import Play

import minburn
from minburn import BoolTensor, Tensor
from minburn.tensor import functional

SLICES: dict[str, Any] = {
    "plain": [(1, 3), (2, 4)],
    "first_only": [(1, 3)],
    "full": [None, (1, None)],
    "neg": [(-3, -1), (None, -2)],
    "inclusive": [(0, 3), (1, 2)],
    "index": [2, None],
    "neg_index": [-1, -2],
    "step2": [(0, 4, 2), None],
    "step2_odd": [None, (0, 5, 2)],
    "step3": [None, (1, 5, 3)],
    "rev": [(None, None, -1), None],
    "rev2": [None, (0, 5, -2)],
    "rev2_part": [(1, 4, -2), (1, 4, -1)],
    "clamped": [(0, 100), (3, 77)],
    "empty": [(2, 2), None],
    "inverted": [(3, 1), None],
}
"""The slices of slice_…, slice_assign_… and slice_fill_…; None is all of a dimension."""

REFUSED: dict[str, Play] = {
    "slice_assign_shape_mismatch": lambda i: i.floats(4, 5).slice_assign([(0, 2), (0, 3)], i.floats(2, 2)),
    "slice_assign_broadcast": lambda i: i.floats(4, 5).slice_assign([(0, 2), (0, 3)], i.floats(1, 3)),
    "slice_step_0": lambda i: i.floats(4, 5).slice([(0, None, 0)]),
    "narrow_bad": lambda i: i.floats(4, 5).narrow(1, 3, 3),
    "select_negative": lambda i: i.floats(4, 3).select(0, i.data([-1, 0])),
    "gather_narrow_index": lambda i: i.floats(3, 4).gather(1, i.data([[0, 2]])),
    "gather_out_of_range": lambda i: i.floats(3, 4).gather(1, i.data([[0, 4], [1, 1], [2, 0]])),
    "gather_negative": lambda i: i.floats(3, 4).gather(1, i.data([[0, -1], [1, 1], [2, 0]])),
}

INDEXING: dict[str, Play] = {
    **REFUSED,
    "take": lambda i: i.x.take(0, i.indices),
    "gather_0": lambda i: i.x.gather(0, i.indices),
    "gather_nd": lambda i: i.x.gather_nd(i.indices),
    "mask_where": lambda i: i.x.mask_where(i.mask, i.value),
    "mask_where_broadcast": lambda i: i.x.mask_where(i.mask, i.value),
    "mask_fill": lambda i: i.x.mask_fill(i.mask, -7.5),
    "mask_fill_broadcast": lambda i: i.x.mask_fill(i.mask, -7.5),
    "mask_select": lambda i: i.x.mask_select(i.mask),
    "mask_where_nan_grad": lambda i: i.x.sqrt().mask_where(i.x.lower_equal_scalar(0.0), i.x.zeros_like()),
    "embedding_like_grad": lambda i: functional.embedding(i.x, i.indices),
}


def indexing(name: str) -> Play | None:
    if name in INDEXING:
        return INDEXING[name]
    if name.startswith("slice_assign_"):
        return lambda i: i.x.slice_assign(SLICES[name.removeprefix("slice_assign_")], i.value)
    if name.startswith("slice_fill_"):
        return lambda i: i.x.slice_fill(SLICES[name.removeprefix("slice_fill_")], 7.0)
    if name.startswith("slice_"):
        return lambda i: i.x.slice(SLICES[name.removeprefix("slice_")])
    if name.startswith("scatter_nd_"):
        return lambda i: i.x.scatter_nd(i.indices, i.value, i.config["op"])
    for op in ("scatter", "select_assign"):
        if name.startswith(op):
            return lambda i, op=op: getattr(i.x, op)(i.config["dim"], i.indices, i.value, i.config["op"])
    return None


def numbered(parts: Any) -> dict[str, Any]:
    return {f"c{number}": part for number, part in enumerate(parts)}


def grids(i: Any) -> dict[str, Any]:
    x, y = Tensor.meshgrid([i.a, i.b])
    across, down = Tensor.meshgrid([i.a, i.b], indexing="cartesian")
    return {"x": x, "y": y, "xc": across, "yc": down, "stack": Tensor.meshgrid_stack([i.a, i.b])}


def triangles(a: Any) -> dict[str, Any]:
    offsets = {"0": 0, "1": 1, "m1": -1}
    upper = {f"u{name}": a.triu(offset) for name, offset in offsets.items()}
    return {**upper, **{f"l{name}": a.tril(offset) for name, offset in offsets.items()}}


def masks(i: Any) -> dict[str, Any]:
    return {
        "tril": BoolTensor.tril_mask((2, 3), 0, i.backend),
        "triu": BoolTensor.triu_mask((2, 3), 0, i.backend),
        "triu1": BoolTensor.triu_mask((3, 3), 1, i.backend),
        "diag": BoolTensor.diag_mask((3, 3), 0, i.backend),
        "diag1": BoolTensor.diag_mask((3, 3), 1, i.backend),
    }


SHAPES: dict[str, Play] = {
    "cat_0": lambda i: Tensor.cat([i.a, i.b], 0),
    "cat_m1": lambda i: Tensor.cat([i.a, i.b, i.b], -1),
    "cat_empty_list": lambda i: Tensor.cat([], 0),
    "stack": lambda i: {"s0": Tensor.stack([i.a, i.b], 0), "s2": Tensor.stack([i.a, i.b], 2)},
    "stack_bad": lambda i: Tensor.stack([i.floats(2, 3), i.floats(2, 2)], 0),
    "repeat_dim": lambda i: i.a.repeat_dim(1, 2),
    "repeat": lambda i: i.a.repeat([2, 3]),
    "expand_m1": lambda i: i.a.expand(-1, 3),
    "expand_bad": lambda i: i.floats(2, 2).expand(2, 3),
    "permute": lambda i: {
        "p": i.a.permute(2, 0, 1),
        "sw": i.a.swap_dims(0, -1),
        "t": i.a.transpose(),
        "mv": i.a.movedim(0, 2),
    },
    "movedim_many": lambda i: {"mv": i.a.movedim([0, 1], [1, 0])},
    "reshape_bad": lambda i: i.floats(2, 6).reshape(5, 2),
    "reshape_two_m1": lambda i: i.floats(2, 6).reshape(-1, -1),
    "flatten": lambda i: {"f": i.a.flatten(1, 2), "f0": i.a.flatten(0, -1)},
    "flatten_bad": lambda i: i.floats(2, 3, 2).flatten(2, 1),
    "unsqueeze": lambda i: {
        "u": i.a.unsqueeze(4),
        "d": i.a.unsqueeze_dim(1),
        "dm1": i.a.unsqueeze_dim(-1),
        "ds": i.a.unsqueeze_dims([0, -1]),
    },
    "chunk": lambda i: numbered(i.a.chunk(3, 1)),
    "chunk_5_of_4": lambda i: i.floats(5).chunk(4, 0),
    "chunk_more_than_size": lambda i: numbered(i.a.chunk(5, 0)),
    "split": lambda i: numbered(i.a.split(3, 1)),
    "split_with_sizes": lambda i: numbered(i.a.split_with_sizes([1, 3, 2], 1)),
    "split_with_sizes_bad": lambda i: i.floats(2, 6).split_with_sizes([1, 3], 1),
    "iter_dim": lambda i: numbered(i.a.iter_dim(1)),
    "unfold": lambda i: i.a.unfold(1, 3, 2),
    "unfold_too_big": lambda i: i.floats(2, 2).unfold(1, 3, 2),
    "pad_constant": lambda i: {
        "out": i.a.pad([(1, 0), (2, 1)], value=0.5),
        "last": i.a.pad([(1, 2)], value=0.0),
        "four": i.a.pad((1, 2, 0, 1), value=9.0),
    },
    "pad_reflect": lambda i: i.a.pad([(1, 2), (3, 1)], "reflect"),
    "pad_edge": lambda i: i.a.pad([(1, 2), (3, 1)], "edge"),
    "pad_reflect_too_big": lambda i: i.floats(2, 3).pad([(2, 0), (0, 0)], "reflect"),
    "tri": lambda i: triangles(i.a),
    "masks": masks,
    "one_hot_negative": lambda i: {"fill": i.indices.one_hot_fill(4, 5, -1, -1)},
    "one_hot_out_of_range": lambda i: i.data([0, 4]).one_hot(4),
    "one_hot_1_class": lambda i: i.data([0, 0]).one_hot(1),
    "meshgrid": grids,
    "affine_grid": lambda i: functional.affine_grid_2d(i.t, (1, 1, 2, 3)),
    "grid_sample_bilinear": lambda i: i.x.grid_sample_2d(i.grid),
    "grid_sample_border_align": lambda i: i.x.grid_sample_2d(i.grid, padding_mode="border", align_corners=True),
    "grid_sample_reflection": lambda i: i.x.grid_sample_2d(i.grid, padding_mode="reflection"),
    "attention_fn": lambda i: functional.attention(i.q, i.k, i.v),
    "attention_causal_softcap_bias": lambda i: functional.attention(
        i.q, i.k, i.v, None, i.bias, functional.AttentionOptions(scale=0.7, softcap=1.5, is_causal=True)
    ),
    "attention_fully_masked": lambda i: functional.attention(i.q, i.k, i.v, i.mask),
}


def lcg(seed: int, shape: tuple[int, ...], scale: float = 1.0) -> Any:
    """Burn's inputs of the golden cases that do not write them out: a 32-bit congruential generator."""
    state, values = seed, []
    for _ in range(int(np.prod(shape))):
        state = (state * 1664525 + 1013904223) % 2**32
        values.append(np.float32((((state >> 16) % 4001) - 2000) / 1000) * np.float32(scale))
    return np.array(values, np.float32).reshape(shape)


def sampled(i: Any, mode: str) -> Any:
    image, grid = lcg(9, (1, 1, 3, 4), 0.8), lcg(10, (1, 2, 3, 2), 0.8)
    return Tensor.from_data(image, i.plain).grid_sample_2d(Tensor.from_data(grid, i.plain), mode)


def sums(i: Any) -> dict[str, Any]:
    many = Tensor.full((100_000,), 0.1, i.plain)
    half = Tensor.full((1000,), 0.1, i.plain).cast(minburn.DType.F16)
    brain = Tensor.full((1000,), 0.1, i.plain).cast(minburn.DType.BF16)
    return {
        "sum": many.sum(),
        "mean": many.mean(),
        "sum_f16": half.sum(),
        "mean_f16": half.mean(),
        "sum_bf16": brain.sum(),
        "cumsum_last": many.cumsum(0).narrow(0, 99_999, 1),
    }
