"""Layers, activations and losses, with Burn's parameter names, shapes, defaults and formulas."""

from typing import TYPE_CHECKING

from minburn.lazy import lazy_names

if TYPE_CHECKING:
    from minburn.module import Initializer as Initializer
    from minburn.nn.activation import *
    from minburn.nn.attention import *
    from minburn.nn.conv import *
    from minburn.nn.distance import *
    from minburn.nn.dropout import *
    from minburn.nn.embedding import *
    from minburn.nn.encoding import *
    from minburn.nn.fold import *
    from minburn.nn.interpolate import *
    from minburn.nn.linear import *
    from minburn.nn.loss import *
    from minburn.nn.noise import *
    from minburn.nn.norm import *
    from minburn.nn.padding import *
    from minburn.nn.pixel_shuffle import *
    from minburn.nn.pool import *
    from minburn.nn.rnn import *
    from minburn.nn.transformer import *
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "minburn.module": ("Initializer",),
            "distance": ("CosineSimilarity", "CosineSimilarityConfig", "PairwiseDistance", "PairwiseDistanceConfig"),
            "dropout": ("Dropout", "DropoutConfig"),
            "embedding": ("Embedding", "EmbeddingConfig"),
            "fold": ("Fold4d", "Fold4dConfig", "Unfold4d", "Unfold4dConfig"),
            "interpolate": (
                "Interpolate1d",
                "Interpolate1dConfig",
                "Interpolate2d",
                "Interpolate2dConfig",
                "InterpolateMode",
            ),
            "linear": ("Linear", "LinearConfig", "LinearLayout"),
            "noise": ("GaussianNoise", "GaussianNoiseConfig"),
            "padding": ("PaddingConfig1d", "PaddingConfig2d", "PaddingConfig3d"),
            "pixel_shuffle": ("PixelShuffle", "PixelShuffleConfig", "PixelUnshuffle", "PixelUnshuffleConfig"),
            "pool": (
                "AdaptiveAvgPool1d",
                "AdaptiveAvgPool1dConfig",
                "AdaptiveAvgPool2d",
                "AdaptiveAvgPool2dConfig",
                "AdaptiveAvgPool3d",
                "AdaptiveAvgPool3dConfig",
                "AvgPool1d",
                "AvgPool1dConfig",
                "AvgPool2d",
                "AvgPool2dConfig",
                "MaxPool1d",
                "MaxPool1dConfig",
                "MaxPool2d",
                "MaxPool2dConfig",
            ),
        },
        ["activation", "attention", "conv", "encoding", "loss", "norm", "rnn", "transformer"],
    )
