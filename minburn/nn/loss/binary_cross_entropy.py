"""Cross entropy of yes/no targets. Burn: `crates/burn-nn/src/loss/binary_cross_entropy.rs`.

Beyond Burn, gradients stay finite at probabilities of exactly 0 and 1 (there the clamped loss is constant: 0).
"""

from __future__ import annotations

from minburn.backends import Backend
from minburn.module import Config, Module
from minburn.nn.loss.check import SMALLEST_NORMAL, check_smoothing, check_weights, weights_of
from minburn.tensor import FloatTensor, IntTensor, KindError, ShapeError, activation

__all__ = ["BinaryCrossEntropyLoss", "BinaryCrossEntropyLossConfig"]

MIN_LOG = -100.0


class BinaryCrossEntropyLoss(Module):
    """The mean of -t · log x - (1 - t) · log(1 - x), each logarithm at least -100.

    x and t have one shape; t are ints, 0 or 1.

    logits: x are logits z instead, and an element is (1 - t) · z - log σ(z).
    smoothing α: t becomes t · (1 - α) + α / n, n the size of the last dimension (2 for rank 1).
    weights: one factor for each index of the last dimension; for rank 1 two, for t = 0 and t = 1.
    """

    weights: FloatTensor | None = None
    smoothing: float | None = None
    logits: bool = False

    def check_fields(self) -> None:
        check_smoothing("Binary cross-entropy", self.smoothing)

    def forward(self, input: FloatTensor, targets: IntTensor) -> FloatTensor:
        """The loss, shape [1].

        Errors: ShapeError unless both shapes are equal, KindError for targets that are not ints.
        """
        if not isinstance(input, FloatTensor):
            raise KindError(f"BinaryCrossEntropyLoss: input must be a float tensor, but got {type(input).__name__}.")
        if not isinstance(targets, IntTensor):
            raise KindError(f"BinaryCrossEntropyLoss: targets must be an int tensor, but got {type(targets).__name__}.")
        if input.shape != targets.shape:
            raise ShapeError(
                f"BinaryCrossEntropyLoss: the input has shape {list(input.shape)}, the targets {list(targets.shape)}. "
                "They must be equal."
            )
        truth: FloatTensor = targets.float().cast(input.dtype)
        if self.smoothing is not None:
            outcomes = input.shape[-1] if input.rank > 1 else 2
            truth = truth * (1.0 - self.smoothing) + self.smoothing / outcomes
        if self.logits:
            loss = (1.0 - truth) * input - activation.log_sigmoid(input)
        else:
            loss = (truth - 1.0) * log_one_minus(input) - truth * log_at_least(input)
        if self.weights is not None:
            loss = loss * self._factors(input, targets, self.weights)
        return loss.mean()

    def _factors(self, input: FloatTensor, targets: IntTensor, weights: FloatTensor) -> FloatTensor:
        if input.rank == 1:
            check_weights("BinaryCrossEntropyLoss", weights, 2)
            return weights.gather(0, targets)
        check_weights("BinaryCrossEntropyLoss", weights, input.shape[-1])
        return weights.reshape(*[1] * (input.rank - 1), input.shape[-1])

    def display_attributes(self) -> dict[str, object]:
        weights = None if self.weights is None else [round(weight, 6) for weight in self.weights.numpy().tolist()]
        return {"weights": weights, "smoothing": self.smoothing, "logits": self.logits}


class BinaryCrossEntropyLossConfig(Config):
    weights: list[float] | None = None
    smoothing: float | None = None
    logits: bool = False

    def init(self, backend: Backend) -> BinaryCrossEntropyLoss:
        """ValueError unless 0 ≤ smoothing ≤ 1 and all weights are positive."""
        return BinaryCrossEntropyLoss(
            weights=weights_of("binary cross-entropy", self.weights, backend),
            smoothing=self.smoothing,
            logits=self.logits,
        )


def log_at_least(x: FloatTensor) -> FloatTensor:
    """max(log x, -100). Below the smallest normal number, where 1 / x overflows, it is a constant to the gradient."""
    fixed = x.set_require_grad(False)
    steep = fixed.lower(SMALLEST_NORMAL[x.dtype.name])
    value = fixed.log().clamp_min(MIN_LOG)
    return x.mask_fill(steep, 1.0).log().clamp_min(MIN_LOG).mask_where(steep, value)


def log_one_minus(x: FloatTensor) -> FloatTensor:
    """max(log(1 - x), -100), a constant to the gradient from x = 1 on."""
    fixed = x.set_require_grad(False)
    steep = fixed.greater_equal(1.0)
    value = (-fixed).log1p().clamp_min(MIN_LOG)
    return (-x.mask_fill(steep, 0.0)).log1p().clamp_min(MIN_LOG).mask_where(steep, value)
