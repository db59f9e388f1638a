"""Sines and cosines of the position, added. Burn: `crates/burn-nn/src/modules/pos_encoding.rs`."""

from __future__ import annotations

import math

import numpy as np

from minburn.backends import Backend
from minburn.module import Config, Module
from minburn.module.error import check_backend
from minburn.tensor import FloatTensor, KindError, ShapeError, Tensor
from minburn.tensor.check import as_shape, show

__all__ = ["PositionalEncoding", "PositionalEncodingConfig"]


class PositionalEncoding(Module):
    """x + table[:L] for x [..., L, d_model], with positions p and pairs i:

        table[p, 2i] = sin(p · T^(-2i / d_model))        table[p, 2i + 1] = cos(p · T^(-2i / d_model))

    sinusoids: the table, [max_sequence_size, d_model]; a constant, not trained and not saved. Vaswani et al. 2017.

    Errors: ShapeError for another d_model, or L greater than max_sequence_size.
    """

    sinusoids: FloatTensor
    max_sequence_size: int
    max_timescale: int

    def forward(self, x: FloatTensor) -> FloatTensor:
        if not isinstance(x, FloatTensor):
            raise KindError(f"PositionalEncoding: expected a float tensor, but got {type(x).__name__}.")
        size, d_model = self.sinusoids.shape
        if x.rank < 2 or x.shape[-1] != d_model:
            raise ShapeError(
                f"PositionalEncoding: the input must have shape [N, L, {d_model}], as d_model is {d_model}, but has "
                f"{show(x.shape)}."
            )
        length = x.shape[-2]
        if length > size:
            raise ShapeError(
                f"PositionalEncoding: max_sequence_size({size}) must be greater or equal than length({length}). "
                "Build it with a larger max_sequence_size, or cut the sequence."
            )
        table: FloatTensor = self.sinusoids[:length].cast(x.dtype)
        return x + table.unsqueeze(x.rank)

    def display_attributes(self) -> dict[str, object]:
        return {
            "d_model": self.sinusoids.shape[1],
            "max_sequence_size": self.max_sequence_size,
            "max_timescale": self.max_timescale,
        }


class PositionalEncodingConfig(Config):
    """max_timescale: T."""

    d_model: int
    max_sequence_size: int = 5000
    max_timescale: int = 10000

    def init(self, backend: Backend) -> PositionalEncoding:
        """ValueError unless d_model is even, and max_timescale at least max_sequence_size.

        Burn: `generate_sinusoids`.
        """
        check_even("PositionalEncoding", self.d_model)
        if self.max_sequence_size < 1 or self.max_timescale < self.max_sequence_size:
            raise ValueError(
                f"PositionalEncoding: max_timescale {self.max_timescale} must be at least max_sequence_size "
                f"{self.max_sequence_size}, which must be at least 1."
            )
        as_shape("PositionalEncoding", (self.max_sequence_size, self.d_model))
        check_backend("PositionalEncoding", backend)
        positions = np.arange(self.max_sequence_size)[:, None]
        angles = positions * np.exp(np.arange(0, self.d_model, 2) * (-math.log(self.max_timescale) / self.d_model))
        table = np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(self.max_sequence_size, self.d_model)
        return PositionalEncoding(
            sinusoids=Tensor.from_floats(table, backend),
            max_sequence_size=self.max_sequence_size,
            max_timescale=self.max_timescale,
        )


def check_even(name: str, d_model: int) -> None:
    if d_model < 2 or d_model % 2:
        raise ValueError(f"{name}: d_model must be even, as sines and cosines come in pairs, but got {d_model}.")
