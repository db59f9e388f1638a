"""What a module leaves behind: its tensors by path, each with the id of its parameter.

    model.into_record().save("model")                       writes model.bpk, all or nothing
    model = model.load_record(ModuleRecord.load("model"))   reads the bytes that the module needs, when it needs them

Loading a record checks everything first and reports everything that does not fit at once; the module is a value, so it
is what it was in any case. The loaded parameters take over the record's ids, which is how an optimizer's record finds
them. A parameter that the record leaves alone but whose id it gives to another one gets a new id, as does the second of
two parameters to which the record gives one id. Running states keep their ids.

A record that was loaded from a file reads from it as long as it lives, even if the file is deleted or replaced.

Burn: `crates/burn-core/src/store/mod.rs`.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, cast, final

from minburn.dtype import DType
from minburn.module.fields import did_you_mean, plural
from minburn.module.group import ParamGroup
from minburn.module.param import Param
from minburn.module.param_id import ParamId
from minburn.module.running_state import RunningState
from minburn.module.visitor import ModuleMapper, ModuleVisitor
from minburn.pack import PackError, Reader, TensorEntry, Writer, WriteReport
from minburn.tensor import BoolTensor, FloatTensor, IntTensor, Tensor, TensorData, TensorError

if TYPE_CHECKING:
    from minburn.module.module import Module

    M = TypeVar("M", bound=Module)

MAX_COMPARISONS = 10_000  # beyond it, "did you mean" would take longer than loading


class RecordError(ValueError):
    """A record does not fit a module, or a file holds no record."""


class DTypePolicy(enum.Enum):
    """Which dtype a loaded tensor gets: the record's, or that of the parameter it replaces."""

    FromRecord = "FromRecord"
    CastToModule = "CastToModule"


@final
class RecordEntry:
    """One tensor: its path, the id of its parameter, and its data."""

    __slots__ = ("data", "id", "path")

    def __init__(self, path: str, id: ParamId, data: TensorData) -> None:
        self.path = path
        self.id = id
        self.data = data

    def __repr__(self) -> str:
        return f"RecordEntry({self.path!r}, {self.id}, {self.data!r})"


