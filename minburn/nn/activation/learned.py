"""Activations with parameters or random slopes. Burn: `crates/burn-nn/src/activation/{prelu,rrelu,swiglu}.rs`."""

from __future__ import annotations

import math

from minburn.backends import Backend, Distribution
from minburn.module import Config, ConfigError, Flag, Initializer, Module, Param
from minburn.nn.activation.base import check_finite
from minburn.nn.linear import Linear, LinearConfig, LinearLayout
from minburn.tensor import FloatTensor, Tensor, activation

__all__ = ["PRelu", "PReluConfig", "RRelu", "RReluConfig", "SwiGlu", "SwiGluConfig"]

STREAM = "rrelu"


class PRelu(Module):
    """alpha · x where x < 0, else x. He et al. 2015.

    alpha: [1], or one for each channel [x.shape[1]].
    """

    alpha: Param[FloatTensor]

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.prelu(x, self.alpha.value)

    def display_attributes(self) -> dict[str, object]:
        return {"num_parameters": self.alpha.shape[0]}


class PReluConfig(Config):
    """alpha: the first value of the parameter."""

    num_parameters: int = 1
    alpha: float = 0.25

    def init(self, backend: Backend) -> PRelu:
        """ConfigError unless num_parameters ≥ 1 and alpha is finite."""
        if self.num_parameters < 1:
            raise ConfigError(f"PRelu: num_parameters must be at least 1, but got {self.num_parameters}.")
        check_finite("PRelu", alpha=self.alpha)
        return PRelu(alpha=Initializer.Constant(self.alpha).init([self.num_parameters], backend))


class RRelu(Module):
    """slope · x where x < 0, else x. In training every element draws its slope from U[lower, upper). Xu et al. 2015.

    Trains when the input is on an autodiff backend and `training` is on; otherwise the slope is the middle. The draws
    come from the stream `rrelu` of the input's backend.
    """

    lower: float
    upper: float
    training: Param[Flag]

    def forward(self, x: FloatTensor) -> FloatTensor:
        activation.check_float("RRelu", x)
        if not (x.backend.is_autodiff and self.training.value):
            return activation.leaky_relu(x, (self.lower + self.upper) / 2.0)
        slopes = Tensor.random(x.shape, x.backend, Distribution.Uniform(self.lower, self.upper), stream=STREAM)
        return x.mask_where(x.lower_scalar(0.0), x * slopes)

    def display_attributes(self) -> dict[str, object]:
        attributes: dict[str, object] = {"lower": self.lower, "upper": self.upper}
        return {**attributes, **({} if self.training.value else {"training": "disabled"})}


class RReluConfig(Config):
    lower: float = 1.0 / 8.0
    upper: float = 1.0 / 3.0

    def init(self) -> RRelu:
        """ConfigError unless lower ≤ upper."""
        check_finite("RRelu", lower=self.lower, upper=self.upper)
        if self.lower > self.upper:
            raise ConfigError(f"RRelu: lower must not be above upper, but got {self.lower} and {self.upper}.")
        return RRelu(lower=self.lower, upper=self.upper, training=Param.from_bool(True))


class SwiGlu(Module):
    """silu(linear_inner(x)) · linear_outer(x). Shazeer 2020.

    x [..., d_input] → [..., d_output]; both are linear layers.
    """

    linear_inner: Linear
    linear_outer: Linear

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.silu(self.linear_inner(x)) * self.linear_outer(x)

    def display_attributes(self) -> dict[str, object]:
        d_input, d_output = self.linear_inner.weight.shape
        return {"d_input": d_input, "d_output": d_output, "bias": self.linear_inner.bias is not None}


class SwiGluConfig(Config):
    d_input: int
    d_output: int
    bias: bool = False
    initializer: Initializer = Initializer.KaimingUniform(gain=1.0 / math.sqrt(3.0), fan_out_only=False)
    layout: LinearLayout = LinearLayout.Row

    def init(self, backend: Backend) -> SwiGlu:
        linear = LinearConfig(self.d_input, self.d_output, self.bias, self.initializer, self.layout)
        return SwiGlu(linear_inner=linear.init(backend), linear_outer=linear.init(backend))
