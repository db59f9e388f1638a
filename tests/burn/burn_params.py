"""What is in a module and in a file, listed as Burn's program lists it."""

from __future__ import annotations

from typing import Any

from minburn.module import ModuleVisitor
from minburn.pack import Reader


class Params(ModuleVisitor):
    """The parameters of a module, as Burn's program lists them."""

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []

    def visit_float(self, param: Any) -> None:
        data = param.value.into_data()
        self.found.append(
            {
                "path": self.path,
                "id": str(int(param.id)),
                "id_text": str(param.id),
                "kind": param.kind,
                "require_grad": param.kind == "float" and param.is_require_grad,
                "data": listed(data),
            }
        )

    visit_int = visit_bool = visit_float


def listed(data: Any) -> dict[str, Any]:
    return {"dtype": data.dtype.name, "shape": list(data.shape), "hex": bytes(data.bytes).hex()}


def params(module: Any) -> list[dict[str, Any]]:
    visitor = Params()
    module.visit(visitor)
    return visitor.found


def of_the_file(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Parameters or tensors without what loading does not take from a file: the ids of running states, which keep those
    of the module in Burn, and so here."""
    running = [(entry.get("path") or entry["name"]).endswith((".running_mean", ".running_var")) for entry in entries]
    return [
        {key: value for key, value in entry.items() if not (is_running and key in ("id", "id_text"))}
        for entry, is_running in zip(entries, running, strict=True)
    ]


def listing(reader: Reader) -> dict[str, Any]:
    """A file as Burn's program lists it."""
    tensors = []
    for name in sorted(reader):
        entry = reader[name]
        data = {"dtype": entry.dtype.name, "shape": list(entry.shape), "hex": bytes(entry.view()).hex()}
        tensors.append({"name": name, "id": None if entry.param_id is None else str(entry.param_id), "data": data})
    scalars = {
        key: {scalar.kind: repr(scalar.value) if scalar.kind == "Float" else scalar.value}
        for key, scalar in reader.scalars.items()
    }
    return {"tensors": tensors, "metadata": dict(reader.metadata), "scalars": scalars}
