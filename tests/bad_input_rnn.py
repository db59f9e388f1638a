"""Recurrent layers and noise: what `test_bad_input` tries junk on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minburn import Tensor, nn
from minburn.backends import NumPy

PLAIN = NumPy(seed=1)
Entry = tuple[Any, tuple[Any, ...]]
TANH = nn.ActivationConfig.Tanh()
SIZES = {"d_input": 2, "d_hidden": 3, "bias": True}
CONFIGS: list[tuple[Any, dict[str, Any]]] = [
    (nn.RnnConfig, {**SIZES, "clip": 1.0, "reverse": True, "hidden_activation": TANH}),
    (nn.GruConfig, {**SIZES, "reset_after": True, "clip": None}),
    (nn.LstmConfig, {**SIZES, "input_forget": True, "gate_activation": TANH, "batch_first": True}),
    (nn.BiRnnConfig, {**SIZES, "clip": 1.0}),
    (nn.BiGruConfig, {**SIZES, "clip": 1.0}),
    (nn.BiLstmConfig, {**SIZES, "clip": 1.0}),
]


def entries() -> Iterator[Entry]:
    for config, fields in CONFIGS:
        for field, right in fields.items():
            yield (
                lambda value, config=config, fields=fields, field=field: config(**{**fields, field: value}).init(PLAIN),
                (right,),
            )
        yield config(**fields).init, (PLAIN,)
    rnn, gru, lstm, bi_rnn, bi_gru, bi_lstm = (config(**fields).init(PLAIN) for config, fields in CONFIGS)
    x, hidden, both = Tensor.zeros([1, 4, 2], PLAIN), Tensor.zeros([1, 3], PLAIN), Tensor.zeros([2, 1, 3], PLAIN)
    yield gru, (x, hidden)
    yield bi_gru, (x, both)
    yield lambda x, hidden: rnn(x, nn.RnnState(hidden)), (x, hidden)
    yield lambda x, hidden: bi_rnn(x, nn.RnnState(hidden)), (x, both)
    yield lambda x, cell, hidden: lstm(x, nn.LstmState(cell, hidden)), (x, hidden, hidden)
    yield lambda x, cell, hidden: bi_lstm(x, nn.LstmState(cell, hidden)), (x, both, both)
    yield rnn, (x, nn.RnnState(hidden))
    yield lstm, (x, nn.LstmState(hidden, hidden))
    yield bi_rnn, (x, nn.RnnState(both))
    yield bi_lstm, (x, nn.LstmState(both, both))
    yield lambda std: nn.GaussianNoiseConfig(std).init(), (0.1,)
    yield nn.GaussianNoiseConfig(0.1).init(), (x,)
