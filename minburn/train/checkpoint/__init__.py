"""Checkpoints: single files as Burn writes them, and sets of them that are there whole or not at all."""

from minburn.train.checkpoint.error import CheckpointError, CheckpointWarning
from minburn.train.checkpoint.file import FileCheckpointer
from minburn.train.checkpoint.fingerprint import describe_changes
from minburn.train.checkpoint.layout import SetId
from minburn.train.checkpoint.run_state import RunState
from minburn.train.checkpoint.store import CheckpointSet, CheckpointStore
from minburn.train.checkpoint.strategy import (
    CheckpointingStrategy,
    ComposedCheckpointingStrategy,
    Delete,
    EpochHistory,
    KeepLastNCheckpoints,
    MetricCheckpointingStrategy,
    Save,
    best_epoch,
    default_strategy,
)

__all__ = [
    "CheckpointError",
    "CheckpointSet",
    "CheckpointStore",
    "CheckpointWarning",
    "CheckpointingStrategy",
    "ComposedCheckpointingStrategy",
    "Delete",
    "EpochHistory",
    "FileCheckpointer",
    "KeepLastNCheckpoints",
    "MetricCheckpointingStrategy",
    "RunState",
    "Save",
    "SetId",
    "best_epoch",
    "default_strategy",
    "describe_changes",
]
