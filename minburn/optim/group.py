"""The rule of a group of parameters: its call, and what is checked of it.

An adaptor has one for all parameters, and one more for every `with_group`.

Burn: a private `OptimizerGroup` in `crates/burn-optim/src/optim/module/module_optimizer.rs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from minburn.module import ParamGroup
from minburn.optim.clipping import GradientClippingConfig
from minburn.optim.elementwise import States
from minburn.optim.error import OptimizerError
from minburn.optim.kept import fits
from minburn.optim.simple import SimpleOptimizer, state_class
from minburn.optim.state import check_state_class
from minburn.tensor import FloatTensor


@final
class OptimizerGroup:
    """Which parameters, the rule for them, and a limit on their gradients."""

    def __init__(
        self,
        owner: str,
        group: ParamGroup,
        optimizer: SimpleOptimizer[Any],
        grad_clipping: GradientClippingConfig | None,
    ) -> None:
        if not isinstance(optimizer, SimpleOptimizer):
            raise OptimizerError(
                f"{owner}: expected a SimpleOptimizer, but got {name_of(optimizer)}. "
                "Derive the class from SimpleOptimizer[State], or build a built-in rule: AdamConfig().build()."
            )
        self.group = group
        self.optimizer = optimizer
        self.state_class = state_class(type(optimizer))
        if self.state_class is not None:
            check_state_class(self.state_class)
        self.grad_clipping = check_clipping(owner, grad_clipping)

    @property
    def rule(self) -> str:
        return type(self.optimizer).__name__

    def call(
        self, lr: float, given: Sequence[FloatTensor], grads: Sequence[FloatTensor], before: Sequence[Any]
    ) -> tuple[Sequence[FloatTensor], Sequence[Any]]:
        """The rule, and as many results as it should give."""
        if type(before) is States:
            before.give_up()  # the new ones take their place, and nobody else has them
        tensors, states = self.optimizer.step_many(lr, given, grads, before)
        if len(tensors) != len(given) or len(states) != len(given):
            raise OptimizerError(
                f"step: {self.rule}.step_many returned {len(tensors)} tensors and {len(states)} states "
                f"for {len(given)} parameters."
            )
        if type(states) is list:
            for state in states:
                if type(state) is not self.state_class and state is not None:
                    self._check_class(state)
        return tensors, states

    def check_result(self, path: str, tensor: object, before: FloatTensor) -> None:
        if not isinstance(tensor, FloatTensor) or not fits(tensor, before):
            raise OptimizerError(
                f"step: {self.rule} returned {describe(tensor)} for {path}, which is "
                f"{describe(before)}. step() returns (tensor, state)."
            )

    def _check_class(self, state: object) -> None:
        if self.state_class is not None:
            raise OptimizerError(
                f"step: {self.rule} returned a state of type {name_of(state)}, "
                f"but declares {self.state_class.__name__}."
            )
        check_state_class(type(state))


def check_clipping(owner: str, grad_clipping: GradientClippingConfig | None) -> GradientClippingConfig | None:
    if grad_clipping is not None:
        if not isinstance(grad_clipping, GradientClippingConfig):
            raise OptimizerError(
                f"{owner}: grad_clipping must be a GradientClippingConfig, but is {name_of(grad_clipping)}. "
                "Use GradientClippingConfig.Norm(1.0) or .Value(1.0)."
            )
        grad_clipping.check()
    return grad_clipping


def describe(value: object) -> str:
    if isinstance(value, FloatTensor):
        return f"a {value.dtype} tensor of shape {list(value.shape)} on {value.device}"
    return name_of(value)


def name_of(value: object) -> str:
    return f"{type(value).__name__} {value!r}" if isinstance(value, (int, float, str)) else type(value).__name__
