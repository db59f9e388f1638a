"""Activations with settings, each with a config that has Burn's defaults. Burn: `crates/burn-nn/src/activation/`.

(`lambda_` is Burn's `lambda`, a word that Python keeps for itself. In JSON it is `lambda`.)
"""

from __future__ import annotations

import math

from minburn.module import Config, ConfigError
from minburn.nn.activation.base import Activation, check_finite
from minburn.tensor import FloatTensor, activation

__all__ = [
    "GLU",
    "Celu",
    "CeluConfig",
    "Elu",
    "EluConfig",
    "HardShrink",
    "HardShrinkConfig",
    "HardSigmoid",
    "HardSigmoidConfig",
    "Hardtanh",
    "HardtanhConfig",
    "LeakyRelu",
    "LeakyReluConfig",
    "Shrink",
    "ShrinkConfig",
    "SoftShrink",
    "SoftShrinkConfig",
    "Softplus",
    "SoftplusConfig",
    "Threshold",
    "ThresholdConfig",
    "ThresholdedRelu",
    "ThresholdedReluConfig",
]


class LeakyRelu(Activation):
    """negative_slope · x where x < 0, else x."""

    negative_slope: float

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.leaky_relu(x, self.negative_slope)


class LeakyReluConfig(Config):
    negative_slope: float = 0.01

    def init(self) -> LeakyRelu:
        check_finite("LeakyRelu", negative_slope=self.negative_slope)
        return LeakyRelu(negative_slope=self.negative_slope)


class HardSigmoid(Activation):
    """alpha·x + beta, clamped to [0, 1]."""

    alpha: float
    beta: float

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.hard_sigmoid(x, self.alpha, self.beta)


class HardSigmoidConfig(Config):
    alpha: float = 0.2
    beta: float = 0.5

    def init(self) -> HardSigmoid:
        check_finite("HardSigmoid", alpha=self.alpha, beta=self.beta)
        return HardSigmoid(alpha=self.alpha, beta=self.beta)


class Softplus(Activation):
    """log(1 + e^(beta·x)) / beta, and x itself where beta·x > threshold."""

    beta: float
    threshold: float

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.softplus_with_threshold(x, self.beta, self.threshold)


class SoftplusConfig(Config):
    beta: float = 1.0
    threshold: float = activation.SOFTPLUS_THRESHOLD

    def init(self) -> Softplus:
        """ConfigError unless both are finite and beta is not 0."""
        check_finite("Softplus", beta=self.beta, threshold=self.threshold)
        if self.beta == 0.0:
            raise ConfigError("Softplus: beta divides, so it must not be 0.")
        return Softplus(beta=self.beta, threshold=self.threshold)


class Elu(Activation):
    """x where x > 0, else alpha · (e^x - 1)."""

    alpha: float

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.elu(x, self.alpha)


class EluConfig(Config):
    alpha: float = 1.0

    def init(self) -> Elu:
        check_finite("Elu", alpha=self.alpha)
        return Elu(alpha=self.alpha)


class Celu(Activation):
    """x where x > 0, else alpha · (e^(x/alpha) - 1)."""

    alpha: float

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.celu(x, self.alpha)


class CeluConfig(Config):
    alpha: float = 1.0

    def init(self) -> Celu:
        if not math.isfinite(self.alpha) or self.alpha == 0.0:
            raise ConfigError(f"CELU alpha must be finite and non-zero, but got {self.alpha}")
        return Celu(alpha=self.alpha)


class Hardtanh(Activation):
    """x between min_val and max_val."""

    min_val: float
    max_val: float

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.hardtanh(x, self.min_val, self.max_val)


class HardtanhConfig(Config):
    min_val: float = -1.0
    max_val: float = 1.0

    def init(self) -> Hardtanh:
        low, high = self.min_val, self.max_val
        if not (math.isfinite(low) and math.isfinite(high)):
            raise ConfigError(f"Hardtanh bounds must be finite, but got min_val={low}, max_val={high}")
        if low > high:
            raise ConfigError(
                f"Hardtanh min_val must be less than or equal to max_val, but got min_val={low}, max_val={high}"
            )
        return Hardtanh(min_val=low, max_val=high)


class Threshold(Activation):
    """x where x > threshold, else value."""

    threshold: float
    value: float

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.threshold(x, self.threshold, self.value)


class ThresholdConfig(Config):
    threshold: float
    value: float

    def init(self) -> Threshold:
        check_finite("Threshold", threshold=self.threshold, value=self.value)
        return Threshold(threshold=self.threshold, value=self.value)


class ThresholdedRelu(Activation):
    """x where x > alpha, else 0."""

    alpha: float

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.thresholded_relu(x, self.alpha)


class ThresholdedReluConfig(Config):
    alpha: float = 1.0

    def init(self) -> ThresholdedRelu:
        check_finite("ThresholdedRelu", alpha=self.alpha)
        return ThresholdedRelu(alpha=self.alpha)


class HardShrink(Activation):
    """0 where |x| ≤ lambda, else x."""

    lambda_: float

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.hard_shrink(x, self.lambda_)


class HardShrinkConfig(Config):
    lambda_: float = 0.5

    def init(self) -> HardShrink:
        check_finite("HardShrink", lambda_=self.lambda_)
        return HardShrink(lambda_=self.lambda_)


class SoftShrink(Activation):
    """0 where |x| ≤ lambda, else x moved towards 0 by lambda."""

    lambda_: float

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.soft_shrink(x, self.lambda_)


class SoftShrinkConfig(Config):
    lambda_: float = 0.5

    def init(self) -> SoftShrink:
        check_finite("SoftShrink", lambda_=self.lambda_)
        return SoftShrink(lambda_=self.lambda_)


class Shrink(Activation):
    """0 where |x| ≤ lambda, else x moved towards 0 by bias."""

    lambda_: float
    bias: float

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.shrink(x, self.lambda_, self.bias)


class ShrinkConfig(Config):
    lambda_: float = 0.5
    bias: float = 0.5

    def init(self) -> Shrink:
        check_finite("Shrink", lambda_=self.lambda_, bias=self.bias)
        return Shrink(lambda_=self.lambda_, bias=self.bias)


class GLU(Activation):
    """a · sigmoid(b), a and b the halves of x along dim."""

    dim: int

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.glu(x, self.dim)
