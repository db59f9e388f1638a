"""Losses: each is a module whose forward gives a tensor of shape [1], unless it says otherwise."""

from typing import TYPE_CHECKING

from minburn.lazy import lazy_names

if TYPE_CHECKING:
    from minburn.nn.loss.binary_cross_entropy import *
    from minburn.nn.loss.cosine_embedding import *
    from minburn.nn.loss.cross_entropy import *
    from minburn.nn.loss.ctc import *
    from minburn.nn.loss.gaussian_nll import *
    from minburn.nn.loss.hinge_embedding import *
    from minburn.nn.loss.huber import *
    from minburn.nn.loss.kldiv import *
    from minburn.nn.loss.lp import *
    from minburn.nn.loss.margin_ranking import *
    from minburn.nn.loss.mse import *
    from minburn.nn.loss.multi_margin import *
    from minburn.nn.loss.poisson import *
    from minburn.nn.loss.reduction import *
    from minburn.nn.loss.rnnt import *
    from minburn.nn.loss.smooth_l1 import *
    from minburn.nn.loss.soft_margin import *
    from minburn.nn.loss.triplet_margin import *
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "binary_cross_entropy": ("BinaryCrossEntropyLoss", "BinaryCrossEntropyLossConfig"),
            "cosine_embedding": ("CosineEmbeddingLoss", "CosineEmbeddingLossConfig"),
            "cross_entropy": ("CrossEntropyLoss", "CrossEntropyLossConfig"),
            "ctc": ("CTCLoss", "CTCLossConfig"),
            "gaussian_nll": ("GaussianNLLLoss", "GaussianNLLLossConfig"),
            "hinge_embedding": ("HingeEmbeddingLoss", "HingeEmbeddingLossConfig"),
            "huber": ("HuberLoss", "HuberLossConfig"),
            "kldiv": ("KLDivLoss", "KLDivLossConfig"),
            "lp": ("LpLoss", "LpLossConfig"),
            "margin_ranking": ("MarginRankingLoss", "MarginRankingLossConfig"),
            "mse": ("MseLoss",),
            "multi_margin": ("MultiMarginLoss", "MultiMarginLossConfig"),
            "poisson": ("PoissonNllLoss", "PoissonNllLossConfig"),
            "reduction": ("Reduction",),
            "rnnt": ("RNNTLoss", "RNNTLossConfig"),
            "smooth_l1": ("SmoothL1Loss", "SmoothL1LossConfig"),
            "soft_margin": ("SoftMarginLoss",),
            "triplet_margin": ("TripletMarginLoss", "TripletMarginLossConfig"),
        },
    )
