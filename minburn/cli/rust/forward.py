"""`forward` in Rust: written from runs of the Python, or a skeleton that says why not.

How it is known that the notes of a run are the model, and not only this one run: the pass runs again with other sizes
of the input, and its text must be the same but for numbers, which must follow from the sizes; every instance of a class
must take the same course (but for layers that are None in some, which must then have been left out there). Settings of
the model are varied, too: where a number follows from `self.rate`, that is written.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple

from minburn.cli.rust.courses import course_of, dim_name, example
from minburn.cli.rust.error import NotExpressible
from minburn.cli.rust.structs import KEYWORDS, TENSOR_KINDS, Classes, burns_base
from minburn.cli.rust.tokens import DEDENT, INDENT, NEWLINE, Number, Tokens, leaves, render
from minburn.cli.rust.trace import Shapes, SubCall, trace
from minburn.module import Module


class Forward(NamedTuple):
    """`pub fn forward`, its parameters' names and types, its result's type; why there is none."""

    text: str
    names: list[str]
    inputs: list[str]
    output: str
    why_not: str
    result: tuple[str, tuple[int, ...]] | None = None


def rust_tensor(classes: Classes, kind: str, rank: int) -> str:
    extra = TENSOR_KINDS[kind]
    argument = f", {classes.uses(f'burn::tensor::{extra}')}" if extra else ""
    return f"{classes.uses('burn::tensor::Tensor')}<{rank}{argument}>"


def write_forward(classes: Classes, cls: type[Module], calls: list[SubCall]) -> Forward:
    """The forward of a class, of which all calls are known, or the skeleton of one that says why."""
    names = parameter_names(cls)
    try:
        if not calls:
            raise NotExpressible("no input is known for it; --input gives one")
        return written(classes, cls, calls, names)
    except NotExpressible as why:
        return skeleton(classes, cls, calls[0].shapes if calls else None, names, str(why))


def written(classes: Classes, cls: type[Module], calls: list[SubCall], names: list[str]) -> Forward:
    call = max(calls, key=lambda one: sum(value is not None for value in one.module.__dict__.values()))
    module, shapes = call.module, call.shapes
    if len(names) < len(shapes):
        raise NotExpressible(f"it takes {len(names)} inputs, and {len(shapes)} are given")
    names = names[: len(shapes)]
    skippable = frozenset(
        name
        for name in cls._module_layout.table.names
        if isinstance(module.__dict__[name], Module) and any(one.module.__dict__[name] is None for one in calls)
    )
    course = course_of(classes, module, shapes, names, skippable)
    different = {(one.shapes, repr(one.module)): one for one in calls}  # as it prints: its settings and sizes
    for other in different.values():
        if other is not call:
            check_same(classes, call, other, names, skippable)
    traced = course.traced
    inputs = [rust_tensor(classes, kind, len(shape)) for kind, shape in shapes]
    output = rust_tensor(classes, traced.result.kind, len(traced.result.shape))
    remarks = [token for remark in course.remarks for token in (remark, NEWLINE)]
    head = remarks + preamble(course.tokens, names, shapes)
    text = signature(names, inputs, output) + render([INDENT, *head, *course.tokens, DEDENT, "}"], 1)
    return Forward(text, names, inputs, output, "", (traced.result.kind, traced.result.shape))


def check_same(classes: Classes, call: SubCall, other: SubCall, names: list[str], skippable: frozenset[str]) -> None:
    """NotExpressible unless the pass of `other` is that of `call`, without the layers that it does not have."""
    missing = frozenset(name for name in skippable if other.module.__dict__[name] is None)
    if [(kind, len(shape)) for kind, shape in other.shapes] != [(kind, len(shape)) for kind, shape in call.shapes]:
        raise NotExpressible("it is called with inputs of different kinds or ranks")
    wanted = course_of(classes, call.module, call.shapes, names, frozenset(), missing)
    its = course_of(classes, other.module, other.shapes, names, frozenset())
    if render(wanted.tokens) != render(its.tokens):
        raise NotExpressible("its instances do different things, or have different numbers in what they do")


def preamble(tokens: Tokens, names: list[str], shapes: Shapes) -> Tokens:
    """`let [n0, n1] = x.dims();` and the device, where they are used."""
    said = [str(leaf) for leaf in leaves(tokens)]
    used = {word for leaf in leaves(tokens) if isinstance(leaf, Number) and leaf.text for word in leaf.text.split()}
    head: Tokens = []
    for place, (name, (_, shape)) in enumerate(zip(names, shapes, strict=True)):
        dims = [dim_name(names, place, dim) for dim in range(len(shape))]
        if used & set(dims):
            listed = ", ".join(one if one in used else "_" for one in dims)
            head += [f"let [{listed}] = {name}.dims();", NEWLINE]
    if any("&device" in text for text in said):
        head += [f"let device = {names[0]}.device();", NEWLINE]
    return head


def parameter_names(cls: type[Module]) -> list[str]:
    forward = getattr(cls, "forward", None)
    if forward is None:
        return []
    names = list(inspect.signature(forward).parameters)[1:]
    return [f"{name}_" if name in KEYWORDS else name for name in names]


def signature(names: list[str], inputs: list[str], output: str) -> str:
    listed = "".join(f", {name}: {kind}" for name, kind in zip(names, inputs, strict=True))
    return f"    pub fn forward(&self{listed}) -> {output} {{"


def skeleton(classes: Classes, cls: type[Module], shapes: Shapes | None, names: list[str], why: str) -> Forward:
    """A forward to be filled in: why, and the Python."""
    forward = getattr(cls, "forward", None)
    try:
        source = textwrap.dedent(inspect.getsource(forward)) if forward is not None else ""
    except (OSError, TypeError):
        source = ""
    known = shapes is not None and len(shapes) <= len(names)
    pairs = list(zip(names, shapes, strict=False)) if known and shapes is not None else []
    inputs = [rust_tensor(classes, kind, len(shape)) for _, (kind, shape) in pairs] or [
        rust_tensor(classes, "float", 2)
    ]
    given = [f"_{name}" for name, _ in pairs] or [f"_{names[0]}" if names else "_x"]
    output = rust_tensor(classes, "float", output_rank(classes, cls, shapes) or 2)
    comment = [f"TO BE WRITTEN: {why}.", *(["The types are guesses. In Python it is", ""] if source else [])]
    lines = [f"    // {line}".rstrip() for line in [*comment, *(f"    {row}" for row in source.splitlines())]]
    text = "\n".join(lines) + f'\n{signature(given, inputs, output)}\n        todo!("{cls.__name__}::forward")\n    }}'
    return Forward(text, given, inputs, output, why)


def output_rank(classes: Classes, cls: type[Module], shapes: Shapes | None) -> int | None:
    """The rank of what the Python gives, if it runs on such inputs."""
    from minburn.backends import NumPy
    from minburn.tensor import Tensor

    try:
        backend = NumPy(seed=0)
        tensors = [Tensor.from_data(example(kind, shape), backend) for kind, shape in shapes or ()]
        forward: Callable[..., Any] = cls.forward  # type: ignore[attr-defined]
        result = forward(classes.instances[cls][0], *tensors)
    except Exception:  # it is only a guess
        return None
    return result.rank if isinstance(result, Tensor) else None


def write_forwards(classes: Classes, root: Module, shapes: Shapes | None) -> dict[type[Module], Forward]:
    """The forwards of the root and of all classes that it calls; those that nobody calls have none."""
    calls: dict[type[Module], list[SubCall]] = {type(root): []}
    if shapes is not None:
        collect_calls(SubCall(root, tuple(shapes), ("float", 2)), calls)
    found: dict[type[Module], Forward] = {}
    for cls, of_class in calls.items():
        if getattr(cls, "forward", None) is None:
            continue
        if burns_base(cls) is not None:  # a variant that is a layer of Burn's has one
            inputs = [rust_tensor(classes, kind, len(shape)) for kind, shape in of_class[0].shapes]
            found[cls] = Forward("", [], inputs, rust_tensor(classes, *of_class[0].result), "")
        else:
            found[cls] = write_forward(classes, cls, of_class)
    return found


def collect_calls(call: SubCall, calls: dict[type[Module], list[SubCall]]) -> None:
    """The call and all that it makes in turn, by class. What cannot be noted makes none."""
    calls.setdefault(type(call.module), []).append(call)
    if burns_base(type(call.module)) is not None:
        return
    try:
        inner = trace(call.module, call.shapes, example).calls
    except Exception:  # it is told where the class is written
        return
    for one in inner:
        collect_calls(one, calls)


def enum_forward(name: str, variants: list[type[Module]], forwards: dict[type[Module], Forward]) -> str | None:
    """A forward for the enum, from those of its variants."""
    known = [forwards.get(cls) for cls in variants]
    first = next((one for one in known if one is not None), None)
    if first is None:
        return None
    arguments = [f"x{index}" if index else "x" for index in range(len(first.inputs))]
    rows = []
    for cls, forward in zip(variants, known, strict=True):
        variant = cls._module_layout.variant
        same = forward is None or (forward.inputs, forward.output) == (first.inputs, first.output)
        does = (
            f"inner.forward({', '.join(arguments)})" if same and forward is not None else f'todo!("{name}::{variant}")'
        )
        rows.append(f"            {name}::{variant}({'inner' if 'inner' in does else '_'}) => {does},")
    head = signature(arguments, first.inputs, first.output)
    return "\n".join([f"impl {name} {{", head, "        match self {", *rows, "        }", "    }", "}"])
