"""`Autodiff(backend)`: the decorator that makes any backend differentiable, itself included."""

from __future__ import annotations

import functools
from typing import Any, TypeVar

from minburn.backends.autodiff.activations import AutodiffActivations
from minburn.backends.autodiff.checkpoint import (
    BalancedCheckpointing,
    CheckpointStrategy,
    NoCheckpointing,
    checkpointed,
)
from minburn.backends.autodiff.math import AutodiffFloats
from minburn.backends.autodiff.modules import AutodiffModules
from minburn.backends.base import Backend, Device
from minburn.backends.rng import Streams
from minburn.dtype import DType

T = TypeVar("T")

# One table per decorated table, so that any two Autodiff values over equal backends interoperate.


@functools.cache
def _floats(strategy: CheckpointStrategy, inner: Any, ints: Any) -> AutodiffFloats:
    return _class(AutodiffFloats, strategy)(inner, ints)


@functools.cache
def _modules(
    strategy: CheckpointStrategy, floats: AutodiffFloats, ints: Any, inner: Any, inner_activations: Any
) -> AutodiffModules:
    return _class(AutodiffModules, strategy)(floats, ints, inner, inner_activations)


@functools.cache
def _activations(strategy: CheckpointStrategy, floats: AutodiffFloats, inner: Any) -> AutodiffActivations:
    return _class(AutodiffActivations, strategy)(floats, inner)


def _class(table: type[T], strategy: CheckpointStrategy) -> type[T]:
    return checkpointed(table) if strategy is BalancedCheckpointing else table


class Autodiff:
    """Records what its float ops do, so that `backward()` can compute gradients. Decorating twice gives second order.

    strategy: NoCheckpointing, or BalancedCheckpointing, which keeps less for the backward pass (see checkpoint.py).
    Tensors that meet in an operation have the same.

    Int and bool tables are the inner backend's own: they have no gradients. Seeds and streams are the inner ones.

    Burn: `Autodiff`, `Device::autodiff`, `Device::gradient_checkpointing`, `Device::gradient_checkpointing_strategy`,
    `Tensor::gradient_checkpointing_strategy`.
    """

    def __init__(self, inner: Backend, strategy: CheckpointStrategy = NoCheckpointing) -> None:
        if not hasattr(inner, "floats"):
            raise TypeError(f"Autodiff decorates a backend, but got {type(inner).__name__}: use Autodiff(NumPy()).")
        if not isinstance(strategy, CheckpointStrategy):
            raise TypeError(
                f"Autodiff: strategy is NoCheckpointing or BalancedCheckpointing, but got {type(strategy).__name__} "
                f"{strategy!r}."
            )
        tables: Any = inner  # tables are hashable, by identity: the protocols do not say so
        self.inner = inner
        self.is_autodiff = True
        self.strategy = strategy
        index = tables.with_dtypes(int_dtype=DType.I32).ints
        self.floats = _floats(strategy, tables.floats, index)
        self.ints = inner.ints
        self.bools = inner.bools
        self.modules = _modules(strategy, self.floats, index, tables.modules, tables.activations)
        self.activations = _activations(strategy, self.floats, tables.activations)

    @property
    def name(self) -> str:
        return f"autodiff<{self.inner.name}{self._shown_strategy()}>"

    @property
    def device(self) -> Device:
        return self.inner.device

    @property
    def float_dtype(self) -> DType:
        return self.inner.float_dtype

    @property
    def int_dtype(self) -> DType:
        return self.inner.int_dtype

    @property
    def streams(self) -> Streams:
        return self.inner.streams

    def with_dtypes(self, float_dtype: DType | None = None, int_dtype: DType | None = None) -> Autodiff:
        inner = self.inner.with_dtypes(float_dtype, int_dtype)
        return self if inner is self.inner else Autodiff(inner, self.strategy)

    def sync(self) -> None:
        self.inner.sync()

    def __deepcopy__(self, memo: dict[int, object]) -> Autodiff:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return Autodiff, (self.inner, self.strategy)

    def __repr__(self) -> str:
        return f"Autodiff({self.inner!r}{self._shown_strategy()})"

    def _shown_strategy(self) -> str:
        return "" if self.strategy is NoCheckpointing else f", {self.strategy.name}"
