"""The two running means of Adam and its kin, and their bias corrections.

    m ← β₁ m + (1 - β₁) g        v ← β₂ v + (1 - β₂) g²        at a parameter's first step only the second terms

They start at zero, so after t steps they are too small by the factors 1 - β₁ᵗ and 1 - β₂ᵗ. They are kept as they are,
as Burn stores them: kept corrected, they would not survive the way through a file to the last bit.

Source: Kingma and Ba, "Adam", algorithm 1; Reddi et al., "On the Convergence of Adam and Beyond", for AMSGrad.
Burn: a private `AdaptiveMomentum` in `crates/burn-optim/src/optim/adam.rs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minburn.optim.elementwise import Plan, Value, Variant
from minburn.optim.numbers import SinglePowers, as_single, check_fraction, single
from minburn.tensor import FloatTensor

__all__ = ["AdaptiveMomentumState"]

ONE = single(1)


@dataclass(frozen=True)
class AdaptiveMomentumState:
    """max_moment_2: of AMSGrad only."""

    time: int
    moment_1: FloatTensor
    moment_2: FloatTensor
    max_moment_2: FloatTensor | None = None

    def tensors(self, amsgrad: bool) -> tuple[FloatTensor, ...]:
        if amsgrad and self.max_moment_2 is not None:
            return self.moment_1, self.moment_2, self.max_moment_2
        return self.moment_1, self.moment_2


class AdaptiveMomentum:
    """beta_1, beta_2: as f32. amsgrad: divide by the largest v so far, so that a step never grows again."""

    def __init__(self, beta_1: float, beta_2: float, amsgrad: bool) -> None:
        check_fraction("beta_1", beta_1)
        check_fraction("beta_2", beta_2)
        self.beta_1 = as_single(beta_1)
        self.beta_2 = as_single(beta_2)
        self.amsgrad = amsgrad
        self._powers_1 = SinglePowers(beta_1)
        self._powers_2 = SinglePowers(beta_2)
        self._rest_1 = float(single(1) - single(beta_1))
        self._rest_2 = float(single(1) - single(beta_2))

    def plan(self, state: AdaptiveMomentumState | None) -> Plan:
        """variant: whether this is a first step, and whether there is a largest v yet."""
        if state is None:
            return Plan((True, False), (), 1)
        has_max = self.amsgrad and state.max_moment_2 is not None
        return Plan((False, has_max), state.tensors(self.amsgrad), state.time + 1)

    def corrections(self, time: int) -> tuple[np.float32, np.float32]:
        """1 - β₁ᵗ and 1 - β₂ᵗ."""
        return ONE - self._powers_1[time], ONE - self._powers_2[time]

    def update(self, variant: Variant, grad: Value, kept: Sequence[Value]) -> tuple[Value, Value, tuple[Value, ...]]:
        """m, the v to divide by (AMSGrad: the largest so far), and what to remember."""
        is_first, has_max = variant
        first = grad * self._rest_1
        second = grad * grad * self._rest_2
        if not is_first:
            first = kept[0] * self.beta_1 + first
            second = kept[1] * self.beta_2 + second
        if not self.amsgrad:
            return first, second, (first, second)
        largest = kept[2].max_pair(second) if has_max else second
        return first, largest, (first, second, largest)
