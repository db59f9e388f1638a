"""The op tables of layers: `backend.modules` and `backend.activations`, by family.

Every op has a default composed from `floats` (`backends/default/`), which says what it means; a backend overrides the
ones that it can do faster (`backends/array/modules/`). The rules of `backends/base.py` hold here too. Backward ops are
ops of the table as well, so that a backend may fuse them and `Autodiff` can differentiate them again.

Burn: `ModuleOps` and `ActivationOps`, `crates/burn-backend/src/backend/ops/{modules,activation.rs}`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from minburn.backends.base import B, F, I, Shape
from minburn.backends.conv_options import ConvOptions, ConvTransposeOptions, DeformConvOptions
from minburn.backends.interpolate_options import InterpolateOptions
from minburn.backends.pool_options import PoolOptions
from minburn.dtype import DType


class LinearOps(Protocol[F, I]):  # type: ignore[misc]
    """The affine map and the losses on top of it."""

    def linear(self, x: F, weight: F, bias: F | None) -> F:
        """x[…, d_in] · weight[d_in, d_out] + bias[d_out]."""

    def linear_x_backward(self, weight: F, grad: F) -> F: ...
    def linear_weight_backward(self, x: F, grad: F) -> F: ...
    def linear_bias_backward(self, grad: F) -> F: ...

    @property
    def joins_linears(self) -> bool:
        """Whether `linears` is faster than a `linear` per map: where starting an op costs more than what it does."""

    def linears(self, x: F, weights: list[F], biases: list[F] | None) -> F:
        """Several affine maps of one input, of equal sizes: [n, …, d_out] for n weights [d_in, d_out]."""

    def linears_x_backward(self, weights: list[F], grad: F) -> F: ...
    def linears_weight_backward(self, x: F, grad: F) -> tuple[F, ...]:
        """One gradient per weight."""

    def linears_bias_backward(self, grad: F) -> tuple[F, ...]:
        """One gradient per bias."""

    def cross_entropy(self, logits: F, targets: I) -> tuple[F, F]:
        """(-mean over n of log_softmax(logits)[n, targets[n]] with shape [1], softmax(logits)); logits are [N, C]."""

    def cross_entropy_backward(self, softmax: F, targets: I, grad: F) -> F:
        """The gradient of the loss for the logits: (softmax - onehot(targets)) · grad / N; grad has shape [1]."""


class ConvOps(Protocol[F]):
    """Convolutions (cross-correlations, as everywhere) of one to three spatial dimensions, and transposed ones.

    x [N, C, …], weight [O, C/groups, k…] → [N, O, …]; transposed: weight [C, O/groups, k…]; bias [O]. `size` is the
    spatial size of x, `kernel` that of the weight: of the tensors that Burn passes there, only the shape matters.
    """

    def conv1d(self, x: F, weight: F, bias: F | None, options: ConvOptions) -> F: ...
    def conv1d_x_backward(self, weight: F, grad: F, size: Shape, options: ConvOptions) -> F: ...
    def conv1d_weight_backward(self, x: F, grad: F, kernel: Shape, options: ConvOptions) -> F: ...
    def conv1d_bias_backward(self, grad: F) -> F: ...
    def conv2d(self, x: F, weight: F, bias: F | None, options: ConvOptions) -> F: ...
    def conv2d_x_backward(self, weight: F, grad: F, size: Shape, options: ConvOptions) -> F: ...
    def conv2d_weight_backward(self, x: F, grad: F, kernel: Shape, options: ConvOptions) -> F: ...
    def conv2d_bias_backward(self, grad: F) -> F: ...
    def deform_conv2d(
        self, x: F, offset: F, weight: F, mask: F | None, bias: F | None, options: DeformConvOptions
    ) -> F:
        """conv2d whose kernel elements look elsewhere: offset [N, 2 · og · kh · kw, H', W'], mask without the 2.

        Offsets are (y, x) by kernel element, by offset group (of the channels of x); the mask multiplies what is seen.
        """

    def conv3d(self, x: F, weight: F, bias: F | None, options: ConvOptions) -> F: ...
    def conv3d_x_backward(self, weight: F, grad: F, size: Shape, options: ConvOptions) -> F: ...
    def conv3d_weight_backward(self, x: F, grad: F, kernel: Shape, options: ConvOptions) -> F: ...
    def conv3d_bias_backward(self, grad: F) -> F: ...
    def conv_transpose1d(self, x: F, weight: F, bias: F | None, options: ConvTransposeOptions) -> F: ...
    def conv_transpose1d_x_backward(self, weight: F, grad: F, options: ConvTransposeOptions) -> F: ...
    def conv_transpose1d_weight_backward(self, x: F, grad: F, kernel: Shape, options: ConvTransposeOptions) -> F: ...
    def conv_transpose1d_bias_backward(self, grad: F) -> F: ...
    def conv_transpose2d(self, x: F, weight: F, bias: F | None, options: ConvTransposeOptions) -> F: ...
    def conv_transpose2d_x_backward(self, weight: F, grad: F, options: ConvTransposeOptions) -> F: ...
    def conv_transpose2d_weight_backward(self, x: F, grad: F, kernel: Shape, options: ConvTransposeOptions) -> F: ...
    def conv_transpose2d_bias_backward(self, grad: F) -> F: ...
    def conv_transpose3d(self, x: F, weight: F, bias: F | None, options: ConvTransposeOptions) -> F: ...
    def conv_transpose3d_x_backward(self, weight: F, grad: F, options: ConvTransposeOptions) -> F: ...
    def conv_transpose3d_weight_backward(self, x: F, grad: F, kernel: Shape, options: ConvTransposeOptions) -> F: ...
    def conv_transpose3d_bias_backward(self, grad: F) -> F: ...


class PoolOps(Protocol[F, I]):
    """Maxima and means over windows of x [N, C, …].

    `size` is the spatial size of x, of which Burn passes the tensor: only its shape matters.
    """

    def max_pool1d(self, x: F, options: PoolOptions) -> F:
        """The maximum of each window; a NaN wins. Every window must have an element."""

    def max_pool1d_backward(self, x: F, output: F, grad: F, options: PoolOptions) -> F:
        """Gives the gradient of a window to its first maximum, or to its last NaN."""

    def max_pool1d_with_indices(self, x: F, options: PoolOptions, indices_dtype: DType) -> tuple[F, I]:
        """And the flat position of that element in its unpadded plane."""

    def max_pool1d_with_indices_backward(self, grad: F, indices: I, size: Shape) -> F: ...
    def max_pool2d(self, x: F, options: PoolOptions) -> F: ...
    def max_pool2d_backward(self, x: F, output: F, grad: F, options: PoolOptions) -> F: ...
    def max_pool2d_with_indices(self, x: F, options: PoolOptions, indices_dtype: DType) -> tuple[F, I]: ...
    def max_pool2d_with_indices_backward(self, grad: F, indices: I, size: Shape) -> F: ...
    def avg_pool1d(self, x: F, options: PoolOptions, count_include_pad: bool) -> F:
        """The sum of each window's elements over how many places it has: in the padded input, or in the input."""

    def avg_pool1d_backward(self, grad: F, size: Shape, options: PoolOptions, count_include_pad: bool) -> F: ...
    def avg_pool2d(self, x: F, options: PoolOptions, count_include_pad: bool) -> F: ...
    def avg_pool2d_backward(self, grad: F, size: Shape, options: PoolOptions, count_include_pad: bool) -> F: ...
    def adaptive_avg_pool1d(self, x: F, output_size: Shape) -> F:
        """The means of `output_size` windows that cover x: ⌊i·n/out⌋ up to ⌈(i+1)·n/out⌉ in each dimension."""

    def adaptive_avg_pool1d_backward(self, grad: F, size: Shape) -> F: ...
    def adaptive_avg_pool2d(self, x: F, output_size: Shape) -> F: ...
    def adaptive_avg_pool2d_backward(self, grad: F, size: Shape) -> F: ...
    def adaptive_avg_pool3d(self, x: F, output_size: Shape) -> F: ...
    def adaptive_avg_pool3d_backward(self, grad: F, size: Shape) -> F: ...


