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
from minburn.train.error import CaptureWarning, TrainingError
from minburn.train.evaluator import EvaluationResult, Evaluator
from minburn.train.history import History
from minburn.train.interrupt import Interrupter
from minburn.train.learner import Learner
from minburn.train.lock import LockError
from minburn.train.metric import (
    AccuracyMetric,
    AucPrMetric,
    AurocMetric,
    BleuScore,
    CharErrorRate,
    ClassReduction,
    FBetaScoreMetric,
    HammingScore,
    LearningRateMetric,
    LossMetric,
    MeanMetric,
    Metric,
    MetricEntry,
    MetricMetadata,
    PerplexityMetric,
    PrecisionMetric,
    RecallMetric,
    RougeLScore,
    Several,
    TopKAccuracyMetric,
    WordErrorRate,
)
from minburn.train.output import (
    ClassificationOutput,
    MultiLabelClassificationOutput,
    RegressionOutput,
    SequenceOutput,
    TrainOutput,
)
from minburn.train.render import LiveRenderer, PlainRenderer, Renderer
from minburn.train.resume import TrainingWarning
from minburn.train.training import Interruption, LearningResult, SupervisedTraining
from minburn.train.vocabulary import Direction, Split

__all__ = [
    "AccuracyMetric",
    "AucPrMetric",
    "AurocMetric",
    "BleuScore",
    "CaptureWarning",
    "CharErrorRate",
    "CheckpointError",
    "CheckpointingStrategy",
    "ClassReduction",
    "ClassificationOutput",
    "ComposedCheckpointingStrategy",
    "Direction",
    "EarlyStoppingStrategy",
    "EvaluationResult",
    "Evaluator",
    "FBetaScoreMetric",
    "FileCheckpointer",
    "HammingScore",
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
    "MultiLabelClassificationOutput",
    "PerplexityMetric",
    "PlainRenderer",
    "PrecisionMetric",
    "RecallMetric",
    "RegressionOutput",
    "Renderer",
    "RougeLScore",
    "SequenceOutput",
    "Several",
    "Split",
    "SupervisedTraining",
    "TopKAccuracyMetric",
    "TrainOutput",
    "TrainingError",
    "TrainingWarning",
    "WordErrorRate",
]