@final
class ModuleRecord:
    """Entries in the order of the module's fields, and how strictly to load them (not saved).

    The options return another record: `ModuleRecord.load(path).allow_partial().cast_to_module_dtype()`.
    """

    __slots__ = ("_allow_partial", "_allow_unused", "_dtype_policy", "_entries", "_validate")

    def __init__(self, entries: Iterable[RecordEntry] = ()) -> None:
        self._entries: dict[str, RecordEntry] = {}
        for entry in entries:
            if entry.path in self._entries:
                raise RecordError(f"ModuleRecord: the path {entry.path!r} comes twice.")
            self._entries[entry.path] = entry
        self._dtype_policy = DTypePolicy.FromRecord
        self._allow_partial = False
        self._allow_unused = False
        self._validate = True

    # Options

    def with_dtype_policy(self, policy: DTypePolicy) -> ModuleRecord:
        if not isinstance(policy, DTypePolicy):
            names = ", ".join(str(known) for known in DTypePolicy)
            raise RecordError(f"with_dtype_policy: expected one of {names}, but got {policy!r}.")
        return self._with("_dtype_policy", policy)

    def cast_to_module_dtype(self) -> ModuleRecord:
        return self.with_dtype_policy(DTypePolicy.CastToModule)

    def allow_partial(self, allow: bool = True) -> ModuleRecord:
        """Parameters that the record lacks keep their values."""
        return self._with("_allow_partial", allow)

    def allow_unused(self, allow: bool = True) -> ModuleRecord:
        """Entries that no parameter asks for are ignored."""
        return self._with("_allow_unused", allow)

    def validate(self, validate: bool = True) -> ModuleRecord:
        """False: a parameter whose shape differs keeps its value, silently."""
        return self._with("_validate", validate)

    # Contents

    def __len__(self) -> int:
        return len(self._entries)

    def is_empty(self) -> bool:
        return not self._entries

    def __iter__(self) -> Iterator[RecordEntry]:
        return iter(self._entries.values())

    def __contains__(self, path: object) -> bool:
        return path in self._entries

    def __getitem__(self, path: str) -> RecordEntry:
        if not isinstance(path, str):
            raise RecordError(f"ModuleRecord: a path is a str, but got {type(path).__name__} {path!r}.")
        entry = self._entries.get(path)
        if entry is None:
            raise RecordError(f"ModuleRecord: there is no {path}{did_you_mean(path, self._entries)}.")
        return entry

    def paths(self) -> list[str]:
        return list(self._entries)

    def dequantize(self) -> ModuleRecord:
        """The record with quantized entries as F32, which parameters can load."""
        other = self._with("_entries", {})
        for path, entry in self._entries.items():
            whole = entry if entry.data.dtype.kind != "qfloat" else RecordEntry(path, entry.id, entry.data.dequantize())
            other._entries[path] = whole
        return other

    # Files

    def save(self, path: str | os.PathLike[str], *, digest: bool = False) -> WriteReport:
        """Write a burnpack file, replacing an old one only when the new one is complete. `.bpk` is added if there is no
        extension. RecordError if the system refuses; the old file is then as it was."""
        try:
            return self._writer().write_to_file(path, digest=digest)
        except PackError as error:
            raise RecordError(f"save: {error}") from error

    def into_bytes(self) -> bytes:
        """The same file in memory."""
        return self._writer().into_bytes()

    @staticmethod
    def load(path: str | os.PathLike[str]) -> ModuleRecord:
        """Open a burnpack file: its header is checked now, tensors are read when they are used.

        RecordError naming the file if it is missing, truncated or something else.
        """
        try:
            return ModuleRecord._read(Reader.from_file(path), f"load: {os.fspath(path)}")
        except PackError as error:
            raise RecordError(f"load: {error}") from error

    @staticmethod
    def from_bytes(data: bytes | bytearray | memoryview) -> ModuleRecord:
        """A record over bytes in memory; they are not copied."""
        try:
            return ModuleRecord._read(Reader.from_bytes(data), "from_bytes")
        except PackError as error:
            raise RecordError(f"from_bytes: {error}") from error

    @staticmethod
    def _read(reader: Reader, where: str) -> ModuleRecord:
        record = ModuleRecord()
        for name, tensor in reader.items():
            id = ParamId.new() if tensor.param_id is None else ParamId(tensor.param_id)
            record._entries[name] = RecordEntry(name, id, held(tensor, f"{where}: tensor {name!r}"))
        return record

    def _writer(self) -> Writer:
        return Writer(
            TensorEntry(entry.path, entry.data.dtype, entry.data.shape, entry.data.bytes, param_id=int(entry.id))
            for entry in self
        )

    # Loading into a module

    def apply_to(self, module: M) -> M:
        """`module.load_record(self)`."""
        from minburn.module.module import Module

        if not isinstance(module, Module):
            raise RecordError(f"apply_to: expected a Module, but got {type(module).__name__}.")
        slots = CollectSlots()
        module.visit(slots)
        plan = Plan(self)
        for path, param in slots.found:
            plan.match(path, param)
        plan.refuse_if_wrong()
        return module.map(Load(plan, slots))

    def _with(self, option: str, value: object) -> ModuleRecord:
        other = ModuleRecord()
        for name in self.__slots__:
            setattr(other, name, getattr(self, name))
        setattr(other, option, value)
        return other

    def __repr__(self) -> str:
        return f"ModuleRecord({len(self)} tensors)"


class CollectSlots(ModuleVisitor):
    """All parameters under all their paths, flags excepted."""

    def __init__(self) -> None:
        self.found: list[tuple[str, Param[Any]]] = []

    def visit_float(self, param: Param[FloatTensor]) -> None:
        self.found.append((self.path, param))

    def visit_int(self, param: Param[IntTensor]) -> None:
        self.found.append((self.path, param))

    def visit_bool(self, param: Param[BoolTensor]) -> None:
        self.found.append((self.path, param))


def record_of(module: Module, group: ParamGroup | None = None) -> ModuleRecord:
    """The record of a module, or of a group of its parameters. Data that lies contiguous on the host is not copied."""
    slots = CollectSlots()
    module.visit(slots)
    data: dict[ParamId, TensorData] = {}
    entries = []
    for path, param in slots.found:
        if group is not None and not group.matches(param.id, path):
            continue
        if param.id not in data:
            value = param.value if param._stored is None else param._stored.save(param.value)
            data[param.id] = value.into_data()
        entries.append(RecordEntry(path, param.id, data[param.id]))
    return ModuleRecord(entries)


