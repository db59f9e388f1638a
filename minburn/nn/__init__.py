"""Layers, activations and losses, with Burn's parameter names, shapes, defaults and formulas."""

from minburn.module import Initializer
from minburn.nn.activation import Gelu, Relu, Sigmoid, Tanh
from minburn.nn.dropout import Dropout, DropoutConfig
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
    "Gelu",
    "Initializer",
    "LayerNorm",
    "LayerNormConfig",
    "Linear",
    "LinearConfig",
    "LinearLayout",
    "MseLoss",
    "Reduction",
    "Relu",
    "RmsNorm",
    "RmsNormConfig",
    "Sigmoid",
    "Tanh",
]
