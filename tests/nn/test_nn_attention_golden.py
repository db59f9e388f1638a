"""Embedding, attention and transformers against results of Burn 0.22.1."""

import json

import numpy as np
import pytest
from golden_layers import GOLDEN, array, cases, check, config_of, loaded, params, tensors

from minburn.backends import Autodiff, NumPy
from minburn.module import Module, ModuleRecord
from minburn.nn import (
    CrossAttentionConfig,
    CrossEntropyLoss,
    Embedding,
    EmbeddingConfig,
    LayerNorm,
    LayerNormConfig,
    Linear,
    LinearConfig,
    MhaInput,
    MultiHeadAttentionConfig,
    PositionalEncoding,
    PositionalEncodingConfig,
    PositionWiseFeedForwardConfig,
    RotaryEncodingConfig,
    SeqLengthOption,
    TransformerDecoderConfig,
    TransformerDecoderInput,
    TransformerEncoder,
    TransformerEncoderConfig,
    TransformerEncoderInput,
    generate_autoregressive_mask,
    generate_padding_mask,
)
from minburn.tensor import IntTensor, Tensor, functional

BACKEND = Autodiff(NumPy(seed=0))


@pytest.mark.parametrize("case", cases("embedding"))
def test_embedding(case):
    layer = config_of(EmbeddingConfig, case).init(BACKEND)
    if "panic" in case:
        index = int(case["panic"].split()[1])
        with pytest.raises(ValueError, match=rf"index {index} is out of bounds .* size 6"):
            layer(Tensor.from_data([[0, index]], BACKEND))
        return
    layer, inputs = loaded(layer, case), tensors(case, BACKEND)
    check(case, layer, inputs, {"output": layer(inputs["input"])})


@pytest.mark.parametrize("case", cases("attention_op"))
def test_attention_op(case):
    inputs = tensors(case, BACKEND)
    options = functional.AttentionOptions()
    if "bias" in inputs:
        options = functional.AttentionOptions(scale=0.7, softcap=1.5, is_causal=True)
    rest = (inputs.get("mask"), inputs.get("bias"), options)
    output = functional.attention(inputs["q"], inputs["k"], inputs["v"], *rest)
    check(case, None, inputs, {"out": output})


@pytest.mark.parametrize("case", cases("attention", "mha"))
def test_multi_head_attention(case):
    layer = loaded(config_of(MultiHeadAttentionConfig, case).init(BACKEND), case)
    inputs = tensors(case, BACKEND)
    x = inputs.get("input")
    query, key, value = (x, x, x) if x is not None else (inputs[name] for name in ("query", "key", "value"))
    out = layer(MhaInput(query, key, value, inputs.get("mask_pad"), inputs.get("mask_attn")))
    check(case, layer, inputs, {"weights": out.weights, "context": out.context})


def test_masks():
    (case,) = (param.values[0] for param in cases("attention", "masks"))
    wanted = {name: array(spec) for name, spec in case["outputs"].items()}
    tokens = [[1, 2, 3, 4], [5], [], [6, 7]]
    assert np.array_equal(generate_autoregressive_mask(2, 4, BACKEND).numpy(), wanted["autoregressive_2_4"])
    for name, length in (
        ("nomax", SeqLengthOption.NoMax()),
        ("max3", SeqLengthOption.Max(3)),
        ("fixed6", SeqLengthOption.Fixed(6)),
    ):
        made = generate_padding_mask(9, tokens, length, BACKEND)
        assert np.array_equal(made.tensor.numpy(), wanted[f"padding_{name}_tensor"])
        assert np.array_equal(made.mask.numpy(), wanted[f"padding_{name}_mask"])


@pytest.mark.parametrize("case", cases("attention", "cross_attention"))
def test_cross_attention(case):
    layer = loaded(config_of(CrossAttentionConfig, case).init(BACKEND), case)
    inputs = tensors(case, BACKEND)
    check(case, layer, inputs, {"output": layer(inputs["query"], inputs["context"])})


