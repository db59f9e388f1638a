"""Training metrics: what is read off every batch and summed up for every epoch. A metric is one file: see base.py."""

from minburn.train.metric.accuracy import AccuracyMetric
from minburn.train.metric.base import MeanMetric, Metric, MetricEntry, MetricMetadata, Reading
from minburn.train.metric.learning_rate import LearningRateMetric
from minburn.train.metric.loss import LossMetric

__all__ = [
    "AccuracyMetric",
    "LearningRateMetric",
    "LossMetric",
    "MeanMetric",
    "Metric",
    "MetricEntry",
    "MetricMetadata",
    "Reading",
]
