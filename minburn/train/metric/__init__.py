"""Training metrics: what is read off every batch and summed up for every epoch. A metric is one file: see base.py.

loss, learning_rate                        of the run
accuracy, top_k, perplexity, reading.py    of classes that exclude each other
confusion, hamming, auc                    precision, recall, F-scores, areas under curves
sequence                                   error rates of tokens, BLEU, ROUGE-L
"""

from minburn.train.metric.accuracy import AccuracyMetric
from minburn.train.metric.auc import AucPrMetric, AurocMetric
from minburn.train.metric.base import MeanMetric, Metric, MetricEntry, MetricMetadata, Reading, Several
from minburn.train.metric.confusion import ClassReduction, FBetaScoreMetric, PrecisionMetric, RecallMetric
from minburn.train.metric.hamming import HammingScore
from minburn.train.metric.learning_rate import LearningRateMetric
from minburn.train.metric.loss import LossMetric
from minburn.train.metric.perplexity import PerplexityMetric
from minburn.train.metric.sequence import BleuScore, CharErrorRate, RougeLScore, WordErrorRate
from minburn.train.metric.top_k import TopKAccuracyMetric

__all__ = [
    "AccuracyMetric",
    "AucPrMetric",
    "AurocMetric",
    "BleuScore",
    "CharErrorRate",
    "ClassReduction",
    "FBetaScoreMetric",
    "HammingScore",
    "LearningRateMetric",
    "LossMetric",
    "MeanMetric",
    "Metric",
    "MetricEntry",
    "MetricMetadata",
    "PerplexityMetric",
    "PrecisionMetric",
    "Reading",
    "RecallMetric",
    "RougeLScore",
    "Several",
    "TopKAccuracyMetric",
    "WordErrorRate",
]
