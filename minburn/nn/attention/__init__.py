"""Attention: the layers, the masks they take, and the cache for making sequences token by token.

Burn: `crates/burn-nn/src/modules/attention/`.
"""

from typing import TYPE_CHECKING

from minburn.lazy import lazy_names

if TYPE_CHECKING:
    from minburn.nn.attention.cache import *
    from minburn.nn.attention.cross import *
    from minburn.nn.attention.mask import *
    from minburn.nn.attention.mha import *
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "cache": ("MhaCache", "TensorCache"),
            "cross": ("CrossAttention", "CrossAttentionCache", "CrossAttentionConfig"),
            "mask": ("GeneratePaddingMask", "SeqLengthOption", "generate_autoregressive_mask", "generate_padding_mask"),
            "mha": ("MhaInput", "MhaOutput", "MultiHeadAttention", "MultiHeadAttentionConfig"),
        },
    )
