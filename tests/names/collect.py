"""Burn's public names out of Burn's sources: who regenerates `minburn/cli/names/burn/` runs this.

    python tests/names/collect.py ~/.cargo/registry/src/*/      a folder that holds burn-core-0.22.1, burn-nn-0.22.1 …

A name is public when its crate's root leads to it through public modules and `pub use`; it gets its shortest such path.
Listed are structs, enums, traits, functions, types, constants, macros and derives; and of these, the public methods
and fields, the variants, and the methods of traits. Not listed: what is marked hidden or is for Burn's own tests, what
a crate re-exports from another one (it is listed there), implementations of traits, associated types, and what macros
expand to.

It reads just enough Rust for that: comments and literals are blanked, and a scope is cut into items at the semicolons
and closing braces of its own depth.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

VERSION = "0.22.1"
CRATES = (
    *("burn-autodiff", "burn-backend", "burn-core", "burn-dataset", "burn-derive", "burn-einsum", "burn-linalg"),
    *("burn-nn", "burn-optim", "burn-pack", "burn-signal", "burn-std", "burn-store", "burn-tensor", "burn-train"),
)
OUT = Path(__file__).resolve().parents[2] / "minburn" / "cli" / "names" / "burn"

BLANKED = re.compile(
    r'//[^\n]*|/\*.*?\*/|\bb?r(?P<hashes>#*)".*?"(?P=hashes)|"(?:\\.|[^"\\])*"|\'(?:\\[^\']+|[^\'\\])\'', re.S
)
ATTRIBUTE = re.compile(r"\s*#!?(\[(?:[^\[\]]|\[(?:[^\[\]]|\[[^\]]*\])*\])*\])")
ITEM = re.compile(
    r"\s*(?P<pub>pub(?:\s*\([^)]*\))?\s+)?(?:(?:default|const|async|unsafe|extern(?:\s*\"[^\"]*\")?)\s+)*"
    r"(?P<kind>struct|enum|union|trait|fn|type|const|static|mod|use|impl|macro_rules(?=!))\b!?\s*(?P<rest>.*)",
    re.S,
)
NAME = re.compile(r"(?:r#)?(\w+)")
HIDDEN = re.compile(r"doc\s*\(\s*hidden|cfg\s*\(\s*test\b|cfg\s*\(\s*all\s*\(\s*test\b|export_tests")


@dataclass
class Item:
    """A definition: its kind and file, and what belongs to it, each with its own kind and file."""

    kind: str
    name: str
    file: str
    members: dict[str, tuple[str, str]] = field(default_factory=dict)


@dataclass
class Module:
    """A module: what it defines, what it is made of, and what it re-exports; each with whether that is public."""

    items: dict[str, tuple[bool, Item]] = field(default_factory=dict)
    modules: dict[str, tuple[bool, Module]] = field(default_factory=dict)
    uses: list[tuple[bool, list[str], str]] = field(default_factory=list)
    impls: list[tuple[str, str, str]] = field(default_factory=list)
    parent: Module | None = None


def blank(match: re.Match[str]) -> str:
    """Nothing for a comment, an empty literal for a literal."""
    return " " if match[0].startswith("/") else '""'


def split(text: str, ends: str) -> list[str]:
    """Cut at the given marks of depth zero; items, which `;` ends, at `}` too unless one is a `use` or a value."""
    parts, depth, start = [], 0, 0
    for here, mark in enumerate(text):
        if mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth -= 1
        if depth:
            continue
        if mark == "}" and ends == ";":
            head = ITEM.match(strip_attributes(text[start : here + 1])[1])
            if head is None or head["kind"] not in ("use", "const", "static", "type"):
                parts.append(text[start : here + 1])
                start = here + 1
        elif mark in ends:
            parts.append(text[start : here + 1])
            start = here + 1
    return [*parts, text[start:]]


def strip_attributes(text: str) -> tuple[str, str]:
    """The attributes before an item, and the item."""
    end = 0
    while match := ATTRIBUTE.match(text, end):
        end = match.end()
    return text[:end], text[end:]


def body(text: str) -> str:
    """What is between an item's outer braces."""
    first = text.find("{")
    return text[first + 1 : text.rfind("}")] if first >= 0 else ""


