"""Attention from one sequence to another, of other width, with heads of keys and values that queries may share.

Burn: `crates/burn-nn/src/modules/attention/cross_attention.rs`.
"""

from __future__ import annotations

import math

from minburn.backends import Backend
from minburn.module import Config, Initializer, Module
from minburn.nn.attention.cache import TensorCache
from minburn.nn.dropout import Dropout, DropoutConfig
from minburn.nn.linear import Linear, LinearConfig
from minburn.tensor import BoolTensor, FloatTensor, KindError, ShapeError, functional
from minburn.tensor.check import show

__all__ = ["CrossAttention", "CrossAttentionCache", "CrossAttentionConfig"]


class CrossAttentionCache:
    """The keys and values of a context that stays the same while queries come: see `cache.py`."""

    __slots__ = ("k", "v")

    def __init__(self) -> None:
        self.k = TensorCache()
        self.v = TensorCache()


class CrossAttention(Module):
    """output(softmax(Q Kᵀ / √d_head) V), Q of query [N, L_q, d_model], K and V of context [N, L_k, d_context].

    query: d_model → n_heads · d_head. key, value: d_context → n_heads_kv · d_head. output: n_heads · d_head → d_model.
    Query head i uses head i // (n_heads / n_heads_kv) of keys and values. mask: [N, L_k], true at keys that no query
    sees; their scores become min_float.

    Errors: ShapeError for sizes that do not fit.
    """

    query: Linear
    key: Linear
    value: Linear
    output: Linear
    dropout: Dropout
    n_heads: int
    n_heads_kv: int
    d_head: int
    min_float: float
    quiet_softmax: bool

    def forward(self, query: FloatTensor, context: FloatTensor, mask: BoolTensor | None = None) -> FloatTensor:
        self._check(query, context, mask)
        return self._attend(query, self._keys(context), self._values(context), mask)

    def forward_cache(
        self, query: FloatTensor, context: FloatTensor, mask: BoolTensor | None, cache: CrossAttentionCache
    ) -> FloatTensor:
        """forward() with the keys and values of the cache: the first call fills it, later ones bring the same context.

        Errors: as forward, and KindError for another cache.
        """
        self._check(query, context, mask)
        if not isinstance(cache, CrossAttentionCache):
            raise KindError(f"forward_cache: expected a CrossAttentionCache, but got {type(cache).__name__}.")
        k, v = cache.k.forward_full(context, self._keys), cache.v.forward_full(context, self._values)
        if (k.shape[0], k.shape[2]) != context.shape[:2]:
            raise ShapeError(
                f"CrossAttention: the cache holds a context of shape [{k.shape[0]}, {k.shape[2]}, …], but got "
                f"{show(context.shape)}. Start another cache for another context."
            )
        return self._attend(query, k, v, mask)

    def _attend(self, query: FloatTensor, k: FloatTensor, v: FloatTensor, mask: BoolTensor | None) -> FloatTensor:
        q = self._split(self.query, query, self.n_heads)
        hidden = None if mask is None else mask.unsqueeze_dims([1, 2])
        options = functional.AttentionOptions(
            1.0 / math.sqrt(self.d_head), fill=self.min_float, is_quiet=self.quiet_softmax
        )
        if self.dropout.is_active(q):
            weights = self.dropout(functional.attention_weights(q, k, hidden, None, options))
            n, length = query.shape[:2]
            shared = (n, self.n_heads_kv, self.n_heads // self.n_heads_kv * length, k.shape[2])
            picked = weights.reshape(shared).matmul(v).reshape(n, self.n_heads, length, self.d_head)
        else:
            picked = functional.attention(q, k, v, hidden, None, options)
        return self.output(picked.swap_dims(1, 2).flatten(2, 3))

    def _keys(self, context: FloatTensor) -> FloatTensor:
        return self._split(self.key, context, self.n_heads_kv)

    def _values(self, context: FloatTensor) -> FloatTensor:
        return self._split(self.value, context, self.n_heads_kv)

    def _split(self, linear: Linear, x: FloatTensor, heads: int) -> FloatTensor:
        n, length, _ = x.shape
        return linear(x).reshape(n, length, heads, self.d_head).swap_dims(1, 2)

    def _check(self, query: FloatTensor, context: FloatTensor, mask: BoolTensor | None) -> None:
        for role, x, size in (
            ("query", query, self.query.weight.shape[0]),
            ("context", context, self.key.weight.shape[0]),
        ):
            if not isinstance(x, FloatTensor):
                raise KindError(f"CrossAttention: {role} must be a float tensor, but got {type(x).__name__}.")
            if x.rank != 3 or x.shape[2] != size:
                raise ShapeError(f"CrossAttention: {role} must have shape [N, L, {size}], but has {show(x.shape)}.")
        if query.shape[0] != context.shape[0]:
            raise ShapeError(
                f"CrossAttention: query has a batch of {query.shape[0]}, context of {context.shape[0]}. "
                "They must be equal."
            )
        if mask is None:
            return
        if not isinstance(mask, BoolTensor):
            raise KindError(f"CrossAttention: the mask must be a bool tensor, but got {type(mask).__name__}.")
        if mask.shape not in (context.shape[:2], (1, context.shape[1])):
            raise ShapeError(
                f"CrossAttention: the mask must have shape {show(context.shape[:2])}, but has {show(mask.shape)}."
            )

    def display_attributes(self) -> dict[str, object]:
        return {
            "n_heads": self.n_heads,
            "n_heads_kv": self.n_heads_kv,
            "d_head": self.d_head,
            "dropout": self.dropout.prob,
            "min_float": self.min_float,
            "quiet_softmax": self.quiet_softmax,
        }


class CrossAttentionConfig(Config):
    """n_heads_kv: 1 is multi-query attention, n_heads the usual one. d_context: the width of the context."""

    d_model: int
    d_context: int
    n_heads: int
    n_heads_kv: int
    d_head: int
    dropout: float = 0.1
    min_float: float = -1.0e4
    quiet_softmax: bool = False

    def init(self, backend: Backend) -> CrossAttention:
        """ValueError unless n_heads is a multiple of n_heads_kv."""
        if self.n_heads_kv < 1 or self.n_heads < 1 or self.d_head < 1 or self.n_heads % self.n_heads_kv:
            raise ValueError(
                f"CrossAttention: n_heads {self.n_heads} must be a multiple of n_heads_kv {self.n_heads_kv}, and both "
                f"and d_head {self.d_head} positive."
            )
        if math.isnan(self.min_float):
            raise ValueError("CrossAttention: min_float must be a number, but got nan.")
        initializer = Initializer.KaimingUniform(gain=1.0 / math.sqrt(self.d_head), fan_out_only=False)
        queries, keys = self.n_heads * self.d_head, self.n_heads_kv * self.d_head

        def linear(d_input: int, d_output: int) -> Linear:
            return LinearConfig(d_input, d_output, initializer=initializer).init(backend)

        return CrossAttention(
            query=linear(self.d_model, queries),
            key=linear(self.d_context, keys),
            value=linear(self.d_context, keys),
            output=linear(queries, self.d_model),
            dropout=DropoutConfig(self.dropout).init(),
            n_heads=self.n_heads,
            n_heads_kv=self.n_heads_kv,
            d_head=self.d_head,
            min_float=self.min_float,
            quiet_softmax=self.quiet_softmax,
        )
