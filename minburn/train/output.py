"""What a model's steps return.

    train_step(batch) -> TrainOutput(self, loss.backward(), item)     gradients by parameter, an item for the metrics
    inference_step(batch) -> item

An item is any object; metrics read its fields by name (`loss`, `output`, `targets`). These are the usual ones.

Burn: `crates/burn-train/src/learner/{train_val,classification,sequence,regression}.rs`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from minburn.backends import Gradients
from minburn.module import Module
from minburn.optim import GradientsParams
from minburn.tensor import FloatTensor, IntTensor
from minburn.train.error import TrainingError


@dataclass(frozen=True, slots=True)
class ClassificationOutput:
    """loss [1], output (logits) [N, C], targets [N]."""

    loss: FloatTensor
    output: FloatTensor
    targets: IntTensor


@dataclass(frozen=True, slots=True)
class MultiLabelClassificationOutput:
    """loss [1], output (logits or scores) [N, C], targets [N, C]: 1 where a label is true."""

    loss: FloatTensor
    output: FloatTensor
    targets: IntTensor


@dataclass(frozen=True, slots=True)
class SequenceOutput:
    """loss [1], logits [B, T, C], targets [B, T], and predictions [B, T] if they are not the argmax of the logits."""

    loss: FloatTensor
    logits: FloatTensor
    targets: IntTensor
    predictions: IntTensor | None = None

    @property
    def output(self) -> FloatTensor:
        """What the metrics of classes read: the logits."""
        return self.logits


@dataclass(frozen=True, slots=True)
class RegressionOutput:
    """loss [1], output [N, D], targets [N, D]."""

    loss: FloatTensor
    output: FloatTensor
    targets: FloatTensor


class TrainOutput:
    """The gradients of one batch for the parameters of `model`, and the item that the metrics read.

    gradients: what `loss.backward()` returned, or GradientsParams already.
    """

    __slots__ = ("grads", "item")

    grads: GradientsParams
    item: Any

    def __init__(self, model: Module, gradients: Gradients | GradientsParams, item: Any) -> None:
        if isinstance(gradients, GradientsParams):
            self.grads = gradients
        elif isinstance(gradients, Gradients):
            self.grads = GradientsParams.from_grads(gradients, model)
        else:
            raise TrainingError(
                f"TrainOutput: expected the Gradients that loss.backward() returns, but got {_describe(gradients)}."
            )
        self.item = item


def _describe(value: Any) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
