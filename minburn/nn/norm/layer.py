"""Layer normalization. Burn: `crates/burn-nn/src/modules/norm/layer.rs`."""

from __future__ import annotations

from minburn.backends import Backend
from minburn.module import Config, Initializer, Module, Param
from minburn.nn.norm.check import check_count, check_epsilon
from minburn.tensor import FloatTensor, functional

__all__ = ["LayerNorm", "LayerNormConfig"]


class LayerNorm(Module):
    """y = (x - mean) / √(variance + epsilon) · gamma + beta over the last dimension. Ba et al. 2016.

    x [..., d_model]; gamma, beta [d_model], beta may be None. Half floats are normalized in F32.
    """

    gamma: Param[FloatTensor]
    beta: Param[FloatTensor] | None
    epsilon: float

    def check_fields(self) -> None:
        check_epsilon("LayerNorm", self.epsilon)

    def forward(self, x: FloatTensor) -> FloatTensor:
        beta = self.beta
        return functional.layer_norm(x, self.gamma.value, None if beta is None else beta.value, self.epsilon)

    def display_attributes(self) -> dict[str, object]:
        return {"d_model": self.gamma.shape[0], "epsilon": self.epsilon}


class LayerNormConfig(Config):
    """gamma starts at 1, beta at 0."""

    d_model: int
    epsilon: float = 1e-5
    bias: bool = True

    def init(self, backend: Backend) -> LayerNorm:
        """ConfigError unless d_model ≥ 1 and epsilon > 0."""
        check_count("LayerNorm", "d_model", self.d_model)
        check_epsilon("LayerNorm", self.epsilon)
        gamma = Initializer.Ones().init([self.d_model], backend)
        beta = Initializer.Zeros().init([self.d_model], backend) if self.bias else None
        return LayerNorm(gamma=gamma, beta=beta, epsilon=self.epsilon)
