"""The transformer encoder: layers of self-attention and feed-forward, each added to its input.

    norm last (default)   x = norm_1(x + mha(x))          x = norm_2(x + pwff(x))
    norm_first            x = x + mha(norm_2(x))          x = x + pwff(norm_1(x))

The numbers of the norms are swapped in the second form, as in Burn, whose files they are part of. There is no norm
after the last layer. With a mask of `generate_autoregressive_mask` it is what a GPT is made of.

Vaswani et al. 2017. Burn: `crates/burn-nn/src/modules/transformer/encoder.rs`.
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
    "TransformerEncoder",
    "TransformerEncoderAutoregressiveCache",
    "TransformerEncoderConfig",
    "TransformerEncoderInput",
    "TransformerEncoderLayer",
]


class TransformerEncoderInput(NamedTuple):
    """tensor [N, L, d_model]; mask_pad [N, L] and mask_attn [N, L, L], true at what must not be seen."""

    tensor: FloatTensor
    mask_pad: BoolTensor | None = None
    mask_attn: BoolTensor | None = None


class TransformerEncoderLayerCache:
    """Of one layer. Burn: `TransformerEncoderLayerAutoregressiveCache`."""

    __slots__ = ("mha", "norm_1", "norm_2", "pwff")

    def __init__(self) -> None:
        self.mha = MhaCache.autoregressive()
        self.pwff = TensorCache()
        self.norm_1 = TensorCache()
        self.norm_2 = TensorCache()


class TransformerEncoderAutoregressiveCache:
    """Of all layers; made by `new_autoregressive_cache`. It is changed by every call and belongs to one sequence."""

    __slots__ = ("layers",)

    def __init__(self, n_layers: int) -> None:
        self.layers = [TransformerEncoderLayerCache() for _ in range(n_layers)]


class TransformerEncoderLayer(Module):
    mha: MultiHeadAttention
    pwff: PositionWiseFeedForward
    norm_1: LayerNorm
    norm_2: LayerNorm
    dropout: Dropout
    norm_first: bool

    def forward(
        self, input: TransformerEncoderInput, cache: TransformerEncoderLayerCache | None = None
    ) -> TransformerEncoderInput:
        """Burn: `TransformerEncoderLayer::forward_autoregressive_inference`."""
        norm_1, norm_2, pwff = (None, None, None) if cache is None else (cache.norm_1, cache.norm_2, cache.pwff)
        x = input.tensor
        attended = MhaInput.self_attn(
            through(self.norm_2.forward, norm_2, x) if self.norm_first else x, input.mask_pad, input.mask_attn
        )
        context = self.mha(attended).context if cache is None else self.mha.forward_cache_context(attended, cache.mha)
        x = x + self.dropout(context)
        if self.norm_first:
            x = x + self.dropout(through(self.pwff.forward, pwff, through(self.norm_1.forward, norm_1, x)))
        else:
            x = through(self.norm_1.forward, norm_1, x)
            x = through(self.norm_2.forward, norm_2, x + self.dropout(through(self.pwff.forward, pwff, x)))
        return input._replace(tensor=x)


class TransformerEncoder(Module):
    """[N, L, d_model] → [N, L, d_model] through all layers; see the module's text.

    Errors: ShapeError for sizes that do not fit.
    """

    layers: list[TransformerEncoderLayer]
    d_model: int
    d_ff: int
    n_heads: int
    n_layers: int
    dropout: float
    norm_first: bool
    quiet_softmax: bool

    def forward(self, input: TransformerEncoderInput) -> FloatTensor:
        check_encoder_input(input)
        for layer in self.layers:
            input = layer(input)
        return input.tensor

    def forward_autoregressive_inference(
        self, input: TransformerEncoderInput, cache: TransformerEncoderAutoregressiveCache
    ) -> FloatTensor:
        """forward() for a sequence that grows by one token a call: only the new one goes through the linear layers.

        Bring the whole prefix and its autoregressive mask each time. The cache is changed.

        Errors: ShapeError unless the sequence is one longer than at the last call.
        """
        check_encoder_input(input)
        if not isinstance(cache, TransformerEncoderAutoregressiveCache) or len(cache.layers) != len(self.layers):
            raise TensorError(
                f"forward_autoregressive_inference: the cache is not one of {len(self.layers)} encoder layers. "
                "new_autoregressive_cache() of this encoder makes one."
            )
        for layer, known in zip(self.layers, cache.layers, strict=True):
            input = layer(input, known)
        return input.tensor

    def new_autoregressive_cache(self) -> TransformerEncoderAutoregressiveCache:
        return TransformerEncoderAutoregressiveCache(len(self.layers))

    def display_attributes(self) -> dict[str, object]:
        return displayed(self)


def check_encoder_input(input: object) -> None:
    if not isinstance(input, TransformerEncoderInput):
        raise KindError(
            f"TransformerEncoder: expected a TransformerEncoderInput, but got {type(input).__name__}. "
            "TransformerEncoderInput(x, mask_attn=mask) makes one of a tensor."
        )


class TransformerEncoderConfig(TransformerConfig):
    def init(self, backend: Backend) -> TransformerEncoder:
        """ValueError unless n_heads divides d_model, and for other options that cannot work."""
        self.check("TransformerEncoder")
        layers = [
            TransformerEncoderLayer(
                mha=self.make_mha(backend),
                pwff=self.make_pwff(backend),
                norm_1=self.make_norm(backend),
                norm_2=self.make_norm(backend),
                dropout=self.make_dropout(),
                norm_first=self.norm_first,
            )
            for _ in range(self.n_layers)
        ]
        return TransformerEncoder(
            layers=layers,
            d_model=self.d_model,
            d_ff=self.d_ff,
            n_heads=self.n_heads,
            n_layers=self.n_layers,
            dropout=self.dropout,
            norm_first=self.norm_first,
            quiet_softmax=self.quiet_softmax,
        )
