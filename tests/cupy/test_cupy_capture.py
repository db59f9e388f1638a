"""Recorded steps: the bits of ordinary ones, one launch, values that stay, and a reason wherever none is recorded."""

from __future__ import annotations

import dataclasses
import itertools
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from capture_models import Batches, Net, adapted, frozen, net, normed, recurrent, start, tied, train, weights
from device import DEVICES, EMULATED, counted

from minburn import FloatTensor, Module, Tensor
from minburn.backends import Autodiff, Backend, BackendError, BalancedCheckpointing, CuPy, Distribution
from minburn.data import DataLoader, InMemDataset
from minburn.dtype import DType
from minburn.nn import (
    CrossEntropyLoss,
    Embedding,
    EmbeddingConfig,
)
from minburn.optim import (
    AdaGradConfig,
    AdamConfig,
    AdanConfig,
    CosineAnnealingLrSchedulerConfig,
    GradientClippingConfig,
    LambConfig,
    LionConfig,
    RmsPropConfig,
    SgdConfig,
)
from minburn.train import (
    CaptureWarning,
    ClassificationOutput,
    Interrupter,
    Learner,
    LossMetric,
    TrainOutput,
)
from minburn.train.recorded import RecordedStep

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "train"))
from train_models import FAMILIES as MODELS
from train_program import Program, assert_same_run

emulated = pytest.mark.skipif(not EMULATED, reason="counts are known on the emulated device only")
SHAPE = "a batch runs as usual: batch.* where the step was recorded"


