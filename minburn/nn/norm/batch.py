"""Batch normalization. Burn: `crates/burn-nn/src/modules/norm/batch.rs`."""

from __future__ import annotations

import math

from minburn.backends import Backend
from minburn.module import Config, ConfigError, Flag, Initializer, Module, Param, RunningState
from minburn.nn.norm.check import check_count, check_epsilon
from minburn.tensor import FloatTensor, Tensor, functional

__all__ = ["BatchNorm", "BatchNormConfig"]


class BatchNorm(Module):
    """y = (x - mean) / √(variance + epsilon) · gamma + beta, by channel. Ioffe & Szegedy 2015.

    x [N, C, ...] of any rank from 2; gamma, beta, running_mean, running_var [C].

    In training (the input is on an autodiff backend and `training` is on) the statistics are those of x over all
    dimensions but C, and

        running ← (1 - momentum) · running + momentum · batch

    where the variance is the biased one in both places (PyTorch keeps the unbiased one). Otherwise the statistics are
    the running ones. An update is committed by the next one, or by `valid()`: see RunningState.
    """

    gamma: Param[FloatTensor]
    beta: Param[FloatTensor]
    training: Param[Flag]
    running_mean: RunningState
    running_var: RunningState
    momentum: float
    epsilon: float

    def check_fields(self) -> None:
        check_epsilon("BatchNorm", self.epsilon)
        check_momentum(self.momentum)

    def forward(self, x: FloatTensor) -> FloatTensor:
        gamma, beta = self.gamma.value, self.beta.value
        if isinstance(x, FloatTensor) and x.backend.is_autodiff and self.training.value:
            out, mean, variance = functional.batch_norm_train(x, gamma, beta, self.epsilon)
            self._update(self.running_mean, mean)
            self._update(self.running_var, variance)
            return out
        mean, variance = self.running_mean.value(), self.running_var.value()
        return functional.batch_norm(x, gamma, beta, mean, variance, self.epsilon)

    def _update(self, state: RunningState, batch: FloatTensor) -> None:
        running = state.value_sync()
        while batch.backend.is_autodiff and batch.ops is not running.ops:  # a plain module may see autodiff inputs
            batch = batch.inner()
        state.update(running * (1.0 - self.momentum) + batch * self.momentum)

    def display_attributes(self) -> dict[str, object]:
        attributes = {
            "num_features": self.gamma.shape[0],
            "momentum": self.momentum,
            "epsilon": self.epsilon,
        }
        return {**attributes, **({} if self.training.value else {"training": "disabled"})}


class BatchNormConfig(Config):
    """gamma starts at 1, beta and the running mean at 0, the running variance at 1.

    momentum: the weight of the new statistics: 0 keeps the running ones, 1 replaces them.
    """

    num_features: int
    epsilon: float = 1e-5
    momentum: float = 0.1

    def init(self, backend: Backend) -> BatchNorm:
        """ConfigError unless num_features ≥ 1, epsilon > 0 and 0 ≤ momentum ≤ 1."""
        check_count("BatchNorm", "num_features", self.num_features)
        check_epsilon("BatchNorm", self.epsilon)
        check_momentum(self.momentum)
        shape = [self.num_features]
        return BatchNorm(
            gamma=Initializer.Ones().init(shape, backend),
            beta=Initializer.Zeros().init(shape, backend),
            training=Param.from_bool(True),
            running_mean=RunningState(Tensor.zeros(shape, backend)),
            running_var=RunningState(Tensor.ones(shape, backend)),
            momentum=self.momentum,
            epsilon=self.epsilon,
        )


def check_momentum(momentum: float) -> None:
    if isinstance(momentum, bool) or not (math.isfinite(momentum) and 0.0 <= momentum <= 1.0):
        raise ConfigError(f"BatchNorm: momentum must be in [0, 1], but got {momentum}.")
