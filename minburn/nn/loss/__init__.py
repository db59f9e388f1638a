"""Losses: each is a module whose forward gives a tensor of shape [1]."""

from typing import TYPE_CHECKING

from minburn.lazy import lazy_names

if TYPE_CHECKING:
    from minburn.nn.loss.binary_cross_entropy import *
    from minburn.nn.loss.cross_entropy import *
    from minburn.nn.loss.mse import *
    from minburn.nn.loss.reduction import *
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "binary_cross_entropy": ("BinaryCrossEntropyLoss", "BinaryCrossEntropyLossConfig"),
            "cross_entropy": ("CrossEntropyLoss", "CrossEntropyLossConfig"),
            "mse": ("MseLoss",),
            "reduction": ("Reduction",),
        },
    )
