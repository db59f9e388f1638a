"""What a forward pass does, written down while it runs.

The model runs once on small inputs, on a backend whose tables note every op. Two kinds of note come of it:

    Call    a layer (of Burn's, or of the model) was given tensors: `self.norm.forward(x)`
    Op      an op of a table, from a tensor's method, an operator, an activation: `x + y`, `x.reshape([4, 6])`

Layers are replaced by stand-ins, which note the call and then let the layer run unnoticed. Whatever Python does around
it (loops, lists, `if self.norm is None`) leaves no note: it has happened. So what is written of the notes is right for
models whose course does not depend on the numbers; forward.py says how that is checked.

Primitives are told apart by identity, so all that is met is kept alive.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from minburn.backends import NumPy
from minburn.cli.rust.error import NotExpressible
from minburn.cli.rust.layers import is_burns
from minburn.cli.rust.tokens import words
from minburn.module import Module, ModuleMapper, Param, RunningState
from minburn.tensor import BoolTensor, FloatTensor, IntTensor, Tensor

Step = str | int
Steps = tuple[Step, ...]
"""A place in a model: names of fields, places in lists and tuples, keys of dicts."""

UNNOTED = frozenset({"shape", "empty", "empty_like", "mask_like", "narrow", "np_dtype"})


class Value(NamedTuple):
    """A tensor that was met. steps: its place, if it is a parameter ("param", "running") or "constant" of the model."""

    number: int
    kind: str
    shape: tuple[int, ...]
    origin: str = ""
    steps: Steps = ()
    part: str = ""


class Note(NamedTuple):
    """An op (table, name, args) or a call (table "", name "forward", its layer). args hold Values."""

    table: str
    name: str
    args: tuple[Any, ...]
    result: Value | None
    steps: Steps = ()
    layer: Module | None = None


class SubCall(NamedTuple):
    """A module of the model's own that was called with these tensors."""

    module: Module
    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    result: tuple[str, int]


