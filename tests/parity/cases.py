"""Results of the running Burn 0.22.1 (tests/golden/burn), a case each, and the inputs of a case as our tensors."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minburn import DType, Tensor
from minburn.backends import Autodiff, NumPy
from minburn.tensor import FloatTensor

GOLDEN = Path(__file__).parent.parent / "golden" / "burn"
DTYPES = {
    "F64": (np.float64, DType.F64),
    "F32": (np.float32, DType.F32),
    "F16": (np.float32, DType.F16),
    "BF16": (np.float32, DType.BF16),
    "I64": (np.int64, DType.I64),
    "I32": (np.int32, DType.I32),
    "I16": (np.int16, DType.I16),
    "I8": (np.int8, DType.I8),
    "U32": (np.uint32, DType.U32),
    "U8": (np.uint8, DType.U8),
    "Bool(Native)": (np.bool_, DType.Bool),
}
"""Of a dtype as Burn prints it: what the numbers are read as, and ours. Halves are printed as singles."""


@dataclass(frozen=True)
class Case:
    """file: relative to the golden folder, without its ending. data: the case as it stands there."""

    file: str
    name: str
    data: Mapping[str, Any]

    @property
    def id(self) -> str:
        return f"{self.file}/{self.name}"

    @property
    def panics(self) -> bool:
        return any(key in self.data for key in ("panic", "init_panic", "panic_text", "error"))

    @property
    def base_name(self) -> str:
        """Without the suffix that names the dtype."""
        return self.name.removesuffix("_f64")


@functools.cache
def all_cases() -> tuple[Case, ...]:
    found = []
    for path in sorted(GOLDEN.rglob("*.json")):
        file = path.relative_to(GOLDEN).with_suffix("").as_posix()
        found += [Case(file, case["name"], case) for case in json.loads(path.read_text())["cases"]]
    return tuple(found)


def numbers(data: list[Any]) -> list[Any]:
    """Flat numbers; the non-finite ones are written as texts."""
    return [float(item) if isinstance(item, str) else item for item in data]


def array(spec: Mapping[str, Any]) -> Any:
    kind = DTYPES[spec.get("dtype", "F32")][0]
    return np.array(numbers(spec["data"]), kind).reshape(spec["shape"])


class Inputs:
    """A case's inputs by name, floats as leaves; and what a case that was not written out is built from."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.backend = Autodiff(NumPy(seed=0))
        self.plain = self.backend.inner
        self.given = {name: self.tensor(spec) for name, spec in case.data.get("inputs", {}).items()}

    @property
    def config(self) -> Any:
        return self.case.data["config"]

    def __getattr__(self, name: str) -> Any:
        try:
            return self.given[name]
        except KeyError:
            raise LookupError(f"{self.case.id} has no input {name}") from None

    def get(self, name: str) -> Any:
        return self.given.get(name)

    def tensor(self, spec: Mapping[str, Any]) -> Any:
        tensor: Any = Tensor.from_data(array(spec), self.backend, DTYPES[spec["dtype"]][1])
        return tensor.require_grad() if isinstance(tensor, FloatTensor) else tensor

    def floats(self, *shape: int) -> Any:
        """Some floats, where a refusal is expected and their values do not matter."""
        values = np.linspace(-0.8, 0.8, int(np.prod(shape)), dtype=np.float32).reshape(shape)
        return Tensor.from_data(values, self.backend).require_grad()

    def data(self, values: Any) -> Any:
        return Tensor.from_data(values, self.backend)
