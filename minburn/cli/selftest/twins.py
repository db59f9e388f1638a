"""The models of models.py in PyTorch, for machines that have it. Only imported there."""

from __future__ import annotations

import importlib
from typing import Any

from minburn.cli.selftest.models import WORKLOADS, Workload


def twin(work: Workload) -> Any:
    """The same layers, sizes and activations."""
    name = next(name for name, known in WORKLOADS.items() if known is work)
    return {"mlp": mlp, "cnn": cnn, "gpt": gpt}[name](importlib.import_module("torch"))


def mlp(torch: Any) -> Any:
    nn = torch.nn
    return nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))


def cnn(torch: Any) -> Any:
    nn = torch.nn
    part = [nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    other = [nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*part, *other, nn.Flatten(), nn.Linear(16 * 7 * 7, 10))


def gpt(torch: Any) -> Any:
    nn = torch.nn

    class Gpt(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            layer = nn.TransformerEncoderLayer(64, 4, 256, 0.0, "gelu", batch_first=True, norm_first=True)
            self.token, self.position = nn.Embedding(65, 64), nn.Embedding(32, 64)
            self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.norm, self.head = nn.LayerNorm(64), nn.Linear(64, 65, bias=False)

        def forward(self, tokens: Any) -> Any:
            length = tokens.shape[1]
            x = self.token(tokens) + self.position(torch.arange(length, device=tokens.device))
            mask = nn.Transformer.generate_square_subsequent_mask(length, device=tokens.device)
            return self.head(self.norm(self.encoder(x, mask=mask, is_causal=True))).flatten(0, 1)

    return Gpt()