@pytest.fixture
def replays(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What each replay did to the device."""
    found: list[Any] = []
    replay = RecordedStep.replay

    def counting(self: Any, *args: Any) -> Any:
        if not EMULATED:
            found.append(None)
            return replay(self, *args)
        with counted() as counts:
            item = replay(self, *args)
        found.append(counts)
        return item

    monkeypatch.setattr(RecordedStep, "replay", counting)
    return found


# A run of the training tests: five batches an epoch, the last one smaller

FAMILIES = [("mlp", "adam", "cosine"), ("cnn", "sgd", "cosine"), ("gpt", "adamw clipped", "noam")]
families = pytest.mark.parametrize(("family", "optimizer", "schedule"), FAMILIES, ids=[case[0] for case in FAMILIES])


def program(folder: Path, like: Program | None = None, **settings: Any) -> Program:
    """One that starts from the same model, with the same ids, as another."""
    if like is not None:
        return dataclasses.replace(like, run_dir=folder, **settings)
    made = Program(folder, batch_size=4, items=18, **{"epochs": 2, **settings})
    made.model = MODELS[made.family].new_model(Autodiff(CuPy(seed=made.seed)))
    return made


@families
def test_a_recorded_run_writes_the_files_of_an_ordinary_one(
    family: str, optimizer: str, schedule: str, tmp_path: Path, replays: list[Any]
) -> None:
    """Files hold the parameters, running values, optimizer, schedule, streams, losses and accuracies.

    A replay is two launches, of the numbers and of the graph; the two tensors of a batch are copied in, the readings of
    all metrics out.
    """
    ordinary = program(tmp_path / "ordinary", family=family, optimizer=optimizer, schedule=schedule)
    ordinary.launch()
    assert not replays
    with pytest.warns(CaptureWarning, match=SHAPE):
        program(tmp_path / "recorded", ordinary, capture=True).launch()
    assert len(replays) == 8 - 2  # without the smaller ones, and the first two; the first replay is compared only
    assert_same_run(tmp_path / "recorded", tmp_path / "ordinary")
    for counts in replays[1:] if EMULATED else []:
        assert (counts.launches, counts.on_device) == (2, 3)
        assert (counts.syncs, counts.to_host, counts.to_device) == (0, 0, 0)


@pytest.mark.filterwarnings("ignore::minburn.train.CaptureWarning")
@families
def test_a_run_goes_on_with_or_without(
    family: str, optimizer: str, schedule: str, tmp_path: Path, replays: list[Any]
) -> None:
    """Stopped in the middle of both epochs, and every launch the other way than the one before."""
    settings = {"family": family, "optimizer": optimizer, "schedule": schedule}
    whole = program(tmp_path / "whole", options={"checkpoint_every_steps": 4}, **settings)
    whole.launch()
    every: list[tuple[bool, ...]] = [(True, False, True), (False, True, True)]
    if family == "mlp":
        every = list(itertools.product([False, True], repeat=3))[1:]
    for ways in every if family != "gpt" else every[:1]:  # slow on the emulated device
        name = "".join("on " if way else "off " for way in ways)
        for stop, capture in zip([4, 9, None], ways, strict=True):
            interrupter = Interrupter()
            part = program(tmp_path / name, whole, capture=capture, interrupter=interrupter)
            part.watch = lambda number, stop=stop, it=interrupter: it.stop("test") if number == stop else None
            part.launch()
        assert_same_run(tmp_path / name, tmp_path / "whole")
    assert replays


# A small model, step by step


CONFIGS = [AdaGradConfig(), AdanConfig(), LionConfig(), RmsPropConfig(centered=True), AdamConfig(amsgrad=True)]


@pytest.mark.parametrize("config", CONFIGS, ids=[type(config).__name__ for config in CONFIGS])
def test_optimizers(config: Any, tmp_path: Path, replays: list[Any]) -> None:
    ends = []
    for capture in (False, True):
        result = train(tmp_path / str(capture), Learner(net(start()), config.init(), 0.01, capture=capture))
        ends.append(weights(result.model))
    assert len(replays) == 6
    for one, two in zip(*ends, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("dtype", [DType.F64, DType.F16])
def test_dtypes(dtype: DType, tmp_path: Path, replays: list[Any]) -> None:
    ends = []
    for capture in (False, True):
        backend = Autodiff(CuPy(seed=3, float_dtype=dtype))
        clipped = AdamConfig(grad_clipping=GradientClippingConfig.Norm(0.1))
        schedule = CosineAnnealingLrSchedulerConfig(0.1, num_iters=8).init()
        ends.append(
            weights(
                train(tmp_path / str(capture), Learner(net(backend), clipped.init(), schedule, capture=capture)).model
            )
        )
    assert len(replays) == 6
    for one, two in zip(*ends, strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_small_batch_is_not_what_is_recorded(tmp_path: Path, replays: list[Any]) -> None:
    """A run that goes on at the end of an epoch meets it first."""
    backend = start()

    class Ends(Batches):
        def iter_epoch(self, epoch: int, start_batch: int = 0) -> Iterator[Any]:
            for number, (inputs, targets) in enumerate(super().iter_epoch(epoch, start_batch)):
                yield (inputs[:2], targets[:2]) if number in (2, 6) else (inputs, targets)

    text = reason_of(tmp_path, Learner(net(backend), AdamConfig().init(), 0.1, capture=True), Ends(backend))
    assert text == "a batch runs as usual: batch[0] is [2, 3], but [4, 3] where the step was recorded."
    assert len(replays) == 4


def test_models_and_items_are_values(tmp_path: Path, replays: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """What was taken out between replays does not change by those that follow; nor does the model that went in."""
    from minburn.train import training

    loops: list[Any] = []
    make = training.loop_of
    monkeypatch.setattr(training, "loop_of", lambda *given: loops.append(make(*given)) or loops[0])
    models: list[Any] = []
    items: list[Any] = []

    class Watch(LossMetric):
        def measure(self, item: Any, metadata: Any) -> Any:
            items.append((item["loss"].inner(), item["loss"].inner().numpy()))
            return (0.0, 1)

    def look(number: int) -> None:
        if number in (4, 6, 7):
            models.append((loops[0].model, weights(loops[0].model)))

    backend = start()
    model = net(backend)
    models.append((model, weights(model)))
    learner = Learner(model, AdamConfig().init(), 0.01, capture=True)
    train(tmp_path, learner, Batches(backend, then=look), metrics=[Watch()])
    assert len(replays) == 6
    for kept, was in models:
        for one, two in zip(weights(kept), was, strict=True):
            np.testing.assert_array_equal(one, two)
    assert len({id(kept) for kept, _ in models}) == 4
    for loss, number in items:
        np.testing.assert_array_equal(loss.numpy(), number)


LEVELS = {
    "checkpointing": lambda backend: Autodiff(backend, BalancedCheckpointing),
    "twice": lambda backend: Autodiff(Autodiff(backend)),
    "plain": Autodiff,
}


@pytest.mark.parametrize("device", range(min(DEVICES, 2)))
@pytest.mark.parametrize("level", LEVELS)
def test_levels_and_devices(level: str, device: int, tmp_path: Path, replays: list[Any]) -> None:
    def cyclic(loss: FloatTensor) -> None:
        """Memory that only the collector gives back."""
        cycle: list[Any] = [loss * 2.0]
        cycle.append(cycle)

    ends = []
    for capture in (False, True):
        backend = LEVELS[level](CuPy(device=device, seed=3))
        learner = Learner(net(backend, cyclic), AdamConfig().init(), 0.01, capture=capture)
        ends.append(weights(train(tmp_path / str(capture), learner).model))
    assert len(replays) == 6
    for one, two in zip(*ends, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("make", [frozen, tied, normed, recurrent, adapted])
def test_models(make: Callable[[Backend], Any], tmp_path: Path, replays: list[Any]) -> None:
    ends = []
    for capture in (False, True):
        learner = Learner(make(start()), AdamConfig().init(), 0.01, capture=capture)
        ends.append(weights(train(tmp_path / str(capture), learner).model))
    assert len(replays) == 6
    for one, two in zip(*ends, strict=True):
        np.testing.assert_array_equal(one, two)


class Classes(Module):
    """Learns which class a token is."""

    table: Embedding

    def train_step(self, batch: Any) -> TrainOutput:
        item = self.inference_step(batch)
        return TrainOutput(self, item.loss.backward(), item)

    def inference_step(self, batch: Any) -> ClassificationOutput:
        tokens, targets = batch
        logits = self.table(tokens.unsqueeze()).squeeze_dim(0)
        return ClassificationOutput(CrossEntropyLoss()(logits, targets), logits, targets)


def test_a_wrong_index_in_a_replay_is_an_error(tmp_path: Path, replays: list[Any]) -> None:
    """The kernels of the graph refuse it; the host hears of it when it looks, which is before any save."""
    backend = start()

    class Tokens(Batches):
        def iter_epoch(self, epoch: int, start_batch: int = 0) -> Iterator[Any]:
            for number in range(self.count):
                tokens = [0, 1, 7 if number == 6 else 2]
                yield Tensor.from_ints(tokens, self.backend), Tensor.from_ints([1, 0, 1], self.backend)

    model = Classes(table=EmbeddingConfig(5, 3).init(backend))
    learner = Learner(model, SgdConfig().init(), 0.1, capture=True)
    with pytest.raises(BackendError, match="index 7 is out of bounds for a dimension of size 5"):
        train(tmp_path, learner, Tokens(backend), checkpoints=True)
    assert len(replays) == 6
    assert not list(tmp_path.rglob("*.bpk"))


# Where nothing is recorded


def reason_of(folder: Path, learner: Learner[Any], loader: Any = None, **options: Any) -> str:
    """The one warning of a run, which ends as an ordinary one does."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        train(folder, learner, loader, **options)
    [text] = [str(warning.message) for warning in found if warning.category is CaptureWarning]
    assert text.startswith("Learner(capture=True): ")
    return text.removeprefix("Learner(capture=True): ")


class OwnNet(Net):
    def optimize(self, optim: Any, lr: Any, grads: Any) -> Module:
        model: Module = optim.step(lr, self, grads)
        return model


def test_what_is_never_recorded(tmp_path: Path, replays: list[Any]) -> None:
    backend = start()
    sums = reason_of(tmp_path / "1", Learner(net(backend), SgdConfig().init(), 0.1, capture=True), grads_accumulation=2)
    assert sums == "steps run as usual, as the gradients of several batches are accumulated."
    lamb = reason_of(tmp_path / "2", Learner(net(backend), LambConfig().init(), 0.1, capture=True))
    assert lamb.startswith("steps run as usual, as Lamb computes with numbers that change")
    model = net(backend)
    own = OwnNet(first=model.first, dropout=model.dropout, last=model.last, trained=model.trained)
    text = reason_of(tmp_path / "3", Learner(own, SgdConfig().init(), 0.1, capture=True))
    assert text == "steps run as usual, as OwnNet has its own optimize()."
    assert not replays


COUNT = itertools.count(1)
OTHER = CuPy(seed=9)
CANNOT: dict[str, tuple[Callable[[FloatTensor], Any], str]] = {
    "looks at its loss": (lambda loss: loss.inner().item() > 3, "it asks for a value on the host"),
    "waits": (lambda loss: loss.backend.sync(), "a synchronisation while a stream is capturing"),
    "draws elsewhere": (
        lambda loss: {"loss": loss, "noise": Tensor.random([1], OTHER, Distribution.Default)},
        "it draws random numbers from a stream that the run does not know",
    ),
    "returns an array": (lambda loss: {"loss": loss, "more": np.ones(3)}, "it has a ndarray"),
}


@pytest.mark.parametrize("name", CANNOT)
def test_steps_that_cannot_be_recorded(name: str, tmp_path: Path, replays: list[Any]) -> None:
    if name == "waits" and not EMULATED:
        pytest.skip("the text is the emulator's")
    does, reason = CANNOT[name]
    text = reason_of(tmp_path, Learner(net(start(), does), SgdConfig().init(), 0.1, capture=True))
    assert text.startswith("steps run as usual, as that of Net cannot be recorded: ")
    assert reason in text
    assert not replays


@pytest.mark.parametrize(
    ("does", "first"),
    [
        (lambda loss: {"loss": loss * float(next(COUNT))}, "item['loss']"),
        (lambda loss: {"loss": loss, "step": next(COUNT)}, "what train_step returns beside tensors"),
        (lambda loss: loss.backend.streams.get("own").reserve(4 * next(COUNT)), "how many random numbers it draws"),
    ],
)
def test_a_counter_in_python_is_found_by_the_first_replay(
    does: Callable[[FloatTensor], Any], first: str, tmp_path: Path, replays: list[Any]
) -> None:
    text = reason_of(tmp_path, Learner(net(start(), does), SgdConfig().init(), 0.1, capture=True))
    assert text == f"steps run as usual, as its first replay differs from an ordinary one, first in {first}."
    assert len(replays) == 1


def test_batches_of_another_kind_run_as_usual(tmp_path: Path, replays: list[Any]) -> None:
    backend = start()
    rows = [[float(n), 1.0, 2.0] for n in range(18)]

    class Batcher:
        def batch(self, items: Any) -> Any:
            return Tensor.from_data(items, backend), Tensor.from_data([[row[0], 0.0] for row in items], backend)

    loader: Any = DataLoader(InMemDataset(rows), Batcher(), batch_size=4)
    text = reason_of(tmp_path, Learner(net(backend), SgdConfig().init(), 0.1, capture=True), loader, num_epochs=2)
    assert text == "a batch runs as usual: batch[0] is [2, 3], but [4, 3] where the step was recorded."
    assert len(replays) == 2 + 4
