"""Files of Burn 0.22.1 load into the same modules, with the same ids and values, and are written back byte for byte."""

import json
from pathlib import Path

import numpy as np
import pytest

from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.module import Flag, Module, ModuleRecord, ModuleVisitor, Param, ParamId, RecordError
from minburn.nn import Dropout, DropoutConfig, Linear, LinearConfig, LinearLayout
from minburn.tensor import FloatTensor, Tensor, activation

GOLDEN = Path(__file__).parent.parent / "golden" / "module"
CASES = json.loads((GOLDEN / "expected.json").read_text())["cases"]
NUMPY = {"F32": np.float32, "F64": np.float64, "F16": np.float16, "I32": np.int32}
HALVES = [("single_f32", DType.F32), ("double_f64", DType.F64), ("half_f16", DType.F16), ("half_bf16", DType.BF16)]


class Extra(Module):
    a: Linear
    b: Linear

    def forward(self, x: FloatTensor) -> FloatTensor:
        return self.b(self.a(x))


def extra(backend):
    return Extra(a=LinearConfig(3, 4).init(backend), b=LinearConfig(4, 2, bias=False).init(backend))


class Params(ModuleVisitor):
    def __init__(self):
        self.found = []

    def visit_float(self, param):
        self.found.append((self.path, param))

    visit_int = visit_bool = visit_float


def params(module):
    visitor = Params()
    module.visit(visitor)
    return visitor.found


def check(module, expected):
    found = params(module)
    assert [path for path, _ in found] == [spec["path"] for spec in expected]
    for (_, param), spec in zip(found, expected, strict=True):
        assert int(param.id) == int(spec["id"])
        assert str(param.id) == spec["id_text"]
        assert param.kind == spec["kind"]
        assert param.dtype.name.removesuffix("(Native)") == spec["dtype"].removesuffix("(Native)")
        values = np.array(spec["data"], NUMPY.get(spec["dtype"])).reshape(spec["shape"])
        assert np.array_equal(param.value.numpy(), values)


@pytest.mark.parametrize(("name", "dtype"), HALVES)
def test_dtypes(name, dtype):
    case = CASES[name]
    backend = Autodiff(NumPy(seed=0))
    record = ModuleRecord.load(GOLDEN / name)
    cast = extra(backend).load_record(record.cast_to_module_dtype())
    check(cast, case["cast_to_module"])
    x = np.array(case["x"]["data"], np.float32).reshape(case["x"]["shape"])
    expected = np.array(case["forward_cast_to_module"]["data"]).reshape(2, 2)
    np.testing.assert_allclose(cast(Tensor.from_data(x, backend)).numpy(), expected, rtol=1e-5, atol=1e-6)
    model = extra(backend).load_record(record)
    if dtype != DType.BF16:
        check(model, case["values_as_params"])
    else:
        assert all(param.dtype == DType.BF16 for _, param in params(model))
    assert model.into_record().into_bytes() == (GOLDEN / f"{name}.bpk").read_bytes()
    expected = np.array(case["forward_in_record_dtype"]["data"]).reshape(2, 2)
    out = model(Tensor.from_data(x, backend, dtype)).numpy().astype(np.float64)
    np.testing.assert_allclose(out, expected, rtol=1e-5 if dtype in (DType.F32, DType.F64) else 2e-2)


def test_frozen_params():
    backend = Autodiff(NumPy(seed=0))
    case = CASES["frozen_params"]
    module = extra(backend).load_file(GOLDEN / "frozen_params")
    check(module, case["params"])
    assert [param.is_require_grad for _, param in params(module)] == [
        spec["require_grad"] for spec in case["loaded_into_unfrozen_module"]
    ]
    frozen = extra(backend)
    frozen = frozen.replace(a=frozen.a.replace(weight=frozen.a.weight.set_require_grad(False)))
    frozen = frozen.load_file(GOLDEN / "frozen_params")
    expected = [spec["require_grad"] for spec in case["loaded_into_frozen_module"]]
    assert [param.is_require_grad for _, param in params(frozen)] == expected
    assert [param.value.is_require_grad for _, param in params(frozen)] == expected
    assert frozen.into_record().into_bytes() == (GOLDEN / "frozen_params.bpk").read_bytes()


class Embed(Module):
    weight: Param[FloatTensor]


class Tied(Module):
    embed: Embed
    out_weight: Param[FloatTensor]
    own: Param[FloatTensor]


def test_tied_params_are_one_and_are_written_under_both_paths():
    backend = Autodiff(NumPy(seed=0))
    shared = Param.from_tensor(Tensor.zeros([5, 4], backend))
    module = Tied(embed=Embed(weight=shared), out_weight=shared, own=Param.from_tensor(Tensor.zeros([2], backend)))
    loaded = module.load_file(GOLDEN / "tied_params")
    check(loaded, CASES["tied_params"]["params"])
    assert loaded.embed.weight is loaded.out_weight
    assert loaded.into_record().into_bytes() == (GOLDEN / "tied_params.bpk").read_bytes()
    untied = module.replace(out_weight=Param.from_tensor(Tensor.zeros([5, 4], backend)))
    untied = untied.load_file(GOLDEN / "tied_params")
    assert untied.embed.weight.id != untied.out_weight.id
    assert np.array_equal(untied.embed.weight.value.numpy(), untied.out_weight.value.numpy())


