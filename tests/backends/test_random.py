"""Random streams: literals that must never change, an independent Philox, and counters."""

from __future__ import annotations

import numpy as np
import pytest

from minburn.backends import NumPy
from minburn.backends.array.philox import BLOCK, halves, words
from minburn.backends.rng import Distribution, Stream, Streams, stream_key

KEY = stream_key(42, "x")
FLOATS, INTS = NumPy().floats, NumPy().ints


def philox(key: int, counter: int) -> list[int]:
    """One block of Philox4x64-10 in plain Python integers (Salmon et al. 2011)."""
    mask = 2**64 - 1
    x = [counter >> (64 * n) & mask for n in range(4)]
    k0, k1 = key & mask, key >> 64
    for _ in range(10):
        p0, p1 = x[0] * 0xD2E7470EE14C6C93, x[2] * 0xCA5A826395121157
        x = [(p1 >> 64) ^ x[1] ^ k0, p1 & mask, (p0 >> 64) ^ x[3] ^ k1, p0 & mask]
        k0, k1 = (k0 + 0x9E3779B97F4A7C15) & mask, (k1 + 0xBB67AE8584CAA73B) & mask
    return x


def test_words_are_philox_blocks() -> None:
    blocks = [word for counter in (8, 9, 10) for word in philox(KEY, counter)]  # NumPy counts up first
    assert [int(word) for word in words(12, KEY, 7)] == blocks


def test_golden_draws() -> None:
    assert KEY == 0x3AB310B95148D5848B8753AF866C6587
    assert [int(w) for w in words(2, KEY, 0)] == [0xEE6B4D6E083F9989, 0x79D037A41E8EC21A]
    assert [float(v).hex() for v in FLOATS.random((4,), Distribution.Default, KEY, 0)] == [
        "0x1.07f3200000000p-5",
        "0x1.dcd69a0000000p-1",
        "0x1.e8ec200000000p-4",
        "0x1.e740dc0000000p-2",
    ]
    integers = INTS.random((8,), Distribution.Uniform(0, 100), KEY, 0)
    assert integers.tolist() == [3, 93, 11, 47, 51, 70, 70, 57]
    mask = FLOATS.random((16,), Distribution.Bernoulli(0.3), KEY, 0)
    assert mask.tolist() == [1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
    normal = FLOATS.random((4,), Distribution.Normal(0, 1), KEY, 0)
    assert normal.tolist() == pytest.approx([-0.71368802, -1.00061667, -2.20167756, -0.53912687], rel=1e-6)


def test_distributions_have_their_bounds_and_moments() -> None:
    uniform = FLOATS.random((100_000,), Distribution.Uniform(-2, 3), KEY, 0)
    assert uniform.min() >= -2
    assert uniform.max() < 3
    assert float(uniform.mean()) == pytest.approx(0.5, abs=0.02)
    normal = FLOATS.random((100_001,), Distribution.Normal(1, 2), KEY, 0)
    assert float(normal.mean()) == pytest.approx(1, abs=0.03)
    assert float(normal.std()) == pytest.approx(2, abs=0.03)
    assert FLOATS.random((9,), Distribution.Bernoulli(1.0), KEY, 0).all()
    assert not FLOATS.random((9,), Distribution.Bernoulli(0.0), KEY, 0).any()


def test_a_draw_continues_where_the_last_one_ended() -> None:
    whole = FLOATS.random((16,), Distribution.Default, KEY, 0)
    assert FLOATS.random((8,), Distribution.Default, KEY, 1).tolist() == whole[8:].tolist()


def test_counters() -> None:
    stream = Stream(42, "x")
    assert [stream.reserve(n) for n in (1, 4, 5, 0)] == [0, 1, 2, 4]
    assert stream.counter == 4
    stream.seek(10)
    assert stream.reserve(4) == 10


def test_the_state_is_a_few_integers_and_brings_everything_back() -> None:
    streams = Streams(42)
    streams.get("x").reserve(12)
    streams.get("a").reserve(1)
    assert streams.get("x") is streams.get("x")
    state = streams.state()
    assert list(state.items()) == [("a", 1), ("x", 3)]
    fresh = Streams(42)
    fresh.get("new").reserve(4)
    fresh.load_state(state)
    assert fresh.state() == {"a": 1, "new": 0, "x": 3}  # a stream that the state does not name starts over


def test_seeds() -> None:
    assert stream_key(1, "x") != stream_key(2, "x") != stream_key(1, "y")
    assert Streams().seed != Streams().seed
    with pytest.raises(TypeError, match="seed must be an int or None"):
        Streams("1")  # type: ignore[arg-type]


def test_bad_distributions_are_refused() -> None:
    makers = (
        lambda: Distribution.Uniform(2, 1),
        lambda: Distribution.Normal(0, -1),
        lambda: Distribution.Bernoulli(2),
    )
    for make in makers:
        with pytest.raises(ValueError, match=r"must be|not at most"):
            make()


def test_a_large_bernoulli_draw_is_the_stream_of_32_bit_numbers_compared() -> None:
    for count in (BLOCK - 1, BLOCK, 3 * BLOCK + 1):
        drawn = FLOATS.random((count, 1), Distribution.Bernoulli(0.9), key=7, counter=5)
        expected = halves(count, key=7, counter=5) < round(0.9 * 2**32)
        np.testing.assert_array_equal(drawn[:, 0], expected)
