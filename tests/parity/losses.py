"""Counterparts of losses.json."""

from __future__ import annotations

import json
from typing import Any

from play import Play

from minburn import nn
from minburn.tensor import activation

CONFIGS = {
    "ce": "CrossEntropyLossConfig",
    "bce": "BinaryCrossEntropyLossConfig",
    "huber": "HuberLossConfig",
    "smooth_l1": "SmoothL1LossConfig",
    "lp": "LpLossConfig",
    "kldiv": "KLDivLossConfig",
    "poisson": "PoissonNllLossConfig",
    "gaussian_nll": "GaussianNLLLossConfig",
    "cosine_embedding": "CosineEmbeddingLossConfig",
    "margin_ranking": "MarginRankingLossConfig",
    "hinge_embedding": "HingeEmbeddingLossConfig",
    "multi_margin": "MultiMarginLossConfig",
    "triplet": "TripletMarginLossConfig",
    "ctc": "CTCLossConfig",
    "rnnt": "RNNTLossConfig",
}
WITHOUT_CONFIG = {"mse": "MseLoss", "soft_margin": "SoftMarginLoss"}
REFUSED_CONFIGS: dict[str, Play] = {
    "ce_bad_smoothing": lambda i: nn.CrossEntropyLossConfig(smoothing=1.5).init(i.backend),
    "ce_bad_weights": lambda i: nn.CrossEntropyLossConfig(weights=[0.5, -1.0]).init(i.backend),
}
"""What Burn refused when the loss was built."""
ORDER = (
    *(
        "logits",
        "input",
        "input1",
        "input2",
        "first",
        "second",
        "x1",
        "x2",
        "anchor",
        "positive",
        "negative",
        "log_probs",
    ),
    *(
        "probs",
        "predictions",
        "targets",
        "target",
        "target_probs",
        "variance",
        "var",
        "input_lengths",
        "logit_lengths",
        "target_lengths",
    ),
)
"""In which the inputs are given to `forward`, whatever their order in the file."""


def loss(name: str) -> Play | None:
    if name == "ce_with_logits_probs":
        from minburn.tensor import functional

        return lambda i: functional.cross_entropy_with_logits(*arguments(i))
    kind = next((k for k in sorted({**CONFIGS, **WITHOUT_CONFIG}, key=len, reverse=True) if name.startswith(k)), None)
    return None if kind is None else lambda i: computed(i, name, kind)


def computed(i: Any, name: str, kind: str) -> Any:
    if name in REFUSED_CONFIGS:
        return REFUSED_CONFIGS[name](i)
    made = made_loss(i, kind)
    if i.case.panics:
        return refused(i, name, made)
    given = arguments(i)
    how = name.rsplit("_", 1)[-1]
    if isinstance(i.case.data.get("config"), dict) and "dims" in i.config:
        return made.forward_reduce_dims(*given, i.config["dims"])
    if kind in ("ctc", "rnnt"):
        if kind == "ctc" or not made.logits:  # the cases show what the log-probabilities were made of
            given[0] = activation.log_softmax(given[0], given[0].rank - 1)
        reduction = i.config.get("reduction", "None").removeprefix("Some(").removesuffix(")")
        return made(*given) if reduction == "None" else made.forward_with_reduction(*given, nn.Reduction[reduction])
    if how == "none":
        return made(*given) if kind == "smooth_l1" else made.forward_no_reduction(*given)
    if kind in ("ce", "bce", "cosine_embedding"):
        return made(*given)
    reductions = {"mean": "Mean", "sum": "Sum", "auto": "Auto", "batchmean": "BatchMean"}
    reduction = nn.Reduction[reductions[how]]
    return made.forward_with_reduction(*given, reduction) if kind == "smooth_l1" else made(*given, reduction)


def made_loss(i: Any, kind: str) -> Any:
    if kind in WITHOUT_CONFIG:
        return getattr(nn, WITHOUT_CONFIG[kind])()
    config_class = getattr(nn, CONFIGS[kind])
    given = i.case.data.get("config")
    if given is None:
        given = {"ce_all_pad": {"logits": True, "pad_tokens": [1], "smoothing": None, "weights": None}}[i.case.name]
    given = given.get("config", given) if isinstance(given, dict) else given
    config = config_class.from_json(json.dumps(given))
    if json.loads(config.to_json()) != given:
        raise AssertionError(f"the config is written as {config.to_json()}")
    return config.init(i.backend) if kind in ("ce", "bce") else config.init()


def arguments(i: Any) -> list[Any]:
    return [i.given[name] for name in sorted(i.given, key=ORDER.index)]


def refused(i: Any, name: str, made: Any) -> Any:
    """Burn refused the call, not the config; what it got is not written out."""
    if name == "ce_target_out_of_range":
        return made(i.floats(2, 3), i.data([0, 3]))
    if name == "ce_batch_mismatch":
        return made(i.floats(3, 3), i.data([0, 1]))
    x, y = i.floats(3, 4), i.floats(3, 4)
    if name.startswith("smooth_l1"):
        return made.forward_with_reduction(x, y, nn.Reduction.BatchMean)
    if name.startswith("multi_margin"):
        return made(x, i.data([0, 1, 2]), nn.Reduction.BatchMean)
    three = name.startswith(("gaussian_nll", "margin_ranking", "triplet"))
    return made(x.abs(), y.abs(), *([x] if three else []), nn.Reduction.BatchMean)
