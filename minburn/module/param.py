"""A parameter: a tensor that has an identity, and remembers whether it is to be trained.

    id            which parameter this is, through moves, updates and files
    value         the tensor; drawn on first use if the parameter is lazy
    is_require_grad   wanted as trainable? Remembered on a plain backend too, so that `valid()` and back changes nothing

A Param never changes: `with_value`, `map`, `set_require_grad` … return a new one with the same id. What may happen
once, behind it, is its initialization: the draw is shared by all Params made from it before, from whatever thread
comes first, and what is drawn was fixed when the parameter was made. So loading a record into a fresh module draws
nothing, and the order of first use decides nothing.

On an autodiff backend the value is always a leaf of the graph; whatever produced it is cut off.

`Param[Flag]` is a switch that modules carry along (dropout's `training`): visited and mapped, never recorded.

Burn: `crates/burn-core/src/module/param/{base,tensor,flag}.rs`.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, cast, final

from minburn.backends import Autodiff, Backend
from minburn.dtype import DType
from minburn.module.error import ModuleError, check_backend
from minburn.module.param_id import ParamId
from minburn.tensor import BoolTensor, FloatTensor, IntTensor, Tensor
from minburn.tensor.check import as_shape

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T = TypeVar("T", default=FloatTensor)
else:
    from typing import TypeVar

    T = TypeVar("T")  # a bare `Param` is a Param[FloatTensor] to a type checker

ParamKind = Literal["float", "int", "bool", "flag"]
Shape = tuple[int, ...]


def as_bool(name: str, value: object) -> bool:
    """A flag or a bool; a number or an array may be a slip."""
    if not isinstance(value, (bool, Flag)):
        raise ModuleError(f"{name}: expected True or False, but got {type(value).__name__} {value!r}.")
    return bool(value)


@final
class Flag:
    """A host-side boolean as a parameter's value. Burn: `Flag::is_enabled`."""

    __slots__ = ("enabled",)

    ON: ClassVar[Flag]
    OFF: ClassVar[Flag]

    def __init__(self, enabled: bool) -> None:
        self.enabled = as_bool("Flag", enabled)

    def __bool__(self) -> bool:
        return self.enabled

    def __eq__(self, other: object) -> bool:
        return self.enabled == other.enabled if isinstance(other, Flag) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.enabled)

    def __reduce__(self) -> tuple[Any, ...]:
        return Flag, (self.enabled,)

    def __repr__(self) -> str:
        return "enabled" if self.enabled else "disabled"


Flag.ON = Flag(True)
Flag.OFF = Flag(False)


class StoredForm(Protocol):
    """How a parameter lies in a file when that is not how it lies in memory: `load` undoes `save`.

    Burn: `ParamMapper` in `crates/burn-core/src/module/param/base.rs`.
    """

    def save(self, tensor: FloatTensor) -> FloatTensor:
        """Burn: `ParamMapper::on_save`."""

    def load(self, tensor: FloatTensor) -> FloatTensor:
        """Burn: `ParamMapper::on_load`."""

    def shape(self, shape: Shape) -> Shape:
        """The shape in the file of a parameter that has `shape` in memory."""


class Lazy:
    """A value that is not drawn yet, shared by every Param that stands for it. Drawn once, by the first thread."""

    __slots__ = ("_draw", "_lock", "_value", "backend", "shape")

    def __init__(self, draw: Callable[[Backend], FloatTensor], backend: Backend, shape: Shape) -> None:
        self._draw: Callable[[Backend], FloatTensor] | None = draw
        self._value: FloatTensor | None = None
        self._lock = threading.RLock()
        self.backend = backend
        self.shape = shape

    def value(self) -> FloatTensor:
        with self._lock:
            if self._value is None:
                assert self._draw is not None
                value = self._draw(self.backend)
                if not isinstance(value, FloatTensor):
                    raise ModuleError(
                        f"Param: its initialization made a {type(value).__name__}. It returns a float tensor."
                    )
                if value.shape != self.shape:
                    raise ModuleError(
                        f"Param: its initialization made a tensor of shape {list(value.shape)}, "
                        f"but shape {list(self.shape)} was announced."
                    )
                self._value, self._draw = value, None
            return self._value

    def moved(self, backend: Backend) -> Lazy:
        """The same draw, made where it was to be made, then moved."""
        target = backend.with_dtypes(float_dtype=self.backend.float_dtype)
        return Lazy(lambda _: self.value().to_device(target), target, self.shape)


