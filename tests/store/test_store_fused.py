"""Matrices that PyTorch keeps as one. golden/store/fused.pt: a model of PyTorch 2.15, inputs, and what it computed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from minburn.backends import NumPy
from minburn.dtype import DType
from minburn.module import Module
from minburn.nn import (
    BiGru,
    BiGruConfig,
    BiLstm,
    BiLstmConfig,
    Gru,
    GruConfig,
    Linear,
    LinearConfig,
    Lstm,
    LstmConfig,
    MhaInput,
    MultiHeadAttention,
    MultiHeadAttentionConfig,
    Rnn,
    RnnConfig,
)
from minburn.store import (
    Adapter,
    FloatCastAdapter,
    PytorchReader,
    PytorchStore,
    PyTorchToBurnAdapter,
    SafetensorsStore,
    StoreError,
)
from minburn.tensor import FloatTensor, Tensor

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "store" / "fused.pt"
BACKEND = NumPy(seed=0)


class Net(Module):
    lstm: Lstm
    gru: Gru
    rnn: Rnn
    both: BiLstm
    both_gru: BiGru
    attention: MultiHeadAttention


def net() -> Net:
    return Net(
        lstm=LstmConfig(3, 2, bias=True).init(BACKEND),
        gru=GruConfig(3, 2, bias=True).init(BACKEND),
        rnn=RnnConfig(3, 2, bias=True).init(BACKEND),
        both=BiLstmConfig(3, 2, bias=True).init(BACKEND),
        both_gru=BiGruConfig(3, 2, bias=True).init(BACKEND),
        attention=MultiHeadAttentionConfig(4, 2).init(BACKEND),
    )


def golden(name: str) -> np.ndarray:
    entry = PytorchReader(GOLDEN)[name]
    return np.frombuffer(entry.view(), "<f4").reshape(entry.shape)


def test_recurrent_layers_and_attention_compute_what_they_did_in_pytorch() -> None:
    model, result = PytorchStore(GOLDEN, top_level_key="model").apply_to(net())
    assert result.is_success and not result.unused
    x, a = (Tensor.from_data(golden(name), BACKEND) for name in ("x", "a"))
    for name in ("lstm", "gru", "rnn", "both", "both_gru"):
        found = getattr(model, name)(x)
        output = found if isinstance(found, FloatTensor) else found[0]
        np.testing.assert_allclose(output.numpy(), golden(f"y.{name}"), atol=1e-6, err_msg=name)
    context = model.attention(MhaInput.self_attn(a)).context
    np.testing.assert_allclose(context.numpy(), golden("y.attention"), atol=1e-6)


def test_layers_of_a_stack_are_renamed_before_they_are_cut() -> None:
    rng = np.random.default_rng(0)
    arrays = {f"weight_{kind}_l{n}": rng.normal(size=(8, 2)).astype("f") for kind in ("ih", "hh") for n in (0, 1)}

    class Stack(Module):
        lstm: list[Lstm]

    stack = Stack(lstm=[LstmConfig(2, 2, bias=False).init(BACKEND) for _ in range(2)])
    data = safetensors.numpy.save({f"lstm.{name}": array for name, array in arrays.items()})
    adapter = Adapter().chain(FloatCastAdapter(DType.F32)).chain(PyTorchToBurnAdapter())
    store = SafetensorsStore(data, from_adapter=adapter, remap=[(r"^lstm\.(\w+)_l(\d)", "lstm.$2.${1}_l0")])
    loaded, result = store.apply_to(stack)
    assert result.is_success and not result.unused
    gate = loaded.lstm[1].cell_gate.hidden_transform.weight.value.numpy()
    assert (gate == arrays["weight_hh_l1"][4:6].T).all()


def test_what_cannot_be_cut_is_an_error_and_what_is_under_a_prefix_is_found() -> None:
    lstm = LstmConfig(2, 2, bias=False).init(BACKEND)
    wrong = {"weight_ih_l0": np.zeros((6, 2), "f"), "weight_hh_l0": np.zeros((8, 2), "f")}
    store = SafetensorsStore(safetensors.numpy.save(wrong), from_adapter=PyTorchToBurnAdapter())
    with pytest.raises(StoreError, match=r"the parameter has shape \[2, 2\], the file has \[2, 6\]"):
        store.apply_to(lstm)
    right = {f"encoder.{name}": np.zeros((8, 2), "f") for name in wrong}
    with pytest.raises(StoreError, match=r"Keys that were expected lie under 'encoder\.'"):
        SafetensorsStore(safetensors.numpy.save(right), from_adapter=PyTorchToBurnAdapter()).apply_to(lstm)


def test_gaps_between_numbers_are_told() -> None:
    class Stack(Module):
        layers: list[Linear]

    stack = Stack(layers=[LinearConfig(2, 2, bias=False).init(BACKEND) for _ in range(2)])
    data = safetensors.numpy.save({f"layers.{n}.weight": np.zeros((2, 2), "f") for n in (0, 2)})  # 1: a ReLU
    with pytest.raises(StoreError, match=r"missing \(layers\.1\.weight\).*closed up with map_indices_contiguous=True"):
        SafetensorsStore(data).apply_to(stack)
    _, result = SafetensorsStore(data, map_indices_contiguous=True).apply_to(stack)
    assert result.is_success
