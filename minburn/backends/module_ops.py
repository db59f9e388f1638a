"""The op tables of layers: `backend.modules` and `backend.activations`, by family.

Every op has a default composed from `floats` (`backends/default/`), which says what it means; a backend overrides the
ones that it can do faster (`backends/array/modules/`). The rules of `backends/base.py` hold here too. Backward ops are
ops of the table as well, so that a backend may fuse them and `Autodiff` can differentiate them again.

Burn: `ModuleOps` and `ActivationOps`, `crates/burn-backend/src/backend/ops/{modules,activation}*`.
"""

from __future__ import annotations

from typing import Protocol

from minburn.backends.base import B, F, I


class LinearOps(Protocol[F, I]):  # type: ignore[misc]
    """The affine map and the losses on top of it."""

    def linear(self, x: F, weight: F, bias: F | None) -> F:
        """x[…, d_in] · weight[d_in, d_out] + bias[d_out]."""

    def linear_x_backward(self, weight: F, grad: F) -> F: ...
    def linear_weight_backward(self, x: F, grad: F) -> F: ...
    def linear_bias_backward(self, grad: F) -> F: ...
    def cross_entropy(self, logits: F, targets: I) -> tuple[F, F]:
        """(-mean over n of log_softmax(logits)[n, targets[n]] with shape [1], softmax(logits)); logits are [N, C]."""

    def cross_entropy_backward(self, softmax: F, targets: I, grad: F) -> F:
        """The gradient of the loss for the logits: (softmax - onehot(targets)) · grad / N; grad has shape [1]."""


class ConvOps(Protocol[F]):  # type: ignore[misc]
    """Convolutions of one and more spatial dimensions, and transposed ones."""


class PoolOps(Protocol[F, I]):  # type: ignore[misc]
    """Maxima and means over windows."""


class NormOps(Protocol[F]):
    """Normalizations. Variances are biased: the mean of the squared distances from the mean."""

    def layer_norm(self, x: F, gamma: F, beta: F | None, epsilon: float) -> F:
        """(x - mean) / √(variance + epsilon) · gamma + beta, statistics over the last dim; gamma, beta are [d]."""

    def layer_norm_train(self, x: F, gamma: F, beta: F | None, epsilon: float) -> tuple[F, F, F]:
        """(layer_norm, x normalized before gamma and beta, 1/√(variance + epsilon) with the last dim of size 1)."""

    def layer_norm_backward(self, normalized: F, recip_std: F, gamma: F, grad: F) -> tuple[F, F, F]:
        """The gradients of x, gamma and beta."""

    def batch_norm(self, x: F, gamma: F, beta: F, mean: F, variance: F, epsilon: float) -> F:
        """(x - mean) / √(variance + epsilon) · gamma + beta; x is [N, C, …], the others [C]."""

    def batch_norm_train(self, x: F, gamma: F, beta: F, epsilon: float) -> tuple[F, F, F]:
        """(batch_norm with the statistics of x over all dims but 1, their mean [C], their variance [C])."""

    def batch_norm_train_backward(
        self, x: F, gamma: F, mean: F, variance: F, grad: F, epsilon: float
    ) -> tuple[F, F, F]:
        """The gradients of x, gamma and beta, given what batch_norm_train took and returned."""


class AttentionOps(Protocol[F, I, B]):  # type: ignore[misc]
    """Embedding and attention."""


class ModuleOps(  # type: ignore[misc]
    LinearOps[F, I], ConvOps[F], PoolOps[F, I], NormOps[F], AttentionOps[F, I, B], Protocol[F, I, B]
):
    """Burn: `ModuleOps`."""


class ActivationOps(Protocol[F, B]):  # type: ignore[misc]
    """Burn: `ActivationOps`."""

    def relu(self, x: F) -> F:
        """0 where x ≤ 0; NaN stays NaN."""

    def relu_backward(self, output: F, grad: F) -> F:
        """0 where output ≤ 0, else grad."""

    def gelu(self, x: F) -> F:
        """x · Φ(x), Φ(x) = (1 + erf(x/√2)) / 2."""

    def gelu_backward(self, x: F, grad: F) -> F:
        """grad · (Φ(x) + x·φ(x)), exact as in Burn's flex backend."""

    def sigmoid(self, x: F) -> F: ...
    def sigmoid_backward(self, output: F, grad: F) -> F:
        """grad · output · (1 - output)."""

    def log_sigmoid(self, x: F) -> F:
        """-log(1 + e^-x), stable."""

    def softmax(self, x: F, dim: int) -> F: ...
    def softmax_backward(self, output: F, grad: F, dim: int) -> F:
        """output · (grad - Σ grad·output)."""

    def log_softmax(self, x: F, dim: int) -> F: ...
    def log_softmax_backward(self, output: F, grad: F, dim: int) -> F:
        """grad - e^output · Σ grad."""
