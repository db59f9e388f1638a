"""What transformers and position encodings promise beyond their formulas."""

import numpy as np
import pytest
from golden_layers import params

from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.nn import (
    ActivationConfig,
    CrossAttentionConfig,
    MhaInput,
    MultiHeadAttentionConfig,
    PositionalEncodingConfig,
    PositionWiseFeedForwardConfig,
    RotaryEncodingConfig,
    TransformerDecoderConfig,
    TransformerDecoderInput,
    TransformerEncoderConfig,
    TransformerEncoderInput,
    generate_autoregressive_mask,
)
from minburn.optim import GradientsParams
from minburn.tensor import KindError, ShapeError, Tensor

PLAIN = NumPy(seed=1)
CONFIG = {"d_model": 6, "d_ff": 7, "n_heads": 2, "n_layers": 2}


def close(actual, expected, atol=1e-5):
    np.testing.assert_allclose(actual.numpy(), expected.numpy(), rtol=1e-4, atol=atol)


@pytest.mark.parametrize("norm_first", [False, True])
def test_an_encoder_cache_gives_what_the_whole_sequence_gives(norm_first):
    encoder = TransformerEncoderConfig(**CONFIG, norm_first=norm_first).init(PLAIN)
    x = Tensor.random([2, 5, 6], PLAIN)
    cache = encoder.new_autoregressive_cache()
    for length in (2, 3, 4, 5):  # a prompt of two at once
        mask = generate_autoregressive_mask(2, length, PLAIN)
        given = TransformerEncoderInput(x[:, :length], mask_attn=mask)
        close(encoder.forward_autoregressive_inference(given, cache), encoder(given))
    with pytest.raises(ShapeError, match="holds 5 tokens of 2 sequences"):
        encoder.forward_autoregressive_inference(given, cache)
    for wrong in (None, encoder.replace(layers=encoder.layers[:1]).new_autoregressive_cache()):
        with pytest.raises(ValueError, match="not one of 2 encoder layers"):
            encoder.forward_autoregressive_inference(given, wrong)


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_decoder_cache_gives_what_the_whole_sequence_gives(norm_first):
    decoder = TransformerDecoderConfig(**CONFIG, norm_first=norm_first).init(PLAIN)
    x, memory = Tensor.random([2, 4, 6], PLAIN), Tensor.random([2, 3, 6], PLAIN)
    padding = Tensor.from_data([[False, False, True], [False, False, False]], PLAIN)
    cache = decoder.new_autoregressive_cache()
    for length in (1, 2, 3, 4):
        mask = generate_autoregressive_mask(2, length, PLAIN)
        given = TransformerDecoderInput(x[:, :length], memory, target_mask_attn=mask, memory_mask_pad=padding)
        close(decoder.forward_autoregressive_inference(given, cache), decoder(given))
    with pytest.raises(ValueError, match="not one of 2 decoder layers"):
        decoder.forward_autoregressive_inference(given, None)


def test_dropout_everywhere_while_training_and_nowhere_else():
    backend = Autodiff(NumPy(seed=2))
    x = Tensor.random([2, 3, 6], backend)
    encoder = TransformerEncoderConfig(**CONFIG, dropout=0.5).init(backend)
    decoder = TransformerDecoderConfig(**CONFIG, dropout=0.5).init(backend)
    for layer, given in ((encoder, TransformerEncoderInput(x)), (decoder, TransformerDecoderInput(x, x))):
        assert not np.array_equal(layer(given).numpy(), layer(given).numpy())
        still = layer.valid()
        assert np.array_equal(still(given).numpy(), still(given).numpy())
        assert layer.train().num_params() == still.num_params()


def test_the_activation_is_part_of_the_config_not_of_the_record():
    config = PositionWiseFeedForwardConfig(2, 3, dropout=0.0, activation=ActivationConfig.Relu())
    layer = config.init(PLAIN)
    assert '"activation": "Relu"' in config.to_json()
    assert len(layer.into_record()) == 4
    x = Tensor.random([4, 2], PLAIN)
    close(layer(x), layer.linear_outer(layer.linear_inner(x).clamp_min(0.0)))
    assert repr(layer) == "PositionWiseFeedForward {d_model: 2, d_ff: 3, prob: 0, params: 17}"


