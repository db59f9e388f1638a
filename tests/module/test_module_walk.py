"""Visiting and mapping: order, paths, containers, shared parameters, equal ids."""

import numpy as np
import pytest

from minburn.backends import Autodiff, NumPy
from minburn.module import Flag, Module, ModuleError, ModuleMapper, ModuleVisitor, Param, RunningState
from minburn.nn import Dropout, DropoutConfig, Linear, LinearConfig
from minburn.tensor import FloatTensor, Tensor


class Head(Module):
    pass


class Deep(Head, variant="Deep"):
    last: Linear


class Everything(Module):
    stem: Linear
    blocks: list[Linear]
    pair: tuple[Linear, Param]
    heads: dict[str, Module]
    head: Head
    drop: Dropout
    nothing: Linear | None
    counts: Param
    mask: Param
    mean: RunningState
    table: FloatTensor
    label: str = "x"


def build(backend):
    def linear(**options):
        return LinearConfig(2, 3, **options).init(backend)

    return Everything(
        stem=linear(bias=False),
        blocks=[linear(bias=False), linear()],
        pair=(linear(bias=False), Param.from_tensor(Tensor.ones([1], backend))),
        heads={"left": linear(bias=False), "right": DropoutConfig(0.1).init()},
        head=Deep(last=linear(bias=False)),
        drop=DropoutConfig(0.5).init(),
        nothing=None,
        counts=Param.from_tensor(Tensor.from_data([1, 2], backend)),
        mask=Param.from_tensor(Tensor.from_data([True], backend)),
        mean=RunningState(Tensor.zeros([3], backend)),
        table=Tensor.ones([4], backend),
    )


class Log(ModuleVisitor):
    def __init__(self):
        self.seen = []
        self.stack = []
        self.kinds = []

    def visit_float(self, param):
        self.seen.append(f"float {self.path}")

    def visit_int(self, param):
        self.seen.append(f"int {self.path}")

    def visit_bool(self, param):
        self.seen.append(f"bool {self.path}")

    def visit_flag(self, param):
        self.seen.append(f"flag {self.path}")

    def visit_constant(self, tensor):
        self.seen.append(f"constant {self.path}")

    def enter_module(self, name, container_type):
        self.stack.append(name)
        assert self.path == ".".join(self.stack)
        self.kinds.append((self.path, container_type))

    def exit_module(self, name, container_type):
        assert self.path == ".".join(self.stack)
        assert (self.stack.pop(), container_type) == (name, dict(self.kinds)[self.path])


def test_order_paths_and_containers():
    log = Log()
    build(NumPy(seed=0)).visit(log)
    assert log.seen == [
        "float stem.weight",
        "float blocks.0.weight",
        "float blocks.1.weight",
        "float blocks.1.bias",
        "float pair.0.weight",
        "float pair.1",
        "float heads.left.weight",
        "flag heads.right.training",
        "float head.Deep.last.weight",
        "flag drop.training",
        "int counts",
        "bool mask",
        "float mean",
        "constant table",
    ]
    kinds = dict(log.kinds)
    assert kinds["stem"] == "Struct:Everything"
    assert kinds["stem.weight"] == "Struct:Linear"
    assert kinds["blocks.0"] == "Vec"
    assert kinds["pair.1"] == "Tuple"
    assert kinds["heads.left"] == "Map"
    assert kinds["head"] == "Struct:Everything"
    assert kinds["head.Deep"] == "Enum:Head"
    assert kinds["head.Deep.last"] == "Struct:Deep"
    assert log.stack == []
    assert log.path == ""


class Double(ModuleMapper):
    def __init__(self):
        self.calls = []

    def map_float(self, param):
        self.calls.append(self.path)
        return param.map(lambda tensor: tensor * 2.0)


def test_map_rebuilds_every_container():
    model = build(Autodiff(NumPy(seed=0)))
    doubled = model.map(Double())
    before, after = model.into_record(), doubled.into_record()
    assert before.paths() == after.paths()
    for entry in before:
        other = after[entry.path]
        assert other.id == entry.id
        factor = 2 if entry.data.dtype.is_float else 1
        assert np.array_equal(entry.data.numpy() * factor, other.data.numpy())
    assert type(doubled.blocks) is list
    assert type(doubled.pair) is tuple
    assert doubled.drop is model.drop
    assert doubled.table is model.table
    assert doubled.blocks[0].weight.value.is_require_grad


