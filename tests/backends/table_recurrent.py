"""The rows of recurrences."""

from __future__ import annotations

from typing import Any

import numpy as np
from rows import Rows, f

ROWS = Rows("modules")
row = ROWS.add


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def train(gates: Any, weight: Any, hidden: Any, cell: Any) -> Any:
    """Step by step, as it is written down."""
    hiddens, cells, activated = [], [], []
    for at in range(gates.shape[1]):
        before = [gates[gate, at] + hidden @ weight[gate] for gate in range(4)]
        i, forget, o = map(sigmoid, before[:3])
        g = np.tanh(before[3])
        cell = forget * cell + i * g
        hidden = o * np.tanh(cell)
        hiddens.append(hidden)
        cells.append(cell)
        activated.append(np.stack([i, forget, o, g]))
    return np.stack(hiddens), cell, np.stack(activated, 1), np.stack(cells)


CASES: list[tuple[Any, ...]] = [
    (f(4, 3, 2, 5), f(4, 5, 5), f(2, 5), f(2, 5)),
    (f(4, 1, 2, 3), f(4, 3, 3), f(2, 3), f(2, 3)),
    (f(4, 2, 1, 1), f(4, 1, 1), f(1, 1), f(1, 1)),
    (f(2, 4, 3, 4).swapaxes(0, 1)[:, :, :, :3], f(4, 3, 3).swapaxes(1, 2), f(3, 3).T, f(3, 3).T),
    (f(4, 3, 0, 2), f(4, 2, 2), f(0, 2), f(0, 2)),
]
row("lstm", CASES, lambda *given: train(*given)[:2])
row("lstm_train", CASES, train)
row("lstm_backward", [
    (weight, hidden, cell, hiddens, activated, cells, *grads)
    for gates, weight, hidden, cell in CASES
    if gates.shape[1] > 1  # after one step nothing depends on the hidden states
    for hiddens, _, activated, cells in [train(gates, weight, hidden, cell)]
    for grads in [
        (f(*hiddens.shape), None),
        (None, f(*cell.shape)),
        (f(*hiddens.shape).swapaxes(0, 1).copy().swapaxes(0, 1), f(*cell.shape)),
    ]
])  # fmt: skip