class ResampleOps(Protocol[F]):
    """Images of another size, and images as columns of windows and back."""

    def interpolate(self, x: F, output_size: Shape, options: InterpolateOptions) -> F:
        """x [N, C, …] → [N, C, *output_size]."""

    def interpolate_backward(self, grad: F, size: Shape, options: InterpolateOptions) -> F: ...
    def unfold4d(self, x: F, options: PoolOptions) -> F:
        """x [N, C, H, W] → [N, C · elements of the kernel, windows]; padding reads as 0."""

    def fold4d(self, columns: F, size: Shape, options: PoolOptions) -> F:
        """The adjoint of unfold4d: adds the elements of all windows where they lie in [N, C, *size]."""


class NormOps(Protocol[F]):
    """Normalizations. Variances are biased: the mean of the squared distances from the mean."""

    def layer_norm(self, x: F, gamma: F, beta: F | None, epsilon: float) -> F:
        """(x - mean) / √(variance + epsilon) · gamma + beta, statistics over the last dim; gamma, beta are [d]."""

    def layer_norm_train(self, x: F, gamma: F, beta: F | None, epsilon: float) -> tuple[F, F, F]:
        """(layer_norm, x normalized before gamma and beta, 1/√(variance + epsilon) with the last dim of size 1)."""

    def layer_norm_backward(self, normalized: F, recip_std: F, gamma: F, grad: F) -> tuple[F, F, F]:
        """The gradients of x, gamma and beta."""

    def rms_norm(self, x: F, gamma: F, epsilon: float) -> F:
        """x / √(mean(x²) + epsilon) · gamma, the mean over the last dim; gamma is [d]."""

    def rms_norm_train(self, x: F, gamma: F, epsilon: float) -> tuple[F, F, F]:
        """(rms_norm, x normalized before gamma, 1/√(mean(x²) + epsilon) with the last dim of size 1)."""

    def rms_norm_backward(self, normalized: F, recip_rms: F, gamma: F, grad: F) -> tuple[F, F]:
        """The gradients of x and gamma."""

    def batch_norm(self, x: F, gamma: F, beta: F, mean: F, variance: F, epsilon: float) -> F:
        """(x - mean) / √(variance + epsilon) · gamma + beta; x is [N, C, …], the others [C]."""

    def batch_norm_train(self, x: F, gamma: F, beta: F, epsilon: float) -> tuple[F, F, F]:
        """(batch_norm with the statistics of x over all dims but 1, their mean [C], their variance [C])."""

    def batch_norm_train_backward(
        self, x: F, gamma: F, mean: F, variance: F, grad: F, epsilon: float
    ) -> tuple[F, F, F]:
        """The gradients of x, gamma and beta, given what batch_norm_train took and returned."""


