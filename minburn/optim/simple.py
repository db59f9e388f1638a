"""The rule for one tensor: all that an optimizer is.

    @dataclass(frozen=True)
    class SignState:                                     what it remembers of a parameter: see state.py
        velocity: FloatTensor
        time: int

    @dataclass(frozen=True)
    class SignDescent(SimpleOptimizer[SignState]):
        momentum: float = 0.9

        def step(self, lr, tensor, grad, state):         state is None at a parameter's first step
            …
            return tensor - state.velocity.sign() * lr, state

A rule is pure: it keeps nothing itself. It is given plain tensors (no graph) of one shape, device and dtype. An
`OptimizerAdaptor` applies it to the parameters of a module and keeps their states.

`step_many` is the same rule for many tensors at once. It loops, unless a rule knows better; the built-in ones do, see
elementwise.py.

Burn: `crates/burn-optim/src/optim/module/base.rs`.
"""

from __future__ import annotations

import typing
from collections.abc import Sequence
from typing import Generic, TypeVar

from minburn.optim.error import OptimizerError
from minburn.tensor import FloatTensor

__all__ = ["SimpleOptimizer"]

S = TypeVar("S")


class SimpleOptimizer(Generic[S]):
    """The base of every rule; S is the class of its states.

    Burn: `Optimizer` in `crates/burn-optim/src/optim/module/base.rs`, formerly `SimpleOptimizer`.
    """

    def step(self, lr: float, tensor: FloatTensor, grad: FloatTensor, state: S | None) -> tuple[FloatTensor, S | None]:
        """The updated tensor and what to remember. Override this."""
        raise NotImplementedError(f"{type(self).__name__} has no step(lr, tensor, grad, state).")

    def step_many(
        self,
        lr: float,
        tensors: Sequence[FloatTensor],
        grads: Sequence[FloatTensor],
        states: Sequence[S | None],
    ) -> tuple[Sequence[FloatTensor], Sequence[S | None]]:
        """`step` for each tensor; all of them have one float table. The result must be the same to the last bit."""
        stepped = []
        for tensor, grad, state in zip(tensors, grads, states, strict=True):
            result = self.step(lr, row_major(tensor), row_major(grad), state)
            if not isinstance(result, tuple) or len(result) != 2:
                raise OptimizerError(
                    f"{type(self).__name__}.step returned a {type(result).__name__}. It returns (tensor, state); the "
                    "state may be None."
                )
            stepped.append(result)
        tensors = [row_major(found) if isinstance(found, FloatTensor) else found for found, _ in stepped]
        return tensors, [state for _, state in stepped]

    def check_state(self, tensor: FloatTensor, state: S) -> str | None:
        """What is wrong with a state for this tensor, or None. Asked at every step."""
        return None


def state_class(optimizer: type[SimpleOptimizer[S]]) -> type[S] | None:
    """The S that a rule's class names in `SimpleOptimizer[S]`, or None if it names none."""
    for cls in optimizer.__mro__:
        for base in cls.__dict__.get("__orig_bases__", ()):
            origin = typing.get_origin(base)
            if isinstance(origin, type) and issubclass(origin, SimpleOptimizer):
                (argument,) = typing.get_args(base)
                if isinstance(argument, type):
                    return argument
    return None


def row_major(tensor: FloatTensor) -> FloatTensor:
    """The same values, row after row in memory.

    A gradient may lie in another order (that of a weight which is used transposed does), and what a file gives back
    lies in this one. Sums and products differ by the order in the last bit, and a resumed run must not.
    """
    ops, shape = tensor.ops, tensor.shape
    everywhere = tuple((0, size, 1) for size in shape)
    return FloatTensor(ops.slice_assign(ops.zeros(shape), tensor.primitive, everywhere), ops, tensor.backend)
