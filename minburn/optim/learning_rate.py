"""The rate of a step: one number, or one for every group of parameters.

    rates = scheduler.step()                    what a ModuleLrScheduler gives
    rates.base()                                of the parameters that are in no group: the one to print or log
    rates.lr_from_param(id, path)               the rate of the last group that the parameter is in
    optim.step(rates, model, grads)             or optim.step(0.1, model, grads)

Burn: `ModuleLearningRate` in `crates/burn-optim/src/lr_scheduler/module_lr_scheduler.rs`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import final

import numpy as np

from minburn.module import ParamGroup
from minburn.optim.error import OptimizerError
from minburn.optim.numbers import is_number

__all__ = ["ModuleLearningRate"]


@final
class Membership:
    """Which of several groups a parameter is in: the last that matches. Asked once for a parameter, then remembered."""

    def __init__(self, groups: Sequence[ParamGroup] = ()) -> None:
        self.groups = tuple(groups)
        self._known: dict[tuple[int, str | None], int] = {}

    def index(self, id: int, path: str | None) -> int:
        """From 1 on; 0 if it is in none."""
        known = self._known.get((id, path))
        if known is None:
            matching = [number for number, group in enumerate(self.groups, start=1) if group.matches(id, path)]
            known = self._known[id, path] = matching[-1] if matching else 0
        return known


@final
class ModuleLearningRate(float):
    """A base rate, which it is as a number, and those of groups."""

    __slots__ = ("_membership", "_rates")

    _rates: list[float]
    _membership: Membership

    def __new__(cls, base: float, groups: Sequence[tuple[ParamGroup, float]] = ()) -> ModuleLearningRate:
        return ModuleLearningRate.of(Membership([group for group, _ in groups]), [base, *(rate for _, rate in groups)])

    @staticmethod
    def of(membership: Membership, rates: Sequence[float]) -> ModuleLearningRate:
        """For schedules: the base rate, then one for every group."""
        base = rates[0]
        number = base if isinstance(base, float) or is_number(base) else math.nan  # a step refuses what is none
        made = float.__new__(ModuleLearningRate, number)
        made._rates = list(rates)
        made._membership = membership
        return made

    def base(self) -> float:
        """The rate of the parameters that are in no group."""
        return self._rates[0]

    def lr_from_param(self, id: int, path: str | None) -> float:
        """The rate of this parameter."""
        return self._rates[self._membership.index(id, path)]

    def is_uniform(self) -> bool:
        """Whether there are no groups."""
        return len(self._rates) == 1

    def checked(self) -> ModuleLearningRate:
        """The same. Errors: OptimizerError for a rate that is no finite number."""
        return ModuleLearningRate.of(self._membership, [check_rate(rate) for rate in self._rates])

    def __repr__(self) -> str:
        groups = "".join(f", group {number}: {rate}" for number, rate in enumerate(self._rates[1:], start=1))
        return f"ModuleLearningRate({self.base()}{groups})"


def check_rate(lr: object) -> float:
    """Errors: OptimizerError for what is no finite number."""
    if type(lr) is float and math.isfinite(lr):
        return lr
    if isinstance(lr, bool) or not isinstance(lr, (int, float, np.integer, np.floating)):
        named = f"{type(lr).__name__} {lr!r}" if isinstance(lr, (int, float, str)) else type(lr).__name__
        raise OptimizerError(f"step: the learning rate must be a number, but is {named}. Use scheduler.step().")
    if not is_number(lr):
        raise OptimizerError(f"step: the learning rate is {lr}. Check the schedule that made it.")
    return float(lr)
