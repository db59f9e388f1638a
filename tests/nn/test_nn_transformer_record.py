"""A transformer that Burn 0.22.1 trained: its file loads, computes the same, and is written back as it was."""

import json

import numpy as np
import pytest
from golden_layers import GOLDEN, array, loaded, params

from minburn.backends import Autodiff, NumPy
from minburn.module import Module, ModuleRecord
from minburn.nn import (
    CrossEntropyLoss,
    Embedding,
    EmbeddingConfig,
    LayerNorm,
    LayerNormConfig,
    Linear,
    LinearConfig,
    PositionalEncoding,
    PositionalEncodingConfig,
    TransformerEncoder,
    TransformerEncoderConfig,
    TransformerEncoderInput,
    generate_autoregressive_mask,
)
from minburn.tensor import FloatTensor, IntTensor, Tensor

EXPECTED = json.loads((GOLDEN / "transformer.json").read_text())
BACKEND = Autodiff(NumPy(seed=0))


class Model(Module):
    token: Embedding
    pos: PositionalEncoding
    enc: TransformerEncoder
    norm: LayerNorm
    head: Linear

    def forward(self, x: IntTensor) -> FloatTensor:
        mask = generate_autoregressive_mask(x.shape[0], x.shape[1], x.backend)
        x = self.enc(TransformerEncoderInput(self.pos(self.token(x)), mask_attn=mask))
        return self.head(self.norm(x))


def model():
    return Model(
        token=EmbeddingConfig(11, 8).init(BACKEND),
        pos=PositionalEncodingConfig(8).init(BACKEND),
        enc=TransformerEncoderConfig(8, 12, 2, 1, dropout=0.0, norm_first=True).init(BACKEND),
        norm=LayerNormConfig(8).init(BACKEND),
        head=LinearConfig(8, 11, bias=False).init(BACKEND),
    )


def test_a_training_step_starts_with_burns_loss():
    start = loaded(model(), {"params": EXPECTED["initial_params"]})
    batch = EXPECTED["first_step"]["batch"]
    logits = start(Tensor.from_data(array(batch["x"]), BACKEND)).reshape(-1, 11)
    loss = CrossEntropyLoss()(logits, Tensor.from_data(array(batch["y"]).reshape(-1), BACKEND))
    assert loss.item() == pytest.approx(EXPECTED["first_step"]["loss"], rel=1e-6)


def test_a_file_of_burn():
    trained = model().load_record(ModuleRecord.load(GOLDEN / "transformer-5"))
    found = [(path, str(int(param.id))) for path, param in params(trained)]
    assert found == [(spec["path"], spec["id"]) for spec in EXPECTED["initial_params"]]
    case = EXPECTED["eval_after_load"]
    output = trained.valid()(Tensor.from_data(array(case["inputs"]["x"]), BACKEND.inner))
    np.testing.assert_allclose(output.numpy(), array(case["output"]), rtol=1e-5, atol=1e-6)
    assert trained.into_record().into_bytes() == (GOLDEN / "transformer-5.bpk").read_bytes()
