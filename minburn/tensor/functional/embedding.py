"""Rows by index. Burn: `crates/burn-tensor/src/tensor/module.rs`."""

from __future__ import annotations

from minburn.tensor import activation
from minburn.tensor.check import ShapeError, show
from minburn.tensor.indexing import check_indices
from minburn.tensor.kinds import FloatTensor, IntTensor


def embedding(weight: FloatTensor, indices: IntTensor) -> FloatTensor:
    """out[…, :] = weight[indices[…], :] for weight [n_embedding, d_model] and indices of any rank.

    Errors: ShapeError unless the weight has rank 2; an index outside [0, n_embedding) is refused.
    """
    activation.check_float("embedding", weight)
    check_indices("embedding", weight, indices)
    if weight.rank != 2:
        raise ShapeError(f"embedding: weight must have shape [n_embedding, d_model], but has {show(weight.shape)}.")
    return weight._with(weight.backend.modules.embedding(weight.primitive, indices.primitive))
