"""Layers, activations and losses, with Burn's parameter names, shapes, defaults and formulas."""

from minburn.module import Initializer
from minburn.nn.activation import Gelu, Relu, Sigmoid, Tanh
from minburn.nn.attention import (
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

__all__ = [
    "BatchNorm",
    "BatchNormConfig",
    "BinaryCrossEntropyLoss",
    "BinaryCrossEntropyLossConfig",
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
    "Reduction",
    "Relu",
    "RmsNorm",
    "RmsNormConfig",
    "SeqLengthOption",
    "Sigmoid",
    "Tanh",
    "TensorCache",
    "generate_autoregressive_mask",
    "generate_padding_mask",
]
