"""Tables of layers: counts agree with the model, a look changes nothing; HTML for notebooks."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import NamedTuple

import numpy as np
import pytest

from minburn import FloatTensor, Module, Param, ParamGroup, Tensor
from minburn.backends import Autodiff, NumPy
from minburn.module import Flag, Lora, RunningState
from minburn.nn import BatchNorm, BatchNormConfig, Dropout, DropoutConfig, Linear, LinearConfig

BACKEND = Autodiff(NumPy(seed=0))


class Both(NamedTuple):
    logits: FloatTensor
    hidden: FloatTensor
    mask: FloatTensor | None


class Net(Module):
    stem: Linear
    norm: BatchNorm
    blocks: list[Linear]
    dropout: Dropout
    head: Linear
    steps: Param

    def forward(self, x: FloatTensor, twice: bool = False) -> Both:
        hidden = self.norm(self.stem(x))
        for block in self.blocks:
            hidden = self.dropout(block.forward(hidden))
        if twice:
            hidden = self.blocks[0](hidden)
        return Both(self.head(hidden), hidden, None)


def net(backend=BACKEND) -> Net:
    shared = LinearConfig(4, 4).init(backend)
    return Net(
        stem=LinearConfig(3, 4).init(backend),
        norm=BatchNormConfig(4).init(backend),
        blocks=[shared, LinearConfig(4, 4, bias=False).init(backend), shared],
        dropout=DropoutConfig(0.5).init(),
        head=LinearConfig(4, 2).init(backend),
        steps=Param.from_data([1, 2, 3], backend),
    )


def inputs(backend=BACKEND):
    return Tensor.from_data(np.ones((5, 3), np.float32), backend)


def by_path(summary):
    return {row.path: row for row in summary.rows}


def test_sums_are_those_of_the_model_and_of_its_record():
    model = net().freeze_group(ParamGroup.from_predicate("stem"))
    summary = model.summary()
    assert summary.parameters == model.num_params() == 16 + 8 + 8 + 20 + 16 + 10
    assert (summary.trained, summary.frozen, summary.running) == (8 + 20 + 16 + 10, 16, 8)
    unique = {entry.id: entry for entry in model.into_record()}
    assert summary.bytes == sum(len(entry.data.bytes) for entry in unique.values()) == (78 + 3) * 4
    text = str(summary)
    assert text.endswith("\n78 parameters in 324 B: 54 trained, 16 frozen, 8 running values.")
    assert "output" not in text.splitlines()[0]


def test_a_shared_layer_counts_once():
    rows = by_path(net().summary())
    assert rows["blocks.0"].parameters == 20
    assert (rows["blocks.2"].parameters, rows["blocks.2"].shared, rows["blocks.2"].bytes) == (0, 20, 0)
    assert "0 (+20 shared)" in str(net().summary())


def test_each_layer_shows_what_it_returned():
    rows = by_path(net().summary(inputs(), twice=True))
    assert {path: (row.output, row.calls) for path, row in rows.items()} == {
        "": ("(logits: [5, 2], hidden: [5, 4])", 1),
        "stem": ("[5, 4]", 1),
        "norm": ("[5, 4]", 1),
        "blocks.0": ("[5, 4]", 2),
        "blocks.1": ("[5, 4]", 1),
        "blocks.2": ("[5, 4]", 1),
        "dropout": ("[5, 4]", 3),
        "head": ("[5, 2]", 1),
    }
    assert "[5, 4] (3 calls)" in str(net().summary(inputs()))


def test_a_look_changes_nothing():
    model = net()
    model(inputs())
    before = model.into_record().into_bytes()
    streams = BACKEND.streams.state()
    first, second = str(model.summary(inputs())), str(model.summary(inputs(BACKEND.inner)))
    assert first == second
    assert model.into_record().into_bytes() == before and BACKEND.streams.state() == streams
    assert type(model.stem) is Linear and model.dropout.training.is_enabled
    lazy = net()
    lazy.summary()
    assert not lazy.stem.weight.is_initialized


def test_a_depth_folds_what_lies_below():
    class Outer(Module):
        inner: Net
        scale: Param

    model = Outer(inner=net(), scale=Param.from_data([1.0], BACKEND))
    for depth, lines in ((0, [""]), (1, ["", "inner"]), (2, ["", "inner", "inner.stem"])):
        summary = model.summary(depth=depth)
        assert [row.path for row in summary.rows][: len(lines)] == lines
        assert summary.parameters == 79
    rows = by_path(model.summary(depth=1))
    assert (rows[""].parameters, rows["inner"].parameters) == (1, 78)
    assert "70 of 78" not in str(model.summary(depth=1)) and "yes" in str(model.summary(depth=1))
    partly = model.freeze_group(ParamGroup.from_predicate("stem"))
    assert "54 of 70" in str(partly.summary(depth=1))


def test_reparameterized_parameters_and_flags():
    model = net().apply_lora(Lora(2, 4.0, param_group=ParamGroup.from_path("head.weight")))
    rows = by_path(model.summary(inputs()))
    assert rows["head.weight.lora"].kind == "LoraAdapter" and rows["head.weight.lora"].trained == (4 + 2) * 2
    assert rows["head"].frozen == 10 and rows["head"].output == "[5, 2]"
    assert model.summary().parameters == model.num_params()
    assert isinstance(model.dropout.training, Param) and isinstance(model.dropout.training.value, Flag)


def test_a_module_that_cannot_be_called():
    class Silent(Module):
        seen: RunningState

    model = Silent(seen=RunningState(FloatTensor.ones([2], BACKEND)))
    assert model.summary().running == 2
    with pytest.raises(TypeError, match="Silent cannot be called: its class defines no forward method"):
        model.summary(inputs())
    with pytest.raises(TypeError, match="unexpected keyword argument 'thrice'"):
        net().summary(inputs(), thrice=True)


def test_a_module_with_a_call_of_its_own_and_values_of_all_kinds():
    class Called(Module):
        head: Linear

        def __call__(self, xs):
            return {"pair": (self.head(xs["x"]), None), "number": 3}

    model = Called(head=LinearConfig(3, 2).init(BACKEND))
    rows = by_path(model.summary({"x": inputs()}))
    assert rows[""].output == "{pair: ([5, 2], None), number: int}" and rows["head"].output == "[5, 2]"


# HTML


class Balanced(HTMLParser):
    """Refuses tags that do not match; collects the text."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.tags = [], "", set()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def parsed(text):
    parser = Balanced()
    parser.feed(text)
    parser.close()
    assert not parser.open and not parser.tags & {"script", "style", "link", "img"}
    return parser


def test_notebooks_show_the_tree_and_the_table():
    model = net().freeze_group(ParamGroup.from_predicate("stem"))
    tree = parsed(model._repr_html_())
    assert "Net 78 parameters in 324 B, 16 frozen" in tree.text and "blocks: Vec of 3" in tree.text
    assert "stem: Linear {d_input: 3, d_output: 4, bias: true, params: 16}" in tree.text
    assert "steps: ParamTensor {rank: 1, shape: [3], kind: int}" in tree.text
    table = parsed(model.summary(inputs())._repr_html_())
    for cell in ("blocks.2", "0 (+20 shared)", "[5, 4]", "54 trained, 16 frozen"):
        assert cell in table.text
    assert not net().stem.weight.is_initialized


def test_texts_of_a_module_are_escaped():
    class Named(Module):
        name: str
        head: Linear

    model = Named(name="<script>alert(1)</script>", head=LinearConfig(1, 1).init(BACKEND))
    assert "<script>" not in model._repr_html_() and "<script>alert(1)</script>" in parsed(model._repr_html_()).text
    assert re.search("name: &lt;script&gt;", model._repr_html_())