@dataclass(frozen=True, slots=True)
class AttentionOptions:
    """How products of queries and keys become weights.

    scale: what they are multiplied by; 1/√d if None.
    softcap: a score s becomes softcap · tanh(s / softcap); None leaves it.
    is_causal: of s_q queries and s_k keys, query i does not see key j > i + (s_k - s_q).
    fill: what the score of a key that a query must not see is replaced by.
    is_quiet: weights are eˢ / (1 + Σ eˢ), so that a head may attend to nothing.

    Burn: `AttentionModuleOptions` in `crates/burn-std/src/ops.rs`.
    """

    scale: float | None = None
    softcap: float | None = None
    is_causal: bool = False
    fill: float = -math.inf
    is_quiet: bool = False


class AttentionOps(Protocol[F, I, B]):  # type: ignore[misc]
    """Embedding and attention.

    query is [n, h, s_q, d], key [n, h_kv, s_k, d], value [n, h_kv, s_k, d_v]; h is a multiple of h_kv, and query head i
    uses the heads i // (h / h_kv) of key and value. mask (true: not seen) and bias broadcast to [n, h, s_q, s_k].
    """

    def embedding(self, weight: F, indices: I) -> F:
        """out[…, :] = weight[indices[…], :]; weight is [n_embedding, d]."""

    def embedding_backward(self, grad: F, indices: I, n_embedding: int) -> F:
        """The gradient of the weight: rows of grad added up by index."""

    def attention_weights(self, query: F, key: F, mask: B | None, bias: F | None, options: AttentionOptions) -> F:
        """softmax over the keys of: query · keyᵀ · scale, capped, masked, plus bias. A row of -inf gives zeros."""

    def attention_weights_backward(
        self, query: F, key: F, mask: B | None, weights: F, grad: F, options: AttentionOptions
    ) -> tuple[F, F, F]:
        """Gradients of query, key and bias (in the shape of the weights)."""

    def attention(
        self, query: F, key: F, value: F, mask: B | None, bias: F | None, options: AttentionOptions
    ) -> tuple[F, F]:
        """(weights · value, weights)."""

    def attention_backward(
        self, query: F, key: F, value: F, mask: B | None, weights: F, output: F, grad: F, options: AttentionOptions
    ) -> tuple[F, F, F, F]:
        """Gradients of query, key, value and bias for the gradient of the output weights · value."""


