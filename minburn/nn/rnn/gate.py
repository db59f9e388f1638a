"""What the gates of recurrent layers are made of. Burn: `crates/burn-nn/src/modules/rnn/gate_controller.rs`."""

from __future__ import annotations

from minburn.backends import Backend
from minburn.module import Initializer, Module
from minburn.nn.linear import Linear, LinearConfig
from minburn.tensor import FloatTensor

__all__ = ["GateController"]


class GateController(Module):
    """input_transform(x) + hidden_transform(h): [N, d_input], [N, d_hidden] → [N, d_hidden]."""

    input_transform: Linear
    hidden_transform: Linear

    @staticmethod
    def new(d_input: int, d_hidden: int, bias: bool, initializer: Initializer, backend: Backend) -> GateController:
        """bias: of both transforms."""
        return GateController(
            input_transform=LinearConfig(d_input, d_hidden, bias, initializer).init(backend),
            hidden_transform=LinearConfig(d_hidden, d_hidden, bias, initializer).init(backend),
        )

    def forward(self, x: FloatTensor, hidden: FloatTensor) -> FloatTensor:
        """Burn: `GateController::gate_product`."""
        return self.input_transform(x) + self.hidden_transform(hidden)

    def total_bias(self) -> FloatTensor | None:
        """The sum of both biases [d_hidden], if there are any."""
        first, second = self.input_transform.bias, self.hidden_transform.bias
        return None if first is None or second is None else first.value + second.value

    @property
    def d_input(self) -> int:
        return self.input_transform.weight.shape[0]

    @property
    def d_hidden(self) -> int:
        return self.hidden_transform.weight.shape[0]
