"""What a model is made of, layer by layer: shapes, parameters, bytes, what is trained.

    print(model.summary(images))

    layer    class    output     parameters      bytes  trained
             Mlp      [32, 10]
    hidden   Linear   [32, 256]      16,640   65.0 KiB  yes
    output   Linear   [32, 10]        2,570   10.0 KiB  no
    19,210 parameters in 75.0 KiB: 16,640 trained, 2,570 frozen.

A parameter counts in the layer that holds it, a shared one only where it is met first; a layer's line has what it holds
itself, not what its parts do. The sum is `model.num_params()`, which counts running values, too. Bytes are those of all
parameters, also of ints and bools, in memory and in a record alike.

Shapes come from one call of a copy of the model as it is for evaluation: no graph, no dropout, no statistics updated.
Without an input nothing is called, and nothing drawn.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping
from typing import Any, final

from minburn.module.fields import outside_name
from minburn.module.param import Param
from minburn.module.running_state import RunningState
from minburn.module.visitor import ModuleMapper, ModuleVisitor
from minburn.module.walk import MapWalk, VisitWalk
from minburn.tensor import Tensor

UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
COLUMNS = ("layer", "class", "output", "parameters", "bytes", "trained")
TO_THE_RIGHT = ("parameters", "bytes")


@final
class SummaryRow:
    """A layer, and what it holds itself. parameters = trained + frozen + running; shared: those counted elsewhere."""

    __slots__ = ("bytes", "calls", "frozen", "kind", "output", "path", "running", "shared", "trained")

    def __init__(self, path: str, kind: str) -> None:
        self.path = path
        self.kind = kind
        self.trained = self.frozen = self.running = self.shared = self.bytes = 0
        self.output = ""
        self.calls = 0

    @property
    def parameters(self) -> int:
        return self.trained + self.frozen + self.running

    @property
    def depth(self) -> int:
        return len(self.path.split(".")) if self.path else 0

    def add(self, other: SummaryRow) -> None:
        """What a part holds, where the part has no line."""
        for name in ("trained", "frozen", "running", "shared", "bytes"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def cells(self) -> dict[str, str]:
        holds = self.parameters or self.shared or self.bytes
        of = self.trained + self.frozen
        part = f"{self.trained:,} of {of:,}" if 0 < self.trained < of else "yes" if self.trained else "no"
        counted = f"{self.parameters:,}" + (f" (+{self.shared:,} shared)" if self.shared else "")
        return {
            "layer": self.path,
            "class": self.kind,
            "output": self.output + (f" ({self.calls} calls)" if self.calls > 1 else ""),
            "parameters": counted if holds else "",
            "bytes": bytes_text(self.bytes) if holds else "",
            "trained": part if of else "",
        }


@final
class ModuleSummary:
    """Rows in the order of the model, and their sums. `str()` is a table, and so it is in a notebook."""

    def __init__(self, rows: list[SummaryRow]) -> None:
        self.rows = rows
        self.trained = sum(row.trained for row in rows)
        self.frozen = sum(row.frozen for row in rows)
        self.running = sum(row.running for row in rows)
        self.parameters = self.trained + self.frozen + self.running
        self.bytes = sum(row.bytes for row in rows)

    def total(self) -> str:
        """The sums as a sentence."""
        running = f", {self.running:,} running values" if self.running else ""
        return (
            f"{self.parameters:,} parameters in {bytes_text(self.bytes)}: {self.trained:,} trained, "
            f"{self.frozen:,} frozen{running}."
        )

    def _table(self) -> list[dict[str, str]]:
        rows = [row.cells() for row in self.rows]
        return [
            {name: row[name] for name in COLUMNS if name != "output" or any(r["output"] for r in rows)} for row in rows
        ]

    def __str__(self) -> str:
        table = self._table()
        widths = {name: max(len(name), *(len(row[name]) for row in table)) for name in table[0]}
        lines = [{name: name for name in table[0]}, *table]
        aligned = [
            "  ".join(
                cell.rjust(widths[name]) if name in TO_THE_RIGHT else cell.ljust(widths[name])
                for name, cell in line.items()
            ).rstrip()
            for line in lines
        ]
        return "\n".join([*aligned, self.total()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        table = self._table()

        def line(tag: str, cells: Mapping[str, str]) -> str:
            sides = ((cell, "right" if name in TO_THE_RIGHT else "left") for name, cell in cells.items())
            inside = "".join(f'<{tag} style="text-align:{side}">{html.escape(cell)}</{tag}>' for cell, side in sides)
            return f"<tr>{inside}</tr>"

        body = "".join(line("td", row) for row in table)
        head = line("th", {name: name for name in table[0]})
        return f"<table><thead>{head}</thead><tbody>{body}</tbody></table><p>{html.escape(self.total())}</p>"


def summarize(module: Any, inputs: tuple[Any, ...], options: Mapping[str, Any], depth: int | None) -> ModuleSummary:
    """`module.summary(…)`."""
    walk = CountWalk()
    walk.run(module)
    rows = walk.rows
    if inputs or options:
        seen = outputs_of(module, inputs, options)
        for row in rows:
            row.output, row.calls = seen.get(row.path, ("", 0))
    return ModuleSummary(rows if depth is None else folded(rows, depth))


def folded(rows: list[SummaryRow], depth: int) -> list[SummaryRow]:
    """Lines that lie deeper are added to the one above them that does not."""
    kept: list[SummaryRow] = []
    for row in rows:
        if row.depth <= depth or not kept:
            kept.append(row)
        else:
            owner = next(one for one in reversed(kept) if not one.path or row.path.startswith(f"{one.path}."))
            owner.add(row)
    return kept


class CountWalk(VisitWalk):
    """A row for every module, and into it what it holds."""

    def __init__(self) -> None:
        super().__init__(ModuleVisitor())
        self.rows: list[SummaryRow] = []
        self._owners: list[SummaryRow] = []

    def fields(self, path: str, module: Any) -> Any:
        row = SummaryRow(path, type(module).__name__)
        self.rows.append(row)
        self._owners.append(row)
        super().fields(path, module)
        self._owners.pop()
        return module

    def param(self, path: str, param: Param[Any]) -> Any:
        known = param.id in self.seen
        super().param(path, param)
        if param.kind != "flag":
            self._count(param, known, "trained" if param.is_require_grad else "frozen")
        return param

    def running(self, path: str, state: RunningState) -> Any:
        known = state.id in self.seen
        super().running(path, state)
        self._count(state.as_param(), known, "running")
        return state

    def _count(self, param: Param[Any], known: bool, column: str) -> None:
        row = self._owners[-1]
        elements = math.prod(param.shape)
        if known:
            row.shared += elements
            return
        row.bytes += elements * param.dtype.size
        if param.kind == "float":
            setattr(row, column, getattr(row, column) + elements)


# Shapes


def outputs_of(module: Any, inputs: tuple[Any, ...], options: Mapping[str, Any]) -> dict[str, tuple[str, int]]:
    """What each module that was called returned first, and how often it was called, by path."""
    watch = WatchWalk()
    watched = watch.run(module.map(OwnCells()).valid())
    watched(*(plain(value) for value in inputs), **{name: plain(value) for name, value in options.items()})
    return watch.outputs


class OwnCells(ModuleMapper):
    """Running values in cells of their own, so that nothing is committed in those of the model."""

    def map_running(self, state: RunningState) -> RunningState:
        return state.with_value(state.value())


class WatchWalk(MapWalk):
    """A copy of a module in which every part tells what it returns. A part's copy is of a class derived from its own,
    so that it passes for one; the model itself and its classes stay as they are."""

    def __init__(self) -> None:
        super().__init__(ModuleMapper())
        self.outputs: dict[str, tuple[str, int]] = {}
        self._paths: dict[int, str] = {}  # of the copies
        self._copies: list[Any] = []  # as long as they live no other object has their id()
        self._classes: dict[type, type] = {}

    def fields(self, path: str, module: Any) -> Any:
        inside = super().fields(path, module)
        cls = type(inside)
        if cls not in self._classes:
            self._classes[cls] = self._watched(cls)
        copy: Any = object.__new__(self._classes[cls])
        copy.__dict__.update(inside.__dict__)
        self._paths[id(copy)] = path
        self._copies.append(copy)
        return copy

    def param(self, path: str, param: Param[Any]) -> Any:
        return param

    def adapted(self, path: str, param: Any) -> Any:
        return param

    def running(self, path: str, state: RunningState) -> Any:
        return state

    def _watched(self, cls: Any) -> type:
        call = cls.__call__

        def watched(module: Any, *args: Any, **options: Any) -> Any:
            result = call(module, *args, **options)
            path = self._paths.get(id(module))
            if path is not None:
                shape, calls = self.outputs.get(path, (shapes(result), 0))
                self.outputs[path] = (shape, calls + 1)
            return result

        methods: dict[str, Callable[..., Any]] = {"__call__": watched}
        if getattr(cls, "forward", None) is call:
            methods["forward"] = watched
        return type(cls.__name__, (cls,), {**methods, "__module__": cls.__module__})


def plain(value: Any) -> Any:
    """The value without a graph; tensors in containers, too."""
    if isinstance(value, Tensor):
        return value.inner() if value.backend.is_autodiff else value
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return value._make(map(plain, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value))
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def shapes(value: Any) -> str:
    if isinstance(value, Tensor):
        return str(list(value.shape))
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {shapes(item)}' for key, item in value.items())}}}"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        named = [(name, item) for name, item in zip(value._fields, value, strict=True) if item is not None]
        return f"({', '.join(f'{outside_name(name)}: {shapes(item)}' for name, item in named)})"
    if isinstance(value, (list, tuple)):
        return f"({', '.join(map(shapes, value))})"
    return "None" if value is None else type(value).__name__


def bytes_text(count: int) -> str:
    """`512 B`, `65.0 KiB`."""
    size, unit = float(count), 0
    while size >= 1024 and unit < len(UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{count} B" if unit == 0 else f"{size:.1f} {UNITS[unit]}"
