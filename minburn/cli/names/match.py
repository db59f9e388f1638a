"""Which of ours a name of Burn's is.

A name of Burn's is a crate and a path in it: `burn-optim`, `SgdConfig::momentum`. Its counterpart is, in this order,

    told        what names it in its docstring's "Burn:" sentence
    same        the definition of that name in the packages that stand for the crate
    member      the method, field, parameter or variant of that name, of what the path's owner is here
    op          for `FloatTensorOps::float_add` the op `add` of that table, or else the tensor's method, composed of ops
    call        for `new`, what the owner is here: it is called
    keyword     for `with_momentum` or `set_momentum`, the field or parameter `momentum` of what the owner is here

A docstring says `Optimizer` or `Tensor::equal_elem`: a member with its owner, anything else alone. Where the end of a
path is not enough, more of it is given, the crate first: `burn_pack::Tensor`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from minburn.cli.names.index import Place, exports, index

PACKAGES: dict[str, tuple[str, ...]] = {
    "burn-autodiff": ("backends",),
    "burn-backend": ("backends", "dtype", "tensor"),
    "burn-core": ("module", "data", "optim"),
    "burn-dataset": ("data",),
    "burn-derive": ("module", "optim"),
    "burn-einsum": ("tensor",),
    "burn-linalg": ("linalg",),
    "burn-nn": ("nn", "module"),
    "burn-optim": ("optim",),
    "burn-pack": ("pack",),
    "burn-signal": ("signal",),
    "burn-std": ("dtype", "tensor", "backends", "module"),
    "burn-store": ("store",),
    "burn-tensor": ("tensor", "backends", "dtype"),
    "burn-train": ("train",),
}
"""Where the names of a crate are looked for, below `minburn`."""

IN_PYTHON = {"len": "__len__", "is_empty": "__len__", "iter": "__iter__", "contains": "__contains__"}


@dataclass(frozen=True)
class Match:
    """A counterpart: a place, or a member of it, and how it was found."""

    place: Place
    member: str
    how: str

    @property
    def name(self) -> str:
        """`nn.LinearConfig.bias`: below `minburn`, as short as it can be imported."""
        return public(self.place) + (f".{self.member}" if self.member else "")

    @property
    def definition(self) -> Place:
        """Where the member is defined, if it has a definition of its own; or else the place."""
        wanted = [f"{one.name}.{self.member}" for one in ancestry(self.place)] if self.member else []
        return next((one for name in wanted for one in index() if one.name == name), self.place)


def match(crate: str, path: str) -> list[Match]:
    """The counterparts of a name of Burn's; none if there are none."""
    return list(_match(crate, path))


@functools.cache
def _match(crate: str, path: str) -> tuple[Match, ...]:
    owner, _, last = path.rpartition("::")
    told = [place for place in declared().get(last, ()) if tells(place, crate, path)]
    named = [] if is_type(owner) else same(crate, last)
    defined = [place for place in told if place.kind != "module"]  # the sentence of a file may name what it defines
    if defined or not named:
        named = defined or told
    if named or not is_type(owner):
        return tuple(Match(place, "", "told" if place in told else "same") for place in named)
    found = [one for above in _match(crate, owner) if not above.member for one in member(above.place, owner, last)]
    return tuple(found[:1])


def is_type(owner: str) -> bool:
    """Types begin with a capital, modules do not."""
    return owner.rsplit("::", 1)[-1][:1].isupper()


@functools.cache
def declared() -> dict[str, list[Place]]:
    """By the last parts of the names that docstrings give, the places that do."""
    found: dict[str, list[Place]] = {}
    for place in index():
        for name in place.own.names:
            found.setdefault(name.rsplit("::", 1)[-1], []).append(place)
    return found


def tells(place: Place, crate: str, path: str) -> bool:
    """Whether a name in the place's sentence means that path."""
    return any(means(place, name, crate, path) for name in place.own.names)