class Param(Generic[T]):
    """A tensor (or Flag) with an identity.

    Make one with `from_tensor`, `from_data`, `initialized`, `uninitialized` or `from_bool`.
    """

    __slots__ = ("__weakref__", "_id", "_lazy", "_require_grad", "_stored", "_value", "kind")

    kind: ParamKind
    _id: ParamId
    _value: T | None
    _lazy: Lazy | None  # None once there is a value
    _require_grad: bool  # of a flag: the value that train() restores
    _stored: StoredForm | None

    # Making one

    @staticmethod
    def from_tensor(tensor: T) -> Param[T]:
        """A new parameter, trainable if it holds floats, on any backend."""
        kind_of(tensor)  # a clear error for what is no tensor
        return Param.initialized(ParamId.new(cast(Any, tensor).backend), tensor, require_grad=True)

    @staticmethod
    def from_data(data: object, backend: Backend) -> Param[Any]:
        """`from_tensor(Tensor.from_data(data, backend))`."""
        return Param.from_tensor(Tensor.from_data(data, backend))

    @staticmethod
    def initialized(id: ParamId, tensor: T, require_grad: bool | None = None) -> Param[T]:
        """A parameter with a known id. It is trainable if the tensor requires grad now, unless told otherwise."""
        kind = kind_of(tensor)
        id = as_id(id)
        if kind == "flag":
            return _param(kind, id, tensor, None, bool(tensor), None)
        if require_grad is None:
            require_grad = kind == "float" and bool(cast(Any, tensor).is_require_grad)
        wanted = as_bool("require_grad", require_grad) and kind == "float"
        return _param(kind, id, as_leaf(tensor, wanted), None, wanted, None)

    @staticmethod
    def uninitialized(
        id: ParamId,
        init: Callable[[Backend], FloatTensor],
        backend: Backend,
        shape: Shape,
        require_grad: bool = True,
    ) -> Param[FloatTensor]:
        """A float parameter whose value `init(backend)` makes when it is needed, at most once."""
        if not callable(init):
            raise ModuleError(
                f"Param.uninitialized: init is a function from a backend to a float tensor, but got "
                f"{type(init).__name__} {init!r}. Param.initialized(id, tensor) takes a tensor that is there."
            )
        lazy = Lazy(init, check_backend("Param.uninitialized", backend), as_shape("Param.uninitialized", shape))
        return _param("float", as_id(id), None, lazy, as_bool("require_grad", require_grad), None)

    @staticmethod
    def from_bool(enabled: bool) -> Param[Flag]:
        flag = Flag.ON if as_bool("Param.from_bool", enabled) else Flag.OFF
        return _param("flag", ParamId.new(), flag, None, bool(flag), None)

    # What it is

    @property
    def id(self) -> ParamId:
        return self._id

    @property
    def value(self) -> T:
        """The tensor, drawn now if it was not yet. Burn: `Param::val`, `Param::into_value`, and `Param::consume`."""
        value = self._value
        return value if value is not None else self._initialize()

    @property
    def base(self) -> Param[Any]:
        """The parameter below a reparameterization (see adapted.py); itself if it has none."""
        return self

    @property
    def reparameterization(self) -> Any:
        """What makes the value of the base, such as a LoraAdapter, or None. Burn: `Param::adapter`."""
        return None

    @property
    def is_initialized(self) -> bool:
        return self._lazy is None

    @property
    def is_require_grad(self) -> bool:
        """Whether this parameter is to be trained. Its tensor requires grad only while it is on an autodiff backend."""
        return self._require_grad and self.kind == "float"

    @property
    def is_enabled(self) -> bool:
        """The value of a flag."""
        if self.kind != "flag":
            raise ModuleError(f"Param: is_enabled asks for a flag, but this is a {self.kind} parameter.")
        return bool(self._value)

    @property
    def shape(self) -> Shape:
        """The shape, without drawing. A flag has (). Burn: `Param::lazy_shape`."""
        if self._lazy is not None:
            return self._lazy.shape
        return () if self.kind == "flag" else cast("Shape", cast(Any, self._value).shape)

    @property
    def stored_shape(self) -> Shape:
        """The shape it has in a record."""
        return self.shape if self._stored is None else self._stored.shape(self.shape)

    @property
    def backend(self) -> Backend:
        """The backend of the tensor, without drawing. Burn: `Param::lazy_device`."""
        if self._lazy is not None:
            return self._lazy.backend
        if self.kind == "flag":
            raise ModuleError("Param: a flag lives on the host, not on a backend.")
        return cast(Backend, cast(Any, self._value).backend)

    @property
    def dtype(self) -> DType:
        return self._lazy.backend.float_dtype if self._lazy is not None else cast(DType, cast(Any, self.value).dtype)

    # Making another one

    def with_value(self, value: T | bool) -> Param[T]:
        """The same parameter with this value, cut off from what computed it. For a flag: on or off, remembered too."""
        if self.kind == "flag":
            enabled = as_bool("with_value", value)
            return self._flag(enabled, enabled)
        if kind_of(value) != self.kind:
            raise ModuleError(f"Param: a {self.kind} parameter cannot hold a {type(value).__name__}.")
        return self._holding(cast(T, value))

    def with_inner(self, value: FloatTensor) -> Param[FloatTensor]:
        """For optimizers: the same float parameter, on its backend, with a value that was computed below autodiff."""
        # Optimizers make every parameter so at every step: as few calls as possible.
        present: Any = self._value
        backend: Any = self.backend if present is None else present.backend
        if backend.is_autodiff:
            floats = backend.floats
            if floats.inner is not value.ops:  # further below
                return self.with_value(value.autodiff(backend))  # type: ignore[arg-type,return-value]
            value = FloatTensor(floats.leaf(value.primitive, self._require_grad), floats, backend)
        return _param("float", self._id, value, None, self._require_grad, self._stored)

    def map(self, function: Callable[[T], T]) -> Param[T]:
        """The same parameter with the value `function(value)`. A flag keeps what `train()` restores."""
        if not callable(function):
            raise ModuleError(f"Param.map: expected a function of the value, but got {type(function).__name__}.")
        if self.kind == "flag":
            return self._flag(as_bool("Param.map", function(self.value)), self._require_grad)
        return self.with_value(function(as_leaf(self.value, False)))

    def with_id(self, id: ParamId) -> Param[T]:
        """The same value under another identity: another parameter."""
        value, lazy = self._state()
        return _param(self.kind, as_id(id), value, lazy, self._require_grad, self._stored)

    def with_stored_form(self, stored: StoredForm | None) -> Param[T]:
        """The same parameter, laid out in records as `stored` says.

        Burn: `Param::load_mapper` and `Param::save_mapper`.
        """
        value, lazy = self._state()
        return _param(self.kind, self._id, value, lazy, self._require_grad, stored)

    def set_require_grad(self, require_grad: bool) -> Param[T]:
        """Whether it is to be trained. Only for floats; a lazy parameter stays lazy."""
        require_grad = as_bool("set_require_grad", require_grad)
        if self.kind != "float" or self._require_grad == require_grad:
            return self
        value, lazy = self._state()
        if value is not None:
            value = as_leaf(value, require_grad)
        return _param(self.kind, self._id, value, lazy, require_grad, self._stored)

    def to_device(self, backend: Backend) -> Param[T]:
        """The same parameter on another backend's device. On an autodiff backend it stays on one, and is a new leaf."""
        check_backend("to_device", backend)
        if self.kind == "flag" or self.backend is backend:
            return self
        target = same_level(backend, self.backend)
        _, lazy = self._state()
        if lazy is not None:
            return _param(self.kind, self._id, None, lazy.moved(target), self._require_grad, self._stored)
        return self._holding(cast(T, cast(Any, as_leaf(self.value, False)).to_device(target)))

    def valid(self) -> Param[T]:
        """On the inner backend, for evaluation: no graph. A flag is switched off. Both remember how they were."""
        if self.kind == "flag":
            return self._flag(False, self._require_grad)
        if not self.backend.is_autodiff:
            return self
        return self._holding(cast(T, cast(Any, self.value).inner()))

    def train(self) -> Param[T]:
        """On an autodiff backend over the one it is on, trainable if it was. A flag gets back what it was."""
        if self.kind == "flag":
            return self._flag(self._require_grad, self._require_grad)
        return self if self.backend.is_autodiff else self._holding(recording(self.value))

    def _state(self) -> tuple[T | None, Lazy | None]:
        """The value, or what will make it. Read in this order: another thread may be initializing."""
        lazy = self._lazy
        value = self._value
        return (value, None) if value is not None else (None, lazy)

    def _initialize(self) -> T:
        lazy = self._lazy
        if lazy is not None:
            with lazy._lock:
                if self._value is None:
                    self._value = cast(T, as_leaf(lazy.value(), self._require_grad))
                    self._lazy = None
        assert self._value is not None
        return self._value

    def _holding(self, value: T) -> Param[T]:
        leaf = as_leaf(value, self._require_grad)
        return _param(self.kind, self._id, leaf, None, self._require_grad, self._stored)

    def _flag(self, enabled: bool, remembered: bool) -> Param[T]:
        flag = Flag.ON if enabled else Flag.OFF
        if flag is self._value and remembered == self._require_grad:
            return self
        return _param("flag", self._id, cast(T, flag), None, remembered, None)

    # Copies keep the id: a copied model goes on with the optimizer and the files of the old one.

    def __copy__(self) -> Param[T]:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Param[T]:
        """A leaf of its own; a lazy parameter stays lazy, and draws what the old one draws."""
        value, lazy = self._state()
        return _param(self.kind, self._id, copy.deepcopy(value, memo), lazy, self._require_grad, self._stored)

    def __reduce__(self) -> tuple[Any, ...]:
        """Draws what is not drawn yet."""
        return _param, (self.kind, self._id, self.value, None, self._require_grad, self._stored)

    def __repr__(self) -> str:
        if self.kind == "flag":
            return repr(self._value)
        return f"ParamTensor {{rank: {len(self.shape)}, shape: {list(self.shape)}, kind: {self.kind}}}"


