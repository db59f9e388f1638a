"""The plain recurrent layer. Burn: `crates/burn-nn/src/modules/rnn/basic.rs`."""

from __future__ import annotations

from typing import NamedTuple

from minburn.backends import Backend
from minburn.module import Config, Initializer, Module
from minburn.nn.activation import Activation, ActivationConfig
from minburn.nn.rnn.gate import GateController
from minburn.nn.rnn.sequence import (
    beside,
    check_clip,
    clipped,
    directions,
    in_order,
    parts_of,
    stacked,
    start,
    step_of,
    time_first,
    unrolled,
)
from minburn.tensor import FloatTensor

__all__ = ["BiRnn", "BiRnnConfig", "Rnn", "RnnConfig", "RnnState"]


class RnnState(NamedTuple):
    """hidden: [N, d_hidden]; of two directions [2, N, d_hidden]."""

    hidden: FloatTensor


class Rnn(Module):
    """h' = tanh(gate(x, h)). Elman 1990.

    x [N, L, d_input] → [N, L, d_hidden]; batch_first=False: [L, N, …]. reverse: from the end of the sequence; outputs
    lie where their inputs lay. clip: h' is kept within ±clip.
    """

    gate: GateController
    batch_first: bool
    reverse: bool
    clip: float | None
    hidden_activation: Activation

    def check_fields(self) -> None:
        check_clip("Rnn", self.clip)

    @property
    def d_hidden(self) -> int:
        return self.gate.d_hidden

    def forward(self, x: FloatTensor, state: RnnState | None = None) -> tuple[FloatTensor, RnnState]:
        """(the hidden state after every step, that after the last one). state: before the first step, or zeros.

        Errors: ShapeError for sizes that do not fit, KindError for other kinds.
        """
        steps = time_first("Rnn", x, self.gate.d_input, self.batch_first)
        outputs, hidden = self.run(steps, *parts_of("Rnn", state, RnnState))
        return in_order(outputs, self.batch_first), RnnState(hidden)

    def run(self, x: FloatTensor, hidden: FloatTensor | None) -> tuple[FloatTensor, FloatTensor]:
        """x [L, N, d_input] → (outputs [L, N, d_hidden], the last one)."""
        first = start("Rnn", "hidden", hidden, x, self.gate.d_hidden)
        inputs = self.gate.input_transform(x)

        def step(index: int, hidden: FloatTensor) -> tuple[FloatTensor, FloatTensor]:
            hidden = self.hidden_activation(step_of(inputs, index) + self.gate.hidden_transform(hidden))
            hidden = clipped(hidden, self.clip)
            return hidden, hidden

        return unrolled(x.shape[0], self.reverse, first, step)

    def display_attributes(self) -> dict[str, object]:
        bias = self.gate.input_transform.bias is not None
        return {"d_input": self.gate.d_input, "d_hidden": self.gate.d_hidden, "bias": bias}


class RnnConfig(Config):
    """The same options as those of an LSTM, but for what belongs to its cell."""

    d_input: int
    d_hidden: int
    bias: bool
    initializer: Initializer = Initializer.XavierNormal(gain=1.0)
    batch_first: bool = True
    reverse: bool = False
    clip: float | None = None
    hidden_activation: ActivationConfig = ActivationConfig.Tanh()

    def init(self, backend: Backend) -> Rnn:
        """ConfigError unless clip > 0, or None."""
        return Rnn(
            gate=GateController.new(self.d_input, self.d_hidden, self.bias, self.initializer, backend),
            batch_first=self.batch_first,
            reverse=self.reverse,
            clip=self.clip,
            hidden_activation=self.hidden_activation.init(backend),
        )


class BiRnn(Module):
    """One Rnn from the beginning, one from the end, outputs side by side: [N, L, d_input] → [N, L, 2 · d_hidden].

    In paths `forward_` is called forward, as in Burn.
    """

    forward_: Rnn
    reverse: Rnn
    batch_first: bool

    @property
    def d_hidden(self) -> int:
        return self.forward_.d_hidden

    def forward(self, x: FloatTensor, state: RnnState | None = None) -> tuple[FloatTensor, RnnState]:
        """As Rnn's; a state's hidden is [2, N, d_hidden], 0 the forward direction."""
        steps = time_first("BiRnn", x, self.reverse.gate.d_input, self.batch_first)
        there, back = directions("BiRnn", "hidden", *parts_of("BiRnn", state, RnnState))
        outputs, hidden = self.forward_.run(steps, there)
        reversed_outputs, reversed_hidden = self.reverse.run(steps, back)
        both = in_order(beside(outputs, reversed_outputs), self.batch_first)
        return both, RnnState(stacked(hidden, reversed_hidden))


class BiRnnConfig(Config):
    d_input: int
    d_hidden: int
    bias: bool
    initializer: Initializer = Initializer.XavierNormal(gain=1.0)
    batch_first: bool = True
    clip: float | None = None
    hidden_activation: ActivationConfig = ActivationConfig.Tanh()

    def init(self, backend: Backend) -> BiRnn:
        """ConfigError unless clip > 0, or None."""
        one, other = (RnnConfig(**self.__dict__, reverse=reverse) for reverse in (False, True))
        return BiRnn(forward_=one.init(backend), reverse=other.init(backend), batch_first=self.batch_first)
