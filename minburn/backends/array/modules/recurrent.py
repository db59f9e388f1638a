"""The recurrence of an LSTM over `xp`: all four gates of a step in one product and one tanh, in place.

Each gate's [L, N, h] is contiguous, so that every pass over a step runs over whole blocks, and the gradient of the
weight is one product a gate after the last step. σ(x) is (1 + tanh(x / 2)) / 2.
"""

from __future__ import annotations

from minburn.backends.array.basic import Array
from minburn.backends.array.floats import ArrayFloats
from minburn.backends.default.recurrent import DefaultRecurrent


class ArrayRecurrent(DefaultRecurrent):
    """Halves, which want wider sums, are left to the composed ops."""

    floats: ArrayFloats

    def lstm(self, gates: Array, weight: Array, hidden: Array, cell: Array) -> tuple[Array, Array]:
        table = self.floats
        if table.is_half:
            return super().lstm(gates, weight, hidden, cell)
        _, steps, n, h = gates.shape
        hiddens = table.empty((steps, n, h))
        now, last, scratch = table.empty((4, n, h)), table.empty((n, h)), table.empty((n, h))
        for step in range(steps):
            self._advance(gates[:, step], weight, hidden, cell, now, last, hiddens[step], scratch)
            hidden, cell = hiddens[step], last
        return hiddens, last

    def lstm_train(self, gates: Array, weight: Array, hidden: Array, cell: Array) -> tuple[Array, Array, Array, Array]:
        table = self.floats
        if table.is_half:
            return super().lstm_train(gates, weight, hidden, cell)
        _, steps, n, h = gates.shape
        hiddens, cells = table.empty((steps, n, h)), table.empty((steps, n, h))
        activated, scratch = table.empty(gates.shape), table.empty((n, h))
        for step in range(steps):
            self._advance(gates[:, step], weight, hidden, cell, activated[:, step], cells[step], hiddens[step], scratch)
            hidden, cell = hiddens[step], cells[step]
        return hiddens, cell, activated, cells

    def _advance(
        self,
        gates: Array,
        weight: Array,
        hidden: Array,
        cell: Array,
        now: Array,
        cell_after: Array,
        hidden_after: Array,
        scratch: Array,
    ) -> None:
        """One step: writes the activated gates into `now`, and both states after it, of which cell may be the old."""
        xp = self.floats.xp
        xp.matmul(hidden, weight, out=now)
        xp.add(now, gates, now)
        sigmoids = now[:3]
        xp.multiply(sigmoids, 0.5, sigmoids)
        xp.tanh(now, now)
        xp.multiply(sigmoids, 0.5, sigmoids)
        xp.add(sigmoids, 0.5, sigmoids)
        i, f, o, g = now
        xp.multiply(f, cell, cell_after)
        xp.multiply(i, g, scratch)
        xp.add(cell_after, scratch, cell_after)
        xp.tanh(cell_after, scratch)
        xp.multiply(o, scratch, hidden_after)

    def lstm_backward(
        self,
        weight: Array,
        hidden: Array,
        cell: Array,
        hiddens: Array,
        activated: Array,
        cells: Array,
        grad: Array | None,
        cell_grad: Array | None,
    ) -> tuple[Array, Array, Array, Array]:
        table, xp = self.floats, self.floats.xp
        if table.is_half:
            return super().lstm_backward(weight, hidden, cell, hiddens, activated, cells, grad, cell_grad)
        steps, n, h = hiddens.shape
        for_gates, slopes, parts = table.empty(activated.shape), table.empty((4, n, h)), table.empty((4, n, h))
        for_hidden, bent, scratch = (table.empty((n, h)) for _ in range(3))
        for_cell = table.zeros((n, h)) if cell_grad is None else xp.array(cell_grad)
        turned = weight.swapaxes(1, 2)
        for_hidden.fill(0)
        for step in reversed(range(steps)):
            if grad is not None:
                xp.add(for_hidden, grad[step], for_hidden)
            now, out = activated[:, step], for_gates[:, step]
            i, f, o, g = now
            xp.subtract(1, now[:3], slopes[:3])  # of σ: σ · (1 - σ)
            xp.multiply(slopes[:3], now[:3], slopes[:3])
            xp.multiply(g, g, slopes[3])  # of tanh: 1 - tanh²
            xp.subtract(1, slopes[3], slopes[3])
            xp.tanh(cells[step], bent)
            xp.multiply(for_hidden, bent, out[2])
            xp.multiply(for_hidden, o, for_hidden)  # all of it goes through the cell
            xp.multiply(bent, bent, bent)
            xp.multiply(bent, for_hidden, scratch)
            xp.subtract(for_hidden, scratch, scratch)
            xp.add(for_cell, scratch, for_cell)
            xp.multiply(for_cell, g, out[0])
            xp.multiply(for_cell, cells[step - 1] if step else cell, out[1])
            xp.multiply(for_cell, i, out[3])
            xp.multiply(out, slopes, out)
            xp.multiply(for_cell, f, for_cell)
            xp.matmul(out, turned, out=parts)
            xp.add.reduce(parts, axis=0, out=for_hidden)
        return for_gates, self._for_weight(hidden, hiddens, for_gates), for_hidden, for_cell

    def _for_weight(self, hidden: Array, hiddens: Array, for_gates: Array) -> Array:
        """Σ over the steps of the hidden state before each, transposed, times the gates' gradient: [4, h, h]."""
        table, xp = self.floats, self.floats.xp
        steps, n, h = hiddens.shape
        out = xp.matmul(hidden.T, for_gates[:, 0], out=table.empty((4, h, h)))
        if steps > 1:
            before = hiddens[:-1].reshape((steps - 1) * n, h)
            xp.add(out, xp.matmul(before.T, for_gates[:, 1:].reshape(4, (steps - 1) * n, h)), out)
        return out
