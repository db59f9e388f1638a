"""The rule of an LSTM's recurrence. What every step computed is kept; both results have a gradient."""

from __future__ import annotations

from minburn.backends.autodiff.modules.recorded import RecordedModules
from minburn.backends.autodiff.rule import Recorded, Value, at_once, composed, operands
from minburn.backends.default.recurrent import DefaultRecurrent


class AutodiffRecurrent(RecordedModules, DefaultRecurrent):
    @operands(0, 1, 2, 3)
    def lstm(self, gates: Value, weight: Value, hidden: Value, cell: Value) -> Recorded:
        ops = self.inner
        hiddens, last, activated, cells = ops.lstm_train(gates, weight, hidden, cell)
        kept = (weight, hidden, cell, hiddens, activated, cells)
        return (
            (hiddens, last),
            at_once(lambda g: ops.lstm_backward(*kept, g, None), 4),
            at_once(lambda g: ops.lstm_backward(*kept, None, g), 4),
        )

    lstm_train = composed(DefaultRecurrent.lstm_train)
    lstm_backward = composed(DefaultRecurrent.lstm_backward)
