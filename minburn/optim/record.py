"""What an optimizer and a schedule leave behind, in Burn's layout.

    OptimizerRecord       tensors    {id}.{field}   entry with param_id     a state's tensors
                          scalars    {id}.{field}                           its counters
                                     {id}.__rank                            for every parameter that was stepped
                          metadata   {id} → path                            where in the module it was
                          L-BFGS's one state lies there without ids
    LrSchedulerRecord     scalars    0.{counter}

{id} is the parameter's id in decimal. A state stays what it was in the file, dtype included, until an optimizer asks
for it. Data lie in the file in the order of their names, so that equal records are equal bytes: one that is saved,
loaded and saved again, and one of a training that was resumed.

Burn: `crates/burn-optim/src/optim/module/record/mod.rs`, `crates/burn-optim/src/lr_scheduler/base.rs`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, KeysView, Mapping
from typing import final

from minburn.module import ParamId, RecordError
from minburn.module.record import held
from minburn.optim.state import RESERVED, Leaves
from minburn.pack import PackError, Reader, Scalar, TensorEntry, Writer, WriteReport
from minburn.tensor import TensorData

__all__ = ["LrSchedulerRecord", "OptimizerRecord", "StateEntry"]

RANK = RESERVED
WHOLE = "g_iter"
"""The scalar by which the record of L-BFGS is known."""
U64 = range(1 << 64)
U64_DIGITS = 20
MAX_RANK = 64


@final
class StateEntry:
    """What is recorded for one parameter: its id, its rank, its path if known, and its state's leaves by name."""

    __slots__ = ("id", "leaves", "path", "rank")

    def __init__(self, id: ParamId, rank: int, path: str | None, leaves: Leaves) -> None:
        self.id = id
        self.rank = rank
        self.path = path
        self.leaves = leaves

    def __repr__(self) -> str:
        return f"StateEntry({int(self.id)}, path={self.path!r}, leaves={list(self.leaves)})"


@final
class OptimizerRecord:
    """The states of an optimizer by parameter id.

    whole: the leaves of a state that is one for all parameters (L-BFGS's); else None.
    """

    __slots__ = ("_entries", "whole")

    def __init__(self, entries: Iterable[StateEntry] = (), whole: Leaves | None = None) -> None:
        self._entries = {entry.id: entry for entry in entries}
        self.whole = whole

    def __len__(self) -> int:
        """How many parameters it knows."""
        return len(self._entries)

    def __iter__(self) -> Iterator[StateEntry]:
        return iter(self._entries.values())

    def __contains__(self, id: object) -> bool:
        return id in self._entries

    def __getitem__(self, id: int) -> StateEntry:
        entry = self._entries.get(ParamId(id))
        if entry is None:
            raise RecordError(f"OptimizerRecord: there is no state for the parameter {id}; it has {len(self)} others.")
        return entry

    # Files

    def save(self, path: str | os.PathLike[str], *, digest: bool = False) -> WriteReport:
        """Write a burnpack file, replacing an old one only when the new one is complete. `.bpk` is added if there is no
        extension. RecordError if the system refuses; the old file is then as it was.

        Burn: `ModuleOptimizer::save`, `LBFGS::save`.
        """
        return _save(self._writer(), path, digest)

    def into_bytes(self) -> bytes:
        """The same file in memory. Burn: `ModuleOptimizer::into_bytes`, `LBFGS::into_bytes`."""
        return self._writer().into_bytes()

    @staticmethod
    def load(path: str | os.PathLike[str]) -> OptimizerRecord:
        """Open a file; tensors are read when a step needs them.

        RecordError naming the file if it is missing, truncated, or not an optimizer's record.

        Burn: `ModuleOptimizer::load`, `LBFGS::load`.
        """
        return _read_optimizer(_open(path), f"load: {os.fspath(path)}")

    @staticmethod
    def from_bytes(data: bytes | bytearray | memoryview) -> OptimizerRecord:
        """Burn: `ModuleOptimizer::from_bytes`, `LBFGS::from_bytes`."""
        return _read_optimizer(_open_bytes(data), "from_bytes")

    def _writer(self) -> Writer:
        tensors: dict[str, TensorEntry] = {}
        scalars: dict[str, Scalar] = {}
        metadata: dict[str, str] = {}
        for entry in self:
            prefix = str(int(entry.id))
            scalars[f"{prefix}.{RANK}"] = Scalar.uint(entry.rank)
            if entry.path is not None:
                metadata[prefix] = entry.path
            for leaf, value in entry.leaves.items():
                name = f"{prefix}.{leaf}"
                if isinstance(value, Scalar):
                    scalars[name] = value
                else:
                    tensors[name] = TensorEntry(name, value.dtype, value.shape, value.bytes, param_id=int(entry.id))
        for name, value in (self.whole or {}).items():
            if isinstance(value, Scalar):
                scalars[name] = value
            else:
                tensors[name] = TensorEntry(name, value.dtype, value.shape, value.bytes)
        return Writer([tensors[name] for name in sorted(tensors)], metadata, scalars)

    def __repr__(self) -> str:
        return f"OptimizerRecord({len(self)} parameters)"


