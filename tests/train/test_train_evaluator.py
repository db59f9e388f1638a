"""The evaluator: values of whole sets, each by itself, as the validation of a run has them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from minburn import FloatTensor, Module, Tensor
from minburn.backends import Autodiff, NumPy
from minburn.data import DataLoader, PartialDataset, digits
from minburn.nn import CrossEntropyLoss, Dropout, DropoutConfig, Linear, LinearConfig
from minburn.optim import SgdConfig
from minburn.train import (
    AccuracyMetric,
    AurocMetric,
    ClassificationOutput,
    Evaluator,
    Interrupter,
    Learner,
    LossMetric,
    Renderer,
    SupervisedTraining,
    TrainingError,
    TrainOutput,
)

BACKEND = Autodiff(NumPy(seed=1))


class Model(Module):
    fc: Linear
    dropout: Dropout

    def forward(self, x: FloatTensor) -> FloatTensor:
        return self.fc(self.dropout(x.reshape([x.shape[0], -1])))

    def inference_step(self, batch: Any) -> ClassificationOutput:
        logits = self(batch.images)
        return ClassificationOutput(CrossEntropyLoss()(logits, batch.targets), logits, batch.targets)

    def train_step(self, batch: Any) -> TrainOutput:
        item = self.inference_step(batch)
        return TrainOutput(self, item.loss.backward(), item)


def new_model() -> Model:
    return Model(fc=LinearConfig(64, 10).init(BACKEND), dropout=DropoutConfig(0.5).init())


def loader(start: int, end: int, backend: Any = BACKEND.inner) -> DataLoader[Any, Any]:
    return DataLoader(PartialDataset(digits.load(), start, end), digits.Batcher(backend), batch_size=16)


def test_it_agrees_with_the_validation_of_a_run(tmp_path: Any) -> None:
    metrics = [LossMetric(), AccuracyMetric(), AurocMetric()]
    run = SupervisedTraining(
        tmp_path, loader(0, 64, BACKEND), loader(64, 150), num_epochs=1, metrics=metrics, renderer=Renderer()
    )
    result = run.launch(Learner(new_model(), SgdConfig().init(), 0.1))
    found = Evaluator(result.model, metrics).eval(loader(64, 150))
    assert found.values == {metric.name: result.history["valid"][metric.name][0] for metric in metrics}
    assert found.interrupted is None
    assert str(found) == ", ".join(f"{name} {value:.4g}" for name, value in found.values.items())
    assert found["Accuracy"] == found.values["Accuracy"] and repr(found) == f"EvaluationResult({found})"
    with pytest.raises(TrainingError, match="Evaluator: metrics must be a list of metrics, but got LossMetric"):
        Evaluator(result.model, LossMetric())  # type: ignore[arg-type]


def test_every_set_stands_for_itself_and_the_metrics_stay_fresh() -> None:
    accuracy = AccuracyMetric()
    model = new_model()  # on an autodiff backend: it is evaluated as in use, without dropout
    evaluator = Evaluator(model, [accuracy])
    sets = {"first": loader(0, 40), "second": list(loader(40, 90))}
    results = evaluator.eval_all(sets)
    assert list(results) == ["first", "second"]
    assert {name: evaluator.eval(batches).values for name, batches in sets.items()} == {
        name: found.values for name, found in results.items()
    }
    images = Tensor.cat([batch.images for batch in sets["second"]], 0)
    targets = Tensor.cat([batch.targets for batch in sets["second"]], 0)
    right = model.valid()(images).argmax(1).squeeze_dim(1).equal(targets).int().sum().item()
    assert results["second"].values["Accuracy"] == pytest.approx(100 * right / 50)
    assert accuracy.into_state()["count"] == 0


def test_an_interruption_ends_the_set_and_those_after_it() -> None:
    interrupter = Interrupter()

    def batches() -> Any:
        for number, batch in enumerate(loader(0, 64)):
            if number == 1:
                interrupter.stop("enough")
            yield batch

    evaluator = Evaluator(new_model(), [LossMetric()], interrupter)
    results = evaluator.eval_all({"first": batches(), "second": batches()})
    assert list(results) == ["first"] and results["first"].interrupted == "enough"


def test_what_cannot_be_evaluated_is_refused() -> None:
    with pytest.raises(TrainingError, match="Evaluator: Linear has no inference_step"):
        Evaluator(LinearConfig(1, 1).init(BACKEND), [])
    with pytest.raises(TrainingError, match="Evaluator: two metrics are called 'Loss'"):
        Evaluator(new_model(), [LossMetric(), LossMetric()])
    with pytest.raises(TrainingError, match=r"Evaluator: metrics must be Metric objects.*Did you mean LossMetric\(\)"):
        Evaluator(new_model(), [LossMetric])  # type: ignore[list-item]
    with pytest.raises(TrainingError, match=r"it reads \.loss of what a step returns"):
        Evaluator(new_model(), [LossMetric()]).metrics[0].update(SimpleNamespace())
