"""Embedding, attention and transformers against results of Burn 0.22.1."""

import numpy as np
import pytest
from golden_layers import array, cases, check, config_of, loaded, tensors

from minburn.backends import Autodiff, NumPy
from minburn.nn import (
    EmbeddingConfig,
    MhaInput,
    MultiHeadAttentionConfig,
    SeqLengthOption,
    generate_autoregressive_mask,
    generate_padding_mask,
)
from minburn.tensor import Tensor, functional

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
