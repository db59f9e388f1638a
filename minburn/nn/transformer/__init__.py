"""Transformers. Burn: `crates/burn-nn/src/modules/transformer/`."""

from typing import TYPE_CHECKING

from minburn.lazy import lazy_names

if TYPE_CHECKING:
    from minburn.nn.transformer.decoder import *
    from minburn.nn.transformer.encoder import *
    from minburn.nn.transformer.pwff import *
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "decoder": (
                "TransformerDecoder",
                "TransformerDecoderAutoregressiveCache",
                "TransformerDecoderConfig",
                "TransformerDecoderInput",
                "TransformerDecoderLayer",
            ),
            "encoder": (
                "TransformerEncoder",
                "TransformerEncoderAutoregressiveCache",
                "TransformerEncoderConfig",
                "TransformerEncoderInput",
                "TransformerEncoderLayer",
            ),
            "pwff": ("PositionWiseFeedForward", "PositionWiseFeedForwardConfig"),
        },
    )
