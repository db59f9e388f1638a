"""Records of optimizers and schedules: layout, exact resuming, what is refused."""

import hashlib
import os
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from helpers_optim import (
    Pair,
    backend_of,
    gradients,
    pair,
    param,
    random_gradients,
    random_pair,
    same_bits,
    values,
)

from minburn.dtype import DType
from minburn.module import ParamId, RecordError
from minburn.optim import (
    AdamConfig,
    AdamWConfig,
    ConstantLr,
    CosineAnnealingLrSchedulerConfig,
    ExponentialLrSchedulerConfig,
    LinearLrSchedulerConfig,
    LrScheduler,
    LrSchedulerRecord,
    ModuleLrScheduler,
    MomentumConfig,
    NoamLrSchedulerConfig,
    OptimizerAdaptor,
    OptimizerError,
    OptimizerRecord,
    RecordWarning,
    SgdConfig,
    SimpleOptimizer,
    StateEntry,
    StepLrSchedulerConfig,
)
from minburn.pack import Reader, Scalar, TensorEntry, Writer
from minburn.tensor import FloatTensor, TensorData

OPTIMIZERS = {
    "sgd": SgdConfig(),
    "momentum": SgdConfig(momentum=MomentumConfig(nesterov=True)),
    "adam": AdamConfig(amsgrad=True),
    "adamw": AdamWConfig(cautious_weight_decay=True),
}


@dataclass(frozen=True)
class SignState:
    velocity: FloatTensor
    time: int


@dataclass(frozen=True)
class SignDescent(SimpleOptimizer[SignState]):
    momentum: float = 0.9

    def step(self, lr, tensor, grad, state):
        velocity = grad if state is None else state.velocity * self.momentum + grad
        return tensor - velocity.sign() * lr, SignState(velocity, 1 if state is None else state.time + 1)


def make(name):
    return OptimizerAdaptor(SignDescent()) if name == "user" else OPTIMIZERS[name].init()


def train(optim, model, steps):
    for k in steps:
        model = optim.step(0.1 / (k + 1), model, random_gradients(k, model))
    return model


# Resuming


@pytest.mark.parametrize("dtype", ["F32", "F64", "F16"])
@pytest.mark.parametrize("name", [*OPTIMIZERS, "user"])
def test_resuming_is_exact_in_the_dtype_of_the_state(name, dtype, tmp_path):
    optim = make(name)
    model = train(optim, random_pair(dtype=dtype), range(5))
    optim.into_record().save(tmp_path / "optim")
    resumed = make(name).load_record(OptimizerRecord.load(tmp_path / "optim"))
    (tmp_path / "optim.bpk").unlink()  # a record lives longer than its file
    copy = model.valid().train()
    whole, again = train(optim, model, range(5, 9)), train(resumed, copy, range(5, 9))
    assert same_bits(values(whole), values(again))
    assert optim.into_record().into_bytes() == resumed.into_record().into_bytes()


@pytest.mark.parametrize("name", [*OPTIMIZERS, "user"])
def test_equal_states_are_equal_bytes(name):
    first, second = make(name), make(name)
    train(first, random_pair(), range(3))
    train(second, random_pair(), range(3))
    encoded = first.into_record().into_bytes()
    assert second.into_record().into_bytes() == encoded
    assert make(name).load_record(OptimizerRecord.from_bytes(encoded)).into_record().into_bytes() == encoded
    assert OptimizerRecord.from_bytes(encoded).into_bytes() == encoded


def test_the_order_in_which_parameters_were_met_does_not_matter():
    adam = [AdamConfig().init() for _ in range(2)]
    for optim, ids in zip(adam, ((11, 22), (22, 11)), strict=True):
        model = random_pair()
        for id in ids:
            grads = random_gradients(0, model)
            grads.remove(33 - id)
            model = optim.step(0.1, model, grads)
    assert adam[0].into_record().into_bytes() == adam[1].into_record().into_bytes()


def test_a_record_does_not_change_with_the_optimizer():
    optim = AdamConfig().init()
    model = train(optim, random_pair(), range(2))
    record = optim.into_record()
    encoded = record.into_bytes()
    train(optim, model, range(2, 5))
    assert record.into_bytes() == encoded


