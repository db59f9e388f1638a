"""The recurrence of an LSTM, composed from `floats`."""

from __future__ import annotations

from typing import Any

from minburn.backends.default.composed import Composed


class DefaultRecurrent(Composed):
    def lstm(self, gates: Any, weight: Any, hidden: Any, cell: Any) -> tuple[Any, Any]:
        return self.lstm_train(gates, weight, hidden, cell)[:2]

    def lstm_train(self, gates: Any, weight: Any, hidden: Any, cell: Any) -> tuple[Any, Any, Any, Any]:
        ops = self.floats
        n, h = ops.shape(hidden)
        hiddens, cells, activated = [], [], []
        for step in range(ops.shape(gates)[1]):
            recalled = ops.matmul(ops.reshape(hidden, (1, n, h)), weight)
            before = ops.add(ops.reshape(self._step(gates, step, 1), (4, n, h)), recalled)
            i, f, o = (self._sigmoid(self._step(before, gate, 0)) for gate in range(3))
            g = ops.tanh(self._step(before, 3, 0))
            cell = ops.add(ops.mul(f, ops.reshape(cell, (1, n, h))), ops.mul(i, g))
            hidden = ops.mul(o, ops.tanh(cell))
            hiddens.append(hidden)
            cells.append(cell)
            activated.append(ops.reshape(ops.cat([i, f, o, g], 0), (4, 1, n, h)))
        last = ops.reshape(cell, (n, h))
        return ops.cat(hiddens, 0), last, ops.cat(activated, 1), ops.cat(cells, 0)

    def lstm_backward(
        self,
        weight: Any,
        hidden: Any,
        cell: Any,
        hiddens: Any,
        activated: Any,
        cells: Any,
        grad: Any | None,
        cell_grad: Any | None,
    ) -> tuple[Any, Any, Any, Any]:
        ops = self.floats
        steps, n, h = ops.shape(hiddens)
        for_hidden = ops.zeros((1, n, h))
        for_cell = for_hidden if cell_grad is None else ops.reshape(cell_grad, (1, n, h))
        for_weight = ops.zeros((4, h, h))
        turned = ops.swap_dims(weight, 1, 2)
        for_gates = []
        for step in reversed(range(steps)):
            if grad is not None:
                for_hidden = ops.add(for_hidden, self._step(grad, step, 0))
            now = ops.reshape(self._step(activated, step, 1), (4, n, h))
            i, f, o, g = (self._step(now, gate, 0) for gate in range(4))
            bent = ops.tanh(self._step(cells, step, 0))
            before = self._step(cells, step - 1, 0) if step else ops.reshape(cell, (1, n, h))
            recalled = self._step(hiddens, step - 1, 0) if step else ops.reshape(hidden, (1, n, h))
            for_cell = ops.add(for_cell, ops.mul(ops.mul(for_hidden, o), self._one_minus(ops.mul(bent, bent))))
            parts = [
                ops.mul(ops.mul(for_cell, g), ops.mul(i, self._one_minus(i))),
                ops.mul(ops.mul(for_cell, before), ops.mul(f, self._one_minus(f))),
                ops.mul(ops.mul(for_hidden, bent), ops.mul(o, self._one_minus(o))),
                ops.mul(ops.mul(for_cell, i), self._one_minus(ops.mul(g, g))),
            ]
            part = ops.cat(parts, 0)
            for_gates.append(ops.reshape(part, (4, 1, n, h)))
            for_weight = ops.add(for_weight, ops.matmul(ops.swap_dims(recalled, 1, 2), part))
            for_hidden = ops.sum_dim(ops.matmul(part, turned), 0)
            for_cell = ops.mul(for_cell, f)
        return (
            ops.cat(for_gates[::-1], 1),
            for_weight,
            ops.reshape(for_hidden, (n, h)),
            ops.reshape(for_cell, (n, h)),
        )

    def _step(self, x: Any, index: int, dim: int) -> Any:
        """One entry of a dimension, which stays."""
        shape = self.floats.shape(x)
        slices = tuple((index, index + 1, 1) if d == dim else (0, size, 1) for d, size in enumerate(shape))
        return self.floats.slice(x, slices)

    def _sigmoid(self, x: Any) -> Any:
        ops = self.floats
        return ops.add_scalar(ops.mul_scalar(ops.tanh(ops.mul_scalar(x, 0.5)), 0.5), 0.5)

    def _one_minus(self, x: Any) -> Any:
        return self.floats.add_scalar(self.floats.neg(x), 1.0)
