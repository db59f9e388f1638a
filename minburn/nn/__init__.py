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

__all__ = [
    "BinaryCrossEntropyLoss",
    "BinaryCrossEntropyLossConfig",
    "CrossEntropyLoss",
    "CrossEntropyLossConfig",
    "Dropout",
    "DropoutConfig",
    "Gelu",
    "Initializer",
    "Linear",
    "LinearConfig",
    "LinearLayout",
    "MseLoss",
    "Reduction",
    "Relu",
    "Sigmoid",
    "Tanh",
]
