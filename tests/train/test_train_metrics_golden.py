"""Every metric of the golden data: what Burn computed and printed, batch by batch."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from minburn.backends import NumPy
from minburn.dtype import DType
from minburn.tensor import Tensor
from minburn.train import (
    AccuracyMetric,
    AucPrMetric,
    AurocMetric,
    BleuScore,
    CharErrorRate,
    ClassReduction,
    FBetaScoreMetric,
    HammingScore,
    LossMetric,
    Metric,
    PerplexityMetric,
    PrecisionMetric,
    RecallMetric,
    RougeLScore,
    TopKAccuracyMetric,
    TrainingError,
    WordErrorRate,
)

CASES = {
    case["name"]: case
    for case in json.loads((Path(__file__).parents[1] / "golden" / "burn" / "metrics.json").read_text())["cases"]
}
BACKEND = NumPy()
DTYPES = {"F32": DType.F32, "I32": DType.I32, "Bool(Native)": DType.Bool}
MICRO = ClassReduction.Micro
METRICS: dict[str, Metric] = {
    "accuracy_pad0": AccuracyMetric(pad_token=0),
    "top_2_pad": TopKAccuracyMetric(2, pad_token=1),
    "perplexity_pad": PerplexityMetric(pad_token=2),
    "loss": LossMetric(),
    "hamming": HammingScore(),
    "hamming_sigmoid_0.7": HammingScore(0.7, sigmoid=True),
    "recall_multiclass_micro": RecallMetric.multiclass(1, MICRO),
    "precision_multilabel_micro": PrecisionMetric.multilabel(0.5, MICRO),
    "f1_multilabel_micro": FBetaScoreMetric.multilabel(1.0, 0.5, MICRO),
    "auroc_multiclass_micro": AurocMetric(MICRO),
    "auc_pr_multiclass_micro": AucPrMetric(MICRO),
    "auroc_multilabel_micro": AurocMetric(MICRO),
    "precision_multiclass_macro": PrecisionMetric.multiclass(),
    "recall_multiclass_macro": RecallMetric.multiclass(),
    "fbeta2_multiclass_macro": FBetaScoreMetric.multiclass(2.0),
    "precision_multilabel_macro": PrecisionMetric.multilabel(),
    "recall_multilabel_macro": RecallMetric.multilabel(0.4),
    "f1_multilabel_macro": FBetaScoreMetric.multilabel(),
    "auc_pr_multiclass_macro": AucPrMetric(),
    "auroc_multilabel_macro": AurocMetric(),
    "recall_binary": RecallMetric.binary(),
    "f0.5_binary": FBetaScoreMetric.binary(0.5, 0.3),
    "auroc_binary": AurocMetric(),
    "auc_pr_binary": AucPrMetric(),
    "wer_pad0": WordErrorRate(pad_token=0),
    "cer": CharErrorRate(),
    "cer_pad0": CharErrorRate(pad_token=0),
    "rouge": RougeLScore(),
    "rouge_pad0": RougeLScore(pad_token=0),
    "bleu": BleuScore(),
    "bleu_2": BleuScore(2),
    "bleu_eps": BleuScore(smoothing=0.1),
}
NAMED_AS_THEY_ARE = {"precision_multilabel_micro": "Precision @ Threshold(0.5) [Micro]"}
"""Burn calls every multilabel precision by the name of the default; here it would share its log with that one."""
IN_FLOAT64 = {name for name in CASES if name.startswith("auc_pr")}
"""Burn adds up the areas in float32."""


def tensor(data: dict[str, Any]) -> Any:
    return Tensor.from_data(data["data"], BACKEND, DTYPES[data["dtype"]]).reshape(data["shape"])


def items_of(case: dict[str, Any]) -> list[Any]:
    if case["metric"] == "Loss":
        return [SimpleNamespace(loss=tensor(data)) for data in case["inputs"]]
    items = []
    for pair in case["inputs"]:
        output = tensor(pair.get("outputs") or pair["predictions"])
        items.append(SimpleNamespace(output=output, predictions=output, targets=tensor(pair["targets"])))
    return items


def test_all_cases_have_their_metric() -> None:
    assert set(METRICS) == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_same_as_burn(name: str) -> None:
    case, metric = CASES[name], METRICS[name]
    metric.clear()
    assert metric.name == NAMED_AS_THEY_ARE.get(name, case["metric"])
    if case["attributes"] != "None":
        unit = f'Some("{metric.unit}")' if metric.unit else "None"
        assert f"unit: {unit}, higher_is_better: {str(metric.higher_is_better).lower()}" in case["attributes"]
    for item, expected in zip(items_of(case), case["updates"], strict=True):
        entry = metric.update(item)
        serialized = None if expected["serialized"] == "N/A" else expected["serialized"]
        assert (entry.formatted, entry.serialized) == (expected["formatted"], serialized)
    entry, final = metric.compute(), float(case["final"].partition("(")[2].rstrip(")"))
    assert entry.formatted == case["compute"]["formatted"]
    if name in IN_FLOAT64:
        assert metric.final_value() == pytest.approx(final, rel=1e-6)
    else:
        assert (entry.serialized, metric.final_value()) == (case["compute"]["serialized"], final)


@pytest.mark.parametrize("name", CASES)
def test_it_goes_on_in_the_middle_of_an_epoch(name: str) -> None:
    metric, items = METRICS[name], items_of(CASES[name])
    metric.clear()
    metric.update(items[0])
    state = json.loads(json.dumps(metric.into_state()))
    metric.update(items[1])
    whole = metric.compute()
    metric.clear()
    assert math.isnan(metric.running_value()) or metric.running_value() == math.inf
    metric.load_state(state)
    metric.update(items[1])
    assert metric.compute() == whole
    fresh = metric.into_state()
    with pytest.raises(TrainingError, match="is not the state of such a metric"):
        metric.load_state(dict.fromkeys(fresh, "?"))
