"""Scaled dot-product attention.

    weights = softmax(softcap(query · keyᵀ · scale), hidden keys at `fill`, + bias)        output = weights · value

Burn: `crates/burn-tensor/src/tensor/module.rs`. `fill` and `is_quiet` are ours: with them the same op serves
`nn.MultiHeadAttention`, which needs the weights as well.
"""

from __future__ import annotations

import math
import sys
from typing import Any

from minburn.backends.module_ops import AttentionOptions
from minburn.tensor import activation
from minburn.tensor.check import KindError, ShapeError, TensorError, show
from minburn.tensor.kinds import BoolTensor, FloatTensor
from minburn.tensor.lift import check_device, one_table

DEFAULT = AttentionOptions()


def attention(
    query: FloatTensor,
    key: FloatTensor,
    value: FloatTensor,
    mask: BoolTensor | None = None,
    bias: FloatTensor | None = None,
    options: AttentionOptions = DEFAULT,
) -> FloatTensor:
    """softmax(query · keyᵀ · scale) · value, shape [N, h, s_q, d_v].

    query [N, h, s_q, d], key [N, h_kv, s_k, d], value [N, h_kv, s_k, d_v]; h is a multiple of h_kv: query head i uses
    the heads i // (h / h_kv) of key and value. mask (true: the key is not seen) and bias broadcast to [N, h, s_q, s_k].
    A query that sees no key gives 0.

    Errors: ShapeError for sizes that do not fit, KindError for a mask that is no bool tensor.
    """
    return attention_with_weights(query, key, value, mask, bias, options)[0]


def attention_with_weights(
    query: FloatTensor,
    key: FloatTensor,
    value: FloatTensor,
    mask: BoolTensor | None = None,
    bias: FloatTensor | None = None,
    options: AttentionOptions = DEFAULT,
) -> tuple[FloatTensor, FloatTensor]:
    """What `attention` gives, and the weights [N, h, s_q, s_k]. Both have a gradient."""
    floats = _checked("attention", [query, key, value], mask, bias, options)
    query, key, value = floats[:3]
    if value.rank != 4 or value.shape[:3] != key.shape[:3]:
        raise ShapeError(
            f"attention: key has shape {show(key.shape)}, so value must have [{key.shape[0]}, {key.shape[1]}, "
            f"{key.shape[2]}, d_v], but has {show(value.shape)}."
        )
    output, weights = query.backend.modules.attention(
        query.primitive, key.primitive, value.primitive, _primitive(mask), _primitive(floats[3]), options
    )
    return query._with(output), query._with(weights)


def attention_weights(
    query: FloatTensor,
    key: FloatTensor,
    mask: BoolTensor | None = None,
    bias: FloatTensor | None = None,
    options: AttentionOptions = DEFAULT,
) -> FloatTensor:
    """The weights of `attention` alone, for what is to be done with them before they meet the values."""
    query, key, added = _checked("attention_weights", [query, key], mask, bias, options)
    return query._with(
        query.backend.modules.attention_weights(
            query.primitive, key.primitive, _primitive(mask), _primitive(added), options
        )
    )


def _primitive(tensor: Any) -> Any:
    return None if tensor is None else tensor.primitive


def _checked(
    name: str, tensors: list[FloatTensor], mask: BoolTensor | None, bias: FloatTensor | None, options: AttentionOptions
) -> list[Any]:
    """The float tensors on one table, bias (or None) last, after everything that does not need the value."""
    given = tensors if bias is None else [*tensors, bias]
    for tensor in given:
        activation.check_float(name, tensor)
    floats: list[Any] = one_table(name, given)
    query, key = floats[:2]
    if query.rank != 4 or key.rank != 4 or query.shape[0] != key.shape[0] or query.shape[3] != key.shape[3]:
        raise ShapeError(
            f"{name}: query must have shape [N, h, s_q, d] and key [N, h_kv, s_k, d], but they have "
            f"{show(query.shape)} and {show(key.shape)}."
        )
    if key.shape[1] == 0 or query.shape[1] % key.shape[1]:
        raise ShapeError(
            f"{name}: {query.shape[1]} query heads cannot share {key.shape[1]} heads of key and value evenly. "
            "The first number must be a multiple of the second."
        )
    wanted = (*query.shape[:3], key.shape[2])
    if mask is not None:
        if not isinstance(mask, BoolTensor):
            raise KindError(
                f"{name}: the mask must be a bool tensor (true: not seen), but got {type(mask).__name__}. "
                "Compare to make one: tokens == pad."
            )
        check_device(name, query, mask)
        _check_fits(name, "mask", mask.shape, wanted)
    if bias is not None:
        _check_fits(name, "bias", bias.shape, wanted)
    _check_options(name, options)
    return floats if bias is not None else [*floats, None]


def _check_fits(name: str, what: str, shape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if len(shape) != 4 or any(have not in (1, size) for have, size in zip(shape, wanted, strict=True)):
        raise ShapeError(
            f"{name}: the {what} must have shape [N, h, s_q, s_k] = {show(wanted)}, with 1 where it is the same for "
            f"all, but has {show(shape)}."
        )


def _check_options(name: str, options: AttentionOptions) -> None:
    if not isinstance(options, AttentionOptions):
        raise KindError(f"{name}: expected AttentionOptions, but got {type(options).__name__}.")
    if options is DEFAULT:
        return
    for field in ("scale", "softcap"):
        number = getattr(options, field)
        if number is not None and not _is_finite(number):
            raise TensorError(f"{name}: {field} must be a finite number or None, but got {number!r}.")
    if options.softcap is not None and options.softcap <= 0:
        raise TensorError(f"{name}: softcap must be greater than 0, but got {options.softcap}. None leaves the scores.")
    if not _is_finite(options.fill) and options.fill != -math.inf:
        raise TensorError(f"{name}: fill must be a finite number or -inf, but got {options.fill!r}.")


def _is_finite(number: object) -> bool:
    """Also of ints that are no floats."""
    largest = sys.float_info.max
    return isinstance(number, (int, float)) and not isinstance(number, bool) and -largest <= number <= largest
