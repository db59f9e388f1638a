"""Philox4x64-10 on the device: the words that NumPy's generator gives, and the same draws from them.

A thread computes the block of its own element. What follows the words is the arithmetic of `array/philox.py`, rounded
after every operation, so uniform and Bernoulli draws have the same bits everywhere; normal ones go through log1p, sin
and cos, whose last bit is the device's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minburn.backends.array.basic import Array
from minburn.backends.base import Shape
from minburn.backends.cupy_ops.kernels import elementwise
from minburn.backends.cupy_ops.library import cp
from minburn.backends.cupy_ops.recording import recorder
from minburn.backends.rng import Distribution

PREAMBLE = """
typedef unsigned long long word;
// Word `at` of the stream (key, counter): the generator counts up before its first block.
__device__ word philox(word at, word key0, word key1, word counter0, word counter1) {
  word step = 1 + at / 4, c0 = counter0 + step, c1 = counter1 + (c0 < step), c2 = 0, c3 = 0;
  for (int round = 0; round < 10; round++) {
    word low0 = 0xD2E7470EE14C6C93ULL * c0, high0 = __umul64hi(0xD2E7470EE14C6C93ULL, c0);
    word low1 = 0xCA5A826395121157ULL * c2, high1 = __umul64hi(0xCA5A826395121157ULL, c2);
    c0 = high1 ^ c1 ^ key0; c1 = low1;
    c2 = high0 ^ c3 ^ key1; c3 = low0;
    key0 += 0x9E3779B97F4A7C15ULL; key1 += 0xBB67AE8584CAA73BULL;
  }
  return at % 4 == 0 ? c0 : at % 4 == 1 ? c1 : at % 4 == 2 ? c2 : c3;
}
// 32-bit number `at`: the low half of each word first.
__device__ unsigned number(word at, word key0, word key1, word counter0, word counter1) {
  word both = philox(at / 2, key0, key1, counter0, counter1);
  return at % 2 ? both >> 32 : both & 0xffffffffULL;
}
// In the precision of the table, each operation rounded on its own.
__device__ inline double scaled(double unit, double span, double low) { return __dadd_rn(__dmul_rn(unit, span), low); }
__device__ inline float scaled(float unit, float span, float low) { return __fadd_rn(__fmul_rn(unit, span), low); }
"""
STREAM = "uint64 key0, uint64 key1, uint64 counter0, uint64 counter1"
RECORDED = "uint64 key0, uint64 key1, raw uint64 start, uint64 offset"
FROM_START = """
const unsigned long long counter0 = start[0] + offset, counter1 = start[1] + (counter0 < offset);
"""
"""In a recorded step: where the stream is before the step is read when the kernel runs."""
WORDS = "key0, key1, counter0, counter1"
UNIFORM = f"""
typedef {{real}} real;
real unit = real(number(i, {WORDS}) >> 8) * real(1.0 / 16777216.0);
if (low != 0.0 || high != 1.0) {{{{
  unit = scaled(unit, real(high - low), real(low));
  if (high > low && !(unit < real(high))) unit = real(low);
}}}}
y = unit;
"""
BERNOULLI = f"y = (unsigned long long)number(i, {WORDS}) < bound"
NORMAL = f"""
long long pair = i < pairs ? i : i - pairs;
double radius = (philox(pair, {WORDS}) >> 11) * (1.0 / 9007199254740992.0);
double angle = 6.283185307179586 * ((philox(pairs + pair, {WORDS}) >> 11) * (1.0 / 9007199254740992.0));
radius = sqrt(-2.0 * log1p(-radius));
y = __dadd_rn(mean, __dmul_rn(std, radius * (i < pairs ? cos(angle) : sin(angle))));
"""


def draw(shape: Shape, distribution: Distribution, key: int, counter: int, dtype: np.dtype[Any]) -> Array:
    """As `array/philox.py` draws."""
    out = cp.empty(shape, dtype)
    if not out.size:
        return out
    low64 = 2**64 - 1
    here = recorder()
    declared, before = (STREAM, "") if here is None else (RECORDED, FROM_START)
    place = (counter & low64, counter >> 64 & low64) if here is None else here.start_of(key, counter)
    stream = key & low64, key >> 64, *place
    if distribution.kind == "normal":
        declared += ", int64 pairs, float64 mean, float64 std"
        kernel = elementwise("normal", declared, "T y", before + NORMAL, PREAMBLE)
        return kernel(*stream, (math.prod(shape) + 1) // 2, distribution.a, distribution.b, out)
    if distribution.kind == "bernoulli":
        kernel = elementwise("bernoulli", f"{declared}, uint64 bound", "T y", before + BERNOULLI, PREAMBLE)
        return kernel(*stream, round(distribution.a * 2**32), out)
    real = "double" if dtype.itemsize > 4 else "float"
    formula = before + UNIFORM.format(real=real)
    kernel = elementwise(f"uniform_{real}", f"{declared}, float64 low, float64 high", "T y", formula, PREAMBLE)
    return kernel(*stream, distribution.a, distribution.b, out)
