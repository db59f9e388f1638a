"""Losses: what `test_bad_input` tries junk on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minburn import Tensor, nn
from minburn.backends import NumPy
from minburn.tensor import functional

PLAIN = NumPy(seed=1)
Entry = tuple[Any, tuple[Any, ...]]
CONFIGS: list[tuple[Any, dict[str, Any]]] = [
    (nn.HuberLossConfig, {"delta": 1.0}),
    (nn.SmoothL1LossConfig, {"beta": 1.0}),
    (nn.LpLossConfig, {"p": 2.5}),
    (nn.KLDivLossConfig, {"log_target": False}),
    (nn.PoissonNllLossConfig, {"log_input": True, "full": True, "eps": 1e-8}),
    (nn.GaussianNLLLossConfig, {"eps": 1e-6, "full": True}),
    (nn.CosineEmbeddingLossConfig, {"margin": 0.0, "reduction": nn.Reduction.Mean}),
    (nn.MarginRankingLossConfig, {"margin": 0.0}),
    (nn.HingeEmbeddingLossConfig, {"margin": 1.0}),
    (nn.MultiMarginLossConfig, {"margin": 1.0, "p": 1}),
    (nn.TripletMarginLossConfig, {"margin": 1.0, "p": 2.0}),
]


def entries() -> Iterator[Entry]:
    x, classes, mean = Tensor.ones([2, 3], PLAIN), Tensor.from_data([1, 0], PLAIN), nn.Reduction.Mean
    for config, fields in CONFIGS:
        for field, right in fields.items():
            yield (
                lambda value, config=config, fields=fields, field=field: config(**{**fields, field: value}).init(),
                (right,),
            )
    huber, smooth, lp, divergence, poisson, gaussian, cosine, ranking, hinge, multi, triplet = (
        config(**fields).init() for config, fields in CONFIGS
    )
    for loss in (huber, lp, divergence, poisson, hinge, nn.SoftMarginLoss()):
        yield loss, (x, x, mean)
    for loss in (gaussian, ranking, triplet):
        yield loss, (x, x, x, mean)
    yield smooth, (x, x)
    yield smooth.forward_with_reduction, (x, x, mean)
    yield lambda *pair: smooth.forward_reduce_dims(*pair, [1]), (x, x)
    yield cosine, (x, x, classes)
    yield multi, (x, classes, mean)
    labels, length = Tensor.from_data([[1]], PLAIN), Tensor.from_data([1], PLAIN)
    frames, grid = Tensor.zeros([2, 1, 3], PLAIN), Tensor.zeros([1, 2, 2, 3], PLAIN)
    yield functional.ctc_loss, (frames, labels, length, length, 0)
    yield functional.rnnt_loss, (grid, labels, length, length, 0)
    yield nn.CTCLossConfig().init().forward_with_reduction, (frames, labels, length, length, mean)
    yield nn.RNNTLossConfig().init().forward_with_reduction, (grid, labels, length, length, mean)
    yield lambda blank, flag: nn.CTCLossConfig(blank, flag).init(), (0, False)
    yield lambda blank, flag: nn.RNNTLossConfig(blank, flag).init(), (0, False)
