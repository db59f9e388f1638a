"""The transformer decoder: an encoder layer with attention to a memory (an encoder's output) in between.

    norm last (default)                        norm_first
    x = norm_1(x + self_attn(x))               x = x + self_attn(norm_3(x))
    x = norm_2(x + cross_attn(x, memory))      x = x + cross_attn(norm_1(x), memory)
    x = norm_3(x + pwff(x))                    x = x + pwff(norm_2(x))

Vaswani et al. 2017. Burn: `crates/burn-nn/src/modules/transformer/decoder.rs`.
"""

from __future__ import annotations

from typing import NamedTuple

from minburn.backends import Backend
from minburn.module import Module
from minburn.nn.attention import MhaCache, MhaInput, MultiHeadAttention, TensorCache
from minburn.nn.attention.cache import through
from minburn.nn.dropout import Dropout
from minburn.nn.norm import LayerNorm
from minburn.nn.transformer.config import TransformerConfig, displayed
from minburn.nn.transformer.pwff import PositionWiseFeedForward
from minburn.tensor import BoolTensor, FloatTensor, KindError, TensorError

__all__ = [
    "TransformerDecoder",
    "TransformerDecoderAutoregressiveCache",
    "TransformerDecoderConfig",
    "TransformerDecoderInput",
    "TransformerDecoderLayer",
]


class TransformerDecoderInput(NamedTuple):
    """target [N, L, d_model], memory [N, M, d_model].

    target_mask_pad [N, L], target_mask_attn [N, L, L], memory_mask_pad [N, M], memory_mask_attn [N, L, M]: true at what
    must not be seen.
    """

    target: FloatTensor
    memory: FloatTensor
    target_mask_pad: BoolTensor | None = None
    target_mask_attn: BoolTensor | None = None
    memory_mask_pad: BoolTensor | None = None
    memory_mask_attn: BoolTensor | None = None


class TransformerDecoderLayerCache:
    """Of one layer. Burn: `TransformerDecoderLayerAutoregressiveCache`."""

    __slots__ = ("cross_attn", "norm_1", "norm_2", "norm_3", "pwff", "self_attn")

    def __init__(self) -> None:
        self.cross_attn = MhaCache.autoregressive_cross_attention()
        self.self_attn = MhaCache.autoregressive()
        self.pwff = TensorCache()
        self.norm_1 = TensorCache()
        self.norm_2 = TensorCache()
        self.norm_3 = TensorCache()


class TransformerDecoderAutoregressiveCache:
    """Of all layers; made by `new_autoregressive_cache`. It is changed by every call and belongs to one sequence."""

    __slots__ = ("layers",)

    def __init__(self, n_layers: int) -> None:
        self.layers = [TransformerDecoderLayerCache() for _ in range(n_layers)]


class TransformerDecoderLayer(Module):
    cross_attn: MultiHeadAttention
    self_attn: MultiHeadAttention
    pwff: PositionWiseFeedForward
    norm_1: LayerNorm
    norm_2: LayerNorm
    norm_3: LayerNorm
    dropout: Dropout
    norm_first: bool

    def forward(
        self, input: TransformerDecoderInput, cache: TransformerDecoderLayerCache | None = None
    ) -> TransformerDecoderInput:
        """Burn: `TransformerDecoderLayer::forward_autoregressive_inference`."""

        def norm(number: int, x: FloatTensor) -> FloatTensor:
            layer = (self.norm_1, self.norm_2, self.norm_3)[number - 1].forward
            return through(layer, None if cache is None else (cache.norm_1, cache.norm_2, cache.norm_3)[number - 1], x)

        def attend(layer: MultiHeadAttention, known: MhaCache | None, given: MhaInput) -> FloatTensor:
            return self.dropout(layer(given).context if known is None else layer.forward_cache_context(given, known))

        first, memory = self.norm_first, input.memory
        x = input.target
        given = MhaInput.self_attn(norm(3, x) if first else x, input.target_mask_pad, input.target_mask_attn)
        x = x + attend(self.self_attn, None if cache is None else cache.self_attn, given)
        x = x if first else norm(1, x)
        given = MhaInput(norm(1, x) if first else x, memory, memory, input.memory_mask_pad, input.memory_mask_attn)
        x = x + attend(self.cross_attn, None if cache is None else cache.cross_attn, given)
        x = x if first else norm(2, x)
        inner = norm(2, x) if first else x
        x = x + self.dropout(through(self.pwff.forward, None if cache is None else cache.pwff, inner))
        return input._replace(target=x if first else norm(3, x))


class TransformerDecoder(Module):
    """target [N, L, d_model] → [N, L, d_model] through all layers; see the module's text.

    Errors: ShapeError for sizes that do not fit.
    """

    layers: list[TransformerDecoderLayer]
    d_model: int
    d_ff: int
    n_heads: int
    n_layers: int
    dropout: float
    norm_first: bool
    quiet_softmax: bool

    def forward(self, input: TransformerDecoderInput) -> FloatTensor:
        check_decoder_input(input)
        for layer in self.layers:
            input = layer(input)
        return input.target

    def forward_autoregressive_inference(
        self, input: TransformerDecoderInput, cache: TransformerDecoderAutoregressiveCache
    ) -> FloatTensor:
        """forward() for a target that grows by one token a call, and one memory, of which keys and values are kept.

        Bring the whole prefix and its autoregressive mask each time. The cache is changed.

        Errors: ShapeError unless the target is one longer than at the last call.
        """
        check_decoder_input(input)
        if not isinstance(cache, TransformerDecoderAutoregressiveCache) or len(cache.layers) != len(self.layers):
            raise TensorError(
                f"forward_autoregressive_inference: the cache is not one of {len(self.layers)} decoder layers. "
                "new_autoregressive_cache() of this decoder makes one."
            )
        for layer, known in zip(self.layers, cache.layers, strict=True):
            input = layer(input, known)
        return input.target

    def new_autoregressive_cache(self) -> TransformerDecoderAutoregressiveCache:
        return TransformerDecoderAutoregressiveCache(len(self.layers))

    def display_attributes(self) -> dict[str, object]:
        return displayed(self)


def check_decoder_input(input: object) -> None:
    if not isinstance(input, TransformerDecoderInput):
        raise KindError(
            f"TransformerDecoder: expected a TransformerDecoderInput, but got {type(input).__name__}. "
            "TransformerDecoderInput(target, memory) makes one of two tensors."
        )


class TransformerDecoderConfig(TransformerConfig):
    def init(self, backend: Backend) -> TransformerDecoder:
        """ValueError unless n_heads divides d_model, and for other options that cannot work."""
        self.check("TransformerDecoder")
        layers = [
            TransformerDecoderLayer(
                cross_attn=self.make_mha(backend),
                self_attn=self.make_mha(backend),
                pwff=self.make_pwff(backend),
                norm_1=self.make_norm(backend),
                norm_2=self.make_norm(backend),
                norm_3=self.make_norm(backend),
                dropout=self.make_dropout(),
                norm_first=self.norm_first,
            )
            for _ in range(self.n_layers)
        ]
        return TransformerDecoder(
            layers=layers,
            d_model=self.d_model,
            d_ff=self.d_ff,
            n_heads=self.n_heads,
            n_layers=self.n_layers,
            dropout=self.dropout,
            norm_first=self.norm_first,
            quiet_softmax=self.quiet_softmax,
        )