def test_positions_are_added_to_any_batch():
    encoding = PositionalEncodingConfig(4, 6).init(PLAIN)
    x = Tensor.random([2, 3, 5, 4], PLAIN)
    close(encoding(x) - x, encoding(x * 0.0))
    assert encoding(x * 0.0).numpy()[1, 2, 0].tolist() == [0, 1, 0, 1]
    assert len(encoding.into_record()) == 0
    assert repr(encoding) == "PositionalEncoding {d_model: 4, max_sequence_size: 6, max_timescale: 10000}"


def test_a_rotary_product_depends_on_the_distance_only():
    rotary = RotaryEncodingConfig(32, 8).init(PLAIN)
    query, key = Tensor.random([1, 8], PLAIN), Tensor.random([1, 8], PLAIN)
    products = [(rotary.apply(query, at + 5) * rotary.apply(key, at)).sum().item() for at in range(20)]
    np.testing.assert_allclose(products, products[0], rtol=1e-4)


def test_rotary_windows_move():
    rotary = RotaryEncodingConfig(6, 4).init(PLAIN)
    x = Tensor.random([2, 3, 4], PLAIN)
    close(rotary.shift(2)(x), rotary.apply(x, 2))
    close(rotary.shift(2).shift(3)(x), rotary.apply(x, 3))
    close(rotary.shift(9).reset()(x), rotary(x))
    assert rotary.reset() is rotary
    with pytest.raises(ValueError, match="begins at 2 and must move on, but start is 2"):
        rotary.shift(2).shift(2)
    with pytest.raises(ShapeError, match=r"3 tokens from position 4 .* of 7, but it is 6"):
        rotary.apply(x, 4)


def test_rotary_frequencies_can_be_scaled():
    half = RotaryEncodingConfig(6, 4).init_with_frequency_scaling(lambda theta: theta / 2.0, PLAIN)
    plain = RotaryEncodingConfig(6, 4).init(PLAIN)
    x = Tensor.random([1, 4], PLAIN)
    close(half.apply(x, 4), plain.apply(x, 2))
    with pytest.raises(ShapeError, match="must return 2 frequencies"):
        RotaryEncodingConfig(6, 4).init_with_frequency_scaling(lambda theta: theta.sum(), PLAIN)


def test_constants_move_with_the_model():
    backend = Autodiff(NumPy(seed=1))
    rotary, encoding = RotaryEncodingConfig(6, 4).init(backend), PositionalEncodingConfig(4).init(backend)
    x = Tensor.random([1, 3, 4], backend.inner)
    assert not rotary.valid()(x).is_autodiff
    assert not encoding.valid()(x).is_autodiff
    assert encoding.valid().train()(x).is_autodiff


@pytest.mark.parametrize("dtype", [DType.F64, DType.F16])
def test_constants_have_the_dtype_of_the_input(dtype):
    x = Tensor.random([1, 3, 4], PLAIN, dtype=dtype)
    for layer in (RotaryEncodingConfig(6, 4).init(PLAIN), PositionalEncodingConfig(4).init(PLAIN)):
        assert layer(x).dtype == dtype


def test_a_half_transformer_trains():
    backend = Autodiff(NumPy(seed=1, float_dtype=DType.F16))
    encoder = TransformerEncoderConfig(8, 16, 2, 2, norm_first=True).init(backend)
    x = Tensor.random([2, 5, 8], backend)
    padding = Tensor.from_data([[True] * 5, [False] * 5], backend)  # one sequence is padding only
    mask = generate_autoregressive_mask(2, 5, backend)
    out = encoder(TransformerEncoderInput(x, padding, mask))
    grads = GradientsParams.from_grads((out * out).mean().backward(), encoder)
    assert out.dtype == DType.F16
    assert len(grads) == 32
    assert all(np.isfinite(grad.numpy()).all() for _, grad in grads_of(encoder, grads))


def grads_of(module, grads):
    return [(param.id, grads.get(param.id)) for _, param in params(module)]


