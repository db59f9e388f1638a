"""A module is a record of fields: layers, parameters, settings. The class body declares it, `forward` uses it.

    class Mlp(Module):                                  model = Mlp(hidden=…, output=…)     # by keyword, checked
        hidden: Linear                                  logits = model(x)                   # = model.forward(x)
        output: Linear                                  model = model.map(mapper)           # a new value
                                                        model.hidden = …                    # AttributeError
        def forward(self, x: FloatTensor) -> FloatTensor:
            return self.output(self.hidden(x).tanh())

A module never changes; whatever would change it returns another one, and the old one is what it was. Two modules are
equal only if they are one object. What the fields may hold is said in walk.py. A `Config` holds hyper-parameters and
makes the module.

`class Deep(Head, variant="Deep")` is a variant of an enum module: where a field holds it, `Deep` becomes a part of the
path, as in Burn (`head.Deep.last.weight`).

Burn: `crates/burn-core/src/module/base.rs`, `crates/burn-derive/src/module/`.
"""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, Protocol, Self, TypeVar, dataclass_transform, overload

from minburn.backends import Backend, Device
from minburn.hints import missing
from minburn.module.error import check_backend
from minburn.module.fields import (
    MISSING,
    FieldSignature,
    FieldTable,
    Skip,
    describe,
    inherited_fields,
    outside_name,
    own_annotations,
)
from minburn.module.group import ParamGroup, check_group
from minburn.module.operations import (
    ChangeIds,
    CollectDevices,
    CountParams,
    Fork,
    Freeze,
    SetRequireGrad,
    ToDevice,
    ToTrain,
    ToValid,
)
from minburn.module.param import Param
from minburn.module.running_state import RunningState
from minburn.module.visitor import ModuleMapper, ModuleVisitor
from minburn.module.walk import MapWalk, VisitWalk

if TYPE_CHECKING:
    from minburn.module.lora import Lora
    from minburn.module.record import ModuleRecord
    from minburn.module.reparameterization import Reparameterizer
    from minburn.module.summary import ModuleSummary

P = ParamSpec("P")
R = TypeVar("R", covariant=True)
V = TypeVar("V")


class HasForward(Protocol[P, R]):
    def forward(self, *args: P.args, **kwargs: P.kwargs) -> R: ...


class Layout:
    """What a walk needs to know of a module class."""

    __slots__ = ("enum", "table", "variant", "walked")

    def __init__(self, table: FieldTable, variant: str | None, enum: str) -> None:
        self.table = table
        # A field, its part of a path, and the class that declares it: a subclass of Linear has the weight of a Linear.
        self.walked = tuple(
            (field.name, outside_name(field.name), f"Struct:{field.owner.__name__}")
            for field in table.fields.values()
            if not field.skipped
        )
        self.variant = variant
        self.enum = f"Enum:{enum}"


def holds_params(value: object) -> bool:
    """Whether there is a parameter or a running state in it."""
    if isinstance(value, (Param, RunningState)):
        return True
    inside = value.__dict__ if isinstance(value, Module) else value
    items = inside.values() if isinstance(inside, dict) else inside if isinstance(inside, (list, tuple)) else ()
    return any(map(holds_params, items))


@overload
def skip() -> Any:
    """Burn: `Ignored` in `crates/burn-core/src/module/param/constant.rs`."""


@overload
def skip(*, default: V) -> V: ...
def skip(*, default: Any = MISSING) -> Any:
    """Marks a field that is never visited, mapped, moved or saved: `names: list[str] = skip()`."""
    return Skip(default)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(skip,))
