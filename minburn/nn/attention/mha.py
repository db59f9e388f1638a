"""Multi-head attention.

    query ──Linear──┐                                        weights
    key ────Linear──┴─> scores / √d_k ─> masks ─> softmax ─> dropout ──┐
    value ──Linear─────────────────────────────────────────────────────┴─> · ─> heads merged ─> Linear ──> context

The heads are views of what the linear layers give; nothing is copied. Without dropout, what lies between the linear
layers is one op of the backend, as is its backward.

Vaswani et al. 2017, *Attention Is All You Need*. Burn: `crates/burn-nn/src/modules/attention/mha.rs`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from minburn.backends import Backend
from minburn.module import Config, Initializer, Module
from minburn.nn.attention.cache import Layer, MhaCache
from minburn.nn.dropout import Dropout, DropoutConfig
from minburn.nn.linear import Linear, LinearConfig
from minburn.tensor import BoolTensor, FloatTensor, KindError, ShapeError, functional
from minburn.tensor.check import show

__all__ = ["MhaInput", "MhaOutput", "MultiHeadAttention", "MultiHeadAttentionConfig"]


class MhaInput(NamedTuple):
    """query [N, L_q, d_model], key and value [N, L_k, d_model].

    mask_pad: [N, L_k], true at keys that no query sees. mask_attn: [N, L_q, L_k], true where the query does not see
    the key. A batch of 1 stands for all.
    """

    query: FloatTensor
    key: FloatTensor
    value: FloatTensor
    mask_pad: BoolTensor | None = None
    mask_attn: BoolTensor | None = None

    @staticmethod
    def self_attn(
        tensor: FloatTensor, mask_pad: BoolTensor | None = None, mask_attn: BoolTensor | None = None
    ) -> MhaInput:
        """Query, key and value are one tensor."""
        return MhaInput(tensor, tensor, tensor, mask_pad, mask_attn)


class MhaOutput(NamedTuple):
    """weights: [N, n_heads, L_q, L_k], after dropout: in training their rows need not add up to 1.

    context: [N, L_q, d_model].
    """

    weights: FloatTensor
    context: FloatTensor


class MultiHeadAttention(Module):
    """softmax(Q Kᵀ / √d_k) V over n_heads parts of size d_k = d_model / n_heads of the projected inputs.

    Masked scores become min_float, so a query that sees no key attends to all of them alike; with quiet_softmax,
    eˢ / (1 + Σ eˢ), to none. Dropout acts on the weights.

    Errors: ShapeError for sizes that do not fit.
    """

    query: Linear
    key: Linear
    value: Linear
    output: Linear
    dropout: Dropout
    d_model: int
    n_heads: int
    d_k: int
    min_float: float
    quiet_softmax: bool

    def forward(self, input: MhaInput) -> MhaOutput:
        check_input(self, input)
        weights, heads = self._attend(*self._projected(input), input)
        return MhaOutput(weights, self.output(heads))

    def forward_cache(self, input: MhaInput, cache: MhaCache) -> MhaOutput:
        """forward() for a sequence that grows by one token a call; see `cache.py`. The cache is changed."""
        weights, heads = self._attend(*self._cached(input, cache), input)
        return MhaOutput(weights, cache.output.forward_autoregressive(heads, 1, self.output.forward))

    def forward_cache_context(self, input: MhaInput, cache: MhaCache) -> FloatTensor:
        """The context of forward_cache(): without the weights, only those of the new token are computed."""
        query, key, value = self._cached(input, cache)
        if cache.output.value is not None:
            last = query.shape[2] - 1
            query = query.narrow(2, last, 1)
            if input.mask_attn is not None:
                input = input._replace(mask_attn=input.mask_attn.narrow(1, last, 1))
        _, heads = self._attend(query, key, value, input)
        return cache.output.append(heads, 1, self.output.forward)

    def _cached(self, input: MhaInput, cache: MhaCache) -> tuple[FloatTensor, FloatTensor, FloatTensor]:
        """Queries, keys and values of all tokens."""
        if not isinstance(cache, MhaCache):
            raise KindError(f"forward_cache: expected an MhaCache, but got {type(cache).__name__}.")
        check_input(self, input)
        query = cache.query.forward_autoregressive(input.query, 2, self._splitter(self.query))
        if cache.keeps_memory:
            key = cache.key.forward_full(input.key, self._splitter(self.key))
            value = cache.value.forward_full(input.value, self._splitter(self.value))
        else:
            key = cache.key.forward_autoregressive(input.key, 2, self._splitter(self.key))
            value = cache.value.forward_autoregressive(input.value, 2, self._splitter(self.value))
        return query, key, value

    def _attend(
        self, query: FloatTensor, key: FloatTensor, value: FloatTensor, input: MhaInput
    ) -> tuple[FloatTensor, FloatTensor]:
        """The weights, and the values they pick with heads merged."""
        mask = joined_masks(input.mask_pad, input.mask_attn)
        options = functional.AttentionOptions(
            1.0 / math.sqrt(self.d_k), fill=self.min_float, is_quiet=self.quiet_softmax
        )
        if self.dropout.is_active(query):
            weights = self.dropout(functional.attention_weights(query, key, mask, None, options))
            picked = weights.matmul(value)
        else:
            picked, weights = functional.attention_with_weights(query, key, value, mask, None, options)
        return weights, picked.swap_dims(1, 2).reshape(query.shape[0], query.shape[2], self.d_model)

    def _projected(self, input: MhaInput) -> tuple[FloatTensor, FloatTensor, FloatTensor]:
        """Queries, keys and values, by head. Those of one tensor are projected together."""
        layers = (self.query, self.key, self.value)
        inputs = (input.query, input.key, input.value)
        if not input.query is input.key is input.value or any(type(layer) is not Linear for layer in layers):
            query, key, value = (self._split(layer, x) for layer, x in zip(layers, inputs, strict=True))
            return query, key, value
        weights, biases = [layer.weight.value for layer in layers], [layer.bias for layer in layers]
        query, key, value = functional.linears(
            input.query, weights, [None if bias is None else bias.value for bias in biases]
        )
        return self._by_head(query), self._by_head(key), self._by_head(value)

    def _split(self, linear: Linear, x: FloatTensor) -> FloatTensor:
        """[N, L, d_model] → [N, n_heads, L, d_k], projected."""
        return self._by_head(linear(x))

    def _by_head(self, x: FloatTensor) -> FloatTensor:
        n, length, _ = x.shape
        return x.reshape(n, length, self.n_heads, self.d_k).swap_dims(1, 2)

    def _splitter(self, linear: Linear) -> Layer:
        return lambda x: self._split(linear, x)

    def display_attributes(self) -> dict[str, object]:
        return {
            "d_model": self.d_model,
            "n_heads": self.n_heads,
            "d_k": self.d_k,
            "dropout": self.dropout.prob,
            "min_float": self.min_float,
            "quiet_softmax": self.quiet_softmax,
        }


class MultiHeadAttentionConfig(Config):
    """dropout: of the weights. initializer: of all four layers."""

    d_model: int
    n_heads: int
    dropout: float = 0.1
    min_float: float = -1.0e4
    quiet_softmax: bool = False
    initializer: Initializer = Initializer.KaimingUniform(gain=1.0 / math.sqrt(3.0), fan_out_only=False)
    query_bias: bool = True
    key_bias: bool = True
    value_bias: bool = True
    output_bias: bool = True

    def init(self, backend: Backend) -> MultiHeadAttention:
        """ValueError unless n_heads divides d_model (Burn only notices in the first forward pass)."""
        if self.n_heads < 1 or self.d_model < 1 or self.d_model % self.n_heads:
            raise ValueError(
                f"MultiHeadAttention: d_model {self.d_model} cannot be cut into n_heads {self.n_heads} equal parts. "
                "Both must be positive, and d_model a multiple of n_heads."
            )
        if math.isnan(self.min_float):
            raise ValueError("MultiHeadAttention: min_float must be a number, but got nan.")

        def linear(bias: bool) -> Linear:
            return LinearConfig(self.d_model, self.d_model, bias, self.initializer).init(backend)

        return MultiHeadAttention(
            query=linear(self.query_bias),
            key=linear(self.key_bias),
            value=linear(self.value_bias),
            output=linear(self.output_bias),
            dropout=DropoutConfig(self.dropout).init(),
            d_model=self.d_model,
            n_heads=self.n_heads,
            d_k=self.d_model // self.n_heads,
            min_float=self.min_float,
            quiet_softmax=self.quiet_softmax,
        )


def check_input(layer: MultiHeadAttention, input: MhaInput) -> None:
    if not isinstance(input, MhaInput):
        raise KindError(
            f"MultiHeadAttention: expected an MhaInput, but got {type(input).__name__}. "
            "MhaInput.self_attn(x) makes one of a tensor."
        )
    query, key, value = input.query, input.key, input.value
    for role, tensor in (("query", query), ("key", key), ("value", value)):
        if not isinstance(tensor, FloatTensor):
            raise KindError(f"MultiHeadAttention: {role} must be a float tensor, but got {type(tensor).__name__}.")
        if tensor.rank != 3 or tensor.shape[2] != layer.d_model:
            raise ShapeError(
                f"MultiHeadAttention: {role} must have shape [N, L, {layer.d_model}], as d_model is {layer.d_model}, "
                f"but has {show(tensor.shape)}."
            )
    if not query.shape[0] == key.shape[0] == value.shape[0] or key.shape[1] != value.shape[1]:
        raise ShapeError(
            f"MultiHeadAttention: query {show(query.shape)}, key {show(key.shape)} and value {show(value.shape)} need "
            "equal batches, and key and value equal lengths."
        )
    n, length_q, length_k = query.shape[0], query.shape[1], key.shape[1]
    check_mask("mask_pad", input.mask_pad, n, (length_k,))
    check_mask("mask_attn", input.mask_attn, n, (length_q, length_k))


def check_mask(role: str, mask: BoolTensor | None, n: int, rest: tuple[int, ...]) -> None:
    if mask is None:
        return
    if not isinstance(mask, BoolTensor):
        raise KindError(f"MultiHeadAttention: {role} must be a bool tensor, but got {type(mask).__name__}.")
    if mask.shape not in ((n, *rest), (1, *rest)):
        raise ShapeError(f"MultiHeadAttention: {role} must have shape {show((n, *rest))}, but has {show(mask.shape)}.")


def joined_masks(pad: BoolTensor | None, attn: BoolTensor | None) -> BoolTensor | None:
    """Both masks as one, broadcastable to [N, n_heads, L_q, L_k]."""
    if pad is not None:
        pad = pad.unsqueeze_dims([1, 2])
    if attn is not None:
        attn = attn.unsqueeze_dim(1)
    if pad is None or attn is None:
        return attn if pad is None else pad
    return pad | attn
