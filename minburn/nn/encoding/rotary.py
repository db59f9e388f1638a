"""Rotary position encoding: pairs of features turned by an angle that grows with the position.

    (x₀, x₁) ──> (x₀ cos - x₁ sin, x₁ cos + x₀ sin) = (x₀, x₁) · (cos, cos) + (x₁, x₀) · (-sin, sin)

The product of a turned query and a turned key depends on their distance only. Su et al. 2021, *RoFormer*.

Burn: `crates/burn-nn/src/modules/rope_encoding.rs`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from minburn.backends import Backend
from minburn.module import Config, Module
from minburn.module.error import check_backend
from minburn.nn.encoding.positional import check_even
from minburn.tensor import FloatTensor, KindError, ShapeError, Tensor
from minburn.tensor.check import as_int, as_shape, show

__all__ = ["RotaryEncoding", "RotaryEncodingConfig"]

LAST_POSITION = 2**52

Scaling = Callable[[FloatTensor], FloatTensor]


class RotaryEncoding(Module):
    """Turns pair i of position p by p · theta[i] in x [..., L, d_model], neighbouring features being a pair.

    theta: the frequencies, [d_model / 2]. cos, sin: tables [max_sequence_length, d_model / 2, 2] for the positions from
    start_offset on. All are constants, not trained and not saved.
    """

    theta: FloatTensor
    cos: FloatTensor
    sin: FloatTensor
    start_offset: int

    def forward(self, x: FloatTensor) -> FloatTensor:
        return self.apply(x, 0)

    def apply(self, x: FloatTensor, start: int) -> FloatTensor:
        """The first of the L tokens stands at row `start` of the tables.

        Errors: ShapeError for another d_model, rank below 2, or tokens beyond the tables.
        """
        if not isinstance(x, FloatTensor):
            raise KindError(f"RotaryEncoding: expected a float tensor, but got {type(x).__name__}.")
        size, pairs, _ = self.cos.shape
        if x.rank < 2 or x.shape[-1] != 2 * pairs:
            raise ShapeError(
                f"RotaryEncoding: the input must have shape [..., L, {2 * pairs}], as d_model is {2 * pairs}, but has "
                f"{show(x.shape)}."
            )
        first, length = as_int("RotaryEncoding", "start", start), x.shape[-2]
        if first < 0 or first + length > size:
            raise ShapeError(
                f"RotaryEncoding: {length} tokens from position {first} on need a max_sequence_length of "
                f"{first + length}, but it is {size}. Build it longer, or shift() its window."
            )
        paired = x.reshape(*x.shape[:-1], pairs, 2)
        window = slice(first, first + length)
        cos: FloatTensor = self.cos[window].cast(x.dtype).unsqueeze(paired.rank)
        sin: FloatTensor = self.sin[window].cast(x.dtype).unsqueeze(paired.rank)
        return (paired * cos + paired.flip(-1) * sin).reshape(x.shape)

    def shift(self, start: int) -> RotaryEncoding:
        """The encoding whose tables begin at position `start`, for sequences that outgrow them.

        Errors: ValueError unless start is beyond the present one.
        """
        first = as_int("shift", "start", start)
        if first <= self.start_offset:
            raise ValueError(
                f"shift: the window begins at {self.start_offset} and must move on, but start is {first}. "
                "reset() goes back to 0."
            )
        if first > LAST_POSITION:
            raise ValueError(f"shift: position {first} is beyond {LAST_POSITION}: its neighbours are the same float.")
        return self._at(first)

    def reset(self) -> RotaryEncoding:
        """The encoding whose tables begin at position 0."""
        return self if self.start_offset == 0 else self._at(0)

    def _at(self, start: int) -> RotaryEncoding:
        cos, sin = tables(self.theta, start, self.cos.shape[0])
        return self.replace(cos=cos, sin=sin, start_offset=start)

    def display_attributes(self) -> dict[str, object]:
        size, pairs, _ = self.cos.shape
        return {"d_model": 2 * pairs, "max_sequence_length": size}


class RotaryEncodingConfig(Config):
    """theta: the base of the frequencies theta^(-2i / d_model)."""

    max_sequence_length: int
    d_model: int
    theta: float = 10000.0

    def init(self, backend: Backend) -> RotaryEncoding:
        """ValueError unless d_model is even and theta positive."""
        return self.init_with_frequency_scaling(lambda frequencies: frequencies, backend)

    def init_with_frequency_scaling(self, scaling: Scaling, backend: Backend) -> RotaryEncoding:
        """scaling: makes other frequencies [d_model / 2] of the plain ones, to reach further than in training."""
        check_even("RotaryEncoding", self.d_model)
        if not (math.isfinite(self.theta) and self.theta > 0.0):
            raise ValueError(f"RotaryEncoding: theta must be positive (10000 is usual), but got {self.theta}.")
        if self.max_sequence_length < 1:
            raise ValueError(f"RotaryEncoding: max_sequence_length must be 1 or more, not {self.max_sequence_length}.")
        as_shape("RotaryEncoding", (self.max_sequence_length, self.d_model, 2))
        check_backend("RotaryEncoding", backend)
        plain = np.exp(np.arange(0, self.d_model, 2) * (-math.log(self.theta) / self.d_model))
        if not callable(scaling):
            raise KindError(
                f"RotaryEncoding: scaling must be a function of a tensor, but got {type(scaling).__name__}."
            )
        theta = scaling(Tensor.from_floats(plain, backend))
        if not isinstance(theta, FloatTensor) or theta.shape != plain.shape:
            raise ShapeError(
                f"RotaryEncoding: scaling must return {self.d_model // 2} frequencies, but returned "
                f"{show(theta.shape) if isinstance(theta, Tensor) else type(theta).__name__}."
            )
        if not theta.is_finite().all().item():
            raise ValueError(
                f"RotaryEncoding: theta {self.theta} makes frequencies that {theta.dtype} cannot hold: "
                f"{theta.numpy()!s:.80}."
            )
        cos, sin = tables(theta, 0, self.max_sequence_length)
        return RotaryEncoding(theta=theta, cos=cos, sin=sin, start_offset=0)


def tables(theta: FloatTensor, start: int, length: int) -> tuple[FloatTensor, FloatTensor]:
    """(cos, cos) and (-sin, sin) of the angles of `length` positions; angles are float64, whatever theta is."""
    angles = np.arange(start, start + length)[:, None] * theta.numpy().astype(np.float64)
    cos, sin = np.cos(angles), np.sin(angles)
    backend = theta.backend
    return (
        Tensor.from_floats(np.stack([cos, cos], axis=2), backend),
        Tensor.from_floats(np.stack([-sin, sin], axis=2), backend),
    )