class Module:
    """The base of every layer and model. Burn: `derive(Module)`."""

    # Beside the fields, so no part of the value: what an optimizer has learnt of its parameters.
    __slots__ = ("__dict__", "__weakref__", "_trainables")

    _module_layout: ClassVar[Layout]
    __signature__ = FieldSignature(
        inspect.Parameter.KEYWORD_ONLY, lambda cls: None if cls is Module else cls._module_layout.table
    )

    def __init_subclass__(cls, variant: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in cls.__dict__:
            raise TypeError(
                f"{cls.__name__}: a module has no __init__. Declare its fields in the class body, and build it where "
                f"its parameters are known: {cls.__name__}Config(…).init(backend) returns {cls.__name__}(field=…)."
            )
        table = FieldTable(cls, inherited_fields(cls, Module, lambda base: base._module_layout.table))
        for name in table.names:
            if hasattr(Module, name):
                raise TypeError(f"{cls.__name__}: a field cannot be called {name}: that is a method of every module.")
        for field in table.fields.values():
            if holds_params(field.default):
                raise TypeError(
                    f"{cls.__name__}.{field.name}: its default is a {type(field.default).__name__}, which all "
                    "instances would share. Make it where the module is built."
                )
        for name, value in vars(cls).items():
            if holds_params(value) and name not in own_annotations(cls):  # a ClassVar is meant so
                raise TypeError(
                    f"{cls.__name__}.{name} has no annotation, so it is no field: it would be neither trained nor "
                    f"saved. Write {name}: {type(value).__name__}, and give it where the module is built."
                )
        parents = [base for base in cls.__bases__ if issubclass(base, Module) and base is not Module]
        enum = cls.__name__
        if parents:
            enum = parents[0].__name__
            if variant is None and parents[0]._module_layout.variant is not None:
                variant, enum = parents[0]._module_layout.variant, parents[0]._module_layout.enum.removeprefix("Enum:")
        cls._module_layout = Layout(table, variant, enum)
        forward = getattr(cls, "forward", None)
        if forward is not None and "__call__" not in cls.__dict__:
            cls.__call__ = forward  # type: ignore[method-assign]  # calling a model costs nothing extra

    def __init__(self, /, *args: Any, **fields: Any) -> None:
        if args:
            raise TypeError(
                f"{type(self).__name__}: give the fields by name: "
                f"{type(self).__name__}({', '.join(f'{name}=…' for name in self._module_layout.table.names)})."
            )
        self.__dict__.update(self._module_layout.table.bind(fields))
        self.check_fields()

    def check_fields(self) -> None:
        """Called after construction: override it to refuse values that do not fit together."""

    if TYPE_CHECKING:

        @property
        def __call__(self: HasForward[P, R]) -> Callable[P, R]: ...

    else:

        def __call__(self, *args, **kwargs):
            raise TypeError(f"{type(self).__name__} cannot be called: its class defines no forward method.")

        def __getattr__(self, name):
            return missing(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"{type(self).__name__} is a value: {name} cannot be set. Make another one: "
            f"model = model.replace({name}=…), or model.map(mapper)."
        )

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is a value: {name} cannot be deleted.")

    # Walking

    def visit(self, visitor: ModuleVisitor) -> None:
        """Show every parameter to the visitor, in the order of the fields."""
        if not isinstance(visitor, ModuleVisitor):
            raise TypeError(f"visit: expected a ModuleVisitor, but got {describe(visitor)}.")
        VisitWalk(visitor).run(self)

    def map(self, mapper: ModuleMapper) -> Self:
        """The module with every parameter replaced by what the mapper makes of it."""
        if not isinstance(mapper, ModuleMapper):
            raise TypeError(f"map: expected a ModuleMapper, but got {describe(mapper)}.")
        return MapWalk(mapper).run(self)  # type: ignore[no-any-return]

    def replace(self, **fields: Any) -> Self:
        """The module with other values in these fields."""
        values = {name: self.__dict__[name] for name in self._module_layout.table.names}
        return type(self)(**{**values, **fields})

    def num_params(self) -> int:
        """Elements of all float parameters and running states; a shared one counts once. Draws nothing."""
        counter = CountParams()
        self.visit(counter)
        return counter.total

    def devices(self) -> list[Device]:
        """The distinct devices of parameters, running states and constants, in the order of the walk. Draws nothing.

        Burn: `Module::collect_devices`.
        """
        collector = CollectDevices()
        self.visit(collector)
        return collector.devices

    # Settings

    def freeze(self) -> Self:
        """No float parameter is trained, every flag (dropout's `training`) is off."""
        return self.map(Freeze(False))

    def unfreeze(self) -> Self:
        """All float parameters are trained, every flag is on, whatever they were before."""
        return self.map(Freeze(True))

    def freeze_group(self, group: ParamGroup) -> Self:
        """`freeze` for the parameters and flags of the group; the others stay as they are."""
        return self._in_group("freeze_group", Freeze(False, check_group("freeze_group", group)))

    def unfreeze_group(self, group: ParamGroup) -> Self:
        """`unfreeze` for the parameters and flags of the group; the others stay as they are."""
        return self._in_group("unfreeze_group", Freeze(True, check_group("unfreeze_group", group)))

    def set_require_grad(self, require_grad: bool) -> Self:
        """All float parameters are trained, or none. Flags stay."""
        return self.map(SetRequireGrad(require_grad))

    def set_require_grad_group(self, group: ParamGroup, require_grad: bool) -> Self:
        """The float parameters of the group are trained, or not. Flags and other parameters stay."""
        owner = "set_require_grad_group"
        return self._in_group(owner, SetRequireGrad(require_grad, check_group(owner, group)))

    def _in_group(self, owner: str, mapper: SetRequireGrad) -> Self:
        """Warns of a group that takes nothing, as a misspelt path does: what was to be frozen would be trained."""
        changed = self.map(mapper)
        if not mapper.found:
            text = f"{owner}: {mapper.group} takes nothing of {type(self).__name__}, which stays as it is."
            warnings.warn(f"{text} summary() shows its paths.", stacklevel=3)
        return changed

    def no_grad(self) -> Self:
        """`set_require_grad(False)`: dropout and batch statistics stay active."""
        return self.map(SetRequireGrad(False))

    def valid(self) -> Self:
        """The module on the inner backend with all flags off, for evaluation. `train()` undoes it."""
        return self.map(ToValid())

    def train(self) -> Self:
        """Undoes `valid()`: on an autodiff backend over the one it is on, trainable and flagged as it was.

        A module that was built or loaded on a plain backend becomes trainable, too; one on an autodiff backend stays.
        """
        return self.map(ToTrain())

    def with_new_ids(self) -> Self:
        """The same values under new ids: other parameters, which may stand beside the old ones in one module."""
        return self.map(ChangeIds())

    # Reparameterization

    def apply_reparameterization(self, reparameterizer: Reparameterizer) -> Self:
        """Some float parameters seen through a module beside them, as `reparameterizer.reparameterize` says."""
        from minburn.module.reparameterization import ApplyReparameterization

        return self.map(ApplyReparameterization(reparameterizer))

    def apply_lora(self, lora: Lora) -> Self:
        """Everything frozen, and trainable factors beside the matrices that `lora` chooses."""
        return self.apply_reparameterization(lora)

    def materialize(self) -> Self:
        """Plain parameters again: those with a reparameterization hold their value, under their id. For inference:
        `model.valid().materialize()`."""
        from minburn.module.reparameterization import materialized

        return materialized(self)  # type: ignore[no-any-return]

    # Moving

    def to_device(self, backend: Backend) -> Self:
        """The module on the device of `backend`. A module that records keeps recording, a plain one stays plain."""
        return self.map(ToDevice(check_backend("to_device", backend)))

    def fork(self, backend: Backend) -> Self:
        """As `to_device`, with leaves and running states of its own in any case."""
        return self.map(Fork(check_backend("fork", backend)))

    # Records

    def into_record(self) -> ModuleRecord:
        """Its parameters and running states by path. Draws what is not drawn yet."""
        from minburn.module.record import record_of

        return record_of(self)

    def into_record_group(self, group: ParamGroup) -> ModuleRecord:
        """Only what the group takes; nothing else is drawn. `record.allow_partial()` loads it back."""
        from minburn.module.record import record_of

        return record_of(self, check_group("into_record_group", group))

    def load_record(self, record: ModuleRecord) -> Self:
        """The module with the values and ids of the record. RecordError if it does not fit; nothing is changed then."""
        from minburn.module.record import ModuleRecord

        if not isinstance(record, ModuleRecord):
            raise TypeError(
                f"load_record: expected a ModuleRecord, but got {describe(record)}. "
                "ModuleRecord.load(path) opens a file."
            )
        return record.apply_to(self)

    def save_file(self, path: str | os.PathLike[str]) -> None:
        """`into_record().save(path)`."""
        self.into_record().save(path)

    def load_file(self, path: str | os.PathLike[str]) -> Self:
        """`load_record(ModuleRecord.load(path))`."""
        from minburn.module.record import ModuleRecord

        return self.load_record(ModuleRecord.load(path))

    # Display

    def display_attributes(self) -> dict[str, object] | None:
        """What a one-line display shows; None (the default) shows the tree of the fields.

        Burn: `ModuleDisplay::custom_content`.
        """
        return None

    def __repr__(self) -> str:
        from minburn.module.display import display

        return display(self)

    def summary(self, *inputs: Any, depth: int | None = None, **options: Any) -> ModuleSummary:
        """A table of its layers with parameters, bytes and what is trained.

        inputs, options: of one call of the model, for a column of output shapes. The call is made as for evaluation,
        so its running values stay as they are. depth: layers that lie deeper are counted into the one above.
        """
        from minburn.module.summary import summarize

        return summarize(self, inputs, options, depth)

    def _repr_html_(self) -> str:
        """For notebooks."""
        from minburn.module.notebook import html_of

        return html_of(self)

    def __getstate__(self) -> dict[str, Any]:
        """For copy and pickle: the fields."""
        values = self.__dict__
        return {name: values[name] for name in self._module_layout.table.names}

    def _with(self, changed: dict[str, Any]) -> Self:
        """For the walk: the module with other values in some fields, unchecked."""
        other = object.__new__(type(self))
        values, names = other.__dict__, self._module_layout.table.names
        values.update(self.__dict__)
        values.update(changed)
        if len(values) != len(names):  # what a functools.cached_property made of the old values
            for name in values.keys() - names:
                del values[name]
        return other
