"""Recurrent layers: one step after the other, the state of each the input of the next.

Burn: `crates/burn-nn/src/modules/rnn/`.
"""

from typing import TYPE_CHECKING

from minburn.lazy import lazy_names

if TYPE_CHECKING:
    from minburn.nn.rnn.basic import *
    from minburn.nn.rnn.gate import *
    from minburn.nn.rnn.gru import *
    from minburn.nn.rnn.lstm import *
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "basic": ("BiRnn", "BiRnnConfig", "Rnn", "RnnConfig", "RnnState"),
            "gate": ("GateController",),
            "gru": ("BiGru", "BiGruConfig", "Gru", "GruConfig"),
            "lstm": ("BiLstm", "BiLstmConfig", "Lstm", "LstmConfig", "LstmState"),
        },
    )
