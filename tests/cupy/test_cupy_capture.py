"""Recorded steps: the bits of ordinary ones, one launch, values that stay, and a reason wherever none is recorded."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cupy
import numpy as np
import pytest
from device import DEVICES, EMULATED, counted, flat, host
from rows import Row, primitive
from table import ROWS

from minburn import FloatTensor, Module, ParamGroup, Tensor
from minburn.backends import Autodiff, Backend, BackendError, BalancedCheckpointing, CuPy, Distribution
from minburn.backends.error import NotRecordable
from minburn.data import DataLoader, InMemDataset
from minburn.dtype import DType
from minburn.module import Lora
from minburn.nn import (
    BatchNormConfig,
    CrossEntropyLoss,
    Dropout,
    DropoutConfig,
    Embedding,
    EmbeddingConfig,
    GroupNormConfig,
    LayerNormConfig,
    Linear,
    LinearConfig,
    Lstm,
    LstmConfig,
    MseLoss,
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
from minburn.tensor import activation
from minburn.train import (
    CaptureWarning,
    ClassificationOutput,
    Interrupter,
    Learner,
    LossMetric,
    Renderer,
    SupervisedTraining,
    TrainOutput,
)
from minburn.train.recorded import RecordedStep

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "train"))
from train_models import FAMILIES as MODELS
from train_program import Program, assert_same_run, parameters

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


class Net(Module):
    """trained: what else a training step does with the loss."""

    first: Linear
    dropout: Dropout
    last: Linear
    trained: Callable[[FloatTensor], Any] = lambda loss: loss

    def train_step(self, batch: Any) -> TrainOutput:
        inputs, targets = batch
        loss = MseLoss()(self.last(self.dropout(activation.tanh(self.first(inputs)))), targets)
        item = self.trained(loss)
        return TrainOutput(self, loss.backward(), item if isinstance(item, dict) else {"loss": loss})

    def inference_step(self, batch: Any) -> dict[str, FloatTensor]:
        inputs, targets = batch
        return {"loss": MseLoss()(self.last(self.first(inputs)), targets)}


def net(backend: Backend, trained: Callable[[FloatTensor], Any] = lambda loss: loss) -> Net:
    first, last = LinearConfig(3, 5).init(backend), LinearConfig(5, 2).init(backend)
    return Net(first=first, dropout=DropoutConfig(0.3).init(), last=last, trained=trained)


class Batches:
    """Equal batches but for their numbers. `then`: called before each."""

    def __init__(self, backend: Backend, count: int = 8, then: Callable[[int], Any] = lambda number: None) -> None:
        self.backend, self.count, self.then = backend, count, then

    def __len__(self) -> int:
        return self.count

    def iter_epoch(self, epoch: int, start_batch: int = 0) -> Iterator[Any]:
        for number in range(start_batch, self.count):
            self.then(number)
            rng = np.random.default_rng((epoch, number))
            arrays = rng.standard_normal((4, 3)), rng.standard_normal((4, 2))
            yield tuple(Tensor.from_data(array, self.backend) for array in arrays)


def train(folder: Path, learner: Learner[Any], loader: Any = None, **options: Any) -> Any:
    backend = learner.backend
    loader = Batches(backend) if loader is None else loader
    settings = {"renderer": Renderer(), "checkpoints": False, **options}
    return SupervisedTraining(folder, loader, Batches(backend.inner, 1), **settings).launch(learner)


def weights(model: Module) -> list[Any]:
    return [param.value.inner().numpy() for param in parameters(model)]


def start(seed: int = 3) -> Autodiff:
    return Autodiff(CuPy(seed=seed))


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


class Layers(Module):
    """One after the other; a recurrent one sees three times the same."""

    layers: list[Any]

    def forward(self, x: FloatTensor) -> FloatTensor:
        for layer in self.layers:
            if isinstance(layer, Lstm):
                x = layer(x.unsqueeze_dim(1).repeat_dim(1, 3))[0].sum_dim(1).squeeze_dim(1)
            else:
                x = layer(x)
        return x

    def train_step(self, batch: Any) -> TrainOutput:
        item = self.inference_step(batch)
        return TrainOutput(self, item["loss"].backward(), item)

    def inference_step(self, batch: Any) -> dict[str, FloatTensor]:
        inputs, targets = batch
        return {"loss": MseLoss()(self(inputs), targets)}


def frozen(backend: Backend) -> Layers:
    return Layers(layers=[LinearConfig(3, 5).init(backend).freeze(), LinearConfig(5, 2).init(backend)])


def tied(backend: Backend) -> Layers:
    shared = LinearConfig(3, 3).init(backend)
    return Layers(layers=[shared, shared, LinearConfig(3, 2).init(backend)])


def normed(backend: Backend) -> Layers:
    norms = [config.init(backend) for config in (BatchNormConfig(6), GroupNormConfig(2, 6), LayerNormConfig(6))]
    return Layers(layers=[LinearConfig(3, 6).init(backend), *norms, LinearConfig(6, 2).init(backend)])


def recurrent(backend: Backend) -> Layers:
    return Layers(layers=[LstmConfig(3, 4, bias=True).init(backend), LinearConfig(4, 2).init(backend)])


def adapted(backend: Backend) -> Layers:
    plain = Layers(layers=[LinearConfig(3, 6).init(backend), LinearConfig(6, 2).init(backend)])
    return plain.apply_lora(Lora(rank=2, alpha=4.0, param_group=ParamGroup.all()))


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


# The recorder


WAITING = {
    "into_data": "asks for a value on the host",
    "argwhere": "D2H transfers are disallowed|asks for a value",
    "argsort": "cannot be captured",  # CuPy's sort waits
    "random": "from a stream that the run does not know",  # of a key of its own
}


@pytest.mark.parametrize("row", [row for row in ROWS if row.cases], ids=lambda row: row.name)
def test_every_op_is_recorded_or_refused(row: Row) -> None:
    """Recorded on some inputs, replayed on others: the bits of the op on these."""
    backend = CuPy(seed=1)
    op = getattr(getattr(backend, row.table), row.op)
    for case in row.cases[: 1 if row.op in WAITING else 2]:
        arguments = [primitive(backend, argument) for argument in case]
        arrays = list(arrays_of(arguments))
        recorder = backend.recorder([backend.streams])
        held = recorder.hold(arrays)
        given = with_arrays(arguments, iter(held))
        if row.op in WAITING:
            with pytest.raises(NotRecordable, match=WAITING[row.op]):
                recorder.record(lambda op=op, given=given: op(*given))
            continue
        results = recorder.record(lambda op=op, given=given: flat(op(*given)))
        for array in held:
            array.fill(0)
        recorder.copy(arrays, held)
        recorder.replay(recorder.scalars)
        for got, want in zip(host(results), host(flat(op(*arguments))), strict=True):
            np.testing.assert_array_equal(got, want, err_msg=f"{row.name}{case}")


def arrays_of(value: Any) -> Iterator[Any]:
    if isinstance(value, cupy.ndarray):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from arrays_of(part)


def with_arrays(value: Any, arrays: Iterator[Any]) -> Any:
    if isinstance(value, cupy.ndarray):
        return next(arrays)
    if type(value) in (list, tuple):
        return type(value)(with_arrays(part, arrays) for part in value)
    return value


def test_streams_and_scalars_move_on() -> None:
    backend = CuPy(seed=5)

    def draw() -> Any:
        parts = [Tensor.random([3, 4], backend, Distribution.Normal(0.0, 1.0), stream) for stream in "abab"]
        return [part.primitive for part in parts]

    expected = [host(draw()) for _ in range(3)]
    after = backend.streams.state()
    backend.streams.load_state({})
    recorder = backend.recorder([backend.streams])
    found = recorder.record(draw)
    assert backend.streams.state() == {"a": 0, "b": 0}
    for want in expected:
        recorder.replay(())
        for one, two in zip(host(found), want, strict=True):
            np.testing.assert_array_equal(one, two)
    assert backend.streams.state() == after


@emulated
def test_copies_of_neighbours_go_together() -> None:
    recorder = CuPy().recorder([])
    arrays = [cupy.arange(size, dtype=np.float32) for size in (3, 200, 1, 40)]
    held = recorder.hold(arrays)
    with counted() as counts:
        copies = recorder.copies(held)
    assert counts.on_device == 1
    with counted() as counts:
        recorder.copy([held[0], held[2], held[3]], [copies[0], copies[2], copies[3]])
    assert counts.on_device == 2  # not over what lies between
    for one, two in zip(host(copies), host(arrays), strict=True):
        np.testing.assert_array_equal(one, two)
    turned = cupy.arange(6.0).reshape(2, 3).T
    [copy] = recorder.copies([turned])
    assert copy.strides == turned.strides
    np.testing.assert_array_equal(host(copy), host(turned))


@emulated
def test_the_emulated_device_refuses_what_cuda_does() -> None:
    stream, array = cupy.cuda.Stream(non_blocking=True), cupy.ones(3)
    for forbidden in (
        lambda: stream.synchronize(),
        lambda: cupy.cuda.Device().synchronize(),
        lambda: cupy.cuda.Memory(1 << 20),
        lambda: array.get(),
        lambda: cupy.asarray(np.ones(3)),
        lambda: cupy.cuda.Stream.null.begin_capture(),
    ):
        with stream:
            stream.begin_capture()
            with pytest.raises(RuntimeError):
                forbidden()
            with contextlib.suppress(RuntimeError):
                stream.end_capture()
        assert not stream.is_capturing()
