"""Long short-term memory. Burn: `crates/burn-nn/src/modules/rnn/lstm`."""

from __future__ import annotations

from typing import NamedTuple

from minburn.backends import Backend
from minburn.module import Config, Initializer, Module
from minburn.nn.activation import Activation, ActivationConfig, Sigmoid, Tanh
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
from minburn.tensor import FloatTensor, Tensor, functional

__all__ = ["BiLstm", "BiLstmConfig", "Lstm", "LstmConfig", "LstmState"]


class LstmState(NamedTuple):
    """cell, hidden: [N, d_hidden]; of two directions [2, N, d_hidden]."""

    cell: FloatTensor
    hidden: FloatTensor


class Lstm(Module):
    """i, f, o = σ(gates(x, h)); g = tanh(cell_gate(x, h)); c' = f · c + i · g; h' = o · tanh(c'). Hochreiter 1997.

    x [N, L, d_input] → [N, L, d_hidden]; batch_first=False: [L, N, …]. reverse: from the end of the sequence; outputs
    lie where their inputs lay. clip: c' is kept within ±clip. input_forget: f is 1 - i, and there is no forget_gate.
    """

    input_gate: GateController
    forget_gate: GateController | None
    output_gate: GateController
    cell_gate: GateController
    batch_first: bool
    reverse: bool
    clip: float | None
    input_forget: bool
    gate_activation: Activation
    cell_activation: Activation
    hidden_activation: Activation

    def check_fields(self) -> None:
        check_clip("Lstm", self.clip)

    @property
    def d_hidden(self) -> int:
        return self.input_gate.d_hidden

    def forward(self, x: FloatTensor, state: LstmState | None = None) -> tuple[FloatTensor, LstmState]:
        """(the hidden state after every step, both states after the last one). state: before the first, or zeros.

        Errors: ShapeError for sizes that do not fit, KindError for other kinds.
        """
        steps = time_first("Lstm", x, self.input_gate.d_input, self.batch_first)
        outputs, after = self.run(steps, *parts_of("Lstm", state, LstmState))
        return in_order(outputs, self.batch_first), after

    def run(
        self, x: FloatTensor, cell: FloatTensor | None, hidden: FloatTensor | None
    ) -> tuple[FloatTensor, LstmState]:
        """x [L, N, d_input] → (outputs [L, N, d_hidden], the states after the last step).

        Burn: `Lstm::forward_iter`.
        """
        size = self.d_hidden
        first = LstmState(start("Lstm", "cell", cell, x, size), start("Lstm", "hidden", hidden, x, size))
        usual = type(self.gate_activation) is Sigmoid and type(self.cell_activation) is Tanh
        if usual and type(self.hidden_activation) is Tanh and self.clip is None and self.forget_gate is not None:
            return self._at_once(x, first, (self.input_gate, self.forget_gate, self.output_gate, self.cell_gate))
        return self._composed(x, first)

    def _at_once(
        self, x: FloatTensor, first: LstmState, gates: tuple[GateController, ...]
    ) -> tuple[FloatTensor, LstmState]:
        """As the usual LSTM: an op of the backend. A bias is a row of the weight, for a column of ones beside x."""
        length, n = x.shape[:2]
        weight = Tensor.stack([gate.input_transform.weight.value for gate in gates], 0)
        recalled = Tensor.stack([gate.hidden_transform.weight.value for gate in gates], 0)
        biases = [bias for gate in gates if (bias := gate.total_bias()) is not None]
        if biases:
            x = Tensor.cat([x, Tensor.ones((length, n, 1), x.backend, x.dtype)], 2)
            weight = Tensor.cat([weight, Tensor.stack(biases, 0).unsqueeze_dim(1)], 1)
        if self.reverse:
            x = x.flip([0])
        rows = x.reshape(1, length * n, x.shape[2]).expand(4, length * n, x.shape[2])
        projected = rows.matmul(weight).reshape(4, length, n, recalled.shape[2])
        outputs, cell = functional.lstm(projected, recalled, first.hidden, first.cell)
        hidden = step_of(outputs, length - 1)
        return (outputs.flip([0]) if self.reverse else outputs), LstmState(cell, hidden)

    def _composed(self, x: FloatTensor, first: LstmState) -> tuple[FloatTensor, LstmState]:
        """Step by step, gate by gate, with any activations."""
        gates = (self.input_gate, self.forget_gate, self.output_gate, self.cell_gate)
        inputs = [None if gate is None else gate.input_transform(x) for gate in gates]

        def at(place: int, index: int, hidden: FloatTensor) -> FloatTensor:
            gate, projected = gates[place], inputs[place]
            assert gate is not None
            assert projected is not None
            return step_of(projected, index) + gate.hidden_transform(hidden)

        def step(index: int, state: LstmState) -> tuple[FloatTensor, LstmState]:
            cell, hidden = state
            input_gate = self.gate_activation(at(0, index, hidden))
            forget_gate = 1.0 - input_gate if self.input_forget else self.gate_activation(at(1, index, hidden))
            output_gate = self.gate_activation(at(2, index, hidden))
            candidate = self.cell_activation(at(3, index, hidden))
            cell = clipped(forget_gate * cell + input_gate * candidate, self.clip)
            hidden = output_gate * self.hidden_activation(cell)
            return hidden, LstmState(cell, hidden)

        return unrolled(x.shape[0], self.reverse, first, step)

    def display_attributes(self) -> dict[str, object]:
        bias = self.input_gate.input_transform.bias is not None
        return {"d_input": self.input_gate.d_input, "d_hidden": self.input_gate.d_hidden, "bias": bias}


