"""Recurrent layers and noise: gradients against differences, directions, states, refusals. Values: the parity tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minburn import nn
from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.module import ConfigError, RecordError
from minburn.nn import ActivationConfig, LstmState, RnnState
from minburn.tensor import KindError, ShapeError, Tensor
from minburn.testing import check_gradients

BACKEND = Autodiff(NumPy(seed=0, float_dtype=DType.F64))
RNG = np.random.default_rng(5)
RELU = ActivationConfig.Relu()


def floats(*shape: int) -> Any:
    return Tensor.from_data(RNG.uniform(-1, 1, shape), BACKEND)


LAYERS: dict[str, Any] = {
    "rnn": nn.RnnConfig(2, 3, True),
    "rnn_relu": nn.RnnConfig(2, 3, False, hidden_activation=RELU),
    "gru": nn.GruConfig(2, 3, True),
    "gru_before": nn.GruConfig(2, 3, False, reset_after=False),
    "lstm": nn.LstmConfig(2, 3, True),
    "lstm_no_bias": nn.LstmConfig(2, 3, False, reverse=True),
    "lstm_coupled": nn.LstmConfig(2, 3, True, input_forget=True),
    "lstm_clip": nn.LstmConfig(2, 3, True, clip=0.3),
    "lstm_relu": nn.LstmConfig(2, 3, True, cell_activation=RELU),
    "bi_rnn": nn.BiRnnConfig(2, 3, True),
    "bi_gru": nn.BiGruConfig(2, 3, True),
    "bi_lstm": nn.BiLstmConfig(2, 3, True),
}


def state_of(name: str, layer: Any, hidden: Any, cell: Any) -> Any:
    """What the layer takes as its state."""
    if name.startswith("bi"):
        hidden, cell = (Tensor.stack([part, part * 0.5], 0) for part in (hidden, cell))
    if "lstm" in name:
        return LstmState(cell, hidden)
    return hidden if "gru" in name else RnnState(hidden)


def parts(result: Any) -> list[Any]:
    """Outputs and last states as a list of tensors."""
    if isinstance(result, Tensor):
        return [result]
    outputs, state = result
    return [outputs, state] if isinstance(state, Tensor) else [outputs, *state]


@pytest.mark.parametrize("name", LAYERS)
def test_gradients(name: str) -> None:
    layer = LAYERS[name].init(BACKEND)

    def weighed(x: Any, hidden: Any, cell: Any) -> Any:
        found = [part.flatten() for part in parts(layer(x, state_of(name, layer, hidden, cell)))]
        return Tensor.cat(found, 0)

    check_gradients(weighed, floats(2, 3, 2), floats(2, 3), floats(2, 3), rtol=1e-5)


@pytest.mark.parametrize("name", ["rnn", "lstm", "lstm_clip"])
def test_reverse_reads_the_sequence_from_its_end(name: str) -> None:
    config = LAYERS[name]
    one = config.init(BACKEND)
    other = type(config)(**{**config.__dict__, "reverse": True}).init(BACKEND).load_record(one.into_record())
    x = floats(2, 4, 2)
    outputs, state = one(x.flip([1]))
    reversed_outputs, reversed_state = other(x)
    np.testing.assert_allclose(reversed_outputs.numpy(), outputs.flip([1]).numpy(), 1e-12)
    np.testing.assert_allclose(reversed_state.hidden.numpy(), state.hidden.numpy(), 1e-12)
    np.testing.assert_array_equal(state.hidden.numpy(), outputs.numpy()[:, -1])


@pytest.mark.parametrize("name", ["rnn", "lstm", "bi_rnn", "bi_gru", "bi_lstm"])
def test_time_may_come_first(name: str) -> None:
    config = LAYERS[name]
    one = config.init(BACKEND)
    other = type(config)(**{**config.__dict__, "batch_first": False}).init(BACKEND).load_record(one.into_record())
    x = floats(2, 4, 2)
    first, *states = parts(one(x))
    second, *others = parts(other(x.swap_dims(0, 1)))
    np.testing.assert_allclose(first.numpy(), second.swap_dims(0, 1).numpy(), 1e-12)
    for state, other_state in zip(states, others, strict=True):
        np.testing.assert_allclose(state.numpy(), other_state.numpy(), 1e-12)


@pytest.mark.parametrize("name", ["rnn", "gru", "gru_before", "lstm", "lstm_coupled", "lstm_relu"])
def test_a_state_carries_a_sequence_on(name: str) -> None:
    layer = LAYERS[name].init(BACKEND)
    x = floats(2, 5, 2)
    whole, *states = parts(layer(x))
    first, *between = parts(layer(x.narrow(1, 0, 2)))
    if "gru" in name:
        state = first.slice_dim(1, slice(1, 2)).squeeze_dim(1)
    else:
        state = (LstmState if "lstm" in name else RnnState)(*between)
    second, *last = parts(layer(x.narrow(1, 2, 3), state))
    np.testing.assert_allclose(np.concatenate([first.numpy(), second.numpy()], 1), whole.numpy(), 1e-12)
    for found, wanted in zip(last, states, strict=True):
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), 1e-12)


def test_two_directions_are_two_layers() -> None:
    both = nn.BiLstmConfig(2, 3, True).init(BACKEND)
    x = floats(2, 4, 2)
    outputs, state = both(x)
    there, there_state = both.forward_(x)
    back, back_state = both.reverse(x)
    np.testing.assert_array_equal(outputs.numpy(), np.concatenate([there.numpy(), back.numpy()], 2))
    np.testing.assert_array_equal(state.cell.numpy(), np.stack([there_state.cell.numpy(), back_state.cell.numpy()]))
    assert next(iter(both.into_record())).path == "forward.input_gate.input_transform.weight"


def test_a_coupled_lstm_by_hand() -> None:
    quarter = nn.Initializer.Constant(0.25)
    layer = nn.LstmConfig(1, 1, False, input_forget=True, initializer=quarter).init(BACKEND)
    start = LstmState(Tensor.from_data([[0.8]], BACKEND), Tensor.from_data([[0.2]], BACKEND))
    outputs, state = layer(Tensor.from_data([[[0.6], [-0.3]]], BACKEND), start)
    np.testing.assert_allclose(outputs.numpy().ravel(), [0.2403397, 0.1115469], 1e-6)
    assert state.cell.item() == pytest.approx(0.2286743, rel=1e-6)


@pytest.mark.parametrize(
    ("coupled", "bias", "count"), [(False, True, 84), (False, False, 60), (True, True, 63), (True, False, 45)]
)
def test_a_coupled_lstm_has_no_forget_gate(coupled: bool, bias: bool, count: int) -> None:
    assert nn.LstmConfig(2, 3, bias, input_forget=coupled).init(BACKEND).num_params() == count
    assert nn.BiLstmConfig(2, 3, bias, input_forget=coupled).init(BACKEND).num_params() == 2 * count


def test_coupled_and_uncoupled_files_are_told_apart() -> None:
    coupled = nn.LstmConfig(2, 3, True, input_forget=True).init(BACKEND)
    other = nn.LstmConfig(2, 3, True).init(BACKEND)
    with pytest.raises(RecordError, match=r"missing.*forget_gate.input_transform.weight"):
        other.load_record(coupled.into_record())
    with pytest.raises(RecordError, match=r"unused.*forget_gate"):
        coupled.load_record(other.into_record())
    loaded = coupled.load_record(other.into_record().allow_unused(True))
    assert not any("forget_gate" in entry.path for entry in loaded.into_record())


def test_no_parameter_is_left_out_of_the_gradient() -> None:
    from minburn.optim import GradientsParams

    for config in LAYERS.values():
        layer = config.init(BACKEND)
        outputs = parts(layer(floats(2, 3, 2)))[0]
        assert len(GradientsParams.from_grads(outputs.sum().backward(), layer)) == len(list(layer.into_record()))


def test_what_does_not_fit_is_refused() -> None:
    layer = nn.LstmConfig(2, 3, True).init(BACKEND)
    with pytest.raises(ShapeError, match=r"Lstm: the input must have shape \[N, L, 2\], but has \[2, 3, 4\]"):
        layer(floats(2, 3, 4))
    with pytest.raises(ShapeError, match="a sequence of no steps"):
        layer(Tensor.zeros([2, 0, 2], BACKEND))
    with pytest.raises(ShapeError, match=r"the cell state must have shape \[2, 3\], but has \[1, 3\]"):
        layer(floats(2, 3, 2), LstmState(floats(1, 3), floats(2, 3)))
    with pytest.raises(ShapeError, match=r"the hidden state must have shape \[2, N, d_hidden\]"):
        nn.BiGruConfig(2, 3, True).init(BACKEND)(floats(2, 3, 2), floats(2, 3))
    with pytest.raises(KindError, match="the input must be a float tensor, but got IntTensor"):
        layer(Tensor.from_data([[[1, 2]]], BACKEND))
    for clip in (0.0, -1.0, float("nan")):
        with pytest.raises(ConfigError, match="clip must be a finite number greater than 0"):
            nn.GruConfig(2, 3, True, clip=clip).init(BACKEND)


def test_display() -> None:
    shown = "Lstm {d_input: 2, d_hidden: 3, bias: true, params: 84}"
    assert repr(nn.LstmConfig(2, 3, True).init(BACKEND)) == shown
    assert f"forward: {shown}" in repr(nn.BiLstmConfig(2, 3, True).init(BACKEND))


def test_noise_is_added_in_training_only() -> None:
    backend = Autodiff(NumPy(seed=1))
    layer = nn.GaussianNoiseConfig(0.5).init()
    x = Tensor.zeros([4000], backend)
    noise = layer(x).numpy()
    assert abs(noise.mean()) < 0.05 and noise.std() == pytest.approx(0.5, rel=0.1)
    assert not np.array_equal(layer(x).numpy(), noise)
    for still, given in (
        (layer, x.inner()),
        (layer.valid(), x),
        (layer.freeze(), x),
        (nn.GaussianNoiseConfig(0.0).init(), x),
    ):
        assert still(given) is given
    assert repr(layer.valid()) == "GaussianNoise {std: 0.5, training: disabled}"
    x = x.require_grad()
    assert (x.grad(layer(x).sum().backward()).numpy() == 1).all()
    with pytest.raises(ConfigError, match="std must be finite and at least 0, but got -1"):
        nn.GaussianNoiseConfig(-1.0).init()


@pytest.mark.parametrize("length", [1, 4])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_an_lstm_at_once_is_what_it_is_step_by_step(length: int, reverse: bool, bias: bool) -> None:
    layer = nn.LstmConfig(2, 3, bias, reverse=reverse).init(BACKEND)
    x, hidden, cell = (tensor.require_grad() for tensor in (floats(length, 2, 2), floats(2, 3), floats(2, 3)))
    leaves = [x, hidden, cell, *(param.value for param in (layer.forget_gate.hidden_transform.weight,))]
    found = []
    for outputs, state in (layer.run(x, cell, hidden), layer._composed(x, LstmState(cell, hidden))):
        loss = (outputs * 1.5).sum() + state.cell.square().sum() - (state.hidden * 0.5).sum()
        grads = loss.backward()
        found.append([outputs, *state, *(leaf.grad(grads) for leaf in leaves)])
    for ours, wanted in zip(*found, strict=True):
        np.testing.assert_allclose(ours.numpy(), wanted.numpy(), 1e-10, 1e-12)
    plain, _ = layer.valid().run(x.inner(), cell.inner(), hidden.inner())
    np.testing.assert_allclose(plain.numpy(), found[0][0].numpy(), 1e-12)


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_tells_the_size_of_its_state(name: str) -> None:
    assert LAYERS[name].init(BACKEND).d_hidden == 3