class Tape:
    """The notes of one run."""

    def __init__(self) -> None:
        self.notes: list[Note] = []
        self.calls: list[SubCall] = []
        self.recording = True
        self._values: dict[int, Value] = {}
        self._kept: list[Any] = []

    def meet(self, primitive: Any, kind: str, origin: str = "", steps: Steps = (), part: str = "") -> Value:
        known = self._values.get(id(primitive))
        if known is None:
            known = Value(len(self._values), kind, tuple(primitive.shape), origin, steps, part)
            self._values[id(primitive)] = known
            self._kept.append(primitive)
        return known

    def known(self, primitive: Any) -> bool:
        return id(primitive) in self._values

    def value_of(self, item: Any) -> Any:
        """An argument, its tensors and primitives replaced by their Values."""
        if isinstance(item, Tensor):
            item = item.primitive
        if hasattr(item, "ndim") and hasattr(item, "strides"):
            value = self._values.get(id(item))
            if value is None:
                raise NotExpressible("it uses a tensor that is neither an input nor a part of the model")
            return value
        if isinstance(item, tuple) and hasattr(item, "_make"):
            return item._make(self.value_of(one) for one in item)
        if isinstance(item, (list, tuple)):
            return type(item)(self.value_of(one) for one in item)
        return item

    def note_op(self, table: str, kind: str, name: str, args: tuple[Any, ...], result: Any) -> None:
        if name == "into_data":
            raise NotExpressible("it reads numbers of a tensor back into Python")
        noted = args if name == "from_data" else tuple(self.value_of(arg) for arg in args)
        if isinstance(result, tuple):
            raise NotExpressible(f"it uses {table}.{name}, which has several results")
        if not self.known(result):
            self.notes.append(Note(table, name, noted, self.meet(result, kind)))

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        before, self.recording = self.recording, False
        try:
            yield
        finally:
            self.recording = before

    def call(self, layer: Module, prepared: Any, steps: Steps, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A stand-in was called."""
        forward = type(layer).forward  # type: ignore[attr-defined]
        if not self.recording:
            return forward(prepared, *args, **kwargs)
        own = not is_burns(layer)
        if own and (kwargs or not all(isinstance(arg, Tensor) for arg in args)):
            return forward(prepared, *args, **kwargs)  # what it does is noted as if it stood in the caller
        noted = tuple(self.value_of(arg) for arg in args)
        with self.paused():
            result = forward(prepared, *args, **kwargs)
        if kwargs:
            raise NotExpressible(f"it calls {type(layer).__name__} with {', '.join(kwargs)} by name")
        if own and not isinstance(result, Tensor):
            return forward(prepared, *args)
        if isinstance(result, Tensor) and self.known(result.primitive):  # the identity: dropout that is off
            copied: Any = result.primitive.copy()
            result = type(result)(copied, result.ops, result.backend)
        first = self._meet_result(result)
        self.notes.append(Note("", "forward", noted, first, steps, layer))
        if own:
            shapes = tuple((arg.kind, arg.shape) for arg in args)
            self.calls.append(SubCall(layer, shapes, (result.kind, result.rank)))
        return result

    def _meet_result(self, result: Any) -> Value:
        if isinstance(result, Tensor):
            return self.meet(result.primitive, result.kind)
        if isinstance(result, tuple):
            whole = Value(-1 - len(self.notes), "tuple", ())
            self._meet_parts(result, whole, "")
            return whole
        raise NotExpressible(f"a layer gives a {type(result).__name__}")

    def _meet_parts(self, result: Any, whole: Value, prefix: str) -> None:
        """`.context`, `.0`, `.1.hidden`: the tensors in a tuple."""
        names = getattr(result, "_fields", [str(place) for place in range(len(result))])
        for name, one in zip(names, result, strict=True):
            if isinstance(one, Tensor):
                self.meet(one.primitive, one.kind, "part", (whole.number,), prefix + name)
            elif isinstance(one, tuple):
                self._meet_parts(one, whole, f"{prefix}{name}.")
            elif one is not None:
                raise NotExpressible(f"a layer gives a {type(one).__name__}")


class Table:
    """An op table that notes what it is asked to do."""

    def __init__(self, inner: Any, name: str, kind: str, tape: Tape) -> None:
        self._inner = inner
        self._name = name
        self._kind = kind
        self._tape = tape
        if hasattr(inner, "dtype"):
            self.dtype = inner.dtype
            self.device = inner.device

    def __getattr__(self, op: str) -> Any:
        function = getattr(self._inner, op)
        if not callable(function) or op.startswith("_") or op in UNNOTED:
            return function

        def run(*args: Any) -> Any:
            result = function(*args)
            if self._tape.recording:
                kind = RESULT_KINDS.get(op, self._kind)
                self._tape.note_op(self._name, kind, op, args, result)
            return result

        setattr(self, op, run)
        return run


RESULT_KINDS = {
    **dict.fromkeys(
        words(
            "equal not_equal equal_elem not_equal_elem any any_dim all all_dim greater greater_elem greater_equal "
            "greater_equal_elem lower lower_elem lower_equal lower_equal_elem is_nan is_inf"
        ),
        "bool",
    ),
    **dict.fromkeys(["argmax", "argmin", "into_int", "arange"], "int"),
    "into_float": "float",
}


class Noting:
    """A backend whose tables are written down. Its tensors are plain ones."""

    def __init__(self, tape: Tape) -> None:
        inner = NumPy(seed=0)
        self.float_dtype, self.int_dtype = inner.float_dtype, inner.int_dtype
        self.device, self.streams = inner.device, inner.streams
        self.is_autodiff = False
        self.floats = Table(inner.floats, "floats", "float", tape)
        self.ints = Table(inner.ints, "ints", "int", tape)
        self.bools = Table(inner.bools, "bools", "bool", tape)
        self.modules = Table(inner.modules, "modules", "float", tape)
        self.activations = Table(inner.activations, "activations", "float", tape)

    name = "noting"

    @property
    def inner(self) -> Noting:
        return self

    def with_dtypes(self, float_dtype: Any = None, int_dtype: Any = None) -> Noting:
        if (float_dtype or self.float_dtype, int_dtype or self.int_dtype) != (self.float_dtype, self.int_dtype):
            raise NotExpressible(f"it converts to {float_dtype or int_dtype}")
        return self

    def sync(self) -> None:
        """It has always finished."""

    def tensor(self, primitive: Any, kind: str) -> Any:
        backend: Any = self
        return KINDS[kind](primitive, {"float": self.floats, "int": self.ints, "bool": self.bools}[kind], backend)


KINDS: dict[str, type[Tensor]] = {"float": FloatTensor, "int": IntTensor, "bool": BoolTensor}


class Rehome(ModuleMapper):
    """Parameters and constants onto the noting backend, each met under its place."""

    def __init__(self, backend: Noting, tape: Tape, skipped: int) -> None:
        self.backend = backend
        self.tape = tape
        self.skipped = skipped

    def _moved(self, tensor: Any, origin: str) -> Any:
        array = tensor.numpy().copy()
        self.tape.meet(array, tensor.kind, origin, steps_of(self.path)[self.skipped :])
        return self.backend.tensor(array, tensor.kind)

    def map_float(self, param: Param[Any]) -> Param[Any]:
        return param.with_value(self._moved(param.value, "param"))

    map_int = map_bool = map_float

    def map_constant(self, tensor: Any) -> Any:
        return self._moved(tensor, "constant")

    def map_running(self, state: RunningState) -> RunningState:
        return state.with_value(self._moved(state.value(), "running"))


def steps_of(path: str) -> Steps:
    return tuple(int(part) if part.isdigit() else part for part in path.split("."))


class StandIn:
    """Takes the place of a layer in a model: called, it is noted; otherwise it is the layer."""

    def __init__(self, layer: Module, prepared: Any, steps: Steps, tape: Tape) -> None:
        self.__dict__.update(_layer=layer, _prepared=prepared, _steps=steps, _tape=tape)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._tape.call(self._layer, self._prepared, self._steps, args, kwargs)

    forward = __call__

    @property
    def __class__(self) -> Any:
        return self._layer.__class__

    @__class__.setter
    def __class__(self, value: Any) -> None:
        raise TypeError(f"a stand-in cannot become {value!r}")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_prepared"], name)


def with_stand_ins(module: Module, steps: Steps, tape: Tape) -> Any:
    """The module with stand-ins for the modules in it."""

    def wrap(value: Any, place: Steps) -> Any:
        if isinstance(value, Module):
            prepared = value if is_burns(value) else with_stand_ins(value, place, tape)
            return StandIn(value, prepared, place, tape)
        if isinstance(value, tuple) and hasattr(value, "_make"):
            return value._make(wrap(item, (*place, index)) for index, item in enumerate(value))
        if isinstance(value, (list, tuple)):
            return type(value)(wrap(item, (*place, index)) for index, item in enumerate(value))
        if isinstance(value, dict):
            return {key: wrap(item, (*place, key)) for key, item in value.items()}
        return value

    names = module._module_layout.table.names
    return module._with({name: wrap(module.__dict__[name], (*steps, name)) for name in names})


class Traced(NamedTuple):
    """A forward pass: its inputs, its notes, its result."""

    inputs: tuple[Value, ...]
    notes: list[Note]
    result: Value
    calls: list[SubCall]


Shapes = Sequence[tuple[str, tuple[int, ...]]]


def trace(module: Module, shapes: Shapes, example: Callable[[str, tuple[int, ...]], Any]) -> Traced:
    """Run the module's forward on example(kind, shape) for each input, and note what happens.

    NotExpressible says what cannot be noted. Whatever else the forward raises goes through.
    """
    tape = Tape()
    backend = Noting(tape)
    in_enum = module._module_layout.variant is not None  # then a path begins with the variant
    moved = module.map(Rehome(backend, tape, int(in_enum)))
    arrays = [example(kind, shape) for kind, shape in shapes]
    inputs = tuple(tape.meet(array, kind, "input") for array, (kind, _) in zip(arrays, shapes, strict=True))
    tensors = [backend.tensor(array, kind) for array, (kind, _) in zip(arrays, shapes, strict=True)]
    forward = getattr(type(module), "forward", None)
    if forward is None:
        raise NotExpressible("the class has no forward")
    try:
        result = forward(with_stand_ins(moved, (), tape), *tensors)
    finally:
        tape.recording = False  # its tensors may still be read
    if not isinstance(result, Tensor):
        raise NotExpressible(f"it gives a {type(result).__name__}, not a tensor")
    return Traced(inputs, tape.notes, tape.value_of(result), tape.calls)
