"""Embedding, attention, transformers and encodings: what `test_bad_input` tries junk on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minburn import DType, Tensor, nn
from minburn.backends import NumPy
from minburn.tensor import functional

PLAIN = NumPy(seed=1)
Entry = tuple[Any, tuple[Any, ...]]
GELU = nn.ActivationConfig.Gelu()
CONFIGS: list[tuple[Any, dict[str, Any]]] = [
    (nn.EmbeddingConfig, {"n_embedding": 4, "d_model": 2, "initializer": nn.Initializer.Zeros()}),
    (nn.MultiHeadAttentionConfig, {"d_model": 4, "n_heads": 2, "dropout": 0.1, "min_float": -1e4, "key_bias": True}),
    (nn.CrossAttentionConfig, {"d_model": 4, "d_context": 4, "n_heads": 2, "n_heads_kv": 1, "d_head": 2}),
    (nn.PositionWiseFeedForwardConfig, {"d_model": 4, "d_ff": 3, "dropout": 0.1, "activation": GELU}),
    (nn.TransformerEncoderConfig, {"d_model": 4, "d_ff": 3, "n_heads": 2, "n_layers": 1, "layer_norm_eps": 1e-5}),
    (nn.TransformerDecoderConfig, {"d_model": 4, "d_ff": 3, "n_heads": 2, "n_layers": 1, "norm_first": True}),
    (nn.PositionalEncodingConfig, {"d_model": 4, "max_sequence_size": 5, "max_timescale": 10}),
    (nn.RotaryEncodingConfig, {"max_sequence_length": 5, "d_model": 4, "theta": 10.0}),
]


def entries() -> Iterator[Entry]:
    heads, mask = Tensor.zeros([1, 2, 3, 4], PLAIN), Tensor.zeros([1, 1, 3, 3], PLAIN, DType.Bool)
    bias, options = Tensor.zeros([1, 2, 3, 3], PLAIN), functional.AttentionOptions()
    words = Tensor.from_data([[1]], PLAIN)
    for call in (functional.attention, functional.attention_with_weights):
        yield call, (heads, heads, heads, mask, bias, options)
    yield functional.attention_weights, (heads, heads, mask, bias, options)
    for field in ("scale", "softcap", "is_causal", "fill", "is_quiet"):
        yield (
            lambda value, field=field: functional.attention(
                heads, heads, heads, None, None, functional.AttentionOptions(**{field: value})
            ),
            (None,),
        )
    yield functional.embedding, (Tensor.zeros([4, 2], PLAIN), words)
    for config, fields in CONFIGS:
        for field, right in fields.items():
            yield (
                lambda value, config=config, fields=fields, field=field: config(**{**fields, field: value}).init(PLAIN),
                (right,),
            )
        yield config(**fields).init, (PLAIN,)
    yield nn.generate_autoregressive_mask, (2, 3, PLAIN)
    yield nn.generate_padding_mask, (0, [[1]], None, PLAIN)
    yield nn.SeqLengthOption.Max, (3,)
    yield nn.SeqLengthOption.Fixed, (3,)
    embedding, mha, cross, pwff, encoder, decoder, positional, rotary = (
        config(**fields).init(PLAIN) for config, fields in CONFIGS
    )
    x = Tensor.zeros([2, 3, 4], PLAIN)
    pad, attn = Tensor.zeros([2, 3], PLAIN, DType.Bool), Tensor.zeros([2, 3, 3], PLAIN, DType.Bool)
    yield embedding, (words,)
    yield mha, (nn.MhaInput.self_attn(x),)
    yield lambda *given: mha(nn.MhaInput(*given)), (x, x, x, pad, attn)
    yield mha.forward_cache, (nn.MhaInput.self_attn(x), nn.MhaCache.autoregressive())
    yield cross, (x, x, pad)
    yield pwff, (x,)
    yield encoder, (nn.TransformerEncoderInput(x),)
    yield lambda *given: encoder(nn.TransformerEncoderInput(*given)), (x, pad, attn)
    yield encoder.forward_autoregressive_inference, (nn.TransformerEncoderInput(x), encoder.new_autoregressive_cache())
    yield decoder, (nn.TransformerDecoderInput(x, x),)
    yield lambda *given: decoder(nn.TransformerDecoderInput(*given)), (x, x, pad, attn, pad, attn)
    yield positional, (x,)
    yield rotary, (x,)
    yield rotary.apply, (x, 0)
    yield rotary.shift, (3,)
