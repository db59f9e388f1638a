"""How a tensor looks in a terminal: its values, then what it is.

    FloatTensor([[1.0, 2.5],
                 [3.0, 4.0]], shape=[2, 2], dtype=F32, backend=autodiff<numpy>, device=cpu, requires grad)

Burn prints the same facts: data, shape, device, backend, kind, dtype.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from minburn.dtype import DType

if TYPE_CHECKING:
    from minburn.tensor.tensor import Tensor

PRECISION = 4
SUMMARIZE_ABOVE = 1000


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
    array = tensor.numpy()
    values = np.array2string(
        array.astype(np.float32) if tensor.dtype == DType.BF16 else array,  # NumPy cannot shorten BF16
        max_line_width=100,
        precision=PRECISION,
        separator=", ",
        prefix=head,
        threshold=SUMMARIZE_ABOVE,
        edgeitems=3,
        floatmode="maxprec",
    )
    return f"{head}{values}, {', '.join(facts)})"
