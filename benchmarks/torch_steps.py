"""The same steps in PyTorch, eager, on one thread, as a user of PyTorch writes them; for machines that have it.

Module names are those of `workloads.py`, so that the same weights can be loaded: only Linear stores its weight
transposed, and LayerNorm calls gamma and beta weight and bias.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch
from floors.arrays import BETA_1, BETA_2, EPSILON, LEARNING_RATE, Step, Weights
from torch import Tensor, nn
from torch.nn import functional as F

torch.set_num_threads(1)


class Mlp(nn.Module):
    def __init__(self, sizes: Sequence[int], act: Any) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(i, o) for i, o in itertools.pairwise(sizes))
        self.act = act

    def forward(self, x: Tensor) -> Tensor:
        *hidden, last = self.layers
        for layer in hidden:
            x = self.act(layer(x))
        return last(x)


class Cnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.linear = nn.Linear(1568, 10)

    def forward(self, x: Tensor) -> Tensor:
        for conv in (self.conv1, self.conv2):
            x = F.max_pool2d(F.relu(conv(x)), 2)
        return self.linear(x.flatten(1))


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            layer(x).unflatten(2, (self.heads, -1)).transpose(1, 2) for layer in (self.query, self.key, self.value)
        )
        context = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.output(context.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.outer(F.gelu(self.inner(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, layers: int = 4, width: int = 128, heads: int = 4, time: int = 64, tokens: int = 65) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(tokens, width), nn.Embedding(time, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, tokens, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)).flatten(0, 1)


class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn, self.linear = nn.LSTM(64, 128, batch_first=True), nn.Linear(128, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(self.rnn(x)[1][0][0])


MODELS: dict[str, Any] = {
    "tiny": lambda: Mlp((2, 16, 16, 1), torch.tanh),
    "mlp64": lambda: Mlp((784, 512, 256, 10), F.relu),
    "mlp256": lambda: Mlp((784, 512, 256, 10), F.relu),
    "cnn": Cnn,
    "gpt": Gpt,
    "lstm": Reader,
}


def load(model: nn.Module, weights: Weights) -> None:
    with torch.no_grad():
        for path, module in model.named_modules():
            for name, parameter in module.named_parameters(recurse=False):
                if isinstance(module, nn.LSTM):
                    parameter.copy_(lstm_part(path, name, weights))
                    continue
                ours = {"weight": "gamma", "bias": "beta"}[name] if isinstance(module, nn.LayerNorm) else name
                value = torch.tensor(weights[f"{path}.{ours}"])
                parameter.copy_(value.T if isinstance(module, nn.Linear) and name == "weight" else value)


def lstm_part(path: str, name: str, weights: Weights) -> Tensor:
    """PyTorch has the parameters of all gates one above the other, in another order: `weight_ih_l0`, `bias_hh_l0`."""
    what, source, _ = name.split("_")
    transform = {"ih": "input_transform", "hh": "hidden_transform"}[source]
    gates = ("input_gate", "forget_gate", "cell_gate", "output_gate")
    return torch.cat([torch.tensor(weights[f"{path}.{gate}.{transform}.{what}"].T) for gate in gates])


def torch_step(name: str, weights: Weights, batches: list[tuple[Any, Any]], fused: bool) -> Step:
    """fused: Adam as one kernel, which PyTorch only does when asked."""
    model = MODELS[name]()
    load(model, weights)
    optim = torch.optim.Adam(model.parameters(), LEARNING_RATE, (BETA_1, BETA_2), EPSILON, fused=fused)
    tensors = [(torch.tensor(x), torch.tensor(y)) for x, y in batches]
    turns = itertools.cycle(
        [(x if x.is_floating_point() else x.long(), y if y.is_floating_point() else y.long()) for x, y in tensors]
    )
    loss_of = F.mse_loss if name == "tiny" else F.cross_entropy

    def step() -> float:
        x, y = next(turns)
        optim.zero_grad(set_to_none=True)
        loss = loss_of(model(x), y if name == "tiny" else y.flatten())
        loss.backward()
        optim.step()
        return loss.item()

    return step
