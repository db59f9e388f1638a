"""What `minburn rust` writes, without a compiler: that it compiles and computes is tested with the real Burn."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from rust_models import Gpt, GptConfig, gallery, recurrent, zoo

from minburn.backends import Backend, NumPy
from minburn.cli import main
from minburn.cli.rust import source_of
from minburn.cli.rust.error import NotExpressible
from minburn.cli.rust.tokens import Number, Tokens, explain, literal, render
from minburn.module import Config, Lora, Module, ModuleRecord
from minburn.nn import Dropout, DropoutConfig, Linear, LinearConfig, Relu
from minburn.tensor import FloatTensor, IntTensor, activation

MODELS = f"{Path(__file__).resolve().parent}/rust_models.py"


class Mlp(Module):
    hidden: Linear
    activation: Relu
    dropout: Dropout
    output: Linear

    def forward(self, images: FloatTensor) -> FloatTensor:
        x = self.dropout(self.activation(self.hidden(images.flatten(1, 2))))
        return self.output(x)


class MlpConfig(Config):
    d_input: int
    classes: int
    hidden: int = 128
    dropout: float = 0.5
    bias: bool = True

    def init(self, backend: Backend) -> Mlp:
        return Mlp(
            hidden=LinearConfig(self.d_input * self.d_input, self.hidden, bias=self.bias).init(backend),
            activation=Relu(),
            dropout=DropoutConfig(self.dropout).init(),
            output=LinearConfig(self.hidden, self.classes).init(backend),
        )


MLP = """//! Mlp, written by `minburn rust`. Names of fields, and so of tensors in a record, are those in Python.

#![allow(dead_code)]

use burn::config::Config;
use burn::module::Module;
use burn::nn::activation::Relu;
use burn::nn::{Dropout, DropoutConfig, Linear, LinearConfig};
use burn::tensor::{Device, Tensor};

#[derive(Config, Debug)]
pub struct MlpConfig {
    pub d_input: usize,
    pub classes: usize,
    #[config(default = "128")]
    pub hidden: usize,
    #[config(default = "0.5")]
    pub dropout: f64,
    #[config(default = "true")]
    pub bias: bool,
}

impl MlpConfig {
    pub fn init(&self, device: &Device) -> Mlp {
        // d_input decides about more than numbers: this is the model for 8.
        Mlp {
            hidden: LinearConfig::new(64, self.hidden).with_bias(self.bias).init(device),
            activation: Relu::new(),
            dropout: DropoutConfig::new(self.dropout).init(),
            output: LinearConfig::new(self.hidden, self.classes).init(device),
        }
    }
}

#[derive(Module, Debug)]
pub struct Mlp {
    pub hidden: Linear,
    pub activation: Relu,
    pub dropout: Dropout,
    pub output: Linear,
}

