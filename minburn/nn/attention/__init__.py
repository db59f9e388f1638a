"""Attention: the layers, the masks they take, and the cache for making sequences token by token.

Burn: `crates/burn-nn/src/modules/attention/`.
"""

from minburn.nn.attention.cache import MhaCache, TensorCache
from minburn.nn.attention.cross import CrossAttention, CrossAttentionConfig
from minburn.nn.attention.mask import (
    GeneratePaddingMask,
    SeqLengthOption,
    generate_autoregressive_mask,
    generate_padding_mask,
)
from minburn.nn.attention.mha import MhaInput, MhaOutput, MultiHeadAttention, MultiHeadAttentionConfig

__all__ = [
    "CrossAttention",
    "CrossAttentionConfig",
    "GeneratePaddingMask",
    "MhaCache",
    "MhaInput",
    "MhaOutput",
    "MultiHeadAttention",
    "MultiHeadAttentionConfig",
    "SeqLengthOption",
    "TensorCache",
    "generate_autoregressive_mask",
    "generate_padding_mask",
]
