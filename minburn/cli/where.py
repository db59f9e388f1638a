"""Where something is: in minburn, and in Burn.

    minburn where Linear            a class or function, under either name
    minburn where float_add         an op: its place in the protocol, the implementations, the gradient
    minburn where OptimizerAdaptor  what Burn calls otherwise

It reads the sources: definitions, and the "Burn:" lines of docstrings; and the README's table of names.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import functools
import importlib.metadata
import re
from pathlib import Path
from typing import NamedTuple

from minburn.cli.error import CommandError

HELP = "where a name is, in minburn and in Burn"
PACKAGE = Path(__file__).resolve().parent.parent
TABLES = {"float": "FloatTensorOps", "int": "IntTensorOps", "bool": "BoolTensorOps"}
OP_PREFIX = re.compile(r"^(?:\w+::)?(float|int|bool)_(\w+)$")
ATTRIBUTES = {"floats": "FloatTensorOps", "ints": "IntTensorOps", "bools": "BoolTensorOps"}
CLASS_OF_TABLE = {**ATTRIBUTES, "modules": "ModuleOps", "activations": "ActivationOps"}


class Place(NamedTuple):
    """A definition: `minburn.nn.linear.Linear`, its file and line, and what its docstring says about Burn."""

    name: str
    file: str
    line: int
    burn: str

    @property
    def last(self) -> str:
        return self.name.rsplit(".", 1)[-1]

    def __str__(self) -> str:
        return f"  {self.name}\n      {self.file}:{self.line}" + (f"\n      Burn: {self.burn}" if self.burn else "")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="a name of minburn's or Burn's")


def run(args: argparse.Namespace) -> int:
    name: str = args.name
    places, rows = index(), name_map()
    lines = []
    told = [row for row in rows if any(same(name, known) for known in (*row[0], *row[1]))]
    for burn, ours in told:
        lines.append(f"Burn's {', '.join(burn)}: minburn's {', '.join(ours)}")
    wanted = [name, *(our for burn, ours in told if any(same(name, one) for one in burn) for our in ours)]
    found: dict[str, Place] = {}
    for one in wanted:
        for place in find(one, places):
            found.setdefault(f"{place.name}:{place.line}", place)
    lines += [str(place) for place in found.values()]
    if not lines:
        known = {place.last for place in places} | {plain(burn) for row in rows for burn in row[0]}
        close = difflib.get_close_matches(plain(name), known, n=3)
        hint = f" Close: {', '.join(close)}." if close else ""
        raise CommandError(f"neither minburn nor its table of Burn's names has {name!r}.{hint}", status=1)
    print("\n".join(lines))
    return 0


def plain(name: str) -> str:
    """`B::float_add` → float_add, `Tensor<D>` → Tensor, `#[derive(Module)]` → Module."""
    derived = re.fullmatch(r"#\[derive\((\w+)\)\]", name)
    if derived:
        return derived[1]
    return re.sub(r"<.*>", "", name).rsplit("::", 1)[-1].rsplit(".", 1)[-1]


def same(asked: str, name: str) -> bool:
    """Whether a name of the table is the one asked for: whole, or by its last part."""
    return asked == name or plain(asked) == plain(name)


def find(name: str, places: list[Place]) -> list[Place]:
    """Definitions of that name: an op of a table, a dotted end, or the last part."""
    dotted = name.replace("::", ".")
    op = OP_PREFIX.match(name)
    if op:
        return op_places(TABLES[op[1]], op[2], places)
    parts = dotted.split(".")
    if len(parts) > 2 and parts[0] == "backend" and parts[1] in CLASS_OF_TABLE:
        return op_places(CLASS_OF_TABLE[parts[1]], parts[2], places)
    by_end = [place for place in places if place.name == dotted or place.name.endswith(f".{dotted}")]
    if "." in dotted and by_end:
        return by_end
    if "." in dotted:  # re-exported by a package on the way: `nn.Linear` is in minburn.nn.linear
        first, last = parts[0], parts[-1]
        return [p for p in places if p.last == last and f".{first}." in f".{p.name}." and (is_public(p, parts))]
    top = [place for place in by_end if place.name.split(".")[-2][:1].islower()]  # not a method
    ops = [place for table in ("ModuleOps", "ActivationOps") for place in op_places(table, dotted, places)]
    return [*top, *ops] or by_end


def is_public(place: Place, parts: list[str]) -> bool:
    """A method only where its class is named."""
    owner = place.name.split(".")[-2]
    return owner[:1].islower() or owner in parts


def op_places(table: str, op: str, places: list[Place]) -> list[Place]:
    """The protocol's line for an op, what implements it and what differentiates it."""
    op = {"not": "not_", "and": "and_", "or": "or_"}.get(op, op)
    kind = table.removesuffix("TensorOps")
    words = {"Float": ("Float", "Numeric", "Basic"), "Int": ("Int", "Numeric", "Basic"), "Bool": ("Bool", "Basic")}
    found = []
    for place in places:
        owner, last = place.name.split(".")[-2:]
        if last == op and place.name.startswith("minburn.backends.") and owner[:1].isupper():
            rule = ".autodiff." in place.name and kind not in ("Int", "Bool")
            of_tensors = any(word in owner for word in ("Float", "Int", "Bool", "Numeric", "Basic"))
            if rule or (any(word in owner for word in words[kind]) if kind in words else not of_tensors):
                found.append(place)
    protocols = (".base.", ".module_ops.")
    return sorted(found, key=lambda place: (not any(p in place.name for p in protocols), ".autodiff." in place.name))


