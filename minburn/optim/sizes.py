"""Whether a recorded state fits its parameter."""

from __future__ import annotations

from collections.abc import Mapping

from minburn.tensor import FloatTensor


def check_sizes(
    tensor: FloatTensor, kept: Mapping[str, FloatTensor], shapes: Mapping[str, tuple[int, ...]] | None = None
) -> str | None:
    """What is wrong with a state's tensors, or None. shapes: where they are not that of the parameter."""
    for name, part in kept.items():
        wanted = tensor.shape if shapes is None else shapes[name]
        if part.shape != wanted:
            return f"its {name} has shape {list(part.shape)}, {list(wanted)} is needed"
        if part.ops is not tensor.ops:
            return f"its {name} is {part.dtype} on {part.device}, the parameter {tensor.dtype} on {tensor.device}"
    return None
