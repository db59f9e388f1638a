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

import numpy as np

from minburn.cli.rust.error import NotExpressible
from minburn.cli.rust.notes import course
from minburn.cli.rust.statements import Statements
from minburn.cli.rust.structs import KEYWORDS, TENSOR_KINDS, Classes, burns_base
from minburn.cli.rust.tokens import DEDENT, INDENT, NEWLINE, Number, Tokens, explain, leaves, render
from minburn.cli.rust.trace import Shapes, SubCall, Traced, trace
from minburn.module import Module


def example(kind: str, shape: tuple[int, ...]) -> Any:
    """An input for a run: a ramp, ones of tokens, no mask."""
    count = int(np.prod(shape))
    if kind == "float":
        return (np.arange(count, dtype=np.float32) / max(count, 1) - 0.5).reshape(shape)
    return np.zeros(shape, np.int32 if kind == "int" else np.bool_)


class Forward(NamedTuple):
    """`pub fn forward`, its parameters' names and types, its result's type, what the class calls; why there is none."""

    text: str
    names: list[str]
    inputs: list[str]
    output: str
    calls: list[SubCall]
    why_not: str
    result: tuple[str, tuple[int, ...]] | None = None


def rust_tensor(classes: Classes, kind: str, rank: int) -> str:
    extra = TENSOR_KINDS[kind]
    argument = f", {classes.uses(f'burn::tensor::{extra}')}" if extra else ""
    return f"{classes.uses('burn::tensor::Tensor')}<{rank}{argument}>"


def write_forward(classes: Classes, cls: type[Module], shapes: Shapes | None) -> Forward:
    """The forward of a class, or the skeleton of one that says why."""
    names = parameter_names(cls)
    try:
        if shapes is None:
            raise NotExpressible("no input is known for it; --input gives one")
        return written(classes, cls, shapes, names)
    except NotExpressible as why:
        return skeleton(classes, cls, shapes, names, str(why))


def written(classes: Classes, cls: type[Module], shapes: Shapes, names: list[str]) -> Forward:
    instances = distinct(classes.instances[cls])
    module = max(instances, key=lambda one: sum(value is not None for value in one.__dict__.values()))
    names = names[: len(shapes)]
    if len(names) < len(shapes):
        raise NotExpressible(f"it takes {len(names)} inputs, and {len(shapes)} are given")
    skippable = skipped_in_some(cls, module, instances)
    shapes = without_ones(module, shapes)

    def tokens_for(one: Module, sizes: Shapes) -> tuple[Tokens, Traced]:
        traced = trace(one, sizes, example)
        return Statements(classes, one, traced, skippable).body(names), traced

    try:
        tokens, traced = tokens_for(module, shapes)
    except NotExpressible:
        raise
    except Exception as error:
        raise NotExpressible(f"it raises {type(error).__name__}: {error}".split("\n")[0]) from error
    for other in instances:
        if other is not module:
            check_same(classes, other, shapes, names, skippable, traced)
    dims: dict[str, tuple[int, int]] = {
        dim_name(names, place, dim): (place, dim)
        for place, (_, shape) in enumerate(shapes)
        for dim in range(len(shape))
    }

    settings = {f"self.{name}": value for name, value in module.__dict__.items() if type(value) in (int, float, bool)}

    def vary(name: str, size: float) -> Tokens | None:
        if name in settings:
            try:
                return tokens_for(module.replace(**{name.removeprefix("self."): size}), shapes)[0]
            except Exception:  # the setting has one value that fits the parameters
                return None
        place, dim = dims[name]
        changed = [list(shape) for _, shape in shapes]
        changed[place][dim] = int(size)
        try:
            return tokens_for(module, [(kind, tuple(new)) for (kind, _), new in zip(shapes, changed, strict=True)])[0]
        except Exception:  # the size cannot be another one: it is a number of the model
            return None

    known = {name: shapes[place][1][dim] for name, (place, dim) in dims.items()}
    unexplained = explain(tokens, {**known, **settings}, vary).names
    if any(name in dims for name in unexplained):
        raise NotExpressible(f"its course depends on the size of its input ({', '.join(unexplained)})")
    notes = [f"// This is the course for {name} = {settings[name]}." for name in unexplained]
    inputs = [rust_tensor(classes, kind, len(shape)) for kind, shape in shapes]
    output = rust_tensor(classes, traced.result.kind, len(traced.result.shape))
    head = [token for note in notes for token in (note, NEWLINE)] + preamble(tokens, names, shapes)
    text = signature(names, inputs, output) + render([INDENT, *head, *tokens, DEDENT, "}"], 1)
    return Forward(text, names, inputs, output, traced.calls, "", (traced.result.kind, traced.result.shape))


def without_ones(module: Module, shapes: Shapes) -> Shapes:
    """Sizes of 1 raised where the model lets them be: a 1 that is a size looks like a 1 that was added."""
    for place, (kind, shape) in enumerate(shapes):
        for dim in range(len(shape)):
            if shape[dim] == 1:
                raised = (*shape[:dim], 3, *shape[dim + 1 :])
                other = [*shapes[:place], (kind, raised), *shapes[place + 1 :]]
                try:
                    trace(module, other, example)
                except Exception:  # it must be 1
                    continue
                shapes, shape = other, raised
    return shapes


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


def dim_name(names: list[str], place: int, dim: int) -> str:
    return f"n{dim}" if len(names) == 1 else f"{names[place]}_{dim}"


def distinct(modules: list[Module]) -> list[Module]:
    return list({id(module): module for module in modules}.values())


def skipped_in_some(cls: type[Module], module: Module, instances: list[Module]) -> frozenset[str]:
    """Fields with a layer that is None in other instances: these must leave it out, and nothing else."""
    return frozenset(
        name
        for name in cls._module_layout.table.names
        if isinstance(module.__dict__[name], Module) and any(one.__dict__[name] is None for one in instances)
    )


def check_same(
    classes: Classes, other: Module, shapes: Shapes, names: list[str], skippable: frozenset[str], traced: Traced
) -> None:
    """NotExpressible unless the pass of `other` is `traced` without the layers that it does not have."""
    missing = {name for name in skippable if other.__dict__[name] is None}
    try:
        its = trace(other, shapes, example)
    except NotExpressible:
        raise
    except Exception:  # called with other sizes than this instance takes: its numbers are not compared
        return
    if course(its, set()) != course(traced, missing):
        raise NotExpressible("its instances do different things")


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
    return Forward(text, given, inputs, output, [], why)


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
    found: dict[type[Module], Forward] = {}
    waiting = [SubCall(root, tuple(shapes), ("float", 2))] if shapes is not None else []
    if not waiting and getattr(root, "forward", None) is not None:
        found[type(root)] = write_forward(classes, type(root), None)
    while waiting:
        call = waiting.pop(0)
        cls = type(call.module)
        if cls in found or getattr(cls, "forward", None) is None:
            continue
        if burns_base(cls) is not None:  # a variant that is a layer of Burn's has one
            inputs = [rust_tensor(classes, kind, len(shape)) for kind, shape in call.shapes]
            found[cls] = Forward("", [], inputs, rust_tensor(classes, *call.result), [], "")
            continue
        found[cls] = write_forward(classes, cls, call.shapes)
        waiting += found[cls].calls
    return found


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