def test_loading_replaces_everything():
    optim = AdamConfig().init()
    train(optim, random_pair(), range(2))
    optim.load_record(OptimizerRecord())
    assert len(optim.into_record()) == 0


def test_unknown_parameters_are_kept_and_written_again():
    optim = AdamConfig().init()
    train(optim, random_pair(), range(2))
    encoded = optim.into_record().into_bytes()
    other = Pair(w=param(77, [1.0], backend_of()), b=param(78, [1.0], backend_of()))
    resumed = AdamConfig().init().load_record(OptimizerRecord.from_bytes(encoded))
    resumed.step(0.1, other, gradients({77: [1.0]}, backend_of()))
    record = resumed.into_record()
    assert [int(entry.id) for entry in record] == [11, 22, 77]
    again = Reader.from_bytes(record.into_bytes())
    for name, entry in Reader.from_bytes(encoded).items():
        assert again[name].view() == entry.view()


def test_a_parameter_that_the_record_lacks_starts_without_a_state():
    optim = AdamConfig().init()
    model = train(optim, random_pair(), range(3))
    record = OptimizerRecord(entry for entry in optim.into_record() if entry.id == 11)
    resumed = AdamConfig().init().load_record(record)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        resumed.step(0.1, model, random_gradients(9, model))
    times = {int(entry.id): entry.leaves["momentum.time"].value for entry in resumed.into_record()}
    assert times == {11: 4, 22: 1}


def test_a_state_of_another_rule_restarts_with_a_warning():
    optim = SgdConfig(momentum=MomentumConfig()).init()
    model = train(optim, random_pair(), range(2))
    resumed = AdamConfig().init().load_record(optim.into_record())
    with pytest.warns(RecordWarning, match=r"of 2 parameters are not Adam's \(w: momentum\.time is") as seen:
        resumed.step(0.1, model, random_gradients(0, model))
    assert [warning.filename for warning in seen] == [__file__]  # once, where the step is
    assert resumed.into_record()[11].leaves["momentum.time"] == Scalar.uint(1)


