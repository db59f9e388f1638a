"""Functions of several tensors that a backend may fuse: what the layers of `nn` are made of.

Burn: `crates/burn-tensor/src/tensor/module.rs`, `tensor/loss/mod.rs`.
"""

from minburn.tensor.functional.linear import linear
from minburn.tensor.functional.loss import cross_entropy_with_logits

__all__ = ["cross_entropy_with_logits", "linear"]
