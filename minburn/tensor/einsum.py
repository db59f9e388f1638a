"""`Tensor.einsum`: sums of products, told by the labels of their axes.

    "ij,jk->ik"    out[i, k] = Σ_j a[i, j] b[j, k]        "ii->i"    the diagonal        "...ij->...ji"    transposed

An equation is parsed into a label per axis; the axes of "..." get labels of their own, counted from the right, so that
everything after it treats them as ordinary ones. Then the operands are contracted from left to right. A label that is
neither in the output nor in a later operand is done with: it is summed on the side that has it; if both have it, it
becomes the inner dimension of one matrix product, [kept by both, of the left, summed] × [kept by both, summed, of the
right]. Where nothing is to be summed, the product is elementwise. Only differentiable ops are used.

Burn: `crates/burn-einsum`, `crates/burn-tensor/src/tensor/api/einsum/`.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from minburn.tensor import kinds
from minburn.tensor.check import KindError, ShapeError, TensorError, show

ELLIPSIS = "..."


@dataclass(frozen=True, slots=True)
class Term:
    """A tensor and a label for each of its axes; a scalar has none, and shape [1].

    Burn: `InputPlan` in `crates/burn-einsum/src/plan.rs`.
    """

    tensor: Any
    labels: tuple[str, ...]

    def size(self, label: str) -> int:
        return self.tensor.shape[self.labels.index(label)] if label in self.labels else 1

    def sizes(self, labels: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(map(self.size, labels))

    def summed(self, labels: list[str]) -> Term:
        """Without these axes."""
        if not labels:
            return self
        kept = tuple(label for label in self.labels if label not in labels)
        total = self.tensor.sum_dims([self.labels.index(label) for label in labels])
        return Term(reshaped(total, self.sizes(kept)), kept)

    def ordered(self, labels: tuple[str, ...]) -> Any:
        """The tensor with its axes in that order; labels it lacks have size 1."""
        own = [label for label in labels if label in self.labels]
        moved = self.tensor.permute([self.labels.index(label) for label in own]) if own else self.tensor
        return reshaped(moved, self.sizes(labels))


def einsum(equation: str, operands: list[Any]) -> Any:
    """`Tensor.einsum`, of tensors on one table. Burn: `einsum!`."""
    if not isinstance(equation, str):
        raise KindError(f"einsum: the equation must be a str, but got {type(equation).__name__} {equation!r}.")
    if operands[0].kind == "bool":
        raise KindError("einsum: bool tensors have no sums. Convert them with int() or float().")
    inputs, output = parse(equation)
    if len(inputs) != len(operands):
        raise TensorError(f"einsum: {equation!r} names {len(inputs)} operands, but got {len(operands)}.")
    terms = [labelled(index, *pair) for index, pair in enumerate(zip(operands, inputs, strict=True))]
    check_sizes(terms)
    width = max((int(label[1:]) for term in terms for label in term.labels if label[0] == "."), default=0)
    target = expanded(output, width)
    result = terms[0]
    for index, term in enumerate(terms[1:], 2):
        needed = {*target, *(label for later in terms[index:] for label in later.labels)}
        result = product(result, term, needed)
    result = result.summed([label for label in result.labels if label not in target])
    return result.ordered(target)


def parse(equation: str) -> tuple[list[list[str]], list[str]]:
    """The labels of each operand and of the output; "..." is one of them.

    Errors: TensorError for what is no equation, naming the place.
    """
    left, arrow, right = equation.partition("->")
    if "->" in right:
        raise TensorError(f"einsum: {equation!r} has more than one '->'.")
    inputs = []
    start = 0
    for part in left.split(","):
        inputs.append(tokens(equation, part, start))
        start += len(part) + 1
    everything = Counter(label for labels in inputs for label in labels)
    if not arrow:
        once = sorted(label for label, count in everything.items() if count == 1 and label != ELLIPSIS)
        return inputs, [ELLIPSIS, *once] if ELLIPSIS in everything else once
    output = tokens(equation, right, len(left) + 2)
    for label, count in Counter(output).items():
        if count > 1:
            raise TensorError(f"einsum: output label {label!r} appears more than once in the output of {equation!r}.")
        if label not in everything and label != ELLIPSIS:
            raise TensorError(f"einsum: output label {label!r} does not appear in any operand of {equation!r}.")
    return inputs, output


def tokens(equation: str, text: str, start: int) -> list[str]:
    """The labels of one operand, which stands at `start` of the equation."""
    found: list[str] = []
    at = 0
    while at < len(text):
        sign = text[at]
        if text.startswith(ELLIPSIS, at):
            if ELLIPSIS in found:
                raise TensorError(f"einsum: more than one '...' in an operand of {equation!r}, at {start + at}.")
            found.append(ELLIPSIS)
            at += 2
        elif sign.isascii() and sign.isalpha():
            found.append(sign)
        elif sign != " ":
            what = "a dot that is not part of '...'" if sign == "." else f"{sign!r}"
            raise TensorError(f"einsum: {what} at {start + at} of {equation!r}. Labels are the letters a-z and A-Z.")
        at += 1
    return found


def expanded(labels: list[str], width: int) -> tuple[str, ...]:
    """The labels with "..." replaced by as many axes, counted from the right: ".2", ".1"."""
    axes = [f".{place}" for place in range(width, 0, -1)]
    return tuple(axis for label in labels for axis in (axes if label == ELLIPSIS else [label]))


def labelled(index: int, tensor: Any, labels: list[str]) -> Term:
    """The operand with a label for each axis, diagonals taken where a label repeats."""
    named = len(labels) - labels.count(ELLIPSIS)
    if not labels:
        if tensor.shape != (1,):
            raise ShapeError(f"einsum: the scalar operand {index} must have shape [1], but has {show(tensor.shape)}.")
        return Term(tensor, ())
    if (tensor.rank < named) if ELLIPSIS in labels else (tensor.rank != named):
        raise ShapeError(
            f"einsum: operand {index} has shape {show(tensor.shape)}, but {named} labels"
            f"{' and an ellipsis' if ELLIPSIS in labels else ''}. Each axis needs a label."
        )
    names = list(expanded(labels, tensor.rank - named))
    while len(set(names)) < len(names):
        label = next(name for name in names if names.count(name) > 1)
        first, second = [place for place, name in enumerate(names) if name == label][:2]
        tensor = diagonal(index, label, tensor, first, second)
        del names[second]
    return Term(reshaped(tensor, tensor.shape), tuple(names))


def diagonal(index: int, label: str, tensor: Any, first: int, second: int) -> Any:
    """Elements whose indices along the two axes are equal, along the first one."""
    size = tensor.shape[first]
    if size != tensor.shape[second]:
        raise ShapeError(
            f"einsum: label {label!r} of operand {index} repeats with sizes {size} and {tensor.shape[second]}. "
            "Along a diagonal they must be equal."
        )
    last = tensor.movedim([first, second], [-2, -1])
    flat = reshaped(last, (*last.shape[:-2], size * size))
    places = kinds.IntTensor.arange(0, size * size, tensor.backend, size + 1)
    return flat.select(-1, places).movedim(-1, first)


def reshaped(tensor: Any, shape: tuple[int, ...]) -> Any:
    """The tensor with that shape, where a 0 means 0; a scalar has shape [1]."""
    return tensor._with(tensor.ops.reshape(tensor.primitive, shape or (1,)))


def check_sizes(terms: list[Term]) -> None:
    """Sizes of a label in several operands are equal or 1."""
    seen: dict[str, tuple[int, int]] = {}
    for index, term in enumerate(terms):
        for label, size in zip(term.labels, term.tensor.shape, strict=False):
            other, known = seen.get(label, (index, 1))
            if size != known and 1 not in (size, known):
                what = f"axis {label[1:]} of the ellipsis from the right" if label[0] == "." else f"label {label!r}"
                raise ShapeError(
                    f"einsum: {what} has size {known} in operand {other}, but {size} in operand {index}. Sizes must be "
                    "equal, or 1."
                )
            if label not in seen or known == 1:
                seen[label] = (index, size)


def product(left: Term, right: Term, needed: set[str]) -> Term:
    """Σ left · right over the labels that are not needed any more."""
    done = [label for label in dict.fromkeys((*left.labels, *right.labels)) if label not in needed]
    # What one side lacks, or has with size 1, is a factor of the other side's sum.
    alone = [label for label in done if 1 in (left.size(label), right.size(label))]
    left = left.summed([label for label in alone if label in left.labels])
    right = right.summed([label for label in alone if label in right.labels])
    inner = tuple(label for label in done if label in left.labels and label in right.labels)
    both = tuple(label for label in left.labels if label in right.labels and label in needed)
    of_left = tuple(label for label in left.labels if label not in right.labels)
    of_right = tuple(label for label in right.labels if label not in left.labels)
    labels = both + of_left + of_right
    if not inner:
        return Term(left.ordered(labels) * right.ordered(labels), labels)
    rows, depth, columns = (
        math.prod(left.sizes(of_left)),
        math.prod(left.sizes(inner)),
        math.prod(right.sizes(of_right)),
    )
    lhs = reshaped(left.ordered(both + of_left + inner), (*left.sizes(both), rows, depth))
    rhs = reshaped(right.ordered(both + inner + of_right), (*right.sizes(both), depth, columns))
    result = lhs.matmul(rhs)
    return Term(reshaped(result, (*result.shape[: len(both)], *left.sizes(of_left), *right.sizes(of_right))), labels)
