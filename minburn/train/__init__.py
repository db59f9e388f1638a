"""Training: a learner, the loop that trains it, metrics, logs, checkpoints, and exact resuming.

    result = SupervisedTraining("runs/digits", train_loader, valid_loader, num_epochs=40,
                                metrics=[LossMetric(), AccuracyMetric()], resume="auto"
                                ).launch(Learner(model, AdamConfig().init(), 1e-3))

Order of events: loop.py. What a checkpoint is: checkpoint/. How it is found again: resume.py.
"""

from minburn.train.checkpoint import (
    CheckpointError,
    CheckpointingStrategy,
    ComposedCheckpointingStrategy,
    FileCheckpointer,
    KeepLastNCheckpoints,
    MetricCheckpointingStrategy,
)
from minburn.train.early_stopping import EarlyStoppingStrategy, MetricEarlyStoppingStrategy
from minburn.train.error import TrainingError
from minburn.train.history import History
from minburn.train.interrupt import Interrupter
from minburn.train.learner import Learner
from minburn.train.lock import LockError
from minburn.train.metric import (
    AccuracyMetric,
    LearningRateMetric,
    LossMetric,
    MeanMetric,
    Metric,
    MetricEntry,
    MetricMetadata,
)
from minburn.train.output import ClassificationOutput, RegressionOutput, TrainOutput
from minburn.train.render import LiveRenderer, PlainRenderer, Renderer
from minburn.train.resume import TrainingWarning
from minburn.train.training import Interruption, LearningResult, SupervisedTraining
from minburn.train.vocabulary import Direction, Split

__all__ = [
    "AccuracyMetric",
    "CheckpointError",
    "CheckpointingStrategy",
    "ClassificationOutput",
    "ComposedCheckpointingStrategy",
    "Direction",
    "EarlyStoppingStrategy",
    "FileCheckpointer",
    "History",
    "Interrupter",
    "Interruption",
    "KeepLastNCheckpoints",
    "Learner",
    "LearningRateMetric",
    "LearningResult",
    "LiveRenderer",
    "LockError",
    "LossMetric",
    "MeanMetric",
    "Metric",
    "MetricCheckpointingStrategy",
    "MetricEarlyStoppingStrategy",
    "MetricEntry",
    "MetricMetadata",
    "PlainRenderer",
    "RegressionOutput",
    "Renderer",
    "Split",
    "SupervisedTraining",
    "TrainOutput",
    "TrainingError",
    "TrainingWarning",
]