@pytest.mark.parametrize("case", cases("attention", "encoder"))
def test_transformer_encoder(case):
    layer = loaded(config_of(TransformerEncoderConfig, case).init(BACKEND), case)
    inputs = tensors(case, BACKEND)
    given = TransformerEncoderInput(inputs["input"], inputs.get("mask_pad"), inputs.get("mask_attn"))
    check(case, layer, inputs, {"output": layer(given)})


@pytest.mark.parametrize("case", cases("attention", "decoder"))
def test_transformer_decoder(case):
    layer = loaded(config_of(TransformerDecoderConfig, case).init(BACKEND), case)
    inputs = tensors(case, BACKEND)
    check(case, layer, inputs, {"output": layer(TransformerDecoderInput(**inputs))})


@pytest.mark.parametrize("case", cases("attention", "pwff"))
def test_position_wise_feed_forward(case):
    layer = loaded(config_of(PositionWiseFeedForwardConfig, case).init(BACKEND), case)
    inputs = tensors(case, BACKEND)
    check(case, layer, inputs, {"output": layer(inputs["input"])})


@pytest.mark.parametrize("case", cases("attention", "positional", "rope"))
def test_encodings(case):
    cls = RotaryEncodingConfig if case["name"].startswith("rope") else PositionalEncodingConfig
    config = config_of(cls, case)
    if case["name"] == "rope_odd":
        with pytest.raises(ValueError, match=r"d_model must be even.* got 3"):
            config.init(BACKEND)
        return
    layer = config.init(BACKEND)
    if case["name"] == "positional_encoding_too_long":
        with pytest.raises(ValueError, match=case["panic"].replace("(", r"\(").replace(")", r"\)")):
            layer(Tensor.zeros([1, 5, 4], BACKEND))
        return
    inputs = tensors(case, BACKEND)
    check(case, layer, inputs, {"output": layer(inputs["input"])}, rtol=2e-5)


class Model(Module):
    token: Embedding
    pos: PositionalEncoding
    enc: TransformerEncoder
    norm: LayerNorm
    head: Linear

    def forward(self, x: IntTensor):
        mask = generate_autoregressive_mask(x.shape[0], x.shape[1], x.backend)
        x = self.enc(TransformerEncoderInput(self.pos(self.token(x)), mask_attn=mask))
        return self.head(self.norm(x))


def model():
    return Model(
        token=EmbeddingConfig(11, 8).init(BACKEND),
        pos=PositionalEncodingConfig(8).init(BACKEND),
        enc=TransformerEncoderConfig(8, 12, 2, 1, dropout=0.0, norm_first=True).init(BACKEND),
        norm=LayerNormConfig(8).init(BACKEND),
        head=LinearConfig(8, 11, bias=False).init(BACKEND),
    )


def test_a_model_that_burn_trained():
    expected = json.loads((GOLDEN / "transformer.json").read_text())
    first = expected["first_step"]["batch"]
    start = loaded(model(), {"params": expected["initial_params"]})
    logits = start(Tensor.from_data(array(first["x"]), BACKEND))
    loss = CrossEntropyLoss()(logits.reshape(-1, 11), Tensor.from_data(array(first["y"]).reshape(-1), BACKEND))
    assert loss.item() == pytest.approx(expected["first_step"]["loss"], rel=1e-6)
    trained = model().load_record(ModuleRecord.load(GOLDEN / "transformer-5"))
    assert [(path, str(int(param.id))) for path, param in params(trained)] == [
        (spec["path"], spec["id"]) for spec in expected["initial_params"]
    ]
    output = trained.valid()(Tensor.from_data(array(expected["eval_after_load"]["inputs"]["x"]), BACKEND.inner))
    np.testing.assert_allclose(output.numpy(), array(expected["eval_after_load"]["output"]), rtol=1e-5, atol=1e-6)
    assert trained.into_record().into_bytes() == (GOLDEN / "transformer-5.bpk").read_bytes()