def _param(
    kind: ParamKind,
    id: ParamId,
    value: T | None,
    lazy: Lazy | None,
    require_grad: bool,
    stored: StoredForm | None,
) -> Param[T]:
    param: Param[T] = Param.__new__(Param)
    param.kind = kind
    param._id = id
    param._value = value
    param._lazy = lazy
    param._require_grad = require_grad
    param._stored = stored
    return param


KINDS: dict[type, ParamKind] = {FloatTensor: "float", IntTensor: "int", BoolTensor: "bool", Flag: "flag"}


def kind_of(value: object) -> ParamKind:
    kind = KINDS.get(type(value))
    if kind is not None:
        return kind
    raise TypeError(
        f"Param: expected a tensor, but got {type(value).__name__}. Tensor.from_data(data, backend) makes one."
    )


def as_id(id: int) -> ParamId:
    return id if isinstance(id, ParamId) else ParamId(id)


def as_leaf(value: T, require_grad: bool) -> T:
    """The value as the start of a graph, or outside any. Ints, bools and plain floats are as they were."""
    if isinstance(value, FloatTensor) and value.backend.is_autodiff:
        ops: Any = value.ops
        return cast(T, FloatTensor(ops.leaf(ops.inner_of(value.primitive), require_grad), ops, value.backend))
    return value


def recording(value: T) -> T:
    """A tensor of a plain backend on an autodiff backend over it."""
    tensor = cast(Any, value)
    return cast(T, tensor.autodiff(Autodiff(tensor.backend)))


def same_level(target: Backend, source: Backend) -> Backend:
    """`target`, decorated or not as `source` is: moving a module changes its device, not whether it records."""
    if source.is_autodiff and not target.is_autodiff:
        return Autodiff(target, cast(Any, source).strategy)
    if target.is_autodiff and not source.is_autodiff:
        return target.inner
    return target
