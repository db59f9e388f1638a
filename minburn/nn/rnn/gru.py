"""Gated recurrent units. Burn: `crates/burn-nn/src/modules/rnn/gru.rs`."""

from __future__ import annotations

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
    stacked,
    start,
    step_of,
    time_first,
    unrolled,
)
from minburn.tensor import FloatTensor

__all__ = ["BiGru", "BiGruConfig", "Gru", "GruConfig"]


class Gru(Module):
    """z, r = σ(gates(x, h)); n = tanh(W·x + b + r · (U·h + b')); h' = (1 - z) · n + z · h. Cho et al. 2014.

    x [N, L, d_input] → [N, L, d_hidden], the batch always first. reset_after=False: n = tanh(W·x + b + U·(r · h) + b').
    clip: h' is kept within ±clip.
    """

    update_gate: GateController
    reset_gate: GateController
    new_gate: GateController
    reset_after: bool
    clip: float | None
    gate_activation: Activation
    hidden_activation: Activation

    def check_fields(self) -> None:
        check_clip("Gru", self.clip)

    @property
    def d_hidden(self) -> int:
        return self.update_gate.d_hidden

    def forward(self, x: FloatTensor, hidden: FloatTensor | None = None) -> FloatTensor:
        """The hidden state after every step. hidden [N, d_hidden]: before the first step, or zeros.

        Errors: ShapeError for sizes that do not fit, KindError for other kinds.
        """
        steps = time_first("Gru", x, self.update_gate.d_input, batch_first=True)
        return in_order(self.run(steps, hidden)[0], batch_first=True)

    def run(self, x: FloatTensor, hidden: FloatTensor | None, reverse: bool = False) -> tuple[FloatTensor, FloatTensor]:
        """x [L, N, d_input] → (outputs [L, N, d_hidden], the state after the last step)."""
        first = start("Gru", "hidden", hidden, x, self.update_gate.d_hidden)
        updates, resets, news = (gate.input_transform(x) for gate in (self.update_gate, self.reset_gate, self.new_gate))

        def step(index: int, hidden: FloatTensor) -> tuple[FloatTensor, FloatTensor]:
            update = self.gate_activation(step_of(updates, index) + self.update_gate.hidden_transform(hidden))
            reset = self.gate_activation(step_of(resets, index) + self.reset_gate.hidden_transform(hidden))
            if self.reset_after:
                remembered = reset * self.new_gate.hidden_transform(hidden)
            else:
                remembered = self.new_gate.hidden_transform(reset * hidden)
            candidate = self.hidden_activation(step_of(news, index) + remembered)
            hidden = clipped((1.0 - update) * candidate + update * hidden, self.clip)
            return hidden, hidden

        return unrolled(x.shape[0], reverse, first, step)

    def display_attributes(self) -> dict[str, object]:
        gate = self.update_gate
        bias = gate.input_transform.bias is not None
        return {"d_input": gate.d_input, "d_hidden": gate.d_hidden, "bias": bias, "reset_after": self.reset_after}


class GruConfig(Config):
    d_input: int
    d_hidden: int
    bias: bool
    reset_after: bool = True
    initializer: Initializer = Initializer.XavierNormal(gain=1.0)
    clip: float | None = None
    gate_activation: ActivationConfig = ActivationConfig.Sigmoid()
    hidden_activation: ActivationConfig = ActivationConfig.Tanh()

    def init(self, backend: Backend) -> Gru:
        """ConfigError unless clip > 0, or None."""

        def gate() -> GateController:
            return GateController.new(self.d_input, self.d_hidden, self.bias, self.initializer, backend)

        return Gru(
            update_gate=gate(),
            reset_gate=gate(),
            new_gate=gate(),
            reset_after=self.reset_after,
            clip=self.clip,
            gate_activation=self.gate_activation.init(backend),
            hidden_activation=self.hidden_activation.init(backend),
        )


class BiGru(Module):
    """One Gru from the beginning, one from the end, outputs side by side: [N, L, d_input] → [N, L, 2 · d_hidden].

    In paths `forward_` is called forward, as in Burn.
    """

    forward_: Gru
    reverse: Gru
    batch_first: bool

    @property
    def d_hidden(self) -> int:
        return self.forward_.d_hidden

    def forward(self, x: FloatTensor, hidden: FloatTensor | None = None) -> tuple[FloatTensor, FloatTensor]:
        """(outputs, the states after the last step). States are [2, N, d_hidden], 0 the forward direction."""
        steps = time_first("BiGru", x, self.reverse.update_gate.d_input, self.batch_first)
        before = directions("BiGru", "hidden", hidden)
        there, there_after = self.forward_.run(steps, before[0])
        back, back_after = self.reverse.run(steps, before[1], reverse=True)
        return in_order(beside(there, back), self.batch_first), stacked(there_after, back_after)


class BiGruConfig(Config):
    d_input: int
    d_hidden: int
    bias: bool
    reset_after: bool = True
    initializer: Initializer = Initializer.XavierNormal(gain=1.0)
    batch_first: bool = True
    clip: float | None = None
    gate_activation: ActivationConfig = ActivationConfig.Sigmoid()
    hidden_activation: ActivationConfig = ActivationConfig.Tanh()

    def init(self, backend: Backend) -> BiGru:
        """ConfigError unless clip > 0, or None."""
        fields = {name: value for name, value in self.__dict__.items() if name != "batch_first"}
        one = GruConfig(**fields)
        return BiGru(forward_=one.init(backend), reverse=one.init(backend), batch_first=self.batch_first)