def _read_optimizer(reader: Reader, where: str) -> OptimizerRecord:
    if WHOLE in reader.scalars:
        tensors = {name: held(tensor, f"{where}: tensor {name!r}") for name, tensor in reader.items()}
        return OptimizerRecord(whole={**tensors, **reader.scalars})
    leaves: dict[ParamId, dict[str, TensorData | Scalar]] = {}
    ranks: dict[ParamId, int] = {}
    fallback: dict[ParamId, int] = {}
    for name, tensor in reader.items():
        id, _, leaf = name.partition(".")
        if tensor.param_id is None or id != str(tensor.param_id) or not leaf:
            raise RecordError(
                f"{where}: not an optimizer's record: tensor {name!r} is not named after its parameter's id "
                f"({tensor.param_id}). ModuleRecord.load reads a model."
            )
        data = held(tensor, f"{where}: tensor {name!r}")
        leaves.setdefault(ParamId(tensor.param_id), {})[leaf] = data
        fallback.setdefault(ParamId(tensor.param_id), len(tensor.shape))
    for name, scalar in reader.scalars.items():
        id, _, leaf = name.partition(".")
        key = _parse_id(id)
        if key is None or not leaf:
            continue  # as Burn: what belongs to no parameter is not looked at
        if leaf != RANK:
            leaves.setdefault(key, {})[leaf] = scalar
            continue
        rank = scalar.as_uint()
        if rank is None:
            continue  # as Burn: the tensors have a rank too
        if rank > MAX_RANK:
            raise RecordError(f"{where}: {name!r} is {scalar.value!r}, which is no rank.")
        ranks[key] = rank
    strangers = [id for id in leaves if id not in ranks and id not in fallback]
    if strangers:
        name = f"{int(strangers[0])}.{next(iter(leaves[strangers[0]]))}"
        raise RecordError(
            f"{where}: not an optimizer's record: scalar {name!r} belongs to no parameter. "
            "LrSchedulerRecord.load reads a schedule."
        )
    ids = sorted({**ranks, **fallback})
    return OptimizerRecord(
        StateEntry(id, ranks.get(id, fallback.get(id, 0)), reader.metadata.get(str(int(id))), leaves.get(id, {}))
        for id in ids
    )


def _parse_id(text: str) -> ParamId | None:
    """The id of a canonical decimal u64, else None."""
    if not (text.isascii() and text.isdigit() and len(text) <= U64_DIGITS):
        return None
    value = int(text)
    return ParamId(value) if value in U64 and text == str(value) else None


@final
class LrSchedulerRecord:
    """Scalars by dotted name. A schedule made of others keeps theirs under a prefix."""

    __slots__ = ("_scalars",)

    def __init__(self, scalars: Mapping[str, Scalar] | None = None) -> None:
        self._scalars = dict(scalars or {})

    def __len__(self) -> int:
        return len(self._scalars)

    def keys(self) -> KeysView[str]:
        return self._scalars.keys()

    def get(self, key: str) -> Scalar | None:
        """Burn: `LrSchedulerRecord::scalar`."""
        return self._scalars.get(key)

    def with_record(self, prefix: str, record: LrSchedulerRecord) -> LrSchedulerRecord:
        """This record and another one under `prefix.`."""
        return LrSchedulerRecord(self._scalars | {f"{prefix}.{key}": scalar for key, scalar in record._scalars.items()})

    def record(self, prefix: str) -> LrSchedulerRecord:
        """What lies under `prefix.`, without the prefix."""
        start = f"{prefix}."
        return LrSchedulerRecord(
            {key.removeprefix(start): scalar for key, scalar in self._scalars.items() if key.startswith(start)}
        )

    def save(self, path: str | os.PathLike[str], *, digest: bool = False) -> WriteReport:
        """As `OptimizerRecord.save`."""
        return _save(self._writer(), path, digest)

    def into_bytes(self) -> bytes:
        return self._writer().into_bytes()

    @staticmethod
    def load(path: str | os.PathLike[str]) -> LrSchedulerRecord:
        """RecordError naming the file if it is missing, truncated, or not a schedule's record."""
        return _read_schedule(_open(path), f"load: {os.fspath(path)}")

    @staticmethod
    def from_bytes(data: bytes | bytearray | memoryview) -> LrSchedulerRecord:
        return _read_schedule(_open_bytes(data), "from_bytes")

    def _writer(self) -> Writer:
        return Writer([], scalars=self._scalars)

    def __repr__(self) -> str:
        return f"LrSchedulerRecord({', '.join(f'{key}={value.value}' for key, value in self._scalars.items())})"


def _read_schedule(reader: Reader, where: str) -> LrSchedulerRecord:
    if len(reader):
        raise RecordError(
            f"{where}: not a schedule's record: it has {len(reader)} tensors ({next(iter(reader))}, …). "
            "OptimizerRecord.load reads an optimizer's state, ModuleRecord.load a model."
        )
    if any(key.endswith(f".{RANK}") for key in reader.scalars):
        raise RecordError(f"{where}: not a schedule's record, but an optimizer's: use OptimizerRecord.load.")
    return LrSchedulerRecord(reader.scalars)


def _save(writer: Writer, path: str | os.PathLike[str], digest: bool) -> WriteReport:
    try:
        return writer.write_to_file(path, digest=digest)
    except PackError as error:
        raise RecordError(f"save: {error}") from error


def _open(path: str | os.PathLike[str]) -> Reader:
    try:
        return Reader.from_file(path)
    except PackError as error:
        raise RecordError(f"load: {error}") from error


def _open_bytes(data: bytes | bytearray | memoryview) -> Reader:
    try:
        return Reader.from_bytes(data)
    except PackError as error:
        raise RecordError(f"from_bytes: {error}") from error
