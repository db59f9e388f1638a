"""Every public entry point, one argument after the other replaced by what it cannot use: an answer, or one error that
the library raised itself, in words of its own. Never an accident from below, and nothing written."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bad_input_attention
import bad_input_custom
import bad_input_losses
import bad_input_rnn
import bad_input_store
import bad_input_tensors
import numpy as np
import pytest

import minburn
from minburn import (
    Config,
    DType,
    Module,
    ModuleRecord,
    Param,
    ParamId,
    Tensor,
    TensorData,
    data,
    nn,
    optim,
    pack,
    train,
)
from minburn.backends import Autodiff, BackendError, Distribution, NumPy
from minburn.data import digits, idx, names
from minburn.module import DTypePolicy, Flag, RunningState
from minburn.tensor import ShapeError, activation, functional

ROOT = str(Path(minburn.__file__).parent)
plain = NumPy(seed=1)
auto = Autodiff(NumPy(seed=1))
X = Tensor.from_data([[1.0, 2.0], [3.0, 4.0]], plain)
CLASSES = Tensor.from_data([0, 1], plain)
linear = nn.LinearConfig(2, 2).init(auto)
GRADS = linear(Tensor.from_data([[1.0, 2.0]], auto)).sum().backward()
items = data.InMemDataset(list(range(6)))
loader: data.DataLoader[Any] = data.DataLoader(items, lambda batch: batch, 2)


class Empty(Module):
    """No parameters."""


def stepped() -> tuple[optim.OptimizerAdaptor, Module]:
    optimizer = optim.AdamConfig().init()
    loss = linear(Tensor.from_data([[1.0, 2.0]], auto)).sum()
    model = optimizer.step(0.1, linear, optim.GradientsParams.from_grads(loss.backward(), linear))
    return optimizer, model


record = linear.into_record()
FILE = record.into_bytes()
optimizer_record = stepped()[0].into_record()
schedule_record = optim.LinearLrSchedulerConfig(0.1, 0.01, 10).init().into_record()

JUNK: list[Any] = [
    *(None, "", "a", "missing/x", "a\0b", "x" * 5000, "..", b"x", FILE, FILE[:50], bytearray(4)),
    *(0, -1, 7, 1.5, float("nan"), float("inf"), 10**30, -(10**30), 2**63, 2**64, 10**400, True, complex(1, 2)),
    *([], [1, None], [[1], [1, 2]], (), (0,), (-1, 2), (2, 3, 4), {}, {"a": 1}, set(), range(3), slice(None)),
    *(object(), int, nn.LinearConfig, nn.LinearConfig(2, 2), DType.F32, ParamId(5), np.float64(3), np.array("x")),
    *(X, CLASSES, X > 2, Tensor.from_data([1.0], auto), Tensor.zeros((0, 2), plain), X * float("nan"), RunningState(X)),
    *(plain, auto, linear, Empty(), record, optimizer_record, schedule_record, items, loader),
]


class Bowl(Module):
    """Trains on anything. What one of its steps returns can be set."""

    layer: nn.Linear

    def train_step(self, batch: Any) -> Any:
        loss = self.layer(Tensor.from_data([[1.0, 2.0]], auto)).mean()
        return train.TrainOutput(self, loss.backward(), train.RegressionOutput(loss, loss, loss))

    def inference_step(self, batch: Any) -> Any:
        return train.RegressionOutput(X.mean(), X, X)


def launch(folder: Path, step: str, returned: Any) -> None:
    bowl = type("Bowl", (Bowl,), {step: lambda *arguments: returned})(layer=linear)
    training = train.SupervisedTraining(
        folder, loader, loader, metrics=[train.LossMetric()], renderer=train.Renderer(), overwrite=True
    )
    training.launch(train.Learner(bowl, optim.AdamConfig().init(), 0.1))


def with_field(config: type[Config], field: str, **others: Any) -> Callable[[Any], Any]:
    """The config with that field, put to use."""
    return lambda value: config(**{**others, field: value}).init(plain)  # type: ignore[attr-defined]


def entries(folder: Path) -> Iterator[tuple[Callable[..., Any], tuple[Any, ...]]]:
    """What is called, and arguments that are right."""
    # nn
    yield nn.LinearConfig(2, 2).init, (plain,)
    for field in ("d_input", "d_output", "bias", "initializer", "layout"):
        yield with_field(nn.LinearConfig, field, d_input=2, d_output=2), (2,)
    for loss in (nn.CrossEntropyLossConfig, nn.BinaryCrossEntropyLossConfig):
        for field in ("weights", "smoothing", "logits"):
            yield with_field(loss, field), ([0.5, 0.5],)
    yield lambda prob: nn.DropoutConfig(prob).init(), (0.5,)
    for layer in (nn.LinearConfig(2, 2).init(plain), nn.Relu(), nn.Gelu(), nn.Tanh(), nn.Sigmoid()):
        yield layer, (X,)
    yield nn.DropoutConfig(0.3).init(), (X,)
    for norm in (nn.LayerNormConfig, nn.RmsNormConfig, nn.BatchNormConfig, nn.InstanceNormConfig):
        yield norm(2).init, (plain,)
        yield lambda size, epsilon, norm=norm: norm(size, epsilon).init(plain), (2, 0.1)
        yield norm(2).init(plain), (X,)
    yield lambda momentum: nn.BatchNormConfig(2, momentum=momentum).init(plain), (0.1,)
    yield lambda *sizes: nn.GroupNormConfig(*sizes).init(plain), (1, 2)
    yield lambda *settings: nn.LocalResponseNormConfig(*settings).init(), (3, 1.0, 1.0, 1.0)
    for config in (nn.LeakyReluConfig, nn.EluConfig, nn.CeluConfig, nn.ThresholdedReluConfig, nn.SoftShrinkConfig):
        yield lambda setting, config=config: config(setting).init(), (0.5,)
    for pair in (nn.HardSigmoidConfig, nn.SoftplusConfig, nn.HardtanhConfig, nn.ShrinkConfig, nn.RReluConfig):
        yield lambda *settings, pair=pair: pair(*settings).init(), (0.5, 0.6)
    yield lambda *settings: nn.PReluConfig(*settings).init(plain), (2, 0.1)
    for function in (
        activation.leaky_relu,
        activation.elu,
        activation.celu,
        activation.softplus,
        activation.hard_shrink,
    ):
        yield function, (X, 0.5)
    for function in (activation.softmax, activation.softmin, activation.quiet_softmax, activation.glu):
        yield function, (X, 1)
    for function in (activation.threshold, activation.hardtanh, activation.shrink, activation.hard_sigmoid):
        yield function, (X, 0.5, 0.75)
    yield activation.prelu, (X, X[0][:1])
    for field in ("channels", "kernel_size", "stride", "dilation", "groups", "padding", "bias", "initializer"):
        yield with_field(nn.Conv2dConfig, field, channels=(2, 2), kernel_size=(1, 1)), ((2, 2),)
        yield with_field(nn.ConvTranspose2dConfig, field, channels=(2, 2), kernel_size=(1, 1)), ((2, 2),)
    yield with_field(nn.Conv1dConfig, "kernel_size", channels_in=1, channels_out=1), (1,)
    yield with_field(nn.Conv1dConfig, "padding", channels_in=1, channels_out=1, kernel_size=1), (1,)
    yield nn.PaddingConfig2d.Explicit, (1, 2, 3, 4)
    yield nn.PaddingConfig1d.from_json, ('"Valid"',)
    images = X.unsqueeze().unsqueeze()
    for layer in (nn.Conv2dConfig((1, 1), (1, 1)), nn.ConvTranspose2dConfig((1, 1), (1, 1))):
        yield layer.init(plain), (images,)
    yield functional.conv2d, (images, images, None, functional.ConvOptions((1, 1), ((0, 0), (0, 0)), (1, 1)))
    for field, right in (("offset_groups", 1), ("weight_groups", 1), ("padding", nn.PaddingConfig2d.Valid())):
        yield with_field(nn.DeformConv2dConfig, field, channels=(2, 2), kernel_size=(1, 1)), (right,)
    deform, offset = nn.DeformConv2dConfig((1, 1), (1, 1)).init(plain), Tensor.zeros((1, 2, 4, 4), plain)
    yield deform, (Tensor.zeros((1, 1, 4, 4), plain), offset, Tensor.zeros((1, 1, 4, 4), plain))
    yield (
        functional.deform_conv2d,
        (images, offset, images, None, None, functional.DeformConvOptions((1, 1), (0, 0), (1, 1))),
    )
    yield functional.ConvOptions, ((1, 1), ((0, 0), (0, 0)), (1, 1), 1)
    yield functional.ConvTransposeOptions, ((1, 1), (0, 0), (0, 0), (1, 1), 1)
    yield nn.MseLoss(), (X, X, nn.Reduction.Mean)
    yield nn.CrossEntropyLoss(), (X, CLASSES)
    yield nn.BinaryCrossEntropyLoss(), (X[0], CLASSES)
    for kind in (nn.Initializer.Zeros(), nn.Initializer.KaimingUniform(1.0, False), nn.Initializer.XavierNormal(1.0)):
        yield lambda *arguments, kind=kind: kind.init_with(*arguments).value, ((2, 2), 2, 2, plain)
    # module
    for method in (linear.visit, linear.map, linear.fork, linear.to_device, linear.load_record, linear.save_file):
        yield method, (None,)
    yield linear.set_require_grad, (True,)
    yield linear.load_file, ("x",)
    yield lambda weight: linear.replace(weight=weight), (linear.weight,)
    yield lambda backend: Empty().to_device(backend), (plain,)
    yield ParamId, (3,)
    yield ParamId.parse, ("0",)
    yield ParamId.new, (plain,)
    yield RunningState, (X,)
    yield nn.LinearConfig.from_json, ("{}",)
    yield nn.LinearConfig.load, ("x",)
    yield record.with_dtype_policy, (DTypePolicy.FromRecord,)
    yield record.apply_to, (linear,)
    yield record.__getitem__, ("weight",)
    yield lambda value: Empty().load_record(value), (record,)
    for records in (ModuleRecord, optim.OptimizerRecord, optim.LrSchedulerRecord):
        yield records.load, ("x",)
        yield records.from_bytes, (FILE,)
    for weight in (linear.weight, Param.from_bool(True), Param.from_data([1], plain)):
        yield lambda function, weight=weight: None if function is int else weight.map(function), (abs,)
        for method in (weight.with_value, weight.with_id, weight.set_require_grad, weight.to_device):
            yield method, (None,)
    yield Param.from_tensor, (X,)
    yield Param.from_data, ([1.0], plain)
    yield Param.from_bool, (True,)
    yield Param.initialized, (ParamId(3), X, True)
    yield lambda id, *a: Param.uninitialized(id, Tensor.zeros, *a), (ParamId(3), plain, (2,), True)
    yield lambda init: None if init is int else Param.uninitialized(ParamId(3), init, plain, (2,)), (abs,)
    yield lambda value: Param.uninitialized(ParamId(3), lambda b: value, plain, (2, 2)).value, (X,)
    yield Flag, (True,)
    # optim
    for config in (optim.AdamConfig, optim.AdamWConfig, optim.SgdConfig):
        for field in ("beta_1", "epsilon", "weight_decay", "grad_clipping", "momentum"):
            yield lambda value, config=config, field=field: config(**{field: value}).init(), (0.5,)
    schedule = {"initial_lr": 0.1, "final_lr": 0.01, "num_iters": 10}
    for field, right in schedule.items():
        yield (
            lambda value, field=field: optim.LinearLrSchedulerConfig(**{**schedule, field: value}).init().step(),
            (right,),
        )
    yield lambda *arguments: optim.AdamConfig().init().step(*arguments), (0.1, linear, optim.GradientsParams())
    yield lambda value: optim.AdamConfig().init().load_record(value), (optimizer_record,)
    yield lambda value: optim.LinearLrSchedulerConfig(0.1, 0.01, 10).init().load_record(value), (schedule_record,)
    for constant in (optim.ConstantLr, optim.ModuleLrScheduler, optim.ModuleLrScheduler.of):
        yield lambda lr, constant=constant: float(constant(lr).step()), (0.1,)
    for collect in (optim.GradientsParams.from_grads, optim.GradientsParams.from_module):
        yield collect, (GRADS, linear)
    yield optim.GradientsParams.from_params, (GRADS, linear, [linear.weight.id])
    yield optim.GradientsParams().get, (3,)
    yield optim.GradientsParams().remove, (3,)
    yield optim.GradientsParams().__contains__, (3,)
    yield optim.GradientsAccumulator().accumulate, (linear, optim.GradientsParams.from_grads(GRADS, linear))
    yield optim.GradientsParams().register, (3, X)
    # data
    yield data.InMemDataset, ([1],)
    yield data.InMemDataset.from_dataset, (items,)
    yield items.get, (1,)
    yield items.get_many, ([1],)
    yield items.__getitem__, (1,)
    yield data.MapperDataset, (items, abs)
    yield data.ComposedDataset, ([items],)
    yield data.PartialDataset, (items, 0, 3)
    yield data.PartialDataset.split, (items, 2)
    yield data.PartialDataset.split_chunks, (items, 2, 2)
    yield data.WindowsDataset, (items, 2)
    yield data.SelectionDataset, (items, [1])
    yield data.ShuffledDataset, (items, 1)
    yield data.SamplerDataset, (items, 4)
    yield data.random_split, (items, 0.5, 1)
    yield data.stratified_split, (items, [0, 0, 0, 1, 1, 1], 0.5, 1)
    yield lambda *arguments: list(data.DataLoader(*arguments)), (items, len, 2, True, 1, 2)
    yield loader.iter_epoch, (1, 0)
    yield digits.Batcher(plain).batch, ([digits.load().get(0)],)
    yield digits.draw, (digits.load().get(0),)
    yield lambda valid: digits.split(valid, 1), (0.2,)
    yield lambda valid: names.split(valid, 1), (0.1,)
    for reading in (data.InMemDataset.from_json_rows, data.InMemDataset.from_csv, idx.read):
        yield reading, (b"no path",)
    # train
    run = folder / "run"
    learning = train.SupervisedTraining(run, loader, loader, renderer=train.Renderer())
    for name in learning.options.__dataclass_fields__:
        if name not in ("run_dir", "train_loader", "valid_loader", "label"):
            yield lambda value, name=name: train.SupervisedTraining(run, loader, loader, **{name: value}), (None,)
    yield train.SupervisedTraining, (run, loader, loader)
    yield learning.launch, (None,)
    yield train.Learner, (Bowl(layer=linear), optim.AdamConfig().init(), 0.1)
    yield train.TrainOutput, (linear, None, 1)
    yield train.KeepLastNCheckpoints, (2,)
    yield train.ComposedCheckpointingStrategy, ([train.KeepLastNCheckpoints(2)],)
    yield train.MetricCheckpointingStrategy, ("Loss", train.Direction.Lowest, train.Split.Valid)
    yield (
        lambda *a: train.MetricEarlyStoppingStrategy(*a[:3], no_improvement_since=a[3], warmup_epochs=a[4]),
        ("Loss", train.Direction.Lowest, train.Split.Valid, 2, 1),
    )
    saves = train.FileCheckpointer(folder / "own", "model")
    yield lambda name: train.FileCheckpointer(folder / "own", name), ("model",)
    yield lambda epoch: saves.save(epoch, None), (1,)
    yield lambda value: None if hasattr(value, "save") else saves.save(1, value), (record,)
    yield saves.restore, (1, ModuleRecord)
    yield train.History, ({},)
    yield train.History().value, ("valid", "Loss", 1)
    yield train.History().find_epoch, ("Loss", train.Direction.Lowest, train.Split.Valid)
    yield lambda *arguments: train.History().add_epoch(*arguments), (1, {})
    for metric in (train.LossMetric, train.AccuracyMetric):
        yield lambda item, metric=metric: metric().update(item), (None,)
        yield lambda state, metric=metric: metric().load_state(state), ({},)
        for field, right in (("loss", X.mean()), ("output", X), ("targets", CLASSES)):
            yield (
                lambda value, metric=metric, field=field: metric().update(
                    train.ClassificationOutput(**{"loss": X.mean(), "output": X, "targets": CLASSES, field: value})
                ),
                (right,),
            )
    for step in ("train_step", "inference_step", "optimize"):
        yield lambda value, step=step: launch(folder / step, step, value), (None,)
    # pack
    reader = pack.Reader.from_bytes(FILE)
    yield reader.__getitem__, ("weight",)
    yield pack.Reader.from_file, ("x",)
    yield pack.Reader.from_bytes, (FILE,)
    yield pack.Writer, ([],)
    yield pack.TensorEntry, ("a", DType.F32, (1,), bytes(4), 3)
    # backends
    yield NumPy, (1, DType.F32, DType.I32)
    yield Autodiff, (plain,)
    for backend in (plain, auto):
        yield backend.with_dtypes, (DType.F64, DType.I64)
    yield Distribution.Uniform, (0.0, 1.0)
    yield Distribution.Normal, (0.0, 1.0)
    yield Distribution.Bernoulli, (0.5,)
    # tensor
    yield from bad_input_attention.entries()
    yield from bad_input_losses.entries()
    yield from bad_input_rnn.entries()
    yield from bad_input_custom.entries()
    yield from bad_input_store.entries(folder)
    yield from bad_input_tensors.entries()
    yield Tensor.zeros, ((2, 2), plain, DType.F32)
    yield Tensor.full, ((2, 2), 1.0, plain)
    yield Tensor.random, ((2, 2), plain)
    yield Tensor.arange, (0, 3, plain)
    yield Tensor.eye, (2, plain)
    yield Tensor.from_data, ([1.0], plain, DType.F32)
    yield TensorData, (bytes(4), (1,), DType.F32)
    yield TensorData.from_numpy, (np.ones(2), DType.F32)
    yield X.into_data().cast, (DType.F16,)


SAVED = {"a.bpk"}
"""What may lie in the folder afterwards: `save_file("a")` is right."""


def is_ours(error: Exception) -> bool:
    """Raised on purpose: one of the library's own errors, or by a `raise` in it."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    statement = linecache.getline(where.filename, where.lineno or 0).strip()
    on_purpose = where.filename.startswith(ROOT) and statement.startswith("raise")
    return on_purpose or type(error).__module__.startswith("minburn.")