impl Mlp {
    pub fn forward(&self, images: Tensor<3>) -> Tensor<2> {
        let x = self.activation.forward(self.hidden.forward(images.flatten::<2>(1, 2)));
        self.output.forward(self.dropout.forward(x))
    }
}
"""


def written(model: Module, *inputs: tuple[str, tuple[int, ...]], config: Config | None = None) -> str:
    return source_of(model, list(inputs) or None, config).model


def test_a_small_model_whole() -> None:
    config = MlpConfig(8, 10)
    source = source_of(config.init(NumPy()), [("float", (1, 8, 8))], config)
    assert source.model == MLP
    assert source.unwritten == {}
    assert 'burn = { version = "=0.22.1"' in source.cargo
    assert "MlpConfig::new(8, 10).init(&device)" in source.main


def test_sizes_follow_the_config() -> None:
    config = GptConfig(27, layers=2)
    text = written(config.init(NumPy()), ("int", (2, 8)), config=config)
    for line in (
        "position: Initializer::Normal { mean: 0.0, std: 0.02 }.init([self.length, self.d_model], device),",
        "blocks: (0..self.layers).map(|_| Block {",
        "attention: MultiHeadAttentionConfig::new(self.d_model, self.heads).with_dropout(self.dropout).init(device),",
        "up: LinearConfig::new(self.d_model, self.d_model * 4).with_bias(self.bias).init(device),",
        "head: LinearConfig::new(self.d_model, self.vocabulary).with_bias(false).init(device),",
        "let [n0, n1] = tokens.dims();",
        "let mask = generate_autoregressive_mask(n0, n1, &device);",
        "let x = self.blocks.iter().fold(x, |x, block| block.forward(x, mask.clone()));",
        "pub fn forward(&self, x: Tensor<3>, mask: Tensor<3, Bool>) -> Tensor<3> {",
        "let y = self.attention.forward(MhaInput::new(y.clone(), y.clone(), y).mask_attn(mask));",
    ):
        assert line.split("std: ")[0] in text, line
    assert "decides about more" not in text


def test_containers_enums_and_options() -> None:
    text = written(zoo(NumPy()), ("float", (1, 4, 6)))
    for line in (
        "pub norm: Normalization,",
        "norm: NormalizationConfig::Batch(BatchNormConfig::new(4)).init(device),",
        "act: ActivationConfig::LeakyRelu(LeakyReluConfig::new().with_negative_slope(0.2)).init(device),",
        "pub kinds: (Kind, Kind),",
        "    Wide(Wide),\n    Flat(Linear),",
        "            Kind::Flat(inner) => inner.forward(x),",
        "pub named: ZooNamed,",
        "pub norm: Option<LayerNorm>,",
        "let y = match &self.norm { Some(layer) => layer.forward(y), None => y };",
        "let y = -signal.abs() * self.rate;",
        "let x = Tensor::cat(vec![x, y], 1).swap_dims(1, 2).reshape([n0, n2, 8]);",
        "let x = ((u * x).mean_dim(2) + 0.001).sqrt();",
        "x.mask_fill(mask, 0.0).mean_dim(2).squeeze_dim::<2>(2)",
    ):
        assert line in text, line


def test_layers_with_states_options_and_several_results() -> None:
    text = written(recurrent(NumPy()), ("float", (2, 3, 4)))
    for line in (
        "gru: GruConfig::new(4, 4, true).with_reset_after(false).init(device),",
        "lstm: LstmConfig::new(4, 4, true).with_clip(Some(2.0)).init(device),",
        "both: BiLstmConfig::new(4, 4, false).with_hidden_activation(ActivationConfig::Relu).init(device),",
        "let y = self.rnn.forward(x.clone(), None);",
        "let y = self.lstm.forward(self.gru.forward(y.0, None) + x.clone(), None);",
        "let z = y.1.cell.unsqueeze_dim::<3>(1);",
        "let x = self.cross.forward(y.0, x, None);",
        "let y = self.loss.forward(x.clone(), y, Reduction::Mean).unsqueeze::<3>();",
    ):
        assert line in text, line


def test_every_layer_has_an_expression() -> None:
    model = gallery(NumPy())
    text = written(model)
    assert len(model.layers) > 80
    assert [name for name in model.layers if f"{name}: " not in text] == []
    assert "left out" not in text and "todo!" not in text


class Rounds(Module):
    layers: list[Linear]
    kind: str

    def forward(self, x: FloatTensor) -> FloatTensor:
        first = x
        for layer in self.layers:
            x = activation.relu(layer(x)) + first
        return x if self.kind == "plain" else x.tanh()


def linears(sizes: list[int], backend: Backend) -> list[Linear]:
    return [LinearConfig(size, size).init(backend) for size in sizes]


def test_equal_rounds_are_a_loop() -> None:
    text = written(Rounds(layers=linears([4, 4, 4], NumPy()), kind="plain"), ("float", (2, 4)))
    body = text[text.index("pub fn forward") :]
    assert "self.layers.iter().fold(" in body
    assert body.count("layer.forward(") == 1
    assert 'kind: "plain".to_string(),' in text


class Uneven(Rounds):
    def forward(self, x: FloatTensor) -> FloatTensor:
        for index, layer in enumerate(self.layers):
            x = layer(x) * (index + 1)
        return x


def test_different_rounds_are_written_out() -> None:
    text = written(Uneven(layers=linears([4, 4], NumPy()), kind=""), ("float", (2, 4)))
    assert "self.layers[1].forward(self.layers[0].forward(x)" in text
    assert " * 2.0" in text and "fold" not in text


class Scaled(Module):
    linear: Linear
    norm: Linear | None

    def forward(self, x: FloatTensor) -> FloatTensor:
        x = self.linear(x)
        if self.norm is None:
            return x * 2.0 if self.linear.bias is None else x * float(self.linear.weight.shape[0])
        return self.norm(x) * float(self.linear.weight.shape[0])


class Pair(Module):
    first: Scaled
    second: Scaled

    def forward(self, x: FloatTensor) -> FloatTensor:
        return self.second(self.first(x))


def scaled(d_input: int, d_output: int, norm: bool, bias: bool = True) -> Scaled:
    backend = NumPy()
    inner = LinearConfig(d_output, d_output).init(backend) if norm else None
    return Scaled(linear=LinearConfig(d_input, d_output, bias=bias).init(backend), norm=inner)


@pytest.mark.parametrize(
    ("first", "second", "fits"),
    [
        (scaled(4, 4, True), scaled(4, 4, True), True),
        (scaled(4, 4, True), scaled(4, 4, False), True),
        (scaled(4, 5, True), scaled(5, 4, True), False),  # another number in its pass
        (scaled(4, 4, True), scaled(4, 4, False, bias=False), False),  # it does something else without the norm
    ],
)
def test_all_instances_of_a_class_must_do_the_same(first: Scaled, second: Scaled, fits: bool) -> None:
    source = source_of(Pair(first=first, second=second), [("float", (2, 4))])
    assert ("Scaled" not in source.unwritten) == fits
    if not fits:
        assert "its instances do different things" in source.unwritten["Scaled"]


class OnNumbers(Module):
    linear: Linear

    def forward(self, x: FloatTensor) -> FloatTensor:
        return self.linear(x) if x.sum().item() > 0 else x


class OnSizes(Module):
    linear: Linear

    def forward(self, x: FloatTensor) -> FloatTensor:
        return self.linear(x) if x.shape[0] < 3 else x.tanh()


class Draws(Module):
    linear: Linear

    def forward(self, x: FloatTensor) -> FloatTensor:
        return self.linear(x) + FloatTensor.random(x.shape, x.backend)


class Two(Module):
    linear: Linear

    def forward(self, x: FloatTensor) -> Any:
        return x, self.linear(x)


@pytest.mark.parametrize(
    ("cls", "why"),
    [
        (OnNumbers, "reads numbers of a tensor back into Python"),
        (OnSizes, "its course depends on the size of its input (n0)"),
        (Draws, "floats.random"),
        (Two, "gives a tuple, not a tensor"),
    ],
)
def test_what_cannot_be_written_is_a_skeleton_that_says_so(cls: Any, why: str) -> None:
    source = source_of(cls(linear=LinearConfig(4, 4).init(NumPy())), [("float", (2, 4))])
    assert why in source.unwritten[cls.__name__]
    assert "// TO BE WRITTEN: " in source.model
    assert f'todo!("{cls.__name__}::forward")' in source.model
    assert "//     return self.linear(x)" in source.model or "self.linear(x)" in source.model
    assert "forward" not in source.main.split("fn main")[1]


def test_without_an_input_the_forward_is_a_skeleton() -> None:
    source = source_of(MlpConfig(2, 3).init(NumPy()))
    assert "--input" in source.unwritten["Mlp"]


class Keyword(Module):
    type: Linear


class Holder(Module):
    block: Module
    other: Module


def test_what_has_no_counterpart_is_refused() -> None:
    linear = LinearConfig(2, 2).init(NumPy())
    with pytest.raises(NotExpressible, match=r"Keyword\.type"):
        source_of(Keyword(type=linear))
    with pytest.raises(NotExpressible, match=r"reparameterization, as LoRA.*model\.materialize\(\)"):
        source_of(linear.apply_lora(Lora(1, 1.0)))
    twin = type("Keyword", (Module,), {"__annotations__": {"x": Linear}})
    also = type("Keyword", (Module,), {"__annotations__": {"y": Linear}})
    with pytest.raises(NotExpressible, match="two classes are called Keyword"):
        source_of(Holder(block=twin(x=linear), other=also(y=linear)))


def test_a_class_with_the_name_of_burns() -> None:
    mine = type("Dropout", (Module,), {"__annotations__": {"inner": Dropout}})
    text = written(mine(inner=DropoutConfig(0.5).init()))
    assert "pub inner: burn::nn::Dropout," in text
    assert "use burn::nn::Dropout;" not in text


# Numbers


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda a, b: a, "a"),
        (lambda a, b: 4 * a, "a * 4"),
        (lambda a, b: a // 2, "a / 2"),
        (lambda a, b: a + 3, "a + 3"),
        (lambda a, b: a * b, "a * b"),
        (lambda a, b: a // b, "a / b"),
        (lambda a, b: 7, "7"),
    ],
)
def test_where_a_number_comes_from(make: Any, text: str) -> None:
    def tokens(values: dict[str, int]) -> Tokens:
        return ["[", Number(make(**values)), "]"]

    known = {"a": 12, "b": 4}
    made = tokens(known)
    unexplained = explain(made, known, lambda name, value: tokens({**known, name: int(value)}))
    assert (render(made), unexplained.names) == (f"[{text}]", [])


def test_what_is_not_explained_is_told() -> None:
    made: Tokens = [Number(144)]
    unexplained = explain(made, {"a": 12}, lambda name, value: [Number(int(value) ** 2)])
    assert (render(made), unexplained.names) == ("144", ["a"])


def test_literals() -> None:
    values = (True, 3, 0.5, 1e-5, 1.0, -2)
    assert [literal(value) for value in values] == ["true", "3", "0.5", "1e-05", "1.0", "-2"]


# The command


def test_the_command_writes_a_crate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record, out = tmp_path / "trained.bpk", tmp_path / "crate"
    model = GptConfig(5, layers=1).init(NumPy(seed=3))
    model.into_record().save(record)
    call = ["rust", f"{MODELS}:GptConfig", "--set", "vocabulary=5", "--set", "layers=1", "--input", "int:2,4"]
    assert main([*call, "--record", str(record), "--out", str(out)]) == 0
    assert "cargo run --release -- model.bpk example.bpk" in capsys.readouterr().out
    assert (out / "model.bpk").read_bytes() == record.read_bytes()
    example = ModuleRecord.load(out / "example.bpk")
    tokens: IntTensor = IntTensor.from_data(example["tokens"].data, NumPy())
    expected = model(tokens).numpy()
    assert (example["output"].data.numpy() == expected).all()
    assert {path.name for path in out.rglob("*.*")} == {"Cargo.toml", "model.rs", "main.rs", "model.bpk", "example.bpk"}
    assert main([*call, "--out", str(out)]) == 2
    assert "--force" in capsys.readouterr().err
    assert isinstance(model, Gpt)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere:Config"], "nowhere cannot be imported"),
        (["missing.py:Config"], "no such file"),
        ([MODELS], "expected module:Class"),
        ([f"{MODELS}:Nothing"], "has no Nothing"),
        ([f"{MODELS}:Gpt"], "no Config"),
        ([f"{MODELS}:GptConfig"], "--set vocabulary=…"),
        ([f"{MODELS}:GptConfig", "--set", "vocabulary"], "FIELD=VALUE"),
        ([f"{MODELS}:GptConfig", "--set", "vocabulary=5", "--set", "depth=2"], "unknown field depth"),
        ([f"{MODELS}:zoo", "--input", "2x3"], "expected sizes"),
        ([f"{MODELS}:zoo", "--record", "nothing.bpk"], "nothing.bpk"),
    ],
)
def test_wrong_calls_are_one_line(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rust", *arguments]) in (1, 2)
    text = capsys.readouterr().err
    assert told in text and text.count("\n") == 1
