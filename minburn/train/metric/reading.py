"""What metrics read of the item that a step returns: scores and classes, scores and marks, tokens.

    classes_of   output [..., C], targets [...]             → [N, C], int [N]        accuracy, perplexity
    marks_of     output [N, C], targets [N] or [N, C]       → [N, C], bool [N, C]    what is true of each class
    tokens_of    predictions or argmax of output, targets   → int [B, T], int [B, T] sequences

Burn: `crates/burn-train/src/learner/{classification,sequence}.rs`, an adaptor for each pair of item and metric.
"""

from __future__ import annotations

from typing import Any

from minburn.tensor import BoolTensor, FloatTensor, IntTensor, NumericTensor
from minburn.train.error import TrainingError
from minburn.train.metric.base import Reading, field_of


def classes_of(item: Any, metric: str) -> tuple[Any, IntTensor]:
    """`item.output` as [N, C] and `item.targets` as [N]."""
    output, targets = output_of(item, metric), field_of(item, metric, "targets")
    if output.rank < 2 or targets.shape != output.shape[:-1] or not isinstance(targets, IntTensor):
        raise TrainingError(
            f"metric {metric}: output must be [N, C] and targets [N], "
            f"but they are {list(output.shape)} and {list(targets.shape)}."
        )
    return (output, targets) if output.rank == 2 else (output.flatten(0, output.rank - 2), targets.reshape(-1))


def counted(right: BoolTensor, targets: IntTensor, pad_token: int | None) -> tuple[Reading, ...]:
    """How many are right, and of how many: targets that are padding count for neither."""
    if pad_token is None:
        return (right.int().sum(), targets.shape[0])
    counts = targets.not_equal(pad_token)
    return ((right & counts).int().sum(), counts.int().sum())


def marks_of(item: Any, metric: str) -> tuple[FloatTensor, BoolTensor]:
    """`item.output` [N, C], and which of the classes are true: `item.targets` as they are, or one class by its number.

    With one column, C = 1, targets [N] say whether it is true.
    """
    output, targets = output_of(item, metric), field_of(item, metric, "targets")
    if isinstance(output, FloatTensor) and output.rank == 2:
        if targets.shape == output.shape and isinstance(targets, (IntTensor, BoolTensor)):
            return output, targets if isinstance(targets, BoolTensor) else targets.bool()
        if targets.shape == output.shape[:1] and isinstance(targets, IntTensor):
            columns = output.shape[1]
            return output, (targets.one_hot(columns) if columns > 1 else targets.unsqueeze_dim(1)).bool()
    raise TrainingError(
        f"metric {metric}: output must be floats [N, C] and targets ints [N] or [N, C], "
        f"but they are {list(output.shape)} and {list(targets.shape)}."
    )


def tokens_of(item: Any, metric: str) -> tuple[IntTensor, IntTensor]:
    """`item.predictions` [B, T], or else the argmax of `item.output` [B, T, C], and `item.targets` [B, T]."""
    targets = field_of(item, metric, "targets")
    if getattr(item, "predictions", None) is not None:
        predicted = field_of(item, metric, "predictions")
    else:
        output = output_of(item, metric)
        predicted = output.argmax(output.rank - 1).squeeze_dim(output.rank - 1)
    kinds = isinstance(predicted, IntTensor) and isinstance(targets, IntTensor)
    if not kinds or targets.rank != 2 or predicted.shape != targets.shape:
        raise TrainingError(
            f"metric {metric}: predictions and targets must be ints [B, T], "
            f"but they are {list(predicted.shape)} and {list(targets.shape)}."
        )
    return predicted, targets


def output_of(item: Any, metric: str) -> Any:
    """`item.output`: numbers."""
    output = field_of(item, metric, "output")
    if not isinstance(output, NumericTensor):
        raise TrainingError(f"metric {metric}: .output must be a tensor of numbers, not {type(output).__name__}.")
    return output
