"""What recurrent layers share: checks, the order of the steps, and one direction beside the other.

Inside, time comes first: x [L, N, d]. The input transforms of all steps are one product before the first step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from minburn.module import ConfigError
from minburn.tensor import FloatTensor, KindError, ShapeError, Tensor

S = TypeVar("S")


def check_clip(layer: str, clip: float | None) -> None:
    if clip is not None and (isinstance(clip, bool) or not math.isfinite(clip) or clip <= 0):
        raise ConfigError(f"{layer}: clip must be a finite number greater than 0, or None, but got {clip}.")


def clipped(x: FloatTensor, clip: float | None) -> FloatTensor:
    return x if clip is None else x.clamp(-clip, clip)


def time_first(layer: str, x: FloatTensor, d_input: int, batch_first: bool) -> FloatTensor:
    """x as [L, N, d_input]. Errors: KindError unless it is a float tensor, ShapeError unless it has that shape."""
    if not isinstance(x, FloatTensor):
        raise KindError(f"{layer}: the input must be a float tensor, but got {type(x).__name__}.")
    order = f"[N, L, {d_input}]" if batch_first else f"[L, N, {d_input}]"
    if x.rank != 3 or x.shape[2] != d_input:
        raise ShapeError(f"{layer}: the input must have shape {order}, but has {list(x.shape)}.")
    if x.shape[1 if batch_first else 0] == 0:
        raise ShapeError(f"{layer}: the input has shape {list(x.shape)}, a sequence of no steps. Give one or more.")
    return x.swap_dims(0, 1) if batch_first else x


def in_order(outputs: FloatTensor, batch_first: bool) -> FloatTensor:
    """outputs [L, N, h] in the order of the input."""
    return outputs.swap_dims(0, 1) if batch_first else outputs


def start(layer: str, name: str, given: FloatTensor | None, x: FloatTensor, d_hidden: int) -> FloatTensor:
    """The state [N, d_hidden] before the first step of x [L, N, d]: zeros, unless it is given."""
    shape = (x.shape[1], d_hidden)
    if given is None:
        return Tensor.zeros(shape, x.backend, x.dtype)  # type: ignore[no-any-return]
    if not isinstance(given, FloatTensor):
        raise KindError(f"{layer}: the {name} state must be a float tensor, but got {type(given).__name__}.")
    if given.shape != shape:
        raise ShapeError(f"{layer}: the {name} state must have shape {list(shape)}, but has {list(given.shape)}.")
    return given


def parts_of(layer: str, state: Any, kind: type[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The tensors of a state, or as many None. Errors: KindError for a state of another kind."""
    if state is None:
        return (None,) * len(kind.__annotations__)
    if not isinstance(state, kind):
        raise KindError(f"{layer}: the state must be an nn.{kind.__name__} or None, but got {type(state).__name__}.")
    return state


def step_of(x: FloatTensor, index: int) -> FloatTensor:
    """One step [N, d] of [L, N, d]."""
    return x.slice(slice(index, index + 1)).squeeze_dim(0)


def unrolled(
    length: int, reverse: bool, state: S, step: Callable[[int, S], tuple[FloatTensor, S]]
) -> tuple[FloatTensor, S]:
    """The outputs [L, N, h] of `step(index, state) -> (output, state)`, and the last state.

    reverse: from the last step to the first; each output lies where its input lay.
    """
    outputs = []
    for index in reversed(range(length)) if reverse else range(length):
        output, state = step(index, state)
        outputs.append(output)
    return Tensor.stack(outputs[::-1] if reverse else outputs, 0), state


def directions(layer: str, name: str, state: FloatTensor | None) -> Sequence[FloatTensor | None]:
    """A state [2, N, h] of a layer with two directions as that of each."""
    if state is None:
        return None, None
    if not isinstance(state, FloatTensor):
        raise KindError(f"{layer}: the {name} state must be a float tensor, but got {type(state).__name__}.")
    if state.rank != 3 or state.shape[0] != 2:
        raise ShapeError(
            f"{layer}: the {name} state must have shape [2, N, d_hidden], one for each direction, but has "
            f"{list(state.shape)}."
        )
    return step_of(state, 0), step_of(state, 1)


def beside(forward: FloatTensor, reverse: FloatTensor) -> FloatTensor:
    """Both directions' outputs [L, N, h] as [L, N, 2 · h]."""
    return Tensor.cat([forward, reverse], 2)


def stacked(forward: FloatTensor, reverse: FloatTensor) -> FloatTensor:
    """Both directions' states [N, h] as [2, N, h]."""
    return Tensor.stack([forward, reverse], 0)
