"""Layers, activations and losses, with Burn's parameter names, shapes, defaults and formulas."""

from minburn.module import Initializer
from minburn.nn.activation import Gelu, Relu, Sigmoid, Tanh
from minburn.nn.activation_config import (
    ActivationConfig,
)
from minburn.nn.attention import (
    CrossAttention,
    CrossAttentionConfig,
    GeneratePaddingMask,
    MhaCache,
    MhaInput,
    MhaOutput,
    MultiHeadAttention,
    MultiHeadAttentionConfig,
    SeqLengthOption,
    TensorCache,
    generate_autoregressive_mask,
    generate_padding_mask,
)
from minburn.nn.dropout import Dropout, DropoutConfig
from minburn.nn.embedding import Embedding, EmbeddingConfig
from minburn.nn.encoding import (
    PositionalEncoding,
    PositionalEncodingConfig,
    RotaryEncoding,
    RotaryEncodingConfig,
)
from minburn.nn.linear import Linear, LinearConfig, LinearLayout
from minburn.nn.loss import (
    BinaryCrossEntropyLoss,
    BinaryCrossEntropyLossConfig,
    CrossEntropyLoss,
    CrossEntropyLossConfig,
    MseLoss,
    Reduction,
)
from minburn.nn.norm import BatchNorm, BatchNormConfig, LayerNorm, LayerNormConfig, RmsNorm, RmsNormConfig
from minburn.nn.transformer import (
    PositionWiseFeedForward,
    PositionWiseFeedForwardConfig,
    TransformerDecoder,
    TransformerDecoderAutoregressiveCache,
    TransformerDecoderConfig,
    TransformerDecoderInput,
    TransformerEncoder,
    TransformerEncoderAutoregressiveCache,
    TransformerEncoderConfig,
    TransformerEncoderInput,
)

__all__ = [
    "ActivationConfig",
    "BatchNorm",
    "BatchNormConfig",
    "BinaryCrossEntropyLoss",
    "BinaryCrossEntropyLossConfig",
    "CrossAttention",
    "CrossAttentionConfig",
    "CrossEntropyLoss",
    "CrossEntropyLossConfig",
    "Dropout",
    "DropoutConfig",
    "Embedding",
    "EmbeddingConfig",
    "Gelu",
    "GeneratePaddingMask",
    "Initializer",
    "LayerNorm",
    "LayerNormConfig",
    "Linear",
    "LinearConfig",
    "LinearLayout",
    "MhaCache",
    "MhaInput",
    "MhaOutput",
    "MseLoss",
    "MultiHeadAttention",
    "MultiHeadAttentionConfig",
    "PositionWiseFeedForward",
    "PositionWiseFeedForwardConfig",
    "PositionalEncoding",
    "PositionalEncodingConfig",
    "Reduction",
    "Relu",
    "RmsNorm",
    "RmsNormConfig",
    "RotaryEncoding",
    "RotaryEncodingConfig",
    "SeqLengthOption",
    "Sigmoid",
    "Tanh",
    "TensorCache",
    "TransformerDecoder",
    "TransformerDecoderAutoregressiveCache",
    "TransformerDecoderConfig",
    "TransformerDecoderInput",
    "TransformerEncoder",
    "TransformerEncoderAutoregressiveCache",
    "TransformerEncoderConfig",
    "TransformerEncoderInput",
    "generate_autoregressive_mask",
    "generate_padding_mask",
]
