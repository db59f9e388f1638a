"""What embedding and attention promise beyond their formulas."""

import numpy as np
import pytest

from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.nn import (
    CrossAttentionCache,
    CrossAttentionConfig,
    EmbeddingConfig,
    MhaCache,
    MhaInput,
    MultiHeadAttentionConfig,
    generate_autoregressive_mask,
    generate_padding_mask,
)
from minburn.tensor import KindError, ShapeError, Tensor, functional

PLAIN = NumPy(seed=1)


def close(actual, expected, atol=1e-6):
    np.testing.assert_allclose(actual.numpy(), expected.numpy(), rtol=1e-5, atol=atol)


def test_repeated_indices_add_their_gradients_for_any_number_of_rows():
    for rows in (1, 5, 81, 5000):
        backend = Autodiff(NumPy(seed=1))
        layer = EmbeddingConfig(rows, 3).init(backend)
        words = np.random.default_rng(0).integers(0, min(rows, 90), (7, 9))
        out = layer(Tensor.from_data(words, backend))
        assert out.shape == (7, 9, 3)
        weights = np.random.default_rng(1).standard_normal(out.shape).astype(np.float32)
        grads = (out * Tensor.from_data(weights, backend)).sum().backward()
        want = np.zeros((rows, 3))
        np.add.at(want, words, weights)
        np.testing.assert_allclose(layer.weight.value.grad(grads).numpy(), want, rtol=1e-5, atol=1e-5)


def test_the_gradient_of_many_indices_is_added_in_blocks():
    backend = Autodiff(NumPy())
    weight = Tensor.zeros([1000, 64], backend).require_grad()
    words = np.random.default_rng(0).integers(0, 1000, 5000)
    grads = functional.embedding(weight, Tensor.from_data(words, backend)).sum().backward()
    counts = np.bincount(words, minlength=1000)
    assert np.array_equal(weight.grad(grads).numpy(), np.repeat(counts[:, None], 64, axis=1))


def test_an_infinite_gradient_reaches_only_the_row_that_was_chosen():
    backend = Autodiff(NumPy())
    weight = Tensor.zeros([4, 2], backend).require_grad()
    out = functional.embedding(weight, Tensor.from_data([1, 1, 3], backend))
    factors = Tensor.from_data([[np.inf, 1.0], [1.0, 1.0], [2.0, 2.0]], backend)
    grads = (out * factors).sum().backward()
    assert weight.grad(grads).numpy().tolist() == [[0, 0], [np.inf, 2], [0, 0], [2, 2]]


def test_gradients_of_half_embeddings_are_added_up_in_single_precision():
    for rows in (3, 3000):
        backend = Autodiff(NumPy(float_dtype=DType.F16))
        weight = Tensor.zeros([rows, 1], backend).require_grad()
        grads = functional.embedding(weight, Tensor.zeros([4096], backend, DType.I32)).sum().backward()
        assert weight.grad(grads).numpy()[0] == 4096  # a half accumulator stops at 2048


def attention(backend=PLAIN, **options):
    return MultiHeadAttentionConfig(**{"d_model": 6, "n_heads": 3, "dropout": 0.0, **options}).init(backend)


def test_a_cache_gives_what_the_whole_sequence_gives():
    layer = attention()
    x = Tensor.random([2, 5, 6], PLAIN)
    pad = Tensor.from_data([[False] * 5, [False, True, False, False, False]], PLAIN)
    cache, other = MhaCache.autoregressive(), MhaCache.autoregressive()
    for length in range(1, 6):
        mask = generate_autoregressive_mask(2, length, PLAIN)
        given = MhaInput.self_attn(x[:, :length], pad[:, :length], mask)
        grown, context = layer.forward_cache(given, cache), layer.forward_cache_context(given, other)
    whole = layer(given)
    close(grown.context, whole.context)
    close(grown.weights, whole.weights)
    close(context, whole.context)
    with pytest.raises(ShapeError, match=r"holds 5 tokens of 2 sequences.*\[2, 5, 6\]"):
        layer.forward_cache(MhaInput.self_attn(x), cache)


def test_a_cache_keeps_the_keys_of_a_memory():
    layer = attention()
    x, memory = Tensor.random([2, 3, 6], PLAIN), Tensor.random([2, 4, 6], PLAIN)
    cache = MhaCache.autoregressive_cross_attention()
    for length in range(1, 4):
        grown = layer.forward_cache(MhaInput(x[:, :length], memory, memory), cache)
    close(grown.context, layer(MhaInput(x, memory, memory)).context)