@pytest.mark.filterwarnings("ignore")
def test_junk_gives_one_error_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    accidents: list[str] = []
    for number, (call, right) in enumerate(entries(tmp_path)):
        for place in range(len(right)):
            for junk in JUNK:
                try:
                    call(*right[:place], junk, *right[place + 1 :])
                except Exception as error:
                    if not is_ours(error) or not str(error):
                        name = getattr(call, "__qualname__", type(call).__name__)
                        accidents.append(f"{number} {name}, argument {place} = {junk!r:.40}: {error!r:.120}")
    assert not accidents, "\n".join([str(len(accidents)), *accidents[:40]])
    assert {path.name for path in here.iterdir()} <= SAVED
    assert np.array_equal(X.numpy(), [[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize("content", [b"", b"not a file", FILE[:10], FILE[:30], FILE[:-9], FILE[1:], b"\0" * 4096])
def test_damaged_and_foreign_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file.bpk"
    path.write_bytes(content)
    for load in (ModuleRecord.load, optim.OptimizerRecord.load, optim.LrSchedulerRecord.load, pack.Reader.from_file):
        with pytest.raises(ValueError, match=r"file\.bpk"):
            load(path)
    for read in (nn.LinearConfig.load, idx.read):
        with pytest.raises(ValueError, match=r"file\.bpk"):
            read(path)
    assert path.read_bytes() == content


def test_sizes_without_an_address_are_refused() -> None:
    for shape in ([10**30], [2**40, 2**40], [0, 2**63], [1] * 65):
        with pytest.raises(ShapeError, match="is too large"):
            Tensor.zeros(shape, plain)
    with pytest.raises(ShapeError, match="is too large"):
        nn.LinearConfig(2**40, 2**40).init(plain)


@pytest.mark.parametrize("number", [10**400, float("nan"), float("inf"), "1", None, True, [1.0], np.ones(2)])
def test_what_is_no_finite_number_is_no_rate_and_no_bound(number: Any) -> None:
    with pytest.raises(optim.OptimizerError, match=r"ConstantLr: the rate must be a finite number"):
        optim.ConstantLr(number)
    with pytest.raises(optim.OptimizerError, match="learning rate"):
        optim.AdamConfig().init().step(number, linear, optim.GradientsParams())
    makers = (lambda n: Distribution.Uniform(0, n), lambda n: Distribution.Normal(n, 1.0), Distribution.Bernoulli)
    for make in makers:
        with pytest.raises(BackendError, match=r"must be a finite number"):
            make(number)


def test_a_layer_without_inputs_says_so() -> None:
    with pytest.raises(
        ValueError, match=r"fan in must be a number of at least 1, but got int 0\. .*Initializer\.Zeros"
    ):
        _ = nn.LinearConfig(0, 2).init(plain).weight.value
    empty = nn.LinearConfig(0, 2, initializer=nn.Initializer.Zeros()).init(plain)
    assert empty(Tensor.zeros((3, 0), plain)).shape == (3, 2)


def test_a_model_without_parameters(tmp_path: Path) -> None:
    empty = Empty()
    assert (empty.num_params(), empty.devices()) == (0, [])
    empty.save_file(tmp_path / "empty")
    assert isinstance(empty.load_file(tmp_path / "empty"), Empty)
    assert isinstance(optim.AdamConfig().init().step(0.1, empty, optim.GradientsParams()), Empty)
    with pytest.raises(ValueError, match="weight"):
        linear.load_record(empty.into_record())


def test_ctrl_c_before_the_training_ends_the_demo_with_130(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from minburn import demo

    def stop(**options: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo.digits, "split", stop)
    monkeypatch.setattr(demo.signal, "signal", lambda number, handler: None)
    assert demo.main([str(tmp_path / "run")]) == 130
    assert "Start it again" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
