"""The random streams that a run draws from, so that a resumed one draws the same numbers.

The model's backend has streams, and so has the backend that the batcher puts its batches on. Usually both are one
value; if not, the second is found in the first batch: dropout, for one, draws from the backend of its input.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from minburn.backends import Backend
from minburn.backends.rng import Streams
from minburn.tensor import Tensor
from minburn.train.error import TrainingError
from minburn.train.parts import field_names

MODEL = "model"
BATCH = "batch"


class RunStreams:
    """`{"model": {"seed": 42, "counters": {"dropout": 12}}}`, and "batch", "batch.1" … where there are others."""

    def __init__(self, backend: Backend) -> None:
        self._known = {MODEL: backend.streams}
        self._waiting: dict[str, Any] = {}
        self._looked = False

    def known(self) -> list[Streams]:
        """All of them, once a batch was looked at."""
        return list(self._known.values())

    def state(self) -> dict[str, Any]:
        found = {
            name: {"seed": streams.seed, "counters": dict(streams.state())} for name, streams in self._known.items()
        }
        return {**self._waiting, **found}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """The model's streams now, the others when their first batch comes."""
        self._waiting = dict(state)
        self._restore(MODEL)

    def look(self, batch: Any) -> None:
        """Called with every batch before it is used; only the first is looked at."""
        if self._looked:
            return
        self._looked = True
        for tensor in tensors_in(batch):
            streams = tensor.backend.streams
            if all(streams is not known for known in self._known.values()):
                others = len(self._known) - 1
                name = f"{BATCH}.{others}" if others else BATCH
                self._known[name] = streams
                self._restore(name)

    def _restore(self, name: str) -> None:
        state = self._waiting.pop(name, None)
        if state is None:
            return
        streams = self._known[name]
        if streams.seed != state["seed"]:
            raise TrainingError(
                f"resume: the {name}'s backend had the seed {state['seed']}, now it has {streams.seed}. "
                "Build it with the same seed, as NumPy(seed=42): without one, every process draws another."
            )
        streams.load_state(state["counters"])


def tensors_in(value: Any, depth: int = 3) -> Iterator[Tensor]:
    """The tensors of a batch: itself, or in its fields, lists, tuples and dicts."""
    if isinstance(value, Tensor):
        yield value
    elif depth:
        if isinstance(value, Mapping):
            parts: list[Any] = list(value.values())
        elif isinstance(value, (list, tuple)):
            parts = list(value[:64])
        else:
            parts = [getattr(value, name) for name in field_names(value)]
        for part in parts:
            yield from tensors_in(part, depth - 1)