def test_a_mask_hides_what_it_covers():
    backend = Autodiff(NumPy(seed=2))
    layer = attention(backend)
    x = Tensor.random([2, 4, 6], backend)
    changed = x.slice_assign([(0, 2), (3, 4)], Tensor.random([2, 1, 6], backend))
    later = generate_autoregressive_mask(1, 4, backend)
    for masks in (
        {"mask_attn": later},
        {"mask_pad": Tensor.from_data([[False, False, False, True]], backend)},
        {"mask_attn": later, "mask_pad": Tensor.from_data([[False] * 4] * 2, backend)},
    ):
        for training in (layer, layer.replace(dropout=layer.dropout.replace(prob=0.5))):
            state = backend.streams.state()
            one = training(MhaInput.self_attn(x, **masks)).context
            backend.streams.load_state(state)
            close(one[:, :3], training(MhaInput.self_attn(changed, **masks)).context[:, :3])


@pytest.mark.parametrize("quiet", [False, True])
def test_a_query_that_sees_nothing(quiet):
    layer = attention(quiet_softmax=quiet)
    x = Tensor.random([1, 2, 6], PLAIN) * 1e4
    out = layer(MhaInput.self_attn(x, mask_pad=Tensor.from_data([[True, True]], PLAIN)))
    assert (out.weights.numpy() == (0.0 if quiet else 0.5)).all()
    assert np.isfinite(out.context.numpy()).all()


def test_dropout_acts_on_the_weights_while_training():
    backend = Autodiff(NumPy(seed=3))
    layer = attention(backend, dropout=0.5, n_heads=1)
    x = Tensor.random([8, 16, 6], backend)
    sums = layer(MhaInput.self_attn(x)).weights.sum_dim(3).numpy()
    assert np.abs(sums - 1).max() > 0.1
    for other in (layer.valid(), layer.freeze()):
        weights = other(MhaInput.self_attn(x)).weights
        np.testing.assert_allclose(weights.sum_dim(3).numpy(), 1.0, rtol=1e-5)


def test_without_dropout_both_ways_give_the_same_gradients():
    backend = Autodiff(NumPy(seed=4, float_dtype=DType.F64))
    query, key, value = (Tensor.random([2, 2, 3, 4], backend).require_grad() for _ in range(3))
    mask = generate_autoregressive_mask(2, 3, backend).unsqueeze_dim(1)
    options = functional.AttentionOptions(fill=-1e4)
    fused, weights = functional.attention_with_weights(query, key, value, mask, None, options)
    composed = functional.attention_weights(query, key, mask, None, options).matmul(value)
    close(fused, composed)
    factors = Tensor.random(fused.shape, backend)
    one = ((fused * factors).sum() + (weights * weights).sum()).backward()
    again = functional.attention_weights(query, key, mask, None, options)
    two = ((composed * factors).sum() + (again * again).sum()).backward()
    for leaf in (query, key, value):
        close(leaf.grad(one), leaf.grad(two), 1e-12)


@pytest.mark.parametrize("dtype", [DType.F64, DType.F32, DType.F16])
def test_huge_scores(dtype):
    backend = Autodiff(NumPy(float_dtype=dtype))
    query = Tensor.from_data([[[[1e4], [-1e4], [0.0]]]], backend).require_grad()
    key = Tensor.from_data([[[[1.0], [1.0], [0.5]]]], backend)
    weights = functional.attention_weights(query, key)
    third = [1 / 3] * 3
    np.testing.assert_allclose(weights.numpy()[0, 0], [[0.5, 0.5, 0], [0, 0, 1], third], rtol=1e-3)
    assert np.isfinite(query.grad((weights * weights).sum().backward()).numpy()).all()


def test_a_row_of_tiny_powers_beside_a_large_one_keeps_its_digits():
    query = Tensor.from_data([[[[50.0], [-90.0], [-200.0]]]], PLAIN)
    key = Tensor.from_data([[[[1.0], [1.01]]]], PLAIN)
    got = functional.attention_weights(query, key).numpy()[0, 0]
    scores = np.float64(query.numpy()[0, 0]) * np.float64(key.numpy()[0, 0]).T
    powers = np.exp(scores - scores.max(1, keepdims=True))
    np.testing.assert_allclose(got, powers / powers.sum(1, keepdims=True), rtol=2e-5)


