"""What minburn defines, read from its sources, and what their docstrings say of Burn.

A docstring may have a sentence that begins with "Burn:". It starts with the names that Burn has for the thing, if these
are others, in marks of code: `Optimizer`, `Tensor::equal_elem`. What else is in such marks are places, as
`crates/…`, or mere words. A class or function whose own docstring says nothing is where its class or file says.
"""

from __future__ import annotations

import ast
import functools
import re
from dataclasses import dataclass, field
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent.parent
SENTENCE = re.compile(r"(?<! in )\bBurn:\s((?:`[^`]*`|[^.`]|\.(?=\w))+)")
LEADING = re.compile(r"`[^`/]+`(?:(?:, (?:and )?| and )`[^`/]+`)*")
CODE = re.compile(r"`([^`]+)`")
DUNDERS = ("__or__", "__len__", "__iter__", "__getitem__", "__call__", "__contains__")


@dataclass(frozen=True)
class Burn:
    """A "Burn:" sentence: its words, and the names and places in it."""

    text: str = ""
    names: tuple[str, ...] = ()
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class Place:
    """A definition: `minburn.nn.linear.Linear`, its kind, file and line, what its own docstring says of Burn (`own`),
    and what that or the one around it says (`burn`)."""

    name: str
    kind: str
    file: str
    line: int
    own: Burn
    burn: Burn
    members: dict[str, str] = field(default_factory=dict, compare=False)
    bases: tuple[str, ...] = ()

    @property
    def last(self) -> str:
        return self.name.rsplit(".", 1)[-1]

    def __str__(self) -> str:
        told = f"\n      Burn: {self.burn.text}" if self.burn.text else ""
        return f"  {self.name}\n      {self.file}:{self.line}{told}"


def sentence(doc: str | None) -> Burn:
    """What a docstring says of Burn; of several sentences, all."""
    found = [" ".join(words.split()) for words in SENTENCE.findall(doc or "")]
    leading = [match[0] for match in map(LEADING.match, found) if match]
    names = [name for text in leading for name in CODE.findall(text)]
    places = [code for text in found for code in CODE.findall(text) if "/" in code]
    return Burn("; ".join(found).replace("`", ""), tuple(names), tuple(places))


@dataclass(frozen=True)
class Source:
    """A file: what it defines, what it imports by which name, and which names it gives to others."""

    places: tuple[Place, ...]
    imported: dict[str, tuple[str, str]]
    stars: tuple[str, ...]
    given: tuple[str, ...]


@functools.cache
def index() -> tuple[Place, ...]:
    """All modules, classes, functions, methods, fields and values of the package, in the order of files."""
    return tuple(place for path in sorted(PACKAGE.rglob("*.py")) for place in read(path).places)


@functools.cache
def read(path: Path) -> Source:
    relative = path.relative_to(PACKAGE.parent)
    module, file = ".".join(relative.with_suffix("").parts).removesuffix(".__init__"), relative.as_posix()
    tree = ast.parse(path.read_text("utf-8"))
    own = sentence(ast.get_docstring(tree))
    places = [Place(module, "module", file, 1, own, own)]
    for node, doc in documented(tree.body):
        places += definition(node, doc, module, file, own)
    return Source(tuple(places), *imports_and_exports(tree))


