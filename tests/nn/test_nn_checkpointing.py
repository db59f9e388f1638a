"""Models train with gradient checkpointing exactly as without; strategies do not mix by accident."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minburn import FloatTensor, Module, Tensor
from minburn.backends import Autodiff, BalancedCheckpointing, CheckpointStrategy, NoCheckpointing, NumPy
from minburn.nn import (
    BatchNorm,
    BatchNormConfig,
    Conv2d,
    Conv2dConfig,
    Dropout,
    DropoutConfig,
    LayerNorm,
    LayerNormConfig,
    Linear,
    LinearConfig,
    TransformerEncoder,
    TransformerEncoderConfig,
    TransformerEncoderInput,
    generate_autoregressive_mask,
)
from minburn.optim import AdamWConfig, GradientsAccumulator, GradientsParams
from minburn.tensor import DeviceError, activation


class Mlp(Module):
    layers: list[Linear]
    norm: LayerNorm
    dropout: Dropout

    def forward(self, x: FloatTensor) -> FloatTensor:
        for layer in self.layers:
            x = x + self.dropout(activation.gelu(layer(self.norm(x))))
        return x


class Cnn(Module):
    conv: Conv2d
    norm: BatchNorm

    def forward(self, x: FloatTensor) -> FloatTensor:
        x = activation.relu(self.norm(self.conv(x.reshape(4, 1, 4, 4))))
        return activation.silu(x).flatten(1)


class Gpt(Module):
    encoder: TransformerEncoder

    def forward(self, x: FloatTensor) -> FloatTensor:
        mask = generate_autoregressive_mask(2, 4, x.backend)
        return self.encoder(TransformerEncoderInput(x.reshape(2, 4, 8), mask_attn=mask))


def mlp(backend: Autodiff) -> Module:
    layers = [LinearConfig(16, 16).init(backend) for _ in range(5)]
    return Mlp(layers=layers, norm=LayerNormConfig(16).init(backend), dropout=DropoutConfig(0.3).init())


def cnn(backend: Autodiff) -> Module:
    return Cnn(conv=Conv2dConfig((1, 3), (3, 3)).init(backend), norm=BatchNormConfig(3).init(backend))


def gpt(backend: Autodiff) -> Module:
    return Gpt(encoder=TransformerEncoderConfig(8, 16, 2, 2, dropout=0.2, norm_first=True).init(backend))


def trained(build: Callable[[Autodiff], Any], strategy: CheckpointStrategy) -> list[Any]:
    """Three updates of AdamW, each with the gradients of two batches."""
    backend = Autodiff(NumPy(seed=4), strategy)
    model, optimizer = build(backend), AdamWConfig().init()
    accumulator = GradientsAccumulator()
    for step in range(6):
        x = Tensor.from_data(np.random.default_rng(step).standard_normal((4, 16)), backend)
        loss = model(x).square().mean()
        accumulator.accumulate(model, GradientsParams.from_grads(loss.backward(), model))
        if step % 2:
            model = optimizer.step(0.01, model, accumulator.grads())
    return [(entry.path, entry.data) for entry in model.into_record()]


@pytest.mark.parametrize("build", [mlp, cnn, gpt], ids=lambda f: f.__name__)
def test_training_is_the_same_to_the_last_bit(build: Callable[[Autodiff], Any]) -> None:
    assert trained(build, NoCheckpointing) == trained(build, BalancedCheckpointing)


def test_strategies_meet_in_no_operation() -> None:
    plain, balanced = Autodiff(NumPy()), Autodiff(NumPy(), BalancedCheckpointing)
    x, y = Tensor.ones([2], plain), Tensor.ones([2], balanced)
    with pytest.raises(DeviceError, match=r"add: .*autodiff<numpy, BalancedCheckpointing>.* share a checkpointing"):
        x + y
    with pytest.raises(DeviceError, match="is not below"):
        x.autodiff(balanced)
    assert (x.to_device(balanced) + y).numpy().tolist() == [2.0, 2.0]
    assert (Tensor.ones([2], NumPy()) + y).backend is balanced  # a plain one is lifted, as always


def test_modules_stay_on_their_strategy_or_move() -> None:
    plain, balanced = Autodiff(NumPy()), Autodiff(NumPy(), BalancedCheckpointing)
    model = LinearConfig(2, 2).init(balanced)
    assert model.to_device(NumPy()).weight.backend.strategy is BalancedCheckpointing
    assert model.to_device(plain).weight.backend is plain
    assert model.valid().weight.backend is balanced.inner
    assert model.valid().fork(balanced.inner).train().to_device(balanced).weight.value.is_require_grad
