"""Every public layer, loss, activation and function of Burn 0.22.1's `burn::nn` is in `minburn.nn`, under its name."""

from __future__ import annotations

import pytest

from minburn import nn

WITH_CONFIG = {
    "modules": """
        Linear Embedding Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d DeformConv2d SwiGlu
        BatchNorm LayerNorm GroupNorm InstanceNorm RmsNorm LocalResponseNorm Normalization Dropout GaussianNoise
        MaxPool1d MaxPool2d AvgPool1d AvgPool2d AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d
        Interpolate1d Interpolate2d Unfold4d Fold4d PixelShuffle PixelUnshuffle PositionalEncoding RotaryEncoding
        CosineSimilarity PairwiseDistance MultiHeadAttention CrossAttention PositionWiseFeedForward
        TransformerEncoder TransformerDecoder Rnn BiRnn Lstm BiLstm Gru BiGru
    """,
    "activations": """
        Activation LeakyRelu PRelu RRelu HardSigmoid Softplus Elu Celu HardShrink SoftShrink Shrink Threshold
        ThresholdedRelu Hardtanh
    """,
    "losses": """
        CrossEntropyLoss BinaryCrossEntropyLoss HuberLoss SmoothL1Loss LpLoss KLDivLoss PoissonNllLoss GaussianNLLLoss
        CosineEmbeddingLoss MarginRankingLoss HingeEmbeddingLoss MultiMarginLoss TripletMarginLoss CTCLoss RNNTLoss
    """,
}
"""Each of these has a config, called as it is with `Config` after it."""
WITHOUT_CONFIG = """
    Identity GateController Initializer LinearLayout InterpolateMode PaddingConfig1d PaddingConfig2d PaddingConfig3d
    MhaInput MhaOutput MhaCache TensorCache GeneratePaddingMask SeqLengthOption generate_autoregressive_mask
    generate_padding_mask TransformerEncoderInput TransformerDecoderInput TransformerEncoderLayer
    TransformerDecoderLayer TransformerEncoderAutoregressiveCache TransformerDecoderAutoregressiveCache LstmState
    RnnState Relu Relu6 Gelu SiLU Sigmoid LogSigmoid Tanh Tanhshrink HardSwish Softsign Mish Selu GLU MseLoss
    SoftMarginLoss Reduction
"""


@pytest.mark.parametrize("family", WITH_CONFIG)
def test_burns_names_with_a_config(family: str) -> None:
    for name in WITH_CONFIG[family].split():
        config = getattr(nn, f"{name}Config")
        assert callable(config.init), name
        assert hasattr(nn, name), name


def test_burns_other_names() -> None:
    assert [name for name in WITHOUT_CONFIG.split() if not hasattr(nn, name)] == []