def read(path: Path, folder: Path, root: Path, parent: Module | None = None) -> Module:
    """The module in that file; `folder` holds the files of its own modules."""
    return parse(BLANKED.sub(blank, path.read_text("utf-8")), path, folder, root, parent)


def parse(text: str, path: Path, folder: Path, root: Path, parent: Module | None) -> Module:
    module, file = Module(parent=parent), path.relative_to(root).as_posix()
    for part in split(text, ";"):
        attributes, code = strip_attributes(part)
        head = ITEM.match(code)
        if head is None or HIDDEN.search(attributes):
            continue
        public, kind, rest = (head["pub"] or "").strip() == "pub", head["kind"], head["rest"]
        if kind == "use":
            module.uses += [(public, path_, name) for path_, name in use_tree(rest.rstrip("; \n"), [])]
        elif kind == "impl":
            header = re.split(r"\bwhere\b|\{", rest, maxsplit=1)[0]
            if not re.search(r"\sfor\s", re.sub(r"for\s*<", "<", header)):
                module.impls.append((self_type(header), body(rest), file))
        elif kind == "mod":
            name = NAME.match(rest)[1]  # type: ignore[index]
            inner = module_of(name, attributes, rest, path, folder, root, module)
            if inner is not None:
                module.modules[name] = (public, inner)
        else:
            name = NAME.match(rest)[1]  # type: ignore[index]
            derived = re.search(r"proc_macro_derive\s*\(\s*(\w+)", attributes)
            if derived:
                module.items[f"derive({derived[1]})"] = (True, Item("derive", f"derive({derived[1]})", file))
            elif kind == "macro_rules":
                if "macro_export" in attributes:
                    top = module
                    while top.parent is not None:
                        top = top.parent
                    top.items[f"{name}!"] = (True, Item("macro", f"{name}!", file))
            elif name not in module.items:
                module.items[name] = (public, Item(kind, name, file, members(kind, rest, file, attributes)))
    return module


def module_of(
    name: str, attributes: str, rest: str, path: Path, folder: Path, root: Path, parent: Module
) -> Module | None:
    """An inline module, or one in its own file."""
    if "{" in rest:
        return parse(body(rest), path, folder / name, root, parent)
    for file in (folder / f"{name}.rs", folder / name / "mod.rs"):
        if file.exists():
            return read(file, folder / name, root, parent)
    return None


def members(kind: str, rest: str, file: str, attributes: str) -> dict[str, tuple[str, str]]:
    """Public fields (of a config all: it derives their setters), variants, and what a trait asks for and offers."""
    config = bool(re.search(r"derive\([^)]*\bConfig\b", attributes))
    if kind == "trait":
        return functions(body(rest), file, everything=True)
    if kind not in ("struct", "enum") or rest.find("{") < 0:
        return {}
    found = {}
    for part in split(body(rest), ","):
        marks, code = strip_attributes(part)
        match = re.match(r"\s*(pub\s+)?(?:r#)?(\w+)", code)
        if match and not HIDDEN.search(marks) and (kind == "enum" or match[1] or config):
            found[match[2]] = ("variant" if kind == "enum" else "field", file)
    return found


def functions(text: str, file: str, everything: bool = False) -> dict[str, tuple[str, str]]:
    """The functions of an implementation or trait, public ones or all."""
    found = {}
    for part in split(text, ";"):
        attributes, code = strip_attributes(part)
        head = ITEM.match(code)
        if not head or head["kind"] != "fn" or HIDDEN.search(attributes):
            continue
        if everything or (head["pub"] or "").strip() == "pub":
            found[NAME.match(head["rest"])[1]] = ("method", file)  # type: ignore[index]
    return found


def self_type(header: str) -> str:
    """`<const D: usize> Tensor<D, Int>` → Tensor."""
    text = header.strip()
    if text.startswith("<"):
        depth = 0
        for here, mark in enumerate(text):
            depth += (mark == "<") - (mark == ">" and text[here - 1] != "-")
            if depth == 0:
                text = text[here + 1 :]
                break
    match = re.match(r"\s*&?\s*(?:\w+::)*(\w+)", text)
    return match[1] if match else ""