def means(place: Place, name: str, crate: str, path: str) -> bool:
    whole = f"{crate.replace('-', '_')}::{path}"
    if not f"::{whole}".endswith(f"::{name}"):
        return False
    if name.startswith("burn_"):
        return True
    crates = {one.split("/")[1] for one in place.own.places if one.startswith("crates/")}
    near = place.name.split(".")[1] in PACKAGES[crate] if "." in place.name else False
    a_member = is_type(path.rpartition("::")[0])
    return (crate in crates or near) and (not a_member or "::" in name)


@functools.cache
def by_last() -> dict[str, list[Place]]:
    """Classes, functions, modules and values by name."""
    found: dict[str, list[Place]] = {}
    for place in index():
        if place.kind in ("class", "function", "value"):
            found.setdefault(place.last, []).append(place)
    return found


def same(crate: str, name: str) -> list[Place]:
    """Definitions under that name: in the first of the crate's packages that has one, and there the outermost."""
    for package in PACKAGES[crate]:
        for spelled in (name, f"{name}_"):
            near = [one for one in by_last().get(spelled, ()) if one.name.startswith(f"minburn.{package}.")]
            given = [one for one in near if one.last in exports(one.name.rpartition(".")[0])]
            found = given or [one for one in near if one.kind == "class"]
            if found:
                outermost = min(public(one).count(".") for one in found)
                return [one for one in found if public(one).count(".") == outermost]
    return []


def member(place: Place, owner: str, name: str) -> list[Match]:
    """What `owner::name` is here, where the owner is that place."""
    family = ancestry(place)
    for spelled in (name, f"{name}_", IN_PYTHON.get(name, name)):
        for one in family:
            if spelled in one.members:
                return [Match(place, spelled, "member")]
    if name[:1].isupper():  # a variant: a value of the class, or a class built on it
        for one in family:
            for known in one.members:
                if known.replace("_", "").lower() == name.lower():
                    return [Match(place, known, "member")]
        built = [one for one in by_last().get(name, ()) if one != place and place in ancestry(one)]
        return [Match(one, "", "member") for one in built]
    if owner.endswith("TensorOps"):
        kind = owner.rpartition("::")[2].removesuffix("TensorOps")
        op = name.removeprefix(f"{kind.lower()}_")
        for spelled in (op, f"{op}_"):
            if any(spelled in one.members for one in family):
                return [Match(place, spelled, "op")]
        return of_tensor(f"{kind}Tensor", op)
    if name == "new" and place.kind in ("class", "function"):
        return [Match(place, "", "call")]
    if name.startswith(("with_", "set_")):
        option = name.partition("_")[2]
        for spelled in (option, f"{option}_", f"{option}s", f"{option}es"):
            if any(one.members.get(spelled) in ("field", "parameter") for one in family):
                return [Match(place, spelled, "keyword")]
    return []


def of_tensor(kind: str, op: str) -> list[Match]:
    """The op as a method of that kind of tensor."""
    for place in by_last().get(kind, ()):
        if any(op in one.members for one in ancestry(place)):
            return [Match(place, op, "op")]
    return []


@functools.cache
def ancestry(place: Place) -> tuple[Place, ...]:
    """A class and its bases in this package, nearest first."""
    family = [place]
    for one in family:
        for base in one.bases:
            known = [other for other in by_last().get(base, ()) if other.kind == "class" and other not in family]
            close = [other for other in known if other.name.split(".")[1] == one.name.split(".")[1]]
            family += (close or known)[:1]
    return tuple(family)


@functools.cache
def public(place: Place) -> str:
    """Where one imports it from: the outermost package that gives it, below `minburn`."""
    if place.kind in ("method", "field"):
        owner = next(one for one in index() if one.name == place.name.rpartition(".")[0] and one.kind == "class")
        return f"{public(owner)}.{place.last}"
    if place.kind == "module":
        return place.name.removeprefix("minburn.")
    module = place.name.rpartition(".")[0]
    parts = module.split(".")
    for depth in range(2, len(parts)):
        package = ".".join(parts[:depth])
        if exports(package).get(place.last) == module:
            return f"{package}.{place.last}".removeprefix("minburn.")
    return place.name.removeprefix("minburn.")
