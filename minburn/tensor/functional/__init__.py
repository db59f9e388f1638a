"""Functions of several tensors that a backend may fuse: what the layers of `nn` are made of.

Burn: `crates/burn-tensor/src/tensor/module.rs`, `tensor/loss/mod.rs`.
"""

from minburn.backends.conv_options import ConvOptions, ConvTransposeOptions, DeformConvOptions
from minburn.backends.module_ops import AttentionOptions
from minburn.tensor.functional.alignment import ctc_loss, rnnt_loss
from minburn.tensor.functional.attention import attention, attention_weights, attention_with_weights
from minburn.tensor.functional.conv import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    deform_conv2d,
)
from minburn.tensor.functional.embedding import embedding
from minburn.tensor.functional.grid import affine_grid_2d, grid_sample_2d
from minburn.tensor.functional.linear import linear, linears
from minburn.tensor.functional.loss import cross_entropy_with_logits
from minburn.tensor.functional.norm import batch_norm, batch_norm_train, layer_norm, rms_norm
from minburn.tensor.functional.pool import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    avg_pool1d,
    avg_pool2d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
)
from minburn.tensor.functional.recurrent import lstm
from minburn.tensor.functional.resample import fold4d, interpolate, unfold4d

__all__ = [
    "AttentionOptions",
    "ConvOptions",
    "ConvTransposeOptions",
    "DeformConvOptions",
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "affine_grid_2d",
    "attention",
    "attention_weights",
    "attention_with_weights",
    "avg_pool1d",
    "avg_pool2d",
    "batch_norm",
    "batch_norm_train",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cross_entropy_with_logits",
    "ctc_loss",
    "deform_conv2d",
    "embedding",
    "fold4d",
    "grid_sample_2d",
    "interpolate",
    "layer_norm",
    "linear",
    "linears",
    "lstm",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "rms_norm",
    "rnnt_loss",
    "unfold4d",
]