def use_tree(text: str, before: list[str]) -> list[tuple[list[str], str]]:
    """`a::{b as c, d::*}` → ([a, b], c) and ([a, d, *], *)."""
    text = text.strip()
    brace = text.find("{")
    if brace >= 0:
        path = [part.strip() for part in text[:brace].split("::") if part.strip()]
        inner = split(text[brace + 1 : text.rfind("}")], ",")
        return [one for part in inner for one in use_tree(part.rstrip(", \n"), [*before, *path])]
    if not text:
        return []
    path_, _, name = (part.strip() for part in text.partition(" as "))
    path = [*before, *(part.strip() for part in path_.split("::"))]
    if path[-1] == "self":
        path = path[:-1]
    return [(path, name or path[-1])]


def locate(path: list[str], where: Module, top: Module) -> Module | None:
    """The module that a path inside the crate leads to."""
    for depth, part in enumerate(path):
        if part == "crate":
            where = top
        elif part == "super":
            if where.parent is None:
                return None
            where = where.parent
        elif part in where.modules:
            where = where.modules[part][1]
        elif part != "self":
            through = [use for use in where.uses if use[2] == part and use[1] != path[: depth + 1]]
            found = locate(through[0][1], where, top) if through else None
            if found is None:
                return None
            where = found
    return where


def exports(
    module: Module, top: Module, seen: frozenset[int] = frozenset()
) -> tuple[dict[str, Item], dict[str, Module]]:
    """What others see of a module: its items and modules by their public names."""
    if id(module) in seen:
        return {}, {}
    seen = seen | {id(module)}
    items = {name: item for name, (public, item) in module.items.items() if public}
    modules = {name: inner for name, (public, inner) in module.modules.items() if public}
    for public, path, name in module.uses:
        if not public:
            continue
        source = locate(path[:-1], module, top)
        if source is None:
            continue
        if name == "*":
            more_items, more_modules = exports(source, top, seen)
            items, modules = {**more_items, **items}, {**more_modules, **modules}
        elif path[-1] in source.modules:
            modules.setdefault(name, source.modules[path[-1]][1])
        elif path[-1] in source.items:
            items.setdefault(name, source.items[path[-1]][1])
        else:
            item = exports(source, top, seen)[0].get(path[-1])
            if item is not None:
                items.setdefault(name, item)
    return items, modules


def every(module: Module) -> list[Module]:
    return [module, *(one for _, inner in module.modules.values() for one in every(inner))]


def attach(top: Module) -> None:
    """Give each type the public methods of its implementations, wherever in the crate these are."""
    modules = every(top)
    for module in modules:
        for name, text, file in module.impls:
            owners = [module.items[name][1]] if name in module.items else []
            owners = owners or [other.items[name][1] for other in modules if name in other.items]
            for owner in owners[:1]:
                for method, known in functions(text, file).items():
                    owner.members.setdefault(method, known)


def public_names(source: Path) -> dict[str, list[tuple[str, str]]]:
    """By file, the kinds and paths of a crate's public names; of files that have none, nothing."""
    top = read(source / "src" / "lib.rs", source / "src", source)
    attach(top)
    shortest: dict[int, tuple[str, Item]] = {}
    queue: list[tuple[str, Module]] = [("", top)]
    visited: set[int] = set()
    while queue:
        path, module = queue.pop(0)
        if id(module) in visited:
            continue
        visited.add(id(module))
        items, modules = exports(module, top)
        for name, item in items.items():
            shortest.setdefault(id(item), (path + name, item))
        queue += [(f"{path}{name}::", inner) for name, inner in modules.items()]
    by_file = {path.relative_to(source).as_posix(): [] for path in (source / "src").rglob("*.rs")}  # type: dict[str, Any]
    for path, item in shortest.values():
        by_file.setdefault(item.file, []).append((item.kind, path))
        for member, (kind, file) in item.members.items():
            by_file.setdefault(file, []).append((kind, f"{path}::{member}"))
    return {file: sorted(set(by_file[file]), key=lambda one: one[1]) for file in sorted(by_file)}


def main(sources: Path) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    total = 0
    for crate in CRATES:
        names = public_names(sources / f"{crate}-{VERSION}")
        lines = [f"# The public names of {crate} {VERSION}, by source file; made by tests/names/collect.py"]
        for file, known in names.items():
            lines += [file, *(f"  {kind} {path}" for kind, path in known)]
        (OUT / f"{crate}.txt").write_text("\n".join(lines) + "\n", "utf-8")
        count = sum(len(known) for known in names.values())
        total += count
        print(f"{crate:16} {count:5}")
    print(f"{'':16} {total:5}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).expanduser())
