"""Losses: each is a module whose forward gives a tensor of shape [1]."""

from minburn.nn.loss.binary_cross_entropy import BinaryCrossEntropyLoss, BinaryCrossEntropyLossConfig
from minburn.nn.loss.cross_entropy import CrossEntropyLoss, CrossEntropyLossConfig
from minburn.nn.loss.mse import MseLoss
from minburn.nn.loss.reduction import Reduction

__all__ = [
    "BinaryCrossEntropyLoss",
    "BinaryCrossEntropyLossConfig",
    "CrossEntropyLoss",
    "CrossEntropyLossConfig",
    "MseLoss",
    "Reduction",
]
