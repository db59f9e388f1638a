"""A parameter whose value is made of another one by a small module beside it: `base` stays, `value` is what layers see.

    weight.value                      = weight.reparameterization.apply(weight.base.value), each time it is asked for
    weight.base                       the parameter itself: its id, its place in records, its require_grad

Walks see the base under the path of the parameter, then the module's own parameters below it (`weight.lora.a`). What is
done to a module (`valid`, `freeze`, `map`, records, optimizers) therefore reaches both, each for itself. What is done
to this object alone is done to both where that makes sense; else to the value, and gives a plain parameter.

Burn: the `reparameterization` of `Param` in `crates/burn-core/src/module/param/{base,tensor}.rs`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, final

from minburn.backends import Backend
from minburn.dtype import DType
from minburn.module.error import ModuleError
from minburn.module.param import Lazy, Param, Shape, as_leaf
from minburn.tensor import FloatTensor


@final
class AdaptedParam(Param[FloatTensor]):
    """`AdaptedParam.of(base, module)`; a Reparameterizer makes it."""

    __slots__ = ("_base", "_reparameterization")

    _base: Param[FloatTensor]
    _reparameterization: Any

    @staticmethod
    def of(base: Param[FloatTensor], reparameterization: Any) -> AdaptedParam:
        """base: a plain float parameter. reparameterization: a Reparameterization."""
        if type(base) is not Param or base.kind != "float":
            raise ModuleError(f"a reparameterization stands on a plain float parameter, not on {base!r}.")
        param = AdaptedParam.__new__(AdaptedParam)
        param.kind = "float"
        param._id = base._id
        param._value = None  # so that `value` asks for it
        param._lazy = None
        param._require_grad = base._require_grad
        param._stored = base._stored
        param._base = base
        param._reparameterization = reparameterization
        return param

    @property
    def base(self) -> Param[FloatTensor]:
        return self._base

    @property
    def reparameterization(self) -> Any:
        return self._reparameterization

    def _initialize(self) -> FloatTensor:
        base = self._base.value
        value = self._reparameterization.apply(base)
        if not isinstance(value, FloatTensor) or value.shape != base.shape:
            raise ModuleError(
                f"{type(self._reparameterization).__name__}.apply made {describe(value)} of a parameter of shape "
                f"{list(base.shape)}. It keeps the shape."
            )
        return value

    @property
    def is_initialized(self) -> bool:
        return self._base.is_initialized

    @property
    def shape(self) -> Shape:
        return self._base.shape

    @property
    def backend(self) -> Backend:
        return self._base.backend

    @property
    def dtype(self) -> DType:
        return self.value.dtype

    def set_require_grad(self, require_grad: bool) -> Param[FloatTensor]:
        """Of the base; the reparameterization's parameters stay as they are."""
        return AdaptedParam.of(self._base.set_require_grad(require_grad), self._reparameterization)

    def to_device(self, backend: Backend) -> Param[FloatTensor]:
        return self._both(lambda part: part.to_device(backend))

    def valid(self) -> Param[FloatTensor]:
        return self._both(lambda part: part.valid())

    def train(self) -> Param[FloatTensor]:
        return self._both(lambda part: part.train())

    def _both(self, change: Callable[[Any], Any]) -> Param[FloatTensor]:
        return AdaptedParam.of(change(self._base), change(self._reparameterization))

    def materialized(self) -> Param[FloatTensor]:
        """The plain parameter of the value, cut off from what computed it."""
        return self._base.with_value(self.value)

    def _state(self) -> tuple[FloatTensor | None, Lazy | None]:
        return as_leaf(self.value, self._require_grad), None

    def __deepcopy__(self, memo: dict[int, Any]) -> Param[FloatTensor]:
        return self._both(lambda part: copy.deepcopy(part, memo))

    def __reduce__(self) -> tuple[Any, ...]:
        return AdaptedParam.of, (self._base, self._reparameterization)


def describe(value: object) -> str:
    return f"a tensor of shape {list(value.shape)}" if isinstance(value, FloatTensor) else f"a {type(value).__name__}"
