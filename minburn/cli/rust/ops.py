"""How an op is written in Burn's tensor API.

A row takes the op's arguments, tensors already as Rust expressions, and gives the expression. Sizes stay `Number`s, so
that it can be seen which of them are sizes of the input.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minburn.cli.rust.error import NotExpressible
from minburn.cli.rust.structs import MAX_DATA, TENSOR_KINDS, joined, rust_number, sizes
from minburn.cli.rust.tokens import Number, Token, Tokens, words
from minburn.cli.rust.trace import Note, Value

Use = Callable[[str], str]
UNARY = words(
    "exp log log1p sqrt recip cos sin tan cosh sinh tanh acos asin atan acosh asinh atanh erf round floor ceil "
    "trunc abs sign sum mean prod max min any all detach is_nan is_inf"
)
BINARY_METHODS = words("matmul powf equal not_equal greater greater_equal lower lower_equal remainder atan2 hypot")
OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
SCALAR_OPERATORS = {f"{name}_scalar": symbol for name, symbol in OPERATORS.items()}
OF_ONE_NUMBER = words("powf_scalar powi_scalar remainder_scalar clamp_min clamp_max")
COMPARED = words("equal_elem not_equal_elem greater_elem greater_equal_elem lower_elem lower_equal_elem")
OF_ONE_DIM = words("sum_dim mean_dim prod_dim max_dim min_dim any_dim all_dim argmax argmin")
ACTIVATIONS = words(
    "relu gelu gelu_approximate silu sigmoid log_sigmoid leaky_relu hard_sigmoid softmax log_softmax softmin prelu"
)


def write_op(note: Note, args: list[Any], use: Use) -> Tokens:
    """args: those of the note, each Value replaced by the Tokens of its expression."""
    name = note.name
    first: Tokens = args[0] if args and isinstance(args[0], list) else []
    if note.table == "activations" and name in ACTIVATIONS:
        return [f"{use(f'burn::tensor::activation::{name}')}(", *joined([as_tokens(arg) for arg in args]), ")"]
    if note.table == "masks":
        return [f"{use(f'burn::nn::attention::{name}')}(", *joined([as_tokens(arg) for arg in args]), ", &device)"]
    if note.table == "modules":
        return write_module_op(note, args, use)
    if name in UNARY:
        return [*chained(first), f".{name}()"]
    if name in OPERATORS:
        return [*operand(args[0], OPERATORS[name]), f" {OPERATORS[name]} ", *chained(args[1])]
    if name in SCALAR_OPERATORS:
        return [*operand(first, SCALAR_OPERATORS[name]), f" {SCALAR_OPERATORS[name]} ", *scalar(args[1], note)]
    if name == "neg":
        return ["-", *chained(first)]
    if name in BINARY_METHODS:
        return [*chained(first), f".{name}(", *args[1], ")"]
    if name in OF_ONE_NUMBER:
        return [*chained(first), f".{name}(", *scalar(args[1], note), ")"]
    if name in COMPARED:
        return [*chained(first), f".{name}(", *scalar(args[1], note), ")"]
    if name in OF_ONE_DIM:
        return [*chained(first), f".{name}({args[1]})"]
    if name in WRITTEN:
        return WRITTEN[name](note, args, use)
    raise NotExpressible(f"it uses {note.table}.{name}, for which no Rust is known here")


def as_tokens(arg: Any) -> Tokens:
    return arg if isinstance(arg, list) else [Number(arg)]


def outermost(tokens: Tokens) -> str:
    """The text without what is in brackets: its operators are those that bind last."""
    depth, found = 0, []
    for letter in "".join(str(token) for token in tokens):
        depth += (letter in "([{") - (letter in ")]}")
        found.append(letter if depth == 0 else "")
    return "".join(found)


def chained(tokens: Tokens) -> Tokens:
    """In front of a `.method()`, or behind an operator."""
    text = outermost(tokens)
    binds_last = text[:1] == "-" or any(symbol in text for symbol in (" + ", " - ", " * ", " / "))
    return ["(", *tokens, ")"] if binds_last else tokens


def operand(tokens: Tokens, symbol: str) -> Tokens:
    """In front of an operator."""
    text = outermost(tokens)
    return ["(", *tokens, ")"] if symbol in "*/" and (" + " in text or " - " in text) else tokens


def scalar(value: Any, note: Note) -> Tokens:
    """A number that meets a tensor: one of floats needs a point."""
    first = note.args[0]
    of_floats = isinstance(first, Value) and first.kind == "float" and note.name != "powi_scalar"
    number = float(value) if of_floats and not isinstance(value, bool) else value
    tokens: Tokens = [Number(number)]
    return ["(", *tokens, ")"] if number < 0 and note.name in SCALAR_OPERATORS else tokens


def shape_of(note: Note) -> tuple[int, ...]:
    first = note.args[0]
    assert isinstance(first, Value)
    return first.shape


def write_reshape(note: Note, args: list[Any], use: Use) -> Tokens:
    """As what it was in the program, if that can be told: it then holds for other sizes, too."""
    before, after = shape_of(note), tuple(note.args[1])
    tensor = chained(args[0])
    if len(after) > len(before) and after[len(after) - len(before) :] == before:
        return [*tensor, f".unsqueeze::<{len(after)}>()"]
    if len(after) == len(before) + 1:
        for dim in range(len(after)):
            if after[dim] == 1 and after[:dim] + after[dim + 1 :] == before:
                return [*tensor, f".unsqueeze_dim::<{len(after)}>({dim})"]
    if len(before) == len(after) + 1:
        for dim in range(len(before)):
            if before[dim] == 1 and before[:dim] + before[dim + 1 :] == after:
                return [*tensor, f".squeeze_dim::<{len(after)}>({dim})"]
    merged = merged_dims(before, after)
    if merged is not None:
        return [*tensor, f".flatten::<{len(after)}>({merged[0]}, {merged[1]})"]
    return [*tensor, ".reshape(", *sizes(after), ")"]


def merged_dims(before: tuple[int, ...], after: tuple[int, ...]) -> tuple[int, int] | None:
    """The first and last of the dimensions that a flatten merged."""
    count = len(before) - len(after)
    for start in range(len(after)):
        end = start + count
        around = before[:start] == after[:start] and before[end + 1 :] == after[start + 1 :]
        if count > 0 and around and after[start] == math.prod(before[start : end + 1]):
            return start, end
    return None


def write_slice(note: Note, args: list[Any], use: Use) -> Tokens:
    shape = shape_of(note)
    parts: list[Tokens] = []
    for (start, end, step), size in zip(args[1], shape, strict=True):
        if step != 1:
            raise NotExpressible(f"it slices with step {step}")
        if (start, end) == (0, size):
            parts.append([".."])
        elif end == size:
            parts.append([Number(start), ".."])
        elif start == 0:
            parts.append(["..", Number(end)])
        else:
            parts.append([Number(start), "..", Number(end)])
    while len(parts) > 1 and parts[-1] == [".."]:
        parts.pop()
    macro = use("burn::tensor::s")
    return [*chained(args[0]), f".slice({macro}![", *joined(parts), "])"]


def write_from_data(note: Note, args: list[Any], use: Use) -> Tokens:
    """A constant made in the forward: a mask, or a few numbers."""
    data = np.asarray(note.args[0])
    kind = TENSOR_KINDS[{"floats": "float", "ints": "int", "bools": "bool"}[note.table]]
    extra = f", {use(f'burn::tensor::{kind}')}" if kind else ""
    name = f"{use('burn::tensor::Tensor')}::<{data.ndim}{extra}>"
    if kind == "Bool" and data.ndim == 2:
        for offset in range(1 - data.shape[0], data.shape[1]):
            for method, mask in (("tril_mask", np.triu), ("triu_mask", np.tril)):
                side = offset + 1 if method == "tril_mask" else offset - 1
                if (mask(np.ones(data.shape, bool), side) == data).all():
                    return [f"{name}::{method}(", *sizes(data.shape), ", ", Number(offset), ", &device)"]
    if data.size > MAX_DATA:
        raise NotExpressible(f"it makes a constant of shape {list(data.shape)}")
    numbers = ", ".join(rust_number(number) for number in data.reshape(-1).tolist())
    data_name = use("burn::tensor::TensorData")
    return [f"{name}::from_data({data_name}::new(vec![{numbers}], ", *sizes(data.shape), "), &device)"]


def write_filled(method: str) -> Callable[[Note, list[Any], Use], Tokens]:
    def write(note: Note, args: list[Any], use: Use) -> Tokens:
        kind = TENSOR_KINDS[{"floats": "float", "ints": "int"}.get(note.table, "bool")]
        if kind == "Bool":
            raise NotExpressible("it makes a bool tensor of zeros or ones")
        extra = f", {use(f'burn::tensor::{kind}')}" if kind else ""
        name = f"{use('burn::tensor::Tensor')}::<{len(args[0])}{extra}>"
        value: Tokens = [", ", Number(args[1])] if method == "full" else []
        return [f"{name}::{method}(", *sizes(args[0]), *value, ", &device)"]

    return write


def write_cat(note: Note, args: list[Any], use: Use) -> Tokens:
    return [f"{use('burn::tensor::Tensor')}::cat(vec![", *joined(args[0]), f"], {args[1]})"]


def method(form: str) -> Callable[[Note, list[Any], Use], Tokens]:
    """`.swap_dims({1}, {2})`: {n} is argument n."""

    def write(note: Note, args: list[Any], use: Use) -> Tokens:
        tokens: Tokens = [*chained(args[0])]
        for part in form.split("|"):
            if part.startswith("{"):
                argument = args[int(part[1:-1])]
                tokens += plain_or_sizes(argument)
            else:
                tokens.append(part)
        return tokens

    return write


def plain_or_sizes(argument: Any) -> Tokens:
    if isinstance(argument, list):
        return argument
    if isinstance(argument, tuple):
        return sizes(argument)
    if isinstance(argument, (bool, int, float)):
        return [Number(argument)]
    raise NotExpressible(f"it uses {argument!r}")


def write_var(note: Note, args: list[Any], use: Use) -> Tokens:
    if args[2] not in (0, 1):
        raise NotExpressible(f"it takes a variance with correction {args[2]}")
    return [*chained(args[0]), f".{'var' if args[2] else 'var_bias'}({args[1]})"]


def write_arange(note: Note, args: list[Any], use: Use) -> Tokens:
    start, end, step = args
    if step != 1:
        raise NotExpressible(f"it counts in steps of {step}")
    name = f"{use('burn::tensor::Tensor')}::<1, {use('burn::tensor::Int')}>"
    first: list[Token] = [Number(start)]
    return [f"{name}::arange(", *first, "..", Number(end), " as i64, &device)"]


WRITTEN: dict[str, Callable[[Note, list[Any], Use], Tokens]] = {
    "reshape": write_reshape,
    "slice": write_slice,
    "from_data": write_from_data,
    "zeros": write_filled("zeros"),
    "ones": write_filled("ones"),
    "full": write_filled("full"),
    "cat": write_cat,
    "arange": write_arange,
    "var_dim": write_var,
    "swap_dims": method(".swap_dims(|{1}|, |{2}|)"),
    "permute": method(".permute(|{1}|)"),
    "expand": method(".expand(|{1}|)"),
    "repeat_dim": method(".repeat_dim(|{1}|, |{2}|)"),
    "flip": method(".flip(|{1}|)"),
    "clamp": method(".clamp(|{1}|, |{2}|)"),
    "mask_fill": method(".mask_fill(|{1}|, |{2}|)"),
    "mask_where": method(".mask_where(|{1}|, |{2}|)"),
    "gather": method(".gather(|{2}|, |{1}|)"),
    "select": method(".select(|{2}|, |{1}|)"),
    "not_": method(".bool_not()"),
    "and_": method(".bool_and(|{1}|)"),
    "or_": method(".bool_or(|{1}|)"),
    "into_float": method(".float()"),
    "into_int": method(".int()"),
}


def write_module_op(note: Note, args: list[Any], use: Use) -> Tokens:
    """A functional layer with parameters of the model's own."""

    def optional(argument: Any) -> Tokens:
        return ["None"] if argument is None else ["Some(", *argument, ")"]

    name = f"burn::tensor::module::{note.name}"
    if note.name == "linear":
        return [f"{use(name)}(", *joined([args[0], args[1], optional(args[2])]), ")"]
    if note.name == "embedding":
        return [f"{use(name)}(", *joined([args[0], args[1]]), ")"]
    raise NotExpressible(f"it uses modules.{note.name}, for which no Rust is known here")
