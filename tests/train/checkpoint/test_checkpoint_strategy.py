"""Which epochs are kept: Burn's worked example, ties, and decisions that survive a restart."""

from __future__ import annotations

import math
import random

import pytest

from minburn.train.checkpoint import (
    CheckpointError,
    CheckpointingStrategy,
    ComposedCheckpointingStrategy,
    Delete,
    KeepLastNCheckpoints,
    MetricCheckpointingStrategy,
    Save,
    best_epoch,
    default_strategy,
)
from minburn.train.vocabulary import Direction, Split


class Losses:
    """A history of one metric, up to some epoch."""

    def __init__(self, *values: float) -> None:
        self.values = dict(enumerate(values, start=1))

    def find_epoch(self, metric: str, direction: Direction, split: Split) -> int | None:
        assert (metric, split) == ("Loss", Split.Valid)
        return best_epoch(self.values, direction)


def play(
    strategy: CheckpointingStrategy, losses: list[float], first: int = 1, kept: set[int] | None = None
) -> set[int]:
    kept = set() if kept is None else kept
    for epoch in range(first, len(losses) + 1):
        for action in strategy.checkpointing(epoch, Losses(*losses[:epoch])):
            if isinstance(action, Save):
                kept.add(epoch)
            else:
                kept.discard(action.epoch)
    return kept


def test_the_worked_example() -> None:
    strategy = default_strategy()
    losses = [3.0, 1.0, 2.0, 4.0, 5.0]
    actions = [strategy.checkpointing(epoch, Losses(*losses[:epoch])) for epoch in range(1, 6)]
    assert actions == [[Save()], [Save()], [Save(), Delete(1)], [Save()], [Save(), Delete(3)]]
    assert play(default_strategy(), losses) == {2, 4, 5}


@pytest.mark.parametrize("seed", range(20))
def test_a_restart_after_any_epoch_decides_the_same(seed: int) -> None:
    generator = random.Random(seed)
    losses = [generator.choice([1.0, 2.0, 3.0, math.nan]) for _ in range(12)]
    whole = play(default_strategy(), losses)
    for stop in range(1, 12):
        first = default_strategy()
        kept = play(first, losses[:stop])
        second = default_strategy()
        second.load_state(first.into_state())
        assert play(second, losses, stop + 1, kept) == whole
    best = best_epoch(dict(enumerate(losses, start=1)), Direction.Lowest)
    assert {11, 12} <= whole <= {11, 12, best}


def test_only_the_last_n() -> None:
    assert play(KeepLastNCheckpoints(3), [0.0] * 7) == {5, 6, 7}
    with pytest.raises(CheckpointError, match="num_keep must be an int of at least 1, but got 0"):
        KeepLastNCheckpoints(0)


def test_only_the_best() -> None:
    lowest = MetricCheckpointingStrategy("Loss", Direction.Lowest, Split.Valid)
    assert play(lowest, [3, 1, 1, 2]) == {2}  # a tie does not move it
    highest = MetricCheckpointingStrategy("Loss", Direction.Highest, Split.Valid)
    assert play(highest, [3, 1, 4, 2]) == {3}
    no_numbers = MetricCheckpointingStrategy("Loss", Direction.Lowest, Split.Valid)
    assert play(no_numbers, [math.nan] * 3) == {3}


def test_a_metric_may_be_given_for_its_name() -> None:
    class Metric:
        name = "Loss"

    strategy = MetricCheckpointingStrategy(Metric(), Direction.Lowest, Split.Valid)
    assert repr(strategy) == "MetricCheckpointingStrategy('Loss', Lowest, Valid)"


def test_an_epoch_stays_while_anyone_holds_it() -> None:
    def composed() -> CheckpointingStrategy:
        return ComposedCheckpointingStrategy(
            [
                KeepLastNCheckpoints(1),
                MetricCheckpointingStrategy("Loss", Direction.Lowest, Split.Valid),
                MetricCheckpointingStrategy("Loss", Direction.Highest, Split.Valid),
            ]
        )

    assert play(composed(), [2, 1, 3, 2, 2]) == {2, 3, 5}
    with pytest.raises(CheckpointError, match="at least one"):
        ComposedCheckpointingStrategy([])


def test_another_strategys_state_is_refused() -> None:
    metric = MetricCheckpointingStrategy("Loss", Direction.Lowest, Split.Valid)
    for strategy, state in [
        (KeepLastNCheckpoints(2), {"best": 1}),
        (metric, None),
        (metric, {"best": "1"}),
        (default_strategy(), None),
        (default_strategy(), {"best": 1}),
        (default_strategy(), {"released": [[]], "strategies": [None]}),
    ]:
        with pytest.raises(CheckpointError, match="another strategy's"):
            strategy.load_state(state)


def test_nan_is_never_best() -> None:
    assert best_epoch({1: math.nan, 2: 5.0, 3: 5.0}, Direction.Lowest) == 2
    assert best_epoch({}, Direction.Lowest) is None
    assert best_epoch({7: math.inf}, Direction.Lowest) == 7