@functools.cache
def index() -> list[Place]:
    """All classes, functions and methods of the package, in the order of files."""
    places = []
    for path in sorted(PACKAGE.rglob("*.py")):
        relative = path.relative_to(PACKAGE.parent)
        module = ".".join(relative.with_suffix("").parts).removesuffix(".__init__")
        tree = ast.parse(path.read_text("utf-8"))
        of_module = burn_line(ast.get_docstring(tree))
        for node in tree.body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                burn = burn_line(ast.get_docstring(node)) or of_module
                places.append(Place(f"{module}.{node.name}", relative.as_posix(), node.lineno, burn))
            if isinstance(node, ast.ClassDef):
                for method in node.body:
                    if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
                        name = f"{module}.{node.name}.{method.name}"
                        own = burn_line(ast.get_docstring(method)) or burn
                        places.append(Place(name, relative.as_posix(), method.lineno, own))
    return places


def burn_line(doc: str | None) -> str:
    """What follows "Burn:" in a docstring, without the marks of code."""
    found = re.search(r"Burn: ((?:`[^`]*`|[^.\n]|\.\w)+)", doc or "")
    return found[1].replace("`", "").strip() if found else ""


def name_map() -> list[tuple[list[str], list[str]]]:
    """The README's table: Burn's names and ours that belong together."""
    section = re.search(r"^## From Burn's names to ours\n(.*?)(?=^## |\Z)", readme(), re.M | re.S)
    rows = []
    for line in section[1].splitlines() if section else ():
        cells = line.strip("|").split(" | ")
        if line.startswith("| `") and len(cells) == 2:
            burn, ours = (re.findall(r"`([^`]+)`", cell) for cell in cells)
            if len(burn) == len(ours):  # one for one
                rows += [([one], [other]) for one, other in zip(burn, ours, strict=True)]
            else:
                rows.append((burn, ours))
    return rows


def readme() -> str:
    """From beside the package, or as it was installed with it."""
    beside = PACKAGE.parent / "README.md"
    if beside.exists():
        return beside.read_text("utf-8")
    try:
        return importlib.metadata.metadata("minburn").get_payload()  # type: ignore[attr-defined, no-any-return]
    except importlib.metadata.PackageNotFoundError:
        return ""