def definition(node: ast.stmt, doc: Burn, module: str, file: str, around: Burn) -> list[Place]:
    """A statement's places: a function, a value, or a class and what it holds."""
    burn = doc if doc.text else around
    if isinstance(node, ast.FunctionDef):
        return [Place(f"{module}.{node.name}", "function", file, node.lineno, doc, burn, parameters(node))]
    if not isinstance(node, ast.ClassDef):
        words = dict.fromkeys(literals(node), "value")
        return [Place(f"{module}.{name}", "value", file, node.lineno, doc, burn, words) for name in targets(node)]
    name = f"{module}.{node.name}"
    members: dict[str, str] = {}
    inside = []
    for part, part_doc in documented(node.body):
        part_burn = part_doc if part_doc.text else burn
        if isinstance(part, ast.FunctionDef):
            if part.name in ("__init__", "__new__"):
                members |= {one: "parameter" for one in parameters(part) if one not in members} | set_on_self(part)
            elif not part.name.startswith("_") or part.name in DUNDERS:
                members[part.name] = "method"
                place = Place(f"{name}.{part.name}", "method", file, part.lineno, part_doc, part_burn, parameters(part))
                inside.append(place)
        for target in targets(part):
            members[target] = "field"
            inside.append(Place(f"{name}.{target}", "field", file, part.lineno, part_doc, part_burn))
    bases = tuple(ast.unparse(base).partition("[")[0].rsplit(".", 1)[-1] for base in node.bases)
    return [Place(name, "class", file, node.lineno, doc, burn, members, bases), *inside]


def documented(body: list[ast.stmt]) -> list[tuple[ast.stmt, Burn]]:
    """Statements with what their docstrings say; a value's is the text after it."""
    found = []
    for node, after in zip(body, [*body, None][1:], strict=True):
        doc = None
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            doc = ast.get_docstring(node)
        elif isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            doc = after.value.value if isinstance(after.value.value, str) else None
        found.append((node, sentence(doc)))
    return found


def parameters(node: ast.FunctionDef) -> dict[str, str]:
    every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    return {one.arg: "parameter" for one in every if one.arg not in ("self", "cls")}


def set_on_self(node: ast.FunctionDef) -> dict[str, str]:
    """`self.name = …`"""
    return {
        target.attr: "field"
        for part in ast.walk(node)
        for target in (part.targets if isinstance(part, ast.Assign) else [getattr(part, "target", None)])
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
    }


def targets(node: ast.stmt) -> list[str]:
    """The public names that an assignment gives."""
    if isinstance(node, ast.Assign):
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        names = [node.target.id]
    else:
        return []
    return [name for name in names if not name.startswith("_")]


def literals(node: ast.stmt) -> list[str]:
    """The texts in `Literal["mean", "sum"]`, of a value that is one or has one among others."""
    found = [part for part in ast.walk(node) if isinstance(part, ast.Subscript)]
    texts = [text for part in found if getattr(part.value, "id", "") == "Literal" for text in ast.walk(part.slice)]
    return [part.value for part in texts if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def imports_and_exports(tree: ast.Module) -> tuple[dict[str, tuple[str, str]], tuple[str, ...], tuple[str, ...]]:
    """Names taken from this package, by what they are called here, with where from; modules of which all is taken; and
    the names given: `__all__`, with those taken `as` themselves, or else all definitions without an underscore."""
    body = [part for node in tree.body for part in (node.body if isinstance(node, ast.If) else [node])]  # TYPE_CHECKING
    imported: dict[str, tuple[str, str]] = {}
    stars, given = [], []
    for node in body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("minburn."):
            stars += [str(node.module) for alias in node.names if alias.name == "*"]
            given += [alias.name for alias in node.names if alias.asname == alias.name]
            imported |= {alias.asname or alias.name: (str(node.module), alias.name) for alias in node.names}
        elif isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "__all__" for target in node.targets):
            given += [str(part.value) for part in ast.walk(node.value) if isinstance(part, ast.Constant)]
    if not stars and not given:
        given = [name for node in body for name in [*targets(node), getattr(node, "name", "_")] if name[:1] != "_"]
    return imported, tuple(stars), tuple(given)


@functools.cache
def exports(module: str) -> dict[str, str]:
    """The public names of a module or package, each with the module that defines it."""
    base = PACKAGE.parent.joinpath(*module.split("."))
    source = read(base / "__init__.py" if base.is_dir() else base.with_suffix(".py"))
    found: dict[str, str] = {}
    for star in source.stars:
        found |= exports(star)
    for name in source.given:
        origin, known = source.imported.get(name, (module, name))
        found[name] = module if origin == module else exports(origin).get(known, origin)
    return found
