"""What running values have not committed yet: batch-norm's lag one update behind, also in the file of the model.

Burn saves the committed values only, so a run that it resumes in the middle of an epoch has lost an update. The files
stay as Burn writes them; the updates that wait go into the run's state.
"""

from __future__ import annotations

from collections.abc import Mapping

from minburn.module import Module, ModuleMapper, RunningState
from minburn.tensor import FloatTensor, Tensor, TensorData


def pending_updates(model: Module) -> dict[str, FloatTensor]:
    """The updates that wait, by the decimal id of their running value."""
    reader = _Read()
    model.map(reader)
    return reader.found


def restore_updates(model: Module, updates: Mapping[str, TensorData]) -> None:
    """Let the model's running values wait for these again."""
    model.map(_Write(updates))


class _Read(ModuleMapper):
    def __init__(self) -> None:
        self.found: dict[str, FloatTensor] = {}

    def map_running(self, state: RunningState) -> RunningState:
        update = state.pending()
        if update is not None:
            self.found[str(int(state.id))] = update
        return state


class _Write(ModuleMapper):
    def __init__(self, updates: Mapping[str, TensorData]) -> None:
        self.updates = updates

    def map_running(self, state: RunningState) -> RunningState:
        data = self.updates.get(str(int(state.id)))
        if data is not None:
            state.update(Tensor.from_data(data, state.value().backend, data.dtype))
        return state
