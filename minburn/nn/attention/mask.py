"""Masks: true where a token must not be seen. Burn: `crates/burn-nn/src/modules/attention/mask.rs`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from minburn.backends import Backend
from minburn.tensor import BoolTensor, DTypeError, IntTensor, KindError, Tensor
from minburn.tensor.check import ShapeError, as_int, as_shape

__all__ = ["GeneratePaddingMask", "SeqLengthOption", "generate_autoregressive_mask", "generate_padding_mask"]


def generate_autoregressive_mask(batch_size: int, seq_length: int, backend: Backend) -> BoolTensor:
    """[batch_size, seq_length, seq_length], true above the diagonal: no token sees a later one."""
    batch, size, _ = as_shape("generate_autoregressive_mask", (batch_size, seq_length, seq_length))
    return BoolTensor.tril_mask((size, size), 0, backend).expand(batch, size, size)


class SeqLengthOption(NamedTuple):
    """How long padded sequences are: `NoMax` as the longest; `Max(n)` as that, cut at n; `Fixed(n)` n."""

    kind: str
    length: int | None

    @staticmethod
    def NoMax() -> SeqLengthOption:
        return SeqLengthOption("NoMax", None)

    @staticmethod
    def Max(length: int) -> SeqLengthOption:
        return SeqLengthOption("Max", _length(length))

    @staticmethod
    def Fixed(length: int) -> SeqLengthOption:
        return SeqLengthOption("Fixed", _length(length))


class GeneratePaddingMask(NamedTuple):
    """tensor: the padded tokens [N, L]. mask: [N, L], true at padding."""

    tensor: IntTensor
    mask: BoolTensor


def generate_padding_mask(
    pad_token: int, tokens_list: Sequence[Sequence[int]], seq_length: SeqLengthOption | int | None, backend: Backend
) -> GeneratePaddingMask:
    """Sequences of tokens as one tensor, padded at the end or cut, and the mask of the padding.

    seq_length: None is `NoMax`, an int `Max`. A token that equals pad_token is masked too (Burn's rule).
    """
    name = "generate_padding_mask"
    pad = _token("pad_token", pad_token)
    try:
        rows = [[_token("a token", token) for token in tokens] for tokens in tokens_list]
    except TypeError as error:
        raise KindError(f"{name}: tokens_list must hold lists of ints: {error}.") from None
    if not isinstance(seq_length, SeqLengthOption):
        seq_length = SeqLengthOption.NoMax() if seq_length is None else SeqLengthOption.Max(seq_length)
    size = max(map(len, rows), default=1)
    if seq_length.length is not None:
        size = seq_length.length if seq_length.kind == "Fixed" else min(size, seq_length.length)
    as_shape(name, (len(rows), size))
    padded = np.full((len(rows), size), pad, np.int64)
    for row, tokens in zip(padded, rows, strict=True):
        row[: len(tokens)] = tokens[:size]
    tensor: IntTensor = Tensor.from_ints(padded, backend)
    return GeneratePaddingMask(tensor, tensor.equal(pad))


def _token(what: str, value: int) -> int:
    token = as_int("generate_padding_mask", what, value)
    if not -(2**63) <= token < 2**63:
        raise DTypeError(f"generate_padding_mask: {what} is {token}, which no int tensor can hold.")
    return token


def _length(length: int) -> int:
    size = as_int("SeqLengthOption", "the length", length)
    if size < 0:
        raise ShapeError(f"SeqLengthOption: a length of {size} is negative. Use 0 or more.")
    return size
