"""How sequences of tokens differ from what they should be: error rates, BLEU, ROUGE-L.

The tokens are `item.predictions` [B, T], or else the argmax of `item.output` [B, T, C], and `item.targets` [B, T]. With
a pad_token a sequence ends before its first pad.

Burn: `crates/burn-train/src/metric/{cer,wer,bleu,rouge}.rs`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from minburn.train.error import TrainingError
from minburn.train.metric.base import MeanMetric, MetricMetadata, Reading, Several
from minburn.train.metric.reading import tokens_of

Tokens = Sequence[int]
Smoothing = float | Literal["exponential"] | None
"""Burn: `BleuSmoothing` in `crates/burn-train/src/metric/bleu.rs`."""


class SequenceMetric(MeanMetric):
    """A number of the pairs (predicted, target) of a batch."""

    unit = "%"
    higher_is_better = False

    def __init__(self, pad_token: int | None = None) -> None:
        super().__init__()
        self.pad_token = pad_token

    @abstractmethod
    def rate(self, pairs: list[tuple[Tokens, Tokens]]) -> tuple[float, int]:
        """(value, count) of the sequences, their padding gone."""

    def measure(self, item: Any, metadata: MetricMetadata) -> tuple[Reading, ...]:
        predicted, targets = tokens_of(item, self.name)
        return (targets.shape[0], targets.shape[1], Several(predicted), Several(targets))

    def score(self, *readings: Any) -> tuple[float, float]:
        rows, length, *both = readings
        split = [[self.cut(tokens[row * length :][:length]) for row in range(rows)] for tokens in both]
        return self.rate(list(zip(*split, strict=True)))

    def cut(self, tokens: Tokens) -> Tokens:
        """The sequence without what is padding."""
        return tokens[: tokens.index(self.pad_token)] if self.pad_token in tokens else tokens

    def __repr__(self) -> str:
        return f"{type(self).__name__}(pad_token={self.pad_token})"


class WordErrorRate(SequenceMetric):
    """100 · Σ edit distance / Σ length of the targets, in percent, weighted by that length: tokens are words.

    The edit distance is the least number of insertions, deletions and substitutions that make one of the other.
    """

    name = "WER"

    def rate(self, pairs: list[tuple[Tokens, Tokens]]) -> tuple[float, int]:
        edits, length = sum(edit_distance(*pair) for pair in pairs), sum(len(target) for _, target in pairs)
        return (100.0 * edits / length if length else 0.0), length


class CharErrorRate(WordErrorRate):
    """As `WordErrorRate`, of tokens that are characters.

    Pads are expected behind a sequence: of one with n tokens that are no pads it takes the first n, as Burn does.
    """

    name = "CER"

    def cut(self, tokens: Tokens) -> Tokens:
        return tokens[: sum(token != self.pad_token for token in tokens)]


class RougeLScore(SequenceMetric):
    """100 · 2PR / (P + R), P and R the longest common subsequence by the length of prediction and target, the mean over
    the sequences. 100 if both are empty, 0 if one is."""

    name = "ROUGE-L"
    higher_is_better = True

    def rate(self, pairs: list[tuple[Tokens, Tokens]]) -> tuple[float, int]:
        total = sum(rouge_l(*pair) for pair in pairs)
        return (total / len(pairs) if pairs else math.nan), len(pairs)


class BleuScore(SequenceMetric):
    """100 · BP · exp(mean of ln pₙ, n from 1 to max_n), of a batch; weighted by its sequences.

    pₙ: of the runs of n predicted tokens the share that the target has too, each counted as often as there at most, all
    sequences together. BP: exp(1 - targets' length / predictions' length) if those are shorter, else 1.
    smoothing: where nothing of some n matches the score is 0 (None), or pₙ is ε over the number of runs (a number), or
    1 / (2ʲ · runs) at the j-th such n ("exponential").
    """

    higher_is_better = True

    def __init__(self, max_n: int = 4, pad_token: int | None = None, smoothing: Smoothing = None) -> None:
        super().__init__(pad_token)
        if max_n < 1:
            raise TrainingError(f"BleuScore: max_n must be at least 1, but got {max_n}.")
        if isinstance(smoothing, str) and smoothing != "exponential":
            raise TrainingError(f"BleuScore: smoothing is a number, 'exponential' or None, but got {smoothing!r}.")
        self.max_n, self.smoothing = max_n, smoothing
        self.name = f"BLEU-{max_n}"

    def rate(self, pairs: list[tuple[Tokens, Tokens]]) -> tuple[float, int]:
        return 100.0 * self._bleu(pairs), len(pairs)

    def _bleu(self, pairs: list[tuple[Tokens, Tokens]]) -> float:
        predicted, wanted = (sum(map(len, side)) for side in zip(*pairs, strict=True)) if pairs else (0, 0)
        logarithms, halvings = 0.0, 0
        for n in range(1, self.max_n + 1):
            counts = [(runs(output, n), runs(target, n)) for output, target in pairs]
            total = sum(output.total() for output, _ in counts)
            matches = sum((output & target).total() for output, target in counts)
            if not total or (not matches and self.smoothing is None):
                return 0.0
            if matches:
                precision = matches / total
            elif self.smoothing == "exponential":
                halvings += 1
                precision = 1.0 / (2.0**halvings * total)
            else:
                precision = float(self.smoothing or 0.0) / total
            logarithms += math.log(precision) if precision else -math.inf
        brevity = math.exp(1.0 - wanted / predicted) if predicted < wanted else 1.0
        return brevity * math.exp(logarithms / self.max_n)

    def __repr__(self) -> str:
        return f"BleuScore(max_n={self.max_n}, pad_token={self.pad_token}, smoothing={self.smoothing!r})"


def runs(tokens: Tokens, n: int) -> Counter[tuple[int, ...]]:
    """How often each run of n tokens occurs."""
    return Counter(tuple(tokens[start : start + n]) for start in range(len(tokens) - n + 1))


def edit_distance(lhs: Tokens, rhs: Tokens) -> int:
    """By dynamic programming, row by row: the distance of the first tokens of lhs from each beginning of rhs."""
    row = list(range(len(rhs) + 1))
    for number, left in enumerate(lhs, 1):
        before, row = row, [number]
        for place, right in enumerate(rhs):
            row.append(before[place] if left == right else 1 + min(before[place], before[place + 1], row[place]))
    return row[-1]


def common_length(lhs: Tokens, rhs: Tokens) -> int:
    """Of the longest sequence that both have, with gaps."""
    row = [0] * (len(rhs) + 1)
    for left in lhs:
        before, row = row, [0]
        for place, right in enumerate(rhs):
            row.append(before[place] + 1 if left == right else max(row[place], before[place + 1]))
    return row[-1]


def rouge_l(predicted: Tokens, target: Tokens) -> float:
    """In percent."""
    if not predicted or not target:
        return 100.0 if not predicted and not target else 0.0
    common = common_length(predicted, target)
    precision, recall = common / len(predicted), common / len(target)
    return 100.0 * (2.0 * precision * recall / (precision + recall)) if common else 0.0
