"""All that decides a run's next number, beyond the model, the optimizer and the schedule.

Those three are Burn's files, which Burn must be able to load, so nothing of ours is in them. A resumed run of Burn has
lost the rest: which batches of the epoch are done, the dropout masks to come, what was best so far, the metrics' sums.
Here it is one more file beside the three, `state-{n}.bpk`, written and read like any record. It holds nothing of the
time, the process or the machine, so equal runs write equal bytes.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from minburn.pack import PackError, Reader, Writer, WriteReport
from minburn.tensor import TensorData
from minburn.train.checkpoint.error import CheckpointError
from minburn.train.checkpoint.file import check_number
from minburn.train.checkpoint.state_codec import decode_state, encode_state


@dataclass(frozen=True, kw_only=True)
class RunState:
    """Where a run is. `Any` is a tree of dicts with text keys, lists, text, numbers, bools, None and tensors."""

    epoch: int
    """The epoch in progress, from 1. After the end of epoch e it is e + 1."""
    batch: int = 0
    """Batches of that epoch that were trained."""
    global_step: int
    """Batches trained in the whole run."""
    optimizer_steps: int = 0
    last_lr: float = 0.0
    finished: bool = False
    streams: Mapping[str, Any] = field(default_factory=dict)
    """Seeds and counters of the random streams, by backend."""
    kept_epochs: tuple[int, ...] = ()
    """The epochs whose checkpoints are to stay."""
    strategy: Any = None
    early_stopping: Any = None
    history: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Values per epoch, by split and metric."""
    metrics: Mapping[str, Any] = field(default_factory=dict)
    """What the metrics hold in the middle of an epoch."""
    accumulated: Mapping[str, TensorData] = field(default_factory=dict)
    """Gradients in the middle of an accumulation group, by parameter."""
    accumulated_count: int = 0
    logs: Mapping[str, int] = field(default_factory=dict)
    """Bytes of each log file at this point, by path within the run."""
    fingerprint: Mapping[str, Any] = field(default_factory=dict)
    """What the run is made of; see `describe_changes`."""

    def __post_init__(self) -> None:
        for name in ("epoch", "batch", "global_step", "optimizer_steps", "accumulated_count"):
            check_number(f"RunState: {name}", getattr(self, name))
        if not isinstance(self.kept_epochs, list | tuple | set | frozenset):
            raise CheckpointError(f"RunState: kept_epochs must be a list of epochs, but got {self.kept_epochs!r}.")
        for epoch in self.kept_epochs:
            check_number("RunState: kept_epochs", epoch)
        object.__setattr__(self, "kept_epochs", tuple(sorted(self.kept_epochs)))

    def save(self, path: str | os.PathLike[str], *, digest: bool = False) -> WriteReport:
        """Write a burnpack file, replacing an old one only when the new one is complete."""
        try:
            return self._writer().write_to_file(path, digest=digest)
        except PackError as error:
            raise CheckpointError(f"save: {error}") from error

    def into_bytes(self) -> bytes:
        """The same file in memory."""
        return self._writer().into_bytes()

    @staticmethod
    def load(path: str | os.PathLike[str]) -> RunState:
        """Read a state. CheckpointError naming the file if it is missing, damaged, or something else."""
        try:
            with Reader.from_file_exact(path) as reader:
                return RunState._from_tree(decode_state(reader, str(path)), str(path))
        except PackError as error:
            raise CheckpointError(f"load: {error}") from error

    @staticmethod
    def from_bytes(data: bytes | bytearray | memoryview) -> RunState:
        try:
            return RunState._from_tree(decode_state(Reader.from_bytes(data), "<bytes>"), "<bytes>")
        except PackError as error:
            raise CheckpointError(f"from_bytes: {error}") from error

    def _writer(self) -> Writer:
        return encode_state({item.name: getattr(self, item.name) for item in dataclasses.fields(self)})

    @staticmethod
    def _from_tree(tree: dict[str, Any], where: str) -> RunState:
        fields = {item.name: item for item in dataclasses.fields(RunState)}
        unknown = [name for name in tree if name not in fields]
        if unknown:
            raise CheckpointError(f"{where}: not a run's state: it has the entry {unknown[0]!r}.")
        for name, item in fields.items():
            required = item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING
            if required and name not in tree:
                raise CheckpointError(f"{where}: not a run's state: it has no {name}.")
            if name in tree and item.default_factory is dict and not isinstance(tree[name], dict):
                raise CheckpointError(f"{where}: {name} is {type(tree[name]).__name__}, not a dict.")
        return RunState(**tree)
