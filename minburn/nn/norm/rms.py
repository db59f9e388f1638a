"""Root-mean-square normalization. Burn: `crates/burn-nn/src/modules/norm/rms.rs`."""

from __future__ import annotations

from minburn.backends import Backend
from minburn.module import Config, Initializer, Module, Param
from minburn.nn.norm.check import check_count, check_epsilon
from minburn.tensor import FloatTensor, functional

__all__ = ["RmsNorm", "RmsNormConfig"]


class RmsNorm(Module):
    """y = x / √(mean(x²) + epsilon) · gamma over the last dimension. Zhang & Sennrich 2019.

    x [..., d_model]; gamma [d_model]. Half floats are normalized in F32.
    """

    gamma: Param[FloatTensor]
    epsilon: float

    def check_fields(self) -> None:
        check_epsilon("RmsNorm", self.epsilon)

    def forward(self, x: FloatTensor) -> FloatTensor:
        return functional.rms_norm(x, self.gamma.value, self.epsilon)

    def display_attributes(self) -> dict[str, object]:
        return {"d_model": self.gamma.shape[0], "epsilon": self.epsilon}


class RmsNormConfig(Config):
    """gamma starts at 1."""

    d_model: int
    epsilon: float = 1e-5

    def init(self, backend: Backend) -> RmsNorm:
        """ConfigError unless d_model ≥ 1 and epsilon > 0."""
        check_count("RmsNorm", "d_model", self.d_model)
        check_epsilon("RmsNorm", self.epsilon)
        return RmsNorm(gamma=Initializer.Ones().init([self.d_model], backend), epsilon=self.epsilon)