class Empty(Module):
    name: str = "nothing"


def test_empty_module():
    blob = Empty().into_record().into_bytes()
    assert len(blob) == 256
    assert blob == (GOLDEN / "empty_module.bpk").read_bytes()
    assert ModuleRecord.load(GOLDEN / "empty_module").is_empty()
    assert Empty().load_file(GOLDEN / "empty_module").name == "nothing"


def test_quantized_tensors_are_refused_and_survive_a_copy():
    record = ModuleRecord.load(GOLDEN / "quant_q8s_tensor")
    assert record["a.weight"].data.dtype.kind == "qfloat"
    backend = NumPy(seed=0)
    model = Extra(a=LinearConfig(8, 4, bias=False).init(backend), b=LinearConfig(4, 8, bias=False).init(backend))
    with pytest.raises(RecordError, match=r"a\.weight is quantized"):
        model.load_record(record)
    assert record.into_bytes() == (GOLDEN / "quant_q8s_tensor.bpk").read_bytes()
    loaded = model.load_record(record.dequantize())
    weight = record["a.weight"].data
    assert np.array_equal(loaded.a.weight.value.numpy(), weight.dequantize().numpy())


class LayerNorm(Module):
    gamma: Param[FloatTensor]
    beta: Param[FloatTensor] | None

    def forward(self, x: FloatTensor) -> FloatTensor:
        centred = x - x.mean_dim(1)
        out = centred / (x.var_bias(1) + 1e-5).sqrt() * self.gamma.value.unsqueeze()
        return out if self.beta is None else out + self.beta.value.unsqueeze()


class RmsNorm(Module):
    gamma: Param[FloatTensor]

    def forward(self, x: FloatTensor) -> FloatTensor:
        return x / ((x * x).mean_dim(1) + 1e-5).sqrt() * self.gamma.value.unsqueeze()


class Block(Module):
    fc: Linear
    norm: LayerNorm | None
    dropout: Dropout

    def forward(self, x: FloatTensor) -> FloatTensor:
        out = self.fc(x).tanh()
        return x + self.dropout(out if self.norm is None else self.norm(out)) * 0.5


class Head(Module):
    """The enum."""


class Deep(Head, variant="Deep"):
    hidden: Linear
    last: Linear

    def forward(self, x: FloatTensor) -> FloatTensor:
        return self.last(activation.relu(self.hidden(x)))


class Mlp(Module):
    stem: Linear
    blocks: list[Block]
    pair: tuple[Linear, RmsNorm]
    arr: list[Linear]
    extra: Linear | None
    nothing: Linear | None
    head: Head
    temperature: Param[FloatTensor]
    counts: Param
    keep: Param
    gate: Param[Flag]

    def forward(self, x: FloatTensor) -> FloatTensor:
        x = activation.relu(self.stem(x))
        for block in self.blocks:
            x = block(x)
        x = self.pair[1](self.pair[0](x))
        for layer in self.arr:
            x = activation.relu(layer(x)) + x
        x = self.extra(x)
        return self.head(x) * self.temperature.value.unsqueeze()


def mlp(backend):
    def linear(d_input, d_output, **options):
        return LinearConfig(d_input, d_output, **options).init(backend)

    def ones(size):
        return Param.from_tensor(Tensor.ones([size], backend))

    norms = [LayerNorm(gamma=ones(8), beta=ones(8)), None, LayerNorm(gamma=ones(8), beta=None)]
    return Mlp(
        stem=linear(5, 8),
        blocks=[Block(fc=linear(8, 8), norm=norm, dropout=DropoutConfig(0.0).init()) for norm in norms],
        pair=(linear(8, 6, bias=False), RmsNorm(gamma=ones(6))),
        arr=[linear(6, 6), linear(6, 6)],
        extra=linear(6, 6, layout=LinearLayout.Col),
        nothing=None,
        head=Deep(hidden=linear(6, 4), last=linear(4, 3)),
        temperature=ones(1),
        counts=Param.from_tensor(Tensor.from_data([0, 0, 0], backend)),
        keep=Param.from_tensor(Tensor.from_data([False] * 4, backend)),
        gate=Param.from_bool(True),
    )


def test_a_model_with_every_container():
    backend = Autodiff(NumPy(seed=0))
    case = CASES["mlp"]
    fresh = mlp(backend)
    model = fresh.load_file(GOLDEN / "mlp-5")
    check(model, case["params"])
    assert model.into_record().into_bytes() == (GOLDEN / "mlp-5.bpk").read_bytes()
    assert model.valid().train().into_record().into_bytes() == (GOLDEN / "mlp-5.bpk").read_bytes()
    inputs = case["eval_after_load"]["inputs"]["x"]
    x = Tensor.from_data(np.array(inputs["data"], np.float32).reshape(inputs["shape"]), backend.inner)
    output = case["eval_after_load"]["output"]
    np.testing.assert_allclose(
        model.valid()(x).numpy(), np.array(output["data"]).reshape(output["shape"]), rtol=1e-4, atol=1e-6
    )
    assert ParamId.parse("fv0u7nm2inga2") == model.stem.weight.id
    record = ModuleRecord.load(GOLDEN / "mlp-5")
    bare = fresh.replace(extra=None).load_record(record.allow_unused())
    assert bare.stem.weight.id == model.stem.weight.id