def test_cross_attention_shares_heads():
    one = CrossAttentionConfig(4, 3, n_heads=4, n_heads_kv=2, d_head=2, dropout=0.5).init(Autodiff(NumPy(seed=1)))
    backend = one.query.weight.value.backend
    x, context = Tensor.random([2, 3, 4], backend), Tensor.random([2, 5, 3], backend)
    mask = Tensor.from_data([[False] * 4 + [True]] * 2, backend)
    assert one(x, context, mask).shape == (2, 3, 4)
    still, dropping = one.valid(), one.replace(dropout=one.dropout.replace(prob=1e-9))
    wide = context.slice_assign([(0, 2), (4, 5)], context[:, 4:] * 100.0)
    close(still(x, context, mask), still(x, wide, mask))
    close(dropping(x, context, mask), still(x, context, mask))


def test_options_that_cannot_work_are_refused_when_the_layer_is_built():
    for config, text in (
        (TransformerEncoderConfig(6, 7, 4, 1), r"d_model 6 .* n_heads 4"),
        (TransformerDecoderConfig(6, 7, 2, -1), "n_layers is -1"),
        (TransformerEncoderConfig(6, 7, 2, 1, dropout=1.0), r"\[0, 1\), but got 1.0"),
        (PositionalEncodingConfig(5), "even.* got 5"),
        (PositionalEncodingConfig(4, 100, 99), "max_timescale 99 .* 100"),
        (PositionalEncodingConfig(4, 0), "at least 1"),
        (RotaryEncodingConfig(8, 4, theta=0.0), "theta must be positive"),
        (RotaryEncodingConfig(0, 4), "max_sequence_length"),
        (CrossAttentionConfig(4, 4, 3, 2, 2), "n_heads 3 must be a multiple of n_heads_kv 2"),
        (MultiHeadAttentionConfig(4, 2, min_float=float("nan")), "nan"),
    ):
        with pytest.raises(ValueError, match=text):
            config.init(PLAIN)


def test_inputs_that_do_not_fit_are_refused():
    x, wide = Tensor.zeros([2, 3, 6], PLAIN), Tensor.zeros([2, 3, 5], PLAIN)
    encoder = TransformerEncoderConfig(**CONFIG).init(PLAIN)
    decoder = TransformerDecoderConfig(**CONFIG).init(PLAIN)
    with pytest.raises(KindError, match=r"TransformerEncoderInput\(x"):
        encoder(x)
    with pytest.raises(KindError, match=r"TransformerDecoderInput\(target, memory\)"):
        decoder(MhaInput.self_attn(x))
    with pytest.raises(ShapeError, match=r"\[N, L, 6\].*\[2, 3, 5\]"):
        encoder(TransformerEncoderInput(wide))
    with pytest.raises(ShapeError, match=r"equal batches"):
        decoder(TransformerDecoderInput(x, x[:1]))
    for encoding in (PositionalEncodingConfig(6).init(PLAIN), RotaryEncodingConfig(6, 6).init(PLAIN)):
        with pytest.raises(ShapeError, match=r"\[2, 3, 5\]"):
            encoding(wide)
        with pytest.raises(KindError, match="float tensor"):
            encoding(x > 0.0)
    cross = CrossAttentionConfig(6, 5, 2, 1, 3).init(PLAIN)
    with pytest.raises(ShapeError, match=r"context must have shape \[N, L, 5\]"):
        cross(x, x)
    with pytest.raises(ShapeError, match="batch of 2, context of 1"):
        cross(x, wide[:1])
    with pytest.raises(ShapeError, match=r"mask must have shape \[2, 3\]"):
        cross(x, wide, x[0] > 0.0)


def test_empty_batches_and_sequences():
    encoder = TransformerEncoderConfig(**CONFIG).init(PLAIN)
    for shape in ((0, 3, 6), (2, 0, 6)):
        x = Tensor.zeros(shape, PLAIN)
        assert encoder(TransformerEncoderInput(x)).shape == shape
        assert RotaryEncodingConfig(4, 6).init(PLAIN)(x).shape == shape
        assert PositionalEncodingConfig(6).init(PLAIN)(x).shape == shape
