"""Functions of several tensors that a backend may fuse: what the layers of `nn` are made of.

Burn: `crates/burn-tensor/src/tensor/module.rs`, `tensor/loss/mod.rs`.
"""

from minburn.tensor.functional.linear import linear
from minburn.tensor.functional.loss import cross_entropy_with_logits
from minburn.tensor.functional.norm import batch_norm, batch_norm_train, layer_norm, rms_norm

__all__ = ["batch_norm", "batch_norm_train", "cross_entropy_with_logits", "layer_norm", "linear", "rms_norm"]
