"""How a tensor looks in a terminal: its values, then what it is.

    FloatTensor([[1.0, 2.5],
                 [3.0, 4.0]], shape=[2, 2], dtype=F32, backend=autodiff<numpy>, device=cpu, requires grad)

Burn prints the same facts: data, shape, device, backend, kind, dtype.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from minburn.dtype import DType
from minburn.tensor.check import TensorError, as_int

if TYPE_CHECKING:
    from minburn.tensor.tensor import Tensor


class PrintOptions:
    """precision: digits behind the point. threshold: elements above which a tensor is summarized; edge_items: how many
    are then shown at either end."""

    __slots__ = ("edge_items", "precision", "threshold")

    def __init__(self, precision: int = 4, threshold: int = 1000, edge_items: int = 3) -> None:
        for name, value in (("precision", precision), ("threshold", threshold), ("edge_items", edge_items)):
            if as_int("PrintOptions", name, value) < 0:
                raise TensorError(f"PrintOptions: {name} is 0 or more, but got {value}.")
        self.precision, self.threshold, self.edge_items = precision, threshold, edge_items


_options = [PrintOptions()]


def set_print_options(options: PrintOptions) -> None:
    """How tensors look from now on, in the whole program."""
    if not isinstance(options, PrintOptions):
        raise TensorError(f"set_print_options: expected PrintOptions, but got {type(options).__name__} {options!r}.")
    _options[0] = options


def tensor_repr(tensor: Tensor) -> str:
    head = f"{type(tensor).__name__}("
    facts = [
        f"shape={list(tensor.shape)}",
        f"dtype={tensor.dtype}",
        f"backend={tensor.backend.name}",
        f"device={tensor.device}",
    ]
    if tensor.kind == "float" and tensor.backend.is_autodiff:
        if tensor.is_require_grad:  # type: ignore[attr-defined]
            facts.append("requires grad")
        elif tensor.is_tracked:  # type: ignore[attr-defined]
            facts.append("tracked")
    array, options = tensor.numpy(), _options[0]
    values = np.array2string(
        array.astype(np.float32) if tensor.dtype == DType.BF16 else array,  # NumPy cannot shorten BF16
        max_line_width=100,
        precision=options.precision,
        separator=", ",
        prefix=head,
        threshold=options.threshold,
        edgeitems=options.edge_items,
        floatmode="maxprec",
    )
    return f"{head}{values}, {', '.join(facts)})"