class LstmConfig(Config):
    """A checkpoint of a layer with input_forget has no forget gate: build it as it was trained."""

    d_input: int
    d_hidden: int
    bias: bool
    initializer: Initializer = Initializer.XavierNormal(gain=1.0)
    batch_first: bool = True
    reverse: bool = False
    clip: float | None = None
    input_forget: bool = False
    gate_activation: ActivationConfig = ActivationConfig.Sigmoid()
    cell_activation: ActivationConfig = ActivationConfig.Tanh()
    hidden_activation: ActivationConfig = ActivationConfig.Tanh()

    def init(self, backend: Backend) -> Lstm:
        """ConfigError unless clip > 0, or None."""

        def gate() -> GateController:
            return GateController.new(self.d_input, self.d_hidden, self.bias, self.initializer, backend)

        return Lstm(
            input_gate=gate(),
            forget_gate=None if self.input_forget else gate(),
            output_gate=gate(),
            cell_gate=gate(),
            batch_first=self.batch_first,
            reverse=self.reverse,
            clip=self.clip,
            input_forget=self.input_forget,
            gate_activation=self.gate_activation.init(backend),
            cell_activation=self.cell_activation.init(backend),
            hidden_activation=self.hidden_activation.init(backend),
        )


class BiLstm(Module):
    """One Lstm from the beginning, one from the end, outputs side by side: [N, L, d_input] → [N, L, 2 · d_hidden].

    In paths `forward_` is called forward, as in Burn.
    """

    forward_: Lstm
    reverse: Lstm
    batch_first: bool

    @property
    def d_hidden(self) -> int:
        return self.forward_.d_hidden

    def forward(self, x: FloatTensor, state: LstmState | None = None) -> tuple[FloatTensor, LstmState]:
        """As Lstm's; states are [2, N, d_hidden], 0 the forward direction."""
        steps = time_first("BiLstm", x, self.reverse.input_gate.d_input, self.batch_first)
        cell, hidden = parts_of("BiLstm", state, LstmState)
        cells, hiddens = directions("BiLstm", "cell", cell), directions("BiLstm", "hidden", hidden)
        there, there_after = self.forward_.run(steps, cells[0], hiddens[0])
        back, back_after = self.reverse.run(steps, cells[1], hiddens[1])
        after = LstmState(stacked(there_after.cell, back_after.cell), stacked(there_after.hidden, back_after.hidden))
        return in_order(beside(there, back), self.batch_first), after


class BiLstmConfig(Config):
    d_input: int
    d_hidden: int
    bias: bool
    initializer: Initializer = Initializer.XavierNormal(gain=1.0)
    batch_first: bool = True
    clip: float | None = None
    input_forget: bool = False
    gate_activation: ActivationConfig = ActivationConfig.Sigmoid()
    cell_activation: ActivationConfig = ActivationConfig.Tanh()
    hidden_activation: ActivationConfig = ActivationConfig.Tanh()

    def init(self, backend: Backend) -> BiLstm:
        """ConfigError unless clip > 0, or None."""
        one, other = (LstmConfig(**self.__dict__, reverse=reverse) for reverse in (False, True))
        return BiLstm(forward_=one.init(backend), reverse=other.init(backend), batch_first=self.batch_first)
