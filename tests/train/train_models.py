"""The three families of models that the tests of training train, each small enough for hundreds of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from minburn import FloatTensor, IntTensor, Module, Tensor
from minburn.backends import Backend
from minburn.data import digits, names
from minburn.demo import MlpConfig
from minburn.nn import (
    AdaptiveAvgPool2d,
    AdaptiveAvgPool2dConfig,
    BatchNorm,
    BatchNormConfig,
    Conv2d,
    Conv2dConfig,
    CrossEntropyLoss,
    CrossEntropyLossConfig,
    Dropout,
    DropoutConfig,
    Embedding,
    EmbeddingConfig,
    Linear,
    LinearConfig,
    MaxPool2d,
    MaxPool2dConfig,
    PaddingConfig2d,
    TransformerEncoder,
    TransformerEncoderConfig,
    TransformerEncoderInput,
    generate_autoregressive_mask,
)
from minburn.tensor import activation
from minburn.train import ClassificationOutput, TrainOutput


class Cnn(Module):
    """Two convolutions with batch-norm, whose running values are state, and dropout."""

    conv1: Conv2d
    bn1: BatchNorm
    pool: MaxPool2d
    conv2: Conv2d
    bn2: BatchNorm
    flat: AdaptiveAvgPool2d
    dropout: Dropout
    fc: Linear

    def forward(self, images: FloatTensor) -> FloatTensor:
        x = self.pool(activation.relu(self.bn1(self.conv1(images.unsqueeze_dim(1)))))
        x = self.flat(activation.relu(self.bn2(self.conv2(x))))
        return self.fc(self.dropout(x.flatten(1, 3)))

    def classify(self, batch: digits.Batch) -> ClassificationOutput:
        logits = self(batch.images)
        return ClassificationOutput(CrossEntropyLoss()(logits, batch.targets), logits, batch.targets)

    def train_step(self, batch: digits.Batch) -> TrainOutput:
        item = self.classify(batch)
        return TrainOutput(self, item.loss.backward(), item)

    def inference_step(self, batch: digits.Batch) -> ClassificationOutput:
        return self.classify(batch)


def new_cnn(backend: Backend) -> Cnn:
    same = PaddingConfig2d.Same()
    return Cnn(
        conv1=Conv2dConfig((1, 4), (3, 3), padding=same).init(backend),
        bn1=BatchNormConfig(4).init(backend),
        pool=MaxPool2dConfig((2, 2)).init(),
        conv2=Conv2dConfig((4, 6), (3, 3), padding=same).init(backend),
        bn2=BatchNormConfig(6).init(backend),
        flat=AdaptiveAvgPool2dConfig((2, 2)).init(),
        dropout=DropoutConfig(0.2).init(),
        fc=LinearConfig(24, digits.CLASSES).init(backend),
    )


PAD, LETTERS, LENGTH = 0, 28, 10
"""Tokens: 0 is padding, 1 the end of a name, 2 … 27 are letters. LENGTH: of the sequences; longer names are cut."""


class NameBatch(NamedTuple):
    """tokens [N, L]; targets [N, L] are the tokens that follow."""

    tokens: IntTensor
    targets: IntTensor


@dataclass(frozen=True)
class NameBatcher:
    backend: Backend

    def batch(self, items: Sequence[str]) -> NameBatch:
        rows = [[ord(letter) - ord("a") + 2 for letter in name[:LENGTH]] for name in items]
        padded = [[1, *row, 1, *[PAD] * (LENGTH - len(row))][: LENGTH + 1] for row in rows]
        tokens = [row[:-1] for row in padded]
        targets = [row[1:] for row in padded]
        return NameBatch(Tensor.from_ints(tokens, self.backend), Tensor.from_ints(targets, self.backend))


class Gpt(Module):
    """One transformer layer with a causal mask, and dropout in all of its places."""

    token: Embedding
    place: Embedding
    encoder: TransformerEncoder
    head: Linear
    loss: CrossEntropyLoss

    def forward(self, tokens: IntTensor) -> FloatTensor:
        rows, length = tokens.shape
        places = Tensor.arange(0, length, tokens.backend).unsqueeze().expand(rows, length)
        mask = generate_autoregressive_mask(rows, length, tokens.backend)
        x = self.token(tokens) + self.place(places)
        return self.head(self.encoder(TransformerEncoderInput(x, mask_attn=mask)))

    def predict(self, batch: NameBatch) -> ClassificationOutput:
        rows, length = batch.tokens.shape
        logits = self(batch.tokens).reshape(rows * length, LETTERS)
        targets = batch.targets.reshape(rows * length)
        return ClassificationOutput(self.loss(logits, targets), logits, targets)

    def train_step(self, batch: NameBatch) -> TrainOutput:
        item = self.predict(batch)
        return TrainOutput(self, item.loss.backward(), item)

    def inference_step(self, batch: NameBatch) -> ClassificationOutput:
        return self.predict(batch)


def new_gpt(backend: Backend) -> Gpt:
    return Gpt(
        token=EmbeddingConfig(LETTERS, 12).init(backend),
        place=EmbeddingConfig(LENGTH, 12).init(backend),
        encoder=TransformerEncoderConfig(12, 16, 2, 1, dropout=0.2, norm_first=True).init(backend),
        head=LinearConfig(12, LETTERS).init(backend),
        loss=CrossEntropyLossConfig(pad_tokens=[PAD]).init(backend),
    )


@dataclass(frozen=True)
class Family:
    """new_model, batcher: for a backend. split: training and validation items."""

    new_model: Callable[[Backend], Any]
    split: Callable[[], tuple[Any, Any]]
    batcher: Callable[[Backend], Any]


FAMILIES = {
    "mlp": Family(MlpConfig(hidden=16).init, lambda: digits.split(0.2, 42), digits.Batcher),
    "narrow mlp": Family(MlpConfig(hidden=8).init, lambda: digits.split(0.2, 42), digits.Batcher),
    "cnn": Family(new_cnn, lambda: digits.split(0.2, 42), digits.Batcher),
    "gpt": Family(new_gpt, lambda: names.split(0.1, 42), NameBatcher),
}
