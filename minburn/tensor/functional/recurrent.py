"""The recurrence of an LSTM, which a backend may fuse over all its steps. Ours: Burn unrolls it in the layer."""

from __future__ import annotations

from minburn.tensor import activation
from minburn.tensor.check import ShapeError, show
from minburn.tensor.kinds import FloatTensor
from minburn.tensor.lift import one_table


def lstm(
    gates: FloatTensor, weight: FloatTensor, hidden: FloatTensor, cell: FloatTensor
) -> tuple[FloatTensor, FloatTensor]:
    """i, f, o = σ(gates + hidden · weight), g = tanh(…); cell' = f · cell + i · g, hidden' = o · tanh(cell'), L times.

    gates [4, L, N, h]: what the input, forget, output and cell gate get from the input of each step. weight [4, h, h].
    hidden, cell [N, h]: before the first step. Gives (the hidden state after every step [L, N, h], the last cell).

    Errors: ShapeError for sizes that do not fit, or no steps.
    """
    for tensor in (gates, weight, hidden, cell):
        activation.check_float("lstm", tensor)
    gates, weight, hidden, cell = one_table("lstm", [gates, weight, hidden, cell])
    shape = gates.shape
    if len(shape) != 4 or shape[0] != 4 or shape[1] == 0:
        raise ShapeError(f"lstm: gates must have shape [4, L, N, h] with L > 0, but have {show(shape)}.")
    _, _, n, h = shape
    for name, tensor, wanted in (("weight", weight, (4, h, h)), ("hidden", hidden, (n, h)), ("cell", cell, (n, h))):
        if tensor.shape != wanted:
            raise ShapeError(
                f"lstm: gates of shape {show(shape)} need a {name} of shape {show(wanted)}, but it has "
                f"{show(tensor.shape)}."
            )
    hiddens, last = gates.backend.modules.lstm(gates.primitive, weight.primitive, hidden.primitive, cell.primitive)
    return gates._with(hiddens), gates._with(last)
