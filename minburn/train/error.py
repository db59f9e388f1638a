"""What a training run refuses, or stops with. The errors of checkpoints derive from it."""

from __future__ import annotations


class CaptureWarning(UserWarning):
    """Steps of Learner(capture=True) run as usual: the text says which, and why."""


class TrainingError(RuntimeError):
    """A run cannot start as it was described, or cannot go on: the text says what to do. No checkpoint was damaged."""