class Tied(Module):
    embed: Linear
    head: Param
    again: Linear


def tied(backend):
    linear = LinearConfig(2, 3, bias=False).init(backend)
    return Tied(embed=linear, head=linear.weight, again=linear)


def test_a_shared_parameter_is_one():
    backend = Autodiff(NumPy(seed=0))
    model = tied(backend)
    log, double = Log(), Double()
    model.visit(log)
    assert log.seen == ["float embed.weight", "float head", "float again.weight"]
    assert model.num_params() == 6
    doubled = model.map(double)
    assert double.calls == ["embed.weight"]
    assert doubled.head is doubled.embed.weight
    assert doubled.head is doubled.again.weight
    for change in ("freeze", "valid", "with_new_ids"):
        changed = getattr(model, change)()
        assert changed.head is changed.embed.weight
    record = model.into_record()
    assert record.paths() == ["embed.weight", "head", "again.weight"]
    assert len({entry.id for entry in record}) == 1
    loaded = tied(backend).load_record(record)
    assert loaded.head is loaded.again.weight
    x = Tensor.ones([1, 2], backend)
    grads = (model.embed(x) + x.matmul(model.head.value)).sum().backward()
    assert model.head.value.grad(grads).numpy().tolist() == [[2.0] * 3] * 2


def test_two_parameters_with_one_id_are_refused_with_the_remedy():
    backend = NumPy(seed=0)
    model = LinearConfig(2, 3).init(backend)
    copy = model.map(Double())
    joined = Tied(embed=model, head=copy.weight, again=copy)
    for walk in (lambda: joined.num_params(), lambda: joined.freeze(), lambda: joined.into_record()):
        with pytest.raises(ModuleError, match=r"embed\.weight and head are two parameters.*with_new_ids\(\)"):
            walk()
    model = Tied(embed=model, head=copy.weight.with_id(copy.with_new_ids().weight.id), again=copy.with_new_ids())
    assert model.num_params() == 24
    assert joined.with_new_ids().num_params() == 6 + 3 + 6 + 3
    state = RunningState(Tensor.zeros([2], backend))

    class States(Module):
        a: RunningState
        b: RunningState

    with pytest.raises(ModuleError, match="a and b are two"):
        States(a=state, b=state.with_value(Tensor.ones([2], backend))).num_params()
    assert States(a=state, b=state).num_params() == 2
    new = States(a=state, b=state).with_new_ids()
    assert new.a is new.b
    assert new.a.id != state.id


def test_what_cannot_be_a_path_is_refused():
    backend = NumPy(seed=0)
    linear = LinearConfig(2, 3).init(backend)

    class Holder(Module):
        field: object

    for bad in ({"left hand": linear}, {0: [linear]}, {("a", 1): {"b": linear.weight}}):
        with pytest.raises(ModuleError, match=r"field: the key .* identifiers"):
            Holder(field=bad).num_params()
    with pytest.raises(ModuleError, match="field: a set has no order"):
        Holder(field={linear}).num_params()
    assert Holder(field={"left hand": 1, 0: [2]}).num_params() == 0
    assert Holder(field={"a", "b"}).num_params() == 0


def test_wrong_visitors_and_mappers():
    model = LinearConfig(2, 3).init(NumPy(seed=0))
    with pytest.raises(TypeError, match="expected a ModuleVisitor"):
        model.visit(Double())
    with pytest.raises(TypeError, match="expected a ModuleMapper"):
        model.map(lambda param: param)

    class Forgets(ModuleMapper):
        def map_float(self, param):
            param.map(lambda tensor: tensor)

    with pytest.raises(TypeError, match=r"Forgets\.map_float returned NoneType for weight"):
        model.map(Forgets())


def test_flags_can_be_mapped():
    class Off(ModuleMapper):
        def map_flag(self, param: Param[Flag]) -> Param[Flag]:
            return param.map(lambda flag: Flag.OFF)

    dropout = DropoutConfig(0.5).init()
    off = dropout.map(Off())
    assert (bool(off.training.value), off.training.id) == (False, dropout.training.id)
    assert off.train().training.value  # map changes the value only, not what train() restores
