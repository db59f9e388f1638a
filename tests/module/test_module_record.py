"""ModuleRecord: what is saved, what is checked, and that a refusal changes nothing."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.module import (
    DTypePolicy,
    Initializer,
    Module,
    ModuleRecord,
    Param,
    ParamId,
    RecordEntry,
    RecordError,
    RunningState,
)
from minburn.nn import Linear, LinearConfig
from minburn.pack import Reader, TensorEntry, Writer
from minburn.tensor import Tensor, TensorData


class Pair(Module):
    first: Linear
    second: Linear


class Single(Module):
    first: Linear


class Other(Module):
    frist: Linear
    second: Linear


def linear(backend, d_input=3, d_output=4, **options):
    return LinearConfig(d_input, d_output, **options).init(backend)


def pair(seed=1):
    backend = Autodiff(NumPy(seed=seed))
    return Pair(first=linear(backend), second=linear(backend, 4, 2))


def same(lhs, rhs):
    return lhs.into_record().into_bytes() == rhs.into_record().into_bytes()


def test_round_trips(tmp_path):
    model = pair()
    record = model.into_record()
    assert record.paths() == ["first.weight", "first.bias", "second.weight", "second.bias"]
    assert len(record) == 4
    assert "first.bias" in record
    assert [entry.path for entry in record] == record.paths()
    report = record.save(tmp_path / "model", digest=True)
    assert report.path == tmp_path / "model.bpk"
    assert report.path.read_bytes() == record.into_bytes()
    for loaded in (
        ModuleRecord.load(report.path),
        ModuleRecord.load(tmp_path / "model"),
        ModuleRecord.from_bytes(record.into_bytes()),
    ):
        other = pair(2).load_record(loaded)
        assert same(other, model)
        assert other.first.weight.id == model.first.weight.id
        assert other.first.weight.value.is_require_grad
    assert same(pair(3).load_file(tmp_path / "model"), model)
    assert repr(record) == "ModuleRecord(4 tensors)"
    with pytest.raises(RecordError, match=r"no first\.wieght \(did you mean first\.weight\?\)"):
        record["first.wieght"]


def test_saving_copies_nothing():
    model = pair()
    for entry in model.into_record():
        values = getattr(getattr(model, entry.path.split(".")[0]), entry.path.split(".")[1]).value.numpy()
        assert np.shares_memory(entry.data.numpy(), values)


def test_loading_into_a_fresh_module_draws_nothing():
    draws = []

    class Spy(Initializer, variant="Spy"):
        def draw(self, draw):
            draws.append(draw.shape)
            return draw.full(0.0)

    def spied():
        backend = Autodiff(NumPy(seed=1))
        return Pair(first=linear(backend, initializer=Spy()), second=linear(backend, 4, 2, initializer=Spy()))

    record = pair().into_record()
    model = spied().load_record(record).freeze().unfreeze()
    assert same(model, pair().load_record(record))
    assert draws == []
    partial = ModuleRecord([record["first.weight"]]).allow_partial()
    model = spied().load_record(partial)
    assert draws == []
    model.into_record()
    assert sorted(draws) == [(2,), (4,), (4, 2)]


def test_one_error_says_everything_and_changes_nothing():
    model = pair()
    before = model.into_record().into_bytes()
    backend = NumPy(seed=5)
    wrong = Other(frist=linear(backend), second=linear(backend, 4, 3)).into_record()
    with pytest.raises(ValueError, match="load_record") as caught:
        model.load_record(wrong)
    assert isinstance(caught.value, RecordError)
    text = str(caught.value)
    assert "2 parameters are missing (first.weight (did you mean frist.weight?), first.bias (did you mean" in text
    assert "2 tensors are unused (frist.bias (did you mean first.bias?), frist.weight (did you mean" in text
    assert (
        "2 parameters are of another shape (second.weight: expected [4, 2], the record has [4, 3]; second.bias: "
        in text
    )
    assert "allow_partial()" in text
    assert "allow_unused()" in text
    assert model.into_record().into_bytes() == before


def test_options():
    model, single = pair(1), Single(first=pair(2).first)
    whole, part = model.into_record(), single.into_record()
    with pytest.raises(
        RecordError, match=r"2 parameters are missing \(second\.weight, second\.bias\)\. On the record, "
    ):
        model.load_record(part)
    loaded = model.load_record(part.allow_partial())
    assert loaded.second is model.second
    assert same(Single(first=loaded.first), single)
    with pytest.raises(RecordError, match="2 tensors are unused"):
        single.load_record(whole)
    assert same(single.load_record(whole.allow_unused()), Single(first=model.first))
    with pytest.raises(RecordError):
        model.load_record(part.allow_partial().allow_partial(False))
    assert part.allow_partial() is not part
    other = Pair(first=model.first, second=linear(NumPy(seed=0), 4, 5)).into_record()
    with pytest.raises(RecordError, match="another shape"):
        model.load_record(other)
    loose = pair(7).load_record(other.validate(False))
    assert loose.second.weight.shape == (4, 2)
    assert same(Single(first=loose.first), Single(first=model.first))


def test_dtype_policy():
    wide = Pair(first=linear(NumPy(seed=0, float_dtype=DType.F64)), second=linear(NumPy(seed=0), 4, 2))
    record = wide.into_record()
    assert pair().load_record(record).first.weight.dtype == DType.F64
    for cast in (record.with_dtype_policy(DTypePolicy.CastToModule), record.cast_to_module_dtype()):
        loaded = pair().load_record(cast)
        assert loaded.first.weight.dtype == DType.F32
        assert np.array_equal(loaded.first.bias.value.numpy(), wide.first.bias.value.numpy().astype(np.float32))
    assert record.cast_to_module_dtype().with_dtype_policy(DTypePolicy.FromRecord)["first.bias"].data.dtype == DType.F64


class Kinds(Module):
    floats: Param
    ints: Param
    bools: Param


def kinds(backend):
    return Kinds(
        floats=Param.from_tensor(Tensor.zeros([2], backend)),
        ints=Param.from_tensor(Tensor.from_data([0, 0], backend)),
        bools=Param.from_tensor(Tensor.from_data([False, False], backend)),
    )


def data(values, dtype):
    return TensorData.from_nested(values, dtype)


def test_kinds_and_dtype_families():
    backend = NumPy(seed=0)
    model = kinds(backend)
    record = ModuleRecord(
        [
            RecordEntry("floats", ParamId(1), data([1.0, 2.0], DType.F16)),
            RecordEntry("ints", ParamId(2), data([3, 4], DType.U8)),
            RecordEntry("bools", ParamId(3), data([True, False], DType.BoolU32)),
        ]
    )
    loaded = model.load_record(record)
    assert [p.dtype for p in (loaded.floats, loaded.ints, loaded.bools)] == [DType.F16, DType.U8, DType.Bool]
    assert loaded.bools.value.numpy().tolist() == [True, False]
    assert model.load_record(record.cast_to_module_dtype()).ints.dtype == DType.I32
    swapped = ModuleRecord(
        [
            RecordEntry("floats", ParamId(1), data([1, 2], DType.I32)),
            RecordEntry("ints", ParamId(2), data([1.0, 2.0], DType.F32)),
            RecordEntry("bools", ParamId(3), data([0, 1], DType.U8)),
        ]
    )
    for policy in DTypePolicy:
        with pytest.raises(RecordError, match=r"floats holds float values, the record has I32, ints holds int.*bools"):
            model.load_record(swapped.with_dtype_policy(policy).validate(False))
    big = ModuleRecord([*list(record)[::2], RecordEntry("ints", ParamId(2), data([2**40, 0], DType.I64))])
    assert model.load_record(big).ints.dtype == DType.I64
    with pytest.raises(RecordError, match=r"ints: .*1099511627776.*I32"):
        model.load_record(big.cast_to_module_dtype())


def test_an_adopted_id_never_meets_itself():
    model = pair()
    clash = model.second.bias.id
    record = ModuleRecord([RecordEntry("first.bias", clash, model.first.bias.value.into_data())]).allow_partial()
    loaded = model.load_record(record)
    assert loaded.first.bias.id == clash
    assert loaded.second.bias.id not in {entry.id for entry in model.into_record()}
    assert loaded.second.weight is model.second.weight
    assert np.array_equal(loaded.second.bias.value.numpy(), model.second.bias.value.numpy())
    assert len({entry.id for entry in loaded.into_record()}) == 4


def test_a_shared_parameter_wants_one_value():
    backend = NumPy(seed=0)

    class Tied(Module):
        a: Param
        b: Param

    shared = Param.from_tensor(Tensor.zeros([2], backend))
    model = Tied(a=shared, b=shared)
    entries = [RecordEntry(path, ParamId(9), data([1.0, 2.0], DType.F32)) for path in "ab"]
    loaded = model.load_record(ModuleRecord(entries))
    assert loaded.a is loaded.b
    entries[1].data = data([1.0, 3.0], DType.F32)
    with pytest.raises(RecordError, match="a and b are one shared parameter, but the record has different values"):
        model.load_record(ModuleRecord(entries))
    with pytest.raises(RecordError, match=r"1 parameter is missing \(b\)"):
        model.load_record(ModuleRecord(entries[:1]))


class WithState(Module):
    weight: Param
    mean: RunningState


def with_state():
    backend = Autodiff(NumPy(seed=0))
    return WithState(weight=Param.from_tensor(Tensor.ones([2], backend)), mean=RunningState(Tensor.zeros([2], backend)))


def test_running_states_are_saved_and_keep_their_ids():
    model = with_state()
    model.mean.update(Tensor.from_data([5.0, 6.0], model.weight.backend))
    model.mean.value_sync()
    record = model.into_record()
    target = with_state()
    loaded = target.load_record(record)
    assert loaded.mean.value().numpy().tolist() == [5.0, 6.0]
    assert loaded.mean.id == target.mean.id
    assert loaded.mean.id != record["mean"].id
    assert target.mean.value().numpy().tolist() == [0.0, 0.0]
    assert not loaded.mean.value().is_require_grad
    clash = ModuleRecord([RecordEntry("weight", target.mean.id, record["weight"].data)]).allow_partial()
    loaded = target.load_record(clash)
    assert loaded.weight.id == target.mean.id
    assert loaded.mean.id != target.mean.id


def test_entries_without_an_id_get_one():
    entries = [TensorEntry(name, DType.F32, (2,), bytes(8)) for name in ("weight", "mean")]
    record = ModuleRecord.from_bytes(Writer(entries).into_bytes())
    ids = [entry.id for entry in record]
    assert len(set(ids)) == 2
    assert with_state().load_record(record).weight.id == record["weight"].id


def test_shapes_that_no_array_can_have():
    blob = Writer([TensorEntry("weight", DType.F32, (1,) * 65, bytes(4))]).into_bytes()
    with pytest.raises(RecordError, match=r"from_bytes: tensor 'weight': .*at most rank 64"):
        ModuleRecord.from_bytes(blob)


def test_two_entries_with_one_path_are_refused():
    entry = RecordEntry("a", ParamId(1), data([1.0], DType.F32))
    with pytest.raises(RecordError, match="'a' comes twice"):
        ModuleRecord([entry, entry])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing", None, "No such file"),
        ("empty", b"", "empty"),
        ("foreign", b"PK\x03\x04" + bytes(300), "50 4b 03 04"),
        ("cut", "cut", "truncated"),
    ],
)
def test_bad_files(tmp_path, name, content, message):
    path = tmp_path / f"{name}.bpk"
    if content == "cut":
        content = pair().into_record().into_bytes()[:-1]
    if content is not None:
        path.write_bytes(content)
        with pytest.raises(RecordError, match="from_bytes: <bytes>"):
            ModuleRecord.from_bytes(content)
    model = pair()
    for load in (ModuleRecord.load, model.load_file):
        with pytest.raises(RecordError, match=f"{name}.bpk") as caught:
            load(path)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)


def test_bad_destinations_and_arguments(tmp_path):
    record = pair().into_record()
    with pytest.raises(RecordError, match="nowhere"):
        record.save(tmp_path / "nowhere" / "model")
    (tmp_path / "folder.bpk").mkdir()
    for use in (record.save, ModuleRecord.load):
        with pytest.raises(RecordError, match=r"folder\.bpk"):
            use(tmp_path / "folder")
    with pytest.raises(TypeError, match=r"expected a ModuleRecord, but got str 'model.bpk'. ModuleRecord.load"):
        pair().load_record("model.bpk")
    with pytest.raises(ValueError, match="DTypePolicy"):
        record.with_dtype_policy("Sometimes")
    assert sorted(os.listdir(tmp_path)) == ["folder.bpk"]


def test_a_record_outlives_its_file(tmp_path):
    model = pair()
    path = tmp_path / "model.bpk"
    model.save_file(path)
    record = ModuleRecord.load(path)
    pair(9).save_file(path)  # replaced
    path.unlink()  # and deleted
    assert same(pair(2).load_record(record), model)


def test_a_record_may_be_saved_over_its_own_file(tmp_path):
    path = tmp_path / "model.bpk"
    pair().save_file(path)
    before = path.read_bytes()
    pair(2).load_file(path).save_file(path)
    assert path.read_bytes() == before


def test_a_fresh_process_computes_the_same_bits(tmp_path):
    program = textwrap.dedent(
        """
        import sys
        from minburn.backends import NumPy
        from minburn.nn import LinearConfig
        from minburn.tensor import Tensor
        backend = NumPy(seed=int(sys.argv[2]))
        layer = LinearConfig(8, 8).init(backend)
        layer = layer.load_file(sys.argv[1]) if sys.argv[3] == "load" else layer
        if sys.argv[3] == "save":
            layer.save_file(sys.argv[1])
        x = Tensor.random([4, 8], NumPy(seed=7))
        print(layer(x).numpy().tobytes().hex())
        """
    )

    def run(seed, action):
        command = [sys.executable, "-c", program, str(tmp_path / "layer"), str(seed), action]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert run(1, "save") == run(2, "load") != run(2, "none")


def test_one_script_writes_the_same_bytes_every_run(tmp_path):
    program = (
        "import sys; from minburn.backends import NumPy; from minburn.nn import LinearConfig; "
        "LinearConfig(3, 4).init(NumPy(seed=5)).save_file(sys.argv[1])"
    )
    for name in ("a", "b"):
        subprocess.run([sys.executable, "-c", program, str(tmp_path / name)], check=True)
    assert (tmp_path / "a.bpk").read_bytes() == (tmp_path / "b.bpk").read_bytes()
    assert Reader.from_file(tmp_path / "a").names() == ["bias", "weight"]