@pytest.mark.parametrize(("d_model", "n_heads"), [(6, 4), (6, 0), (0, 1), (-6, 3)])
def test_heads_that_do_not_divide_the_model_are_refused(d_model, n_heads):
    with pytest.raises(ValueError, match=rf"d_model {d_model} .* n_heads {n_heads}"):
        MultiHeadAttentionConfig(d_model, n_heads).init(PLAIN)


def test_what_does_not_fit_is_refused():
    layer = attention()
    x, y = Tensor.zeros([2, 3, 6], PLAIN), Tensor.zeros([2, 4, 6], PLAIN)
    flags = Tensor.zeros([2, 3], PLAIN, DType.Bool)
    for given, text in (
        (MhaInput.self_attn(Tensor.zeros([2, 3, 5], PLAIN)), r"query must have shape \[N, L, 6\].*\[2, 3, 5\]"),
        (MhaInput(x, Tensor.zeros([2, 6], PLAIN), x), r"key must have shape"),
        (MhaInput(x, x, y), r"equal lengths"),
        (MhaInput(x[:1], y, y), r"equal batches"),
        (MhaInput(x, y, y, mask_pad=flags), r"mask_pad must have shape \[2, 4\], but has \[2, 3\]"),
        (MhaInput(x, x, x, mask_attn=flags.unsqueeze_dim(1)), r"mask_attn must have shape \[2, 3, 3\]"),
    ):
        with pytest.raises(ShapeError, match=text):
            layer(given)
    with pytest.raises(KindError, match=r"MhaInput.self_attn\(x\)"):
        layer(x)
    with pytest.raises(KindError, match="mask_pad must be a bool tensor"):
        layer(MhaInput.self_attn(x, mask_pad=Tensor.zeros([2, 3], PLAIN)))
    heads = Tensor.zeros([1, 4, 2, 3], PLAIN)
    with pytest.raises(ShapeError, match="4 query heads cannot share 3"):
        functional.attention(heads, heads[:, :3], heads[:, :3])
    with pytest.raises(ShapeError, match=r"mask must have shape .*\[1, 4, 2, 2\].* has \[2, 2\]"):
        functional.attention(heads, heads, heads, Tensor.zeros([2, 2], PLAIN, DType.Bool))
    with pytest.raises(ValueError, match="softcap must be greater than 0"):
        functional.attention(heads, heads, heads, options=functional.AttentionOptions(softcap=0.0))
    with pytest.raises(ShapeError, match=r"\[n_embedding, d_model\]"):
        functional.embedding(heads, Tensor.from_data([0], PLAIN))
    with pytest.raises(KindError, match="int tensor"):
        functional.embedding(heads[0, 0], heads)


def test_padding_masks_refuse_what_they_cannot_use():
    assert generate_padding_mask(0, [], None, PLAIN).tensor.shape == (0, 1)
    assert generate_padding_mask(0, [[1, 2], [3]], 1, PLAIN).tensor.numpy().tolist() == [[1], [3]]
    for bad in (5, [5], [["a"]], None):
        with pytest.raises(KindError):
            generate_padding_mask(0, bad, None, PLAIN)
    with pytest.raises(ShapeError, match="negative"):
        generate_padding_mask(0, [[1]], -1, PLAIN)


def test_display():
    assert repr(attention().replace(dropout=attention().dropout)).startswith(
        "MultiHeadAttention {d_model: 6, n_heads: 3, d_k: 2, dropout: 0, min_float: -10000, quiet_softmax: false"
    )
    assert repr(EmbeddingConfig(7, 2).init(PLAIN)) == "Embedding {n_embedding: 7, d_model: 2, params: 14}"


def test_cross_attention_computes_the_keys_of_its_context_once():
    layer = CrossAttentionConfig(6, 5, 4, 2, 3, dropout=0.0).init(PLAIN)
    query, context = Tensor.random([2, 3, 6], PLAIN), Tensor.random([2, 7, 5], PLAIN)
    mask = Tensor.from_data([[False] * 5 + [True] * 2, [False] * 7], PLAIN)
    cache = CrossAttentionCache()
    for _ in range(2):
        keys = cache.k.value
        close(layer.forward_cache(query, context, mask, cache), layer(query, context, mask))
        assert keys is None or cache.k.value is keys
    with pytest.raises(ShapeError, match="Start another cache"):
        layer.forward_cache(query, context[:, :4], None, cache)
    with pytest.raises(KindError, match="CrossAttentionCache, but got MhaCache"):
        layer.forward_cache(query, context, None, MhaCache.autoregressive())
