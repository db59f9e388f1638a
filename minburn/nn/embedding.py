"""Vectors by number. Burn: `crates/burn-nn/src/modules/embedding.rs`."""

from __future__ import annotations

from minburn.backends import Backend
from minburn.module import Config, Initializer, Module, Param
from minburn.tensor import FloatTensor, IntTensor, functional

__all__ = ["Embedding", "EmbeddingConfig"]


class Embedding(Module):
    """out[…, :] = weight[x[…], :]: x [N, L] → [N, L, d_model].

    weight: [n_embedding, d_model]. There is no padding index: its row is trained as the others.

    Errors: an index outside [0, n_embedding) is refused.
    """

    weight: Param[FloatTensor]

    def forward(self, x: IntTensor) -> FloatTensor:
        return functional.embedding(self.weight.value, x)

    def display_attributes(self) -> dict[str, object]:
        n_embedding, d_model = self.weight.shape
        return {"n_embedding": n_embedding, "d_model": d_model}


class EmbeddingConfig(Config):
    """initializer: of the weight; the default is N(0, 1)."""

    n_embedding: int
    d_model: int
    initializer: Initializer = Initializer.Normal(mean=0.0, std=1.0)

    def init(self, backend: Backend) -> Embedding:
        return Embedding(weight=self.initializer.init((self.n_embedding, self.d_model), backend))