class Plan:
    """Which entry goes to which parameter, and what is wrong."""

    def __init__(self, record: ModuleRecord) -> None:
        self.record = record
        self.chosen: dict[ParamId, RecordEntry] = {}  # by the parameter's present id
        self._unused = dict(record._entries)
        self._missing: list[str] = []
        self._shapes: list[str] = []
        self._wrong: list[str] = []

    def match(self, path: str, param: Param[Any]) -> None:
        entry = self._unused.pop(path, None)
        if entry is None:
            self._missing.append(path)
            return
        data = entry.data
        if data.dtype.kind == "qfloat":
            self._wrong.append(f"{path} is quantized ({data.dtype}): dequantize() the record first")
        elif family(data.dtype) != param.kind:
            self._wrong.append(f"{path} holds {param.kind} values, the record has {data.dtype}")
        elif data.shape != param.stored_shape:
            self._shapes.append(f"{path}: expected {list(param.stored_shape)}, the record has {list(data.shape)}")
        else:
            first = self.chosen.setdefault(param.id, entry)
            if first is not entry and first.data != data:
                self._wrong.append(
                    f"{first.path} and {path} are one shared parameter, but the record has different values for them"
                )

    def refuse_if_wrong(self) -> None:
        record = self.record
        problems = list(self._wrong)
        if record._validate and self._shapes:
            problems.append(f"{count('parameter', self._shapes)} of another shape ({'; '.join(self._shapes)})")
        missing = [] if record._allow_partial else self._missing
        unused = [] if record._allow_unused else sorted(self._unused)
        hints = len(missing) * len(unused) <= MAX_COMPARISONS
        if missing:
            told = [path + (did_you_mean(path, unused) if hints and unused else "") for path in missing]
            problems.append(f"{count('parameter', missing)} missing ({', '.join(told)})")
        if unused:
            told = [path + (did_you_mean(path, self._missing) if hints else "") for path in unused]
            problems.append(f"{count('tensor', unused)} unused ({', '.join(told)})")
        if problems:
            advice = [
                *(["allow_partial() keeps what is missing"] if missing else []),
                *(["allow_unused() ignores what is not needed"] if unused else []),
            ]
            remedy = f" On the record, {' and '.join(advice)}." if advice else ""
            raise RecordError(f"load_record: {', '.join(problems)}.{remedy}")


class Load(ModuleMapper):
    """Puts the chosen entries in place."""

    def __init__(self, plan: Plan, slots: CollectSlots) -> None:
        self._chosen = plan.chosen
        self._cast = plan.record._dtype_policy is DTypePolicy.CastToModule
        self._taken = {entry.id for entry in plan.chosen.values()}
        self._given: set[ParamId] = set()
        self._present = {param.id for _, param in slots.found}

    def _load(self, param: Param[Any]) -> Param[Any]:
        entry = self._chosen.get(param.id)
        if entry is None:
            return param.with_id(self._fresh(param)) if param.id in self._taken else param
        loaded = param.with_value(self.make_tensor(entry, param))
        if entry.id in self._given:
            return loaded.with_id(self._fresh(param))
        self._given.add(entry.id)
        return loaded.with_id(entry.id)

    def make_tensor(self, entry: RecordEntry, param: Param[Any]) -> Tensor:
        data = entry.data
        if param.kind == "bool":
            dtype = DType.Bool
        elif self._cast:
            dtype = param.dtype
        else:
            dtype = DType.F32 if data.dtype == DType.Flex32 else data.dtype
        try:
            tensor = cast(Tensor, Tensor.from_data(data, param.backend, dtype))
        except (TensorError, ValueError) as error:
            raise RecordError(f"load_record: {entry.path}: {error}") from error
        return tensor if param._stored is None else param._stored.load(cast(FloatTensor, tensor))

    def _fresh(self, param: Param[Any]) -> ParamId:
        while True:
            id = ParamId.new(param.backend)
            if id not in self._taken and id not in self._present:
                return id

    def map_float(self, param: Param[FloatTensor]) -> Param[FloatTensor]:
        return self._load(param)

    def map_int(self, param: Param[IntTensor]) -> Param[IntTensor]:
        return self._load(param)

    def map_bool(self, param: Param[BoolTensor]) -> Param[BoolTensor]:
        return self._load(param)

    def map_running(self, state: RunningState) -> RunningState:
        param = state.as_param()
        entry = self._chosen.get(state.id)
        value = state.value() if entry is None else cast(FloatTensor, self.make_tensor(entry, param))
        id = self._fresh(param) if state.id in self._taken and (entry is None or entry.id != state.id) else state.id
        return state if entry is None and id == state.id else RunningState(value, id)


def held(tensor: TensorEntry, where: str) -> TensorData:
    """A file's tensor as data. RecordError for shapes that a file can have and an array cannot."""
    try:
        return TensorData(tensor.view(), tensor.shape, tensor.dtype)
    except TensorError as error:
        raise RecordError(f"{where}: {error}") from error


def family(dtype: DType) -> str:
    return "float" if dtype.is_float else "int" if dtype.is_int else "bool"


def count(noun: str, items: list[str]) -> str:
    return f"{len(items)} {plural(noun, items)} {'is' if len(items) == 1 else 'are'}"
