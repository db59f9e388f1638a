"""What attention remembers while a sequence is made token by token.

    cache = MhaCache.autoregressive()
    out = mha.forward_cache(MhaInput.self_attn(x[:, :1], …), cache)       the first call: everything
    out = mha.forward_cache(MhaInput.self_attn(x[:, :2], …), cache)       then the whole prefix again, one token longer:
                                                                          only the last token goes through the layers

A cache is the one thing here that changes; it belongs to one sequence (or one batch of them) and one model. It is only
right for causal attention, where a later token changes nothing before it.

Burn: `crates/burn-nn/src/modules/{cache,attention/mha.rs}`.
"""

from __future__ import annotations

from collections.abc import Callable

from minburn.tensor import FloatTensor, ShapeError, Tensor
from minburn.tensor.check import show

__all__ = ["MhaCache", "TensorCache"]

Layer = Callable[[FloatTensor], FloatTensor]


class TensorCache:
    """The result of a layer for the tokens so far. Burn: `TensorCache::empty`."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: FloatTensor | None = None

    def forward_autoregressive(self, x: FloatTensor, dim: int, layer: Layer) -> FloatTensor:
        """layer(x) for x [N, L, …], where the first L - 1 results are known after the first call. dim: of L in them.

        Errors: ShapeError unless x is one token longer than at the last call.
        """
        known = self.value
        if known is None:
            return self.append(x, dim, layer)
        length = known.shape[dim]
        if x.rank < 2 or x.shape[0] != known.shape[0] or x.shape[1] != length + 1:
            raise ShapeError(
                f"cache: it holds {length} tokens of {known.shape[0]} sequences, so that the next call must bring "
                f"these and one more, but got shape {show(x.shape)}. Start another cache for other sequences."
            )
        return self.append(x.narrow(1, length, 1), dim, layer)

    def append(self, x: FloatTensor, dim: int, layer: Layer) -> FloatTensor:
        """What is known, and layer(x) after it."""
        fresh = layer(x)
        self.value = fresh if self.value is None else Tensor.cat([self.value, fresh], dim)
        return self.value

    def forward_full(self, x: FloatTensor, layer: Layer) -> FloatTensor:
        """layer(x) of the first call; later calls bring the same x."""
        if self.value is None:
            self.value = layer(x)
        return self.value


def through(layer: Layer, known: TensorCache | None, x: FloatTensor) -> FloatTensor:
    """layer(x) for x [N, L, …]; with a cache only its last token is new."""
    return layer(x) if known is None else known.forward_autoregressive(x, 1, layer)


class MhaCache:
    """Of the four linear layers of a `MultiHeadAttention`."""

    __slots__ = ("keeps_memory", "key", "output", "query", "value")

    def __init__(self, keeps_memory: bool) -> None:
        self.query = TensorCache()
        self.key = TensorCache()
        self.value = TensorCache()
        self.output = TensorCache()
        self.keeps_memory = keeps_memory

    @classmethod
    def autoregressive(cls) -> MhaCache:
        """For self-attention: queries, keys and values grow together."""
        return cls(keeps_memory=False)

    @classmethod
    def autoregressive_cross_attention(cls) -> MhaCache:
        """For attention to a memory that stays the same: its keys and values are computed once."""
        return cls(keeps_memory=True)
