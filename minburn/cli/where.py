"""Where something is: in minburn, and in Burn.

    minburn where Linear            a class or function, under either name
    minburn where float_add         an op: its place in the protocol, the implementations, the gradient
    minburn where ModuleOptimizer   what Burn calls otherwise
    minburn where step_multi        what is not here, and why
    minburn where masked_fill       a method of PyTorch's that is called otherwise

It knows Burn's public names, and reads the sources: definitions, and what docstrings say of Burn (`names/`).
"""

from __future__ import annotations

import argparse
import difflib
import re

from minburn.cli.error import CommandError
from minburn.cli.names.burn import Name, called, names
from minburn.cli.names.index import Place, index
from minburn.cli.names.match import Match
from minburn.hints import MODULE, TENSOR

HELP = "where a name is, in minburn and in Burn"
TABLES = {"float": "FloatTensorOps", "int": "IntTensorOps", "bool": "BoolTensorOps"}
OP_PREFIX = re.compile(r"^(?:\w+::)*(float|int|bool)_(\w+)$")
ATTRIBUTES = {"floats": "FloatTensorOps", "ints": "IntTensorOps", "bools": "BoolTensorOps"}
CLASS_OF_TABLE = {**ATTRIBUTES, "modules": "ModuleOps", "activations": "ActivationOps"}


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="a name of minburn's or Burn's")


def run(args: argparse.Namespace) -> int:
    asked: str = args.name
    burns, pytorchs = called(asked), from_pytorch(asked)
    places = dict.fromkeys(find(asked, [one for one in index() if one.kind in ("class", "function", "method")]))
    for match in (match for name in burns for match in name.matches()):
        places[match.definition] = None
    if not burns and not places and not pytorchs:  # perhaps a field, a constant or a module of ours
        places = dict.fromkeys(find(asked, list(index())))
    if not burns and not places and not pytorchs:
        raise CommandError(f"neither minburn nor the list of Burn's names has {asked!r}.{close_to(asked)}", status=1)
    inside = sorted(places, key=lambda place: place.name.startswith("minburn.cli."))  # last: not for users
    print("\n".join([*map(told, burns), *pytorchs, *map(str, inside)]))
    return 0


def from_pytorch(asked: str) -> list[str]:
    """What a method of PyTorch's is here."""
    tables = {"Tensor": TENSOR, "Module": MODULE}
    return [f"PyTorch's {owner}.{asked}: here {hints[asked]}" for owner, hints in tables.items() if asked in hints]


def told(name: Name) -> str:
    """What a name of Burn's is here, or why it is not."""
    what = f"Burn's {name.path} ({name.place})"
    matches = name.matches()
    if matches:
        return f"{what}: minburn's {', '.join(map(spelled, matches))}"
    return f"{what} is left out. {name.reason()}."


def spelled(match: Match) -> str:
    return f"{match.name}(…)" if match.how == "call" else f"{match.name}=" if match.how == "keyword" else match.name


def close_to(asked: str) -> str:
    """Up to three names that look like it."""
    known = {place.last for place in index()} | {name.path.rpartition("::")[2] for name in names()}
    close = difflib.get_close_matches(re.split(r"::|\.", asked)[-1], known, n=3)
    return f" Close: {', '.join(close)}." if close else ""


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
        return [p for p in places if p.last == last and f".{first}." in f".{p.name}." and is_public(p, parts)]
    top = [place for place in by_end if place.kind != "method"]
    ops = [place for table in ("ModuleOps", "ActivationOps") for place in op_places(table, dotted, places)]
    return [*top, *ops] or by_end


def is_public(place: Place, parts: list[str]) -> bool:
    """A method only where its class is named."""
    return place.kind != "method" or place.name.split(".")[-2] in parts


def op_places(table: str, op: str, places: list[Place]) -> list[Place]:
    """The protocol's line for an op, what implements it and what differentiates it."""
    op = {"not": "not_", "and": "and_", "or": "or_"}.get(op, op)
    kind = table.removesuffix("TensorOps")
    words = {"Float": ("Float", "Numeric", "Basic"), "Int": ("Int", "Numeric", "Basic"), "Bool": ("Bool", "Basic")}
    found = []
    for place in places:
        *_, owner, last = ["", *place.name.split(".")]
        if last == op and place.name.startswith("minburn.backends.") and owner[:1].isupper():
            rule = ".autodiff." in place.name and kind not in ("Int", "Bool")
            of_tensors = any(word in owner for word in ("Float", "Int", "Bool", "Numeric", "Basic"))
            if rule or (any(word in owner for word in words[kind]) if kind in words else not of_tensors):
                found.append(place)
    protocols = (".base.", ".module_ops.")
    return sorted(found, key=lambda place: (not any(p in place.name for p in protocols), ".autodiff." in place.name))