class RecurrentOps(Protocol[F]):
    """The recurrence of an LSTM, for what its gates get from the input: gates [4, L, N, h], weight [4, h, h].

    In the order input, forget, output, cell: i, f, o = σ(gates + hidden · weight), g = tanh(…);
    cell' = f · cell + i · g, hidden' = o · tanh(cell'); hidden and cell are [N, h].
    """

    def lstm(self, gates: F, weight: F, hidden: F, cell: F) -> tuple[F, F]:
        """(the hidden state after every step [L, N, h], the last cell [N, h])."""

    def lstm_train(self, gates: F, weight: F, hidden: F, cell: F) -> tuple[F, F, F, F]:
        """And what every step computed: (…, i, f, o and g [4, L, N, h], the cells [L, N, h])."""

    def lstm_backward(
        self,
        weight: F,
        hidden: F,
        cell: F,
        hiddens: F,
        activated: F,
        cells: F,
        grad: F | None,
        cell_grad: F | None,
    ) -> tuple[F, F, F, F]:
        """Gradients of gates, weight, hidden and cell for those of the hidden states and of the last cell."""


class ModuleOps(  # type: ignore[misc]
    LinearOps[F, I],
    ConvOps[F],
    PoolOps[F, I],
    ResampleOps[F],
    NormOps[F],
    AttentionOps[F, I, B],
    RecurrentOps[F],
    Protocol[F, I, B],
):
    """Burn: `ModuleOps`."""


class ActivationOps(Protocol[F, B]):  # type: ignore[misc]
    """Burn: `ActivationOps`; the `_train` ops are ours."""

    def relu(self, x: F) -> F:
        """0 where x ≤ 0; NaN stays NaN."""

    def relu_backward(self, output: F, grad: F) -> F:
        """0 where output ≤ 0, else grad."""

    def leaky_relu(self, x: F, negative_slope: float) -> F:
        """negative_slope · x where x < 0, else x."""

    def leaky_relu_backward(self, x: F, grad: F, negative_slope: float) -> F:
        """negative_slope · grad where x < 0, else grad."""

    def prelu(self, x: F, alpha: F) -> F:
        """alpha · x where x < 0, else x; alpha broadcasts."""

    def gelu(self, x: F) -> F:
        """x · Φ(x), Φ(x) = (1 + erf(x/√2)) / 2."""

    def gelu_train(self, x: F) -> tuple[F, F]:
        """(gelu(x), its derivative Φ(x) + x·φ(x)): the two share most of their work."""

    def gelu_backward(self, x: F, grad: F) -> F:
        """grad · (Φ(x) + x·φ(x)), exact as in Burn's flex backend."""

    def gelu_approximate(self, x: F) -> F:
        """x · (1 + tanh(√(2/π) · (x + 0.044715·x³))) / 2."""

    def gelu_approximate_train(self, x: F) -> tuple[F, F]:
        """(gelu_approximate(x), its derivative)."""

    def silu(self, x: F) -> F:
        """x · sigmoid(x)."""

    def silu_train(self, x: F) -> tuple[F, F]:
        """(silu(x), its derivative)."""

    def sigmoid(self, x: F) -> F: ...
    def sigmoid_backward(self, output: F, grad: F) -> F:
        """grad · output · (1 - output)."""

    def log_sigmoid(self, x: F) -> F:
        """-log(1 + e^-x), stable."""

    def log_sigmoid_backward(self, x: F, grad: F) -> F:
        """grad · sigmoid(-x)."""

    def hard_sigmoid(self, x: F, alpha: float, beta: float) -> F:
        """alpha·x + beta, clamped to [0, 1]."""

    def softmax(self, x: F, dim: int) -> F: ...
    def softmax_backward(self, output: F, grad: F, dim: int) -> F:
        """output · (grad - Σ grad·output)."""

    def softmin(self, x: F, dim: int) -> F:
        """softmax(-x)."""

    def log_softmax(self, x: F, dim: int) -> F: ...
    def log_softmax_backward(self, output: F, grad: F, dim: int) -> F:
        """grad - e^output · Σ grad."""