def test_a_record_of_plain_sgd_fits_any_rule():
    """It says only that the parameters were stepped; Burn takes it too."""
    optim = SgdConfig().init()
    model = train(optim, random_pair(), range(2))
    reader = Reader.from_bytes(optim.into_record().into_bytes())
    assert (len(reader), dict(reader.scalars)) == (0, {"11.__rank": Scalar.uint(2), "22.__rank": Scalar.uint(1)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AdamConfig().init().load_record(optim.into_record()).step(0.1, model, random_gradients(0, model))
        SgdConfig().init().load_record(optim.into_record()).step(0.1, model, random_gradients(0, model))


def test_amsgrad_may_be_switched_on_and_off():
    """A missing largest v starts from the current one."""
    optim = AdamConfig().init()
    model = train(optim, random_pair(), range(2))
    on = AdamConfig(amsgrad=True).init().load_record(optim.into_record())
    stepped = on.step(0.1, model, random_gradients(2, model))
    leaves = on.into_record()[11].leaves
    assert leaves["momentum.max_moment_2"] == leaves["momentum.moment_2"]
    off = AdamConfig().init().load_record(on.into_record())
    off.step(0.1, stepped, random_gradients(3, stepped))
    assert "momentum.max_moment_2" not in off.into_record()[11].leaves


def test_shapes_that_do_not_fit():
    optim = AdamConfig().init()
    train(optim, random_pair(), range(2))
    other = pair(np.zeros((4, 3)), np.zeros(4), backend_of())
    resumed = AdamConfig().init().load_record(optim.into_record())
    before = resumed.into_record().into_bytes()
    with pytest.raises(OptimizerError, match=r"state of w does not fit: the state has shape \[3, 4\].*\[4, 3\]"):
        resumed.step(0.1, other, random_gradients(0, other))
    assert resumed.into_record().into_bytes() == before
    with pytest.raises(OptimizerError, match=r"state of w does not fit"):  # a living state alike
        optim.step(0.1, other, random_gradients(0, other))


def test_dtypes_that_do_not_fit():
    optim = AdamConfig().init()
    train(optim, random_pair(), range(2))
    wide = random_pair(dtype="F64")
    with pytest.raises(OptimizerError, match=r"state of w does not fit: the state is F32 on cpu, the parameter F64"):
        AdamConfig().init().load_record(optim.into_record()).step(0.1, wide, random_gradients(0, wide))


def test_a_rule_that_does_not_say_what_its_states_are():
    class Undeclared(SimpleOptimizer):
        def step(self, lr, tensor, grad, state):
            return tensor - grad * lr, SignState(grad, 1)

    optim = OptimizerAdaptor(Undeclared())
    model = train(optim, random_pair(), range(2))  # it can be used and recorded …
    resumed = OptimizerAdaptor(Undeclared()).load_record(optim.into_record())
    with pytest.raises(OptimizerError, match=r"Write class Undeclared\(SimpleOptimizer\[State\]\)"):
        resumed.step(0.1, model, random_gradients(0, model))


def test_states_that_no_backend_can_hold():
    leaves = {"velocity": TensorData(bytes(2), [1], DType.BF16), "time": Scalar.uint(1)}
    record = OptimizerRecord([StateEntry(ParamId(11), 1, "w", leaves)])
    model = pair([1.0], [1.0], backend_of())
    optim = OptimizerAdaptor(SignDescent()).load_record(record)
    with pytest.raises(ValueError, match="BF16"):  # it needs ml_dtypes; with it, it does not mix with F32
        optim.step(0.1, model, gradients({11: [1.0]}, backend_of()))


# Layout


def test_the_layout_of_the_file():
    optim = AdamConfig(amsgrad=True).init()
    train(optim, random_pair(), range(2))
    reader = Reader.from_bytes(optim.into_record().into_bytes())
    assert dict(reader.metadata) == {"11": "w", "22": "b"}
    assert dict(reader.scalars) == {
        "11.__rank": Scalar.uint(2),
        "11.momentum.time": Scalar.uint(2),
        "22.__rank": Scalar.uint(1),
        "22.momentum.time": Scalar.uint(2),
    }
    assert {name: (entry.param_id, entry.shape, entry.dtype) for name, entry in reader.items()} == {
        f"{id}.momentum.{leaf}": (id, shape, DType.F32)
        for id, shape in ((11, (3, 4)), (22, (4,)))
        for leaf in ("moment_1", "moment_2", "max_moment_2")
    }


def test_ids_are_written_in_decimal():
    big = (1 << 64) - 1
    model = Pair(w=param(big, [1.0], backend_of()), b=param(0, [1.0], backend_of()))
    optim = AdamConfig().init()
    optim.step(0.1, model, gradients({big: [1.0], 0: [1.0]}, backend_of()))
    encoded = optim.into_record().into_bytes()
    assert f"{big}.momentum.moment_1" in Reader.from_bytes(encoded)
    assert "0.momentum.moment_1" in Reader.from_bytes(encoded)
    assert [int(entry.id) for entry in OptimizerRecord.from_bytes(encoded)] == [0, big]


def test_the_worked_example_of_the_format():
    """Adam after one step on `fc.bias`, id 42."""
    leaves = {
        "momentum.moment_1": TensorData(np.float32([0.1, 0.2]), [2], DType.F32),
        "momentum.moment_2": TensorData(np.float32([0.001, 0.004]), [2], DType.F32),
        "momentum.time": Scalar.uint(1),
    }
    encoded = OptimizerRecord([StateEntry(ParamId(42), 1, "fc.bias", leaves)]).into_bytes()
    assert len(encoded) == 520
    assert hashlib.sha256(encoded).hexdigest() == "bc03e02f6ec8c01e1e174200efd69087ff2633158d8310200a6cd5cd405d45fd"


# Files


@pytest.mark.parametrize("cls", [OptimizerRecord, LrSchedulerRecord])
def test_files_that_are_something_else(cls, tmp_path):
    path = tmp_path / "foreign.bpk"
    with pytest.raises(RecordError, match=r"foreign\.bpk"):
        cls.load(path)
    optim = AdamConfig().init()
    train(optim, random_pair(), range(1))
    for content in (b"", b"PK\x03\x04 and so on", optim.into_record().into_bytes()[:100], b"x" * 5000):
        path.write_bytes(content)
        with pytest.raises(RecordError, match=r"foreign\.bpk"):
            cls.load(path)
        with pytest.raises(RecordError, match="from_bytes"):
            cls.from_bytes(content)
    with pytest.raises(RecordError):
        cls.load(tmp_path)


def test_records_of_another_kind(tmp_path):
    model = random_pair()
    optim, scheduler = AdamConfig().init(), LinearLrSchedulerConfig(0.1, 0.01, 3).init()
    model = train(optim, model, range(1))
    files = {"model": model.into_record(), "optim": optim.into_record(), "scheduler": scheduler.into_record()}
    for name, record in files.items():
        record.save(tmp_path / name)
    with pytest.raises(RecordError, match=r"model.*not an optimizer's record.*ModuleRecord\.load"):
        OptimizerRecord.load(tmp_path / "model")
    with pytest.raises(RecordError, match=r"scheduler.*not an optimizer's record.*LrSchedulerRecord\.load"):
        OptimizerRecord.load(tmp_path / "scheduler")
    for name in ("model", "optim"):
        with pytest.raises(RecordError, match=rf"{name}.*not a schedule's record: it has \d+ tensors"):
            LrSchedulerRecord.load(tmp_path / name)
    plain = SgdConfig().init()
    train(plain, model, range(1))
    with pytest.raises(RecordError, match="but an optimizer's"):
        LrSchedulerRecord.from_bytes(plain.into_record().into_bytes())


def test_hostile_entries():
    data = np.zeros(2, np.float32)

    def read(name="11.velocity", param_id=11, scalars=None):
        entries = [TensorEntry(name, DType.F32, [2], data, param_id=param_id)]
        return OptimizerRecord.from_bytes(Writer(entries, scalars=scalars or {}).into_bytes())

    for scalars in ({}, {"11.__rank": Scalar.float(1.0)}, {"11.__rank": Scalar.int(-1)}):
        assert read(scalars=scalars)[11].rank == 1  # without a usable __rank the rank is a tensor's
    for fields in (
        {"param_id": None},
        {"param_id": 12},
        {"name": "velocity"},
        {"name": "11"},
        {"scalars": {"11.__rank": Scalar.uint(1 << 60)}},
        {"scalars": {"12.time": Scalar.uint(1)}},
    ):
        with pytest.raises(RecordError, match="from_bytes"):
            read(**fields)
    ignored = {"what": Scalar.uint(1), "0011.time": Scalar.uint(1), "9" * 5000 + ".time": Scalar.uint(1)}
    assert list(read(scalars=ignored)[11].leaves) == ["velocity"]


def test_a_state_of_another_rank_is_refused():
    optim = OPTIMIZERS["adam"].init()
    model = train(optim, random_pair(), range(1))
    entries = [StateEntry(entry.id, 5, entry.path, entry.leaves) for entry in optim.into_record()]
    optim = OPTIMIZERS["adam"].init().load_record(OptimizerRecord(entries))
    with pytest.raises(OptimizerError, match="state of w is one of a tensor of rank 5, but the parameter has rank 2"):
        optim.step(0.1, model, random_gradients(1, model))


def test_a_save_that_fails_is_a_record_error(tmp_path):
    with pytest.raises(RecordError, match="save"):
        OptimizerRecord().save(tmp_path / "missing" / "optim")
    with pytest.raises(RecordError, match="save"):
        LrSchedulerRecord().save(tmp_path / "missing" / "scheduler")
    assert os.listdir(tmp_path) == []


def test_a_save_reports_its_digest(tmp_path):
    report = LrSchedulerRecord().save(tmp_path / "scheduler", digest=True)
    assert (report.path, report.size, len(report.sha256)) == (tmp_path / "scheduler.bpk", 256, 64)


def test_asking_for_a_state_that_is_not_there():
    with pytest.raises(RecordError, match="no state for the parameter 5"):
        OptimizerRecord()[5]


# Schedules

CONFIGS = {
    "remaining_iters": LinearLrSchedulerConfig(0.1, 0.01, 5),
    "current_iter": CosineAnnealingLrSchedulerConfig(0.1, 5),
    "previous_lr": ExponentialLrSchedulerConfig(0.1, 0.9),
    "step": NoamLrSchedulerConfig(1.0),
    "iter_idx": StepLrSchedulerConfig(0.1, 2),
}


@pytest.mark.parametrize("key", CONFIGS)
def test_a_schedule_is_resumed_anywhere(key):
    config = CONFIGS[key]
    fresh = config.init()
    rates = [float(fresh.step()) for _ in range(12)]
    for k in range(12):
        scheduler = config.init()
        for _ in range(k):
            scheduler.step()
        record = LrSchedulerRecord.from_bytes(scheduler.into_record().into_bytes())
        assert list(record.keys()) == [f"0.{key}"]
        resumed = config.init().load_record(record)
        assert [float(resumed.step()) for _ in range(k, 12)] == rates[k:]


@pytest.mark.parametrize("key", CONFIGS)
def test_what_a_record_lacks_stays_as_it_is_with_a_warning(key):
    config = CONFIGS[key]
    bare = config.build()
    wrong = [
        LrSchedulerRecord(),
        LrSchedulerRecord({f"0.{key}": Scalar.bool(True)}),
        LrSchedulerRecord({f"0.{key}": Scalar.int(-2)}),
        LrSchedulerRecord({"0.other": Scalar.uint(3)}),
        bare.into_record(),  # without the prefix
    ]
    for record in wrong:
        scheduler = config.init()
        with pytest.warns(RecordWarning, match=f"no usable '{key}' in the record"):
            assert scheduler.load_record(record) is scheduler
        assert float(scheduler.step()) == float(config.init().step())


def test_a_number_is_a_schedule():
    scheduler = ModuleLrScheduler.of(0.25)
    assert [float(scheduler.step()), float(scheduler.step())] == [0.25, 0.25]
    assert scheduler.load_record(LrSchedulerRecord()) is scheduler
    assert ModuleLrScheduler.of(scheduler) is scheduler
    assert ModuleLrScheduler.of(ConstantLr(0.5)).step().base() == 0.5
    assert len(scheduler.into_record().into_bytes()) == 256


def test_a_schedule_of_ones_own():
    class Saw:
        def __init__(self):
            self.k = -1

        def step(self):
            self.k += 1
            return 0.1 / (1 + self.k % 3)

        def into_record(self):
            return LrSchedulerRecord({"k": Scalar.int(self.k)})

        def load_record(self, record):
            self.k = record.get("k").as_int()
            return self

    assert isinstance(Saw(), LrScheduler)
    scheduler = ModuleLrScheduler(Saw())
    scheduler.step()
    resumed = ModuleLrScheduler(Saw()).load_record(scheduler.into_record())
    assert float(resumed.step()) == float(scheduler.step()) == 0.05


def test_what_is_no_schedule():
    with pytest.raises(OptimizerError, match=r"LinearLrSchedulerConfig is not a bare schedule.*config\.build\(\)"):
        ModuleLrScheduler(CONFIGS["remaining_iters"])
    with pytest.raises(OptimizerError, match="str is not a bare schedule"):
        ModuleLrScheduler.of("cosine")
    with pytest.raises(OptimizerError, match="expected an LrSchedulerRecord, but got OptimizerRecord"):
        ModuleLrScheduler.of(0.1).load_record(OptimizerRecord())


def test_a_rate_beyond_all_floats_is_infinite_not_an_error():
    scheduler = StepLrSchedulerConfig(1.0, 1, gamma=1e200).init()
    assert [float(scheduler.step()) for _ in range(4)] == [1.0, 1e200, float("inf"), float("inf")]


def test_schedule_configs_are_json():
    config = CosineAnnealingLrSchedulerConfig(initial_lr=5e-3, num_iters=40)
    assert CosineAnnealingLrSchedulerConfig.from_json(config.to_json()) == config
    assert '"min_lr": 0.0' in config.to_json()
