"""`Autodiff(backend)`: the decorator that makes any backend differentiable, itself included."""

from __future__ import annotations

import functools
from typing import Any

from minburn.backends.autodiff.activations import AutodiffActivations
from minburn.backends.autodiff.math import AutodiffFloats
from minburn.backends.autodiff.modules import AutodiffModules
from minburn.backends.base import Backend, Device
from minburn.backends.rng import Streams
from minburn.dtype import DType

# One table per decorated table, so that any two Autodiff values over equal backends interoperate.


@functools.cache
def _floats(inner: Any, ints: Any) -> AutodiffFloats:
    return AutodiffFloats(inner, ints)


@functools.cache
def _modules(floats: AutodiffFloats, ints: Any, inner: Any, inner_activations: Any) -> AutodiffModules:
    return AutodiffModules(floats, ints, inner, inner_activations)


@functools.cache
def _activations(floats: AutodiffFloats, inner: Any) -> AutodiffActivations:
    return AutodiffActivations(floats, inner)


class Autodiff:
    """Records what its float ops do, so that `backward()` can compute gradients. Decorating twice gives second order.

    Int and bool tables are the inner backend's own: they have no gradients. Seeds and streams are the inner ones.
    """

    def __init__(self, inner: Backend) -> None:
        if not hasattr(inner, "floats"):
            raise TypeError(f"Autodiff decorates a backend, but got {type(inner).__name__}: use Autodiff(NumPy()).")
        tables: Any = inner  # tables are hashable, by identity: the protocols do not say so
        self.inner = inner
        self.is_autodiff = True
        index = tables.with_dtypes(int_dtype=DType.I32).ints
        self.floats = _floats(tables.floats, index)
        self.ints = inner.ints
        self.bools = inner.bools
        self.modules = _modules(self.floats, index, tables.modules, tables.activations)
        self.activations = _activations(self.floats, tables.activations)

    @property
    def name(self) -> str:
        return f"autodiff<{self.inner.name}>"

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
        return self if inner is self.inner else Autodiff(inner)

    def sync(self) -> None:
        self.inner.sync()

    def __deepcopy__(self, memo: dict[int, object]) -> Autodiff:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return Autodiff, (self.inner,)

    def __repr__(self) -> str:
        return f"Autodiff({self.inner!r})"
