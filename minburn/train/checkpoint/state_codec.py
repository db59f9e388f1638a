"""A tree of plain values as a burnpack file, and back, to the last bit.

    {"epoch": 3, "best": -0.0, "metrics": {"Loss": [1.5, nan]}, "sum": tensor, "note": "ok", "early": None}

    scalars    /epoch UInt 3      /best Float -0.0
    tensors    /metrics/Loss F64 [2]      /sum F32 […]
    metadata   "minburn.state" = {"tree": {"best": 0, "early": null, "epoch": 0, "metrics": {"Loss": 2}, …}, …}

The tree itself is JSON. Texts, bools and None stand in it; a number in it is no value but says where the value is:
0 in a scalar, 1 in a tensor, 2 in a float64 tensor that holds a list of floats, 3 in the metadata as decimal digits (an
int beyond 64 bits). Names are the JSON pointers of RFC 6901 (`~1` is a slash in a key, `~0` a tilde).

Keys are sorted and nothing of the time or the process gets in: equal trees give equal bytes. Tuples come back as lists,
dicts sorted by key, arrays and tensors as TensorData. Of a NaN outside a tensor only that it is one is kept.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from minburn.dtype import DType
from minburn.pack import PackError, Reader, Scalar, TensorEntry, Writer
from minburn.tensor import Tensor, TensorData
from minburn.train.checkpoint.error import CheckpointError

STATE = "minburn.state"
VERSION = 1
MAX_DEPTH = 64

SCALAR, TENSOR, FLOATS, DIGITS = range(4)


def encode_state(tree: Mapping[str, Any]) -> Writer:
    """The file to be. CheckpointError, naming the place, for a value that is none of the above."""
    encoder = _Encoder()
    skeleton = encoder.encode("", tree, 0)
    text = json.dumps({"tree": skeleton, "version": VERSION}, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    try:
        return Writer(encoder.tensors, {STATE: text, **encoder.texts}, encoder.scalars)
    except PackError as error:
        raise CheckpointError(f"run state: {error}") from error


def decode_state(reader: Reader, where: str) -> dict[str, Any]:
    """The tree in an open file. CheckpointError if it is not one of these, or something in it is missing."""
    text = reader.metadata.get(STATE)
    if text is None:
        raise CheckpointError(f"{where}: not a run's state: it has no entry {STATE!r}.")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{where}: the entry {STATE!r} is damaged: {error}.") from error
    if not isinstance(document, dict) or not isinstance(document.get("tree"), dict):
        raise CheckpointError(f"{where}: the entry {STATE!r} is damaged: it holds no tree.")
    if document.get("version") != VERSION:
        raise CheckpointError(
            f"{where}: a state of version {document.get('version')!r}; this version of minburn reads {VERSION}. "
            "Use the version that wrote it."
        )
    tree = _Decoder(reader, where).decode("", document["tree"])
    assert isinstance(tree, dict)
    return tree


class _Encoder:
    def __init__(self) -> None:
        self.tensors: list[TensorEntry] = []
        self.scalars: dict[str, Scalar] = {}
        self.texts: dict[str, str] = {}

    def encode(self, name: str, value: Any, depth: int) -> Any:
        """The value's place in the JSON tree; what does not go there is put aside under `name`."""
        if depth > MAX_DEPTH:
            raise CheckpointError(f"run state: {_shown(name)} is nested deeper than {MAX_DEPTH} levels.")
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, int):
            return self._int(name, value)
        if isinstance(value, float):
            self.scalars[name] = Scalar.float(value)
            return SCALAR
        if isinstance(value, Mapping):
            return self._mapping(name, value, depth)
        if isinstance(value, list | tuple):
            if value and all(isinstance(part, float | np.floating) for part in value):
                self._tensor(name, TensorData.from_numpy(np.array(value, dtype=np.float64)))
                return FLOATS
            return [self.encode(f"{name}/{index}", part, depth + 1) for index, part in enumerate(value)]
        if isinstance(value, Tensor):
            value = value.to_data()
        elif isinstance(value, np.ndarray):
            value = TensorData.from_numpy(value)
        if isinstance(value, TensorData):
            self._tensor(name, value)
            return TENSOR
        raise CheckpointError(
            f"run state: {_shown(name)} is {type(value).__name__} {value!r}. It must be made of dicts, lists, text, "
            "numbers, bools, None and tensors."
        )

    def _mapping(self, name: str, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        for key in value:
            if not isinstance(key, str):
                raise CheckpointError(f"run state: {_shown(name)} has the key {key!r}. Keys must be text.")
        return {key: self.encode(f"{name}/{_escape(key)}", value[key], depth + 1) for key in sorted(value)}

    def _int(self, name: str, value: int) -> int:
        if 0 <= value < 1 << 64:
            self.scalars[name] = Scalar.uint(value)
        elif -(1 << 63) <= value < 0:
            self.scalars[name] = Scalar.int(value)
        else:
            try:
                self.texts[name] = str(value)
            except ValueError as error:
                raise CheckpointError(f"run state: {_shown(name)}: {error}.") from error
            return DIGITS
        return SCALAR

    def _tensor(self, name: str, data: TensorData) -> None:
        self.tensors.append(TensorEntry(name, data.dtype, data.shape, data.bytes))


class _Decoder:
    def __init__(self, reader: Reader, where: str) -> None:
        self.reader = reader
        self.where = where

    def decode(self, name: str, place: Any) -> Any:
        if place is None or isinstance(place, bool | str):
            return place
        if isinstance(place, dict):
            return {key: self.decode(f"{name}/{_escape(key)}", part) for key, part in place.items()}
        if isinstance(place, list):
            return [self.decode(f"{name}/{index}", part) for index, part in enumerate(place)]
        if place == SCALAR and name in self.reader.scalars:
            return self.reader.scalars[name].value
        if place == DIGITS and name in self.reader.metadata:
            return self._digits(name)
        if place in (TENSOR, FLOATS) and name in self.reader:
            entry = self.reader[name]
            data = TensorData(entry.view(), entry.shape, entry.dtype)
            return self._floats(name, data) if place == FLOATS else data
        raise CheckpointError(f"{self.where}: the value of {_shown(name)} is missing.")

    def _digits(self, name: str) -> int:
        try:
            return int(self.reader.metadata[name])
        except ValueError as error:
            raise CheckpointError(f"{self.where}: {_shown(name)} is no number: {error}.") from error

    def _floats(self, name: str, data: TensorData) -> list[float]:
        if data.dtype != DType.F64 or data.rank != 1:
            raise CheckpointError(f"{self.where}: {_shown(name)} is {data!r}, not a list of float64.")
        return [float(value) for value in data.numpy()]


def same_state(lhs: Any, rhs: Any) -> bool:
    """Whether two trees are equal, NaN equal to NaN and -0.0 different from 0.0."""
    if isinstance(lhs, Mapping) and isinstance(rhs, Mapping):
        return lhs.keys() == rhs.keys() and all(same_state(lhs[key], rhs[key]) for key in lhs)
    if isinstance(lhs, list | tuple) and isinstance(rhs, list | tuple):
        return len(lhs) == len(rhs) and all(map(same_state, lhs, rhs))
    if isinstance(lhs, float) and isinstance(rhs, float):
        return (lhs == rhs and math.copysign(1, lhs) == math.copysign(1, rhs)) or (lhs != lhs and rhs != rhs)
    return type(lhs) is type(rhs) and bool(lhs == rhs)


def _escape(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _shown(name: str) -> str:
    return name or "the whole"
