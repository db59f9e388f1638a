"""Between a module and named tensors: `collect` makes entries of its parameters, `apply` puts entries in their places.

Nothing is read, drawn or converted before it is needed: an entry's bytes are made when the writer gets to it, and read
when the parameter that takes them is made. So one tensor more than the model itself is the most that is in memory.

Applying decides about every parameter first (filter, name, kind, shape), and only then reads. The module is a value, so
whatever goes wrong it is what it was.

Burn: `crates/burn-store/src/{collector,applier}.rs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from minburn.dtype import DType
from minburn.module import ModuleRecord, Param, RecordEntry
from minburn.module.record import CollectSlots, Load, Plan, family
from minburn.pack import TensorEntry
from minburn.store.adapter import Adapter
from minburn.store.error import StoreError
from minburn.store.filter import PathFilter
from minburn.store.fused import Part
from minburn.store.place import Place, places_of
from minburn.store.result import ApplyResult, suggest
from minburn.tensor import Tensor, TensorData

if TYPE_CHECKING:
    from minburn.module import Module, ParamId

    M = TypeVar("M", bound=Module)

_BOOL_STORES = {DType.U8: DType.BoolU8, DType.U32: DType.BoolU32}


def collect(
    module: Module, filter: PathFilter | None, adapter: Adapter, skip_enum_variants: bool, *, keep_ids: bool = False
) -> list[TensorEntry]:
    """The module's parameters as entries, in the order of its fields, under the names that a file gets.

    Burn: `Collector`, `ModuleSnapshot::collect`.
    """
    return [
        adapter.adapt(_entry_of(place, keep_ids), place)
        for place in places_of(module, skip_enum_variants)
        if filter is None or filter.matches(place.name, place.container_path)
    ]


def _entry_of(place: Place, keep_ids: bool) -> TensorEntry:
    param = place.param

    def produce() -> memoryview:
        value = param.value if param._stored is None else param._stored.save(param.value)
        return value.into_data().bytes

    id = int(param.id) if keep_ids else None
    return TensorEntry.deferred(place.name, param.dtype, param.stored_shape, produce, id)


class Matching:
    """Which tensor goes to which place of a module, and what does not fit. Nothing is read yet.

    Burn: `Applier` in `crates/burn-store/src/applier.rs`.
    """

    def __init__(
        self,
        module: Module,
        tensors: Mapping[str, TensorEntry],
        filter: PathFilter | None,
        adapter: Adapter,
        skip_enum_variants: bool,
    ) -> None:
        self._module = module
        self._chosen: dict[str, tuple[Place, TensorEntry]] = {}  # by the path in the module
        result = ApplyResult()
        unused = dict.fromkeys(tensors)
        sought: set[str] = set()
        for place in places_of(module, skip_enum_variants):
            key, part = _find(place, tensors, adapter)
            if key is not None:
                unused.pop(key, None)
            if filter is not None and not filter.matches(place.name, place.container_path):
                result.skipped.append(place.name)
            elif key is None:
                result.missing[place.name] = place.container_path
                sought.update(_names(place, adapter))
            else:
                found = tensors[key] if part is None else part.cut(tensors[key])
                entry = _as_bool(adapter.adapt(found, place), place.param)
                problem = _problem(entry, place.param)
                if problem is None:
                    self._chosen[place.path] = place, entry
                    result.applied.append(place.name)
                else:
                    result.errors[place.name] = problem
        result.unused.extend(unused)
        result.suggestions.extend(suggest(result.missing, result.unused, result.errors, sought))
        self.result = result

    def load(self) -> Any:
        """The module with what fitted. Burn: `Applier::into_result`."""
        plan = Plan(ModuleRecord())
        tensors: dict[ParamId, TensorEntry] = {}
        for path, (place, entry) in self._chosen.items():
            id = place.param.id
            if id in plan.chosen:
                _check_shared(plan.chosen[id].path, tensors[id], path, entry)
                continue
            tensors[id] = entry
            own = type(id)(entry.param_id) if entry.param_id is not None else id
            plan.chosen[id] = RecordEntry(path, own, TensorData(entry.view, entry.shape, entry.dtype))
        slots = CollectSlots()
        self._module.visit(slots)
        return self._module.map(_LoadEntries(plan, slots, tensors))


class _LoadEntries(Load):
    """Loads as a record does, but lets go of every tensor's bytes before it reads the next."""

    def __init__(self, plan: Plan, slots: CollectSlots, tensors: dict[ParamId, TensorEntry]) -> None:
        super().__init__(plan, slots)
        self._tensors = tensors

    def make_tensor(self, entry: RecordEntry, param: Param[Any]) -> Tensor:
        tensor = self._tensors[param.id]
        data = TensorData(tensor.view(), tensor.shape, tensor.dtype)
        return super().make_tensor(RecordEntry(entry.path, entry.id, data), param)


def _find(place: Place, tensors: Mapping[str, TensorEntry], adapter: Adapter) -> tuple[str | None, Part | None]:
    """The tensor of a place, or one that the place has a part of."""
    if place.name in tensors:
        return place.name, None
    other = adapter.alternative(place.name, place)
    if other is not None and other in tensors:
        return other, None
    part = adapter.part(place)
    return (part.name, part) if part is not None and part.name in tensors else (None, None)


def _names(place: Place, adapter: Adapter) -> list[str]:
    """All that a file might call it."""
    part = adapter.part(place)
    names = (place.name, adapter.alternative(place.name, place), None if part is None else part.name)
    return [name for name in names if name is not None]


def _as_bool(entry: TensorEntry, param: Param[Any]) -> TensorEntry:
    """For a bool parameter, integers that are its storage in a format without such bools."""
    store = _BOOL_STORES.get(entry.dtype) if param.kind == "bool" else None
    if store is None:
        return entry
    return TensorEntry.deferred(entry.name, store, entry.shape, entry.view, entry.param_id)


def _problem(entry: TensorEntry, param: Param[Any]) -> str | None:
    if entry.dtype.kind == "qfloat":
        return f"it is quantized ({entry.dtype}), which no backend here can hold"
    if family(entry.dtype) != param.kind:
        return f"the parameter holds {param.kind} values, the file has {entry.dtype}"
    if entry.shape != param.stored_shape:
        hint = ", transposed" if len(entry.shape) == 2 and entry.shape[::-1] == param.stored_shape else ""
        return f"the parameter has shape {list(param.stored_shape)}, the file has {list(entry.shape)}{hint}"
    return None


def _check_shared(first_path: str, first: TensorEntry, path: str, entry: TensorEntry) -> None:
    if first.dtype != entry.dtype or first.view() != entry.view():
        raise StoreError(
            f"{first_path} and {path} are one shared parameter, but the file has different values for them. Give them "
            "different parameters (with_new_ids()), or filter one out."
        )
