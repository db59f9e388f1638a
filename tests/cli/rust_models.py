"""Models for `minburn rust`: one as users write them, and one with what the others lack."""

from __future__ import annotations

import inspect
from typing import Any

from minburn import nn
from minburn.backends import Backend
from minburn.module import Config, Initializer, Module, Param
from minburn.nn import (
    Activation,
    ActivationConfig,
    AvgPool1d,
    AvgPool1dConfig,
    BatchNormConfig,
    Conv1d,
    Conv1dConfig,
    Embedding,
    EmbeddingConfig,
    Gelu,
    LayerNorm,
    LayerNormConfig,
    LeakyReluConfig,
    Linear,
    LinearConfig,
    MhaInput,
    MultiHeadAttention,
    MultiHeadAttentionConfig,
    Normalization,
    NormalizationConfig,
    PaddingConfig1d,
    SwiGlu,
    SwiGluConfig,
    generate_autoregressive_mask,
)
from minburn.tensor import BoolTensor, FloatTensor, IntTensor, Tensor, activation


class Block(Module):
    norm_1: LayerNorm
    attention: MultiHeadAttention
    norm_2: LayerNorm
    up: Linear
    down: Linear

    def forward(self, x: FloatTensor, mask: BoolTensor) -> FloatTensor:
        x = x + self.attention(MhaInput.self_attn(self.norm_1(x), mask_attn=mask)).context
        return x + self.down(Gelu()(self.up(self.norm_2(x))))


class Gpt(Module):
    token: Embedding
    position: Param[FloatTensor]
    blocks: list[Block]
    norm: LayerNorm
    head: Linear

    def forward(self, tokens: IntTensor) -> FloatTensor:
        batch, length = tokens.shape
        x = self.token(tokens) + self.position.value[:length].unsqueeze(3)
        mask = generate_autoregressive_mask(batch, length, x.backend)
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.norm(x))


class GptConfig(Config):
    vocabulary: int
    length: int = 32
    d_model: int = 16
    heads: int = 2
    layers: int = 3
    bias: bool = True
    dropout: float = 0.1

    def init(self, backend: Backend) -> Gpt:
        d, attention = self.d_model, MultiHeadAttentionConfig(self.d_model, self.heads, dropout=self.dropout)
        return Gpt(
            token=EmbeddingConfig(self.vocabulary, d).init(backend),
            position=Initializer.Normal(0.0, 0.02).init([self.length, d], backend),
            blocks=[
                Block(
                    norm_1=LayerNormConfig(d).init(backend),
                    attention=attention.init(backend),
                    norm_2=LayerNormConfig(d).init(backend),
                    up=LinearConfig(d, 4 * d, bias=self.bias).init(backend),
                    down=LinearConfig(4 * d, d, bias=self.bias).init(backend),
                )
                for _ in range(self.layers)
            ],
            norm=LayerNormConfig(d).init(backend),
            head=LinearConfig(d, self.vocabulary, bias=False).init(backend),
        )


class Part(Module):
    """Some have a norm, some have none."""

    linear: Linear
    norm: LayerNorm | None

    def forward(self, x: FloatTensor) -> FloatTensor:
        y = self.linear(x)
        if self.norm is not None:
            y = self.norm(y)
        return y.tanh() + x


class Kind(Module):
    """An enum."""


class Wide(Kind, variant="Wide"):
    inner: Linear

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.softmax(self.inner(x), 2)


class Flat(Kind, Linear, variant="Flat"):
    """A layer of Burn's as a variant."""


class Zoo(Module):
    conv: Conv1d
    norm: Normalization
    act: Activation
    gate: Activation
    pool: AvgPool1d
    swiglu: SwiGlu
    parts: list[Part]
    kinds: tuple[Kind, Kind]
    named: dict[str, Linear]
    scale: Param[FloatTensor]
    shift: FloatTensor
    rate: float

    def forward(self, signal: FloatTensor) -> FloatTensor:
        batch, channels, length = signal.shape
        x = self.gate(self.act(self.norm(self.conv(signal))))
        x = Tensor.cat([x, -signal.abs() * self.rate], 1).swap_dims(1, 2)
        x = x.reshape([batch, length, 2 * channels])
        for part in self.parts:
            x = part(x)
        x = self.kinds[0](x) - self.kinds[1](x).clamp(-0.5, 0.5)
        x = self.named["second"](self.named["first"](x)).powi_scalar(2)
        mean = x.mean_dim(2)
        x = (x - mean) / (((x - mean) * (x - mean)).mean_dim(2) + 1e-3).sqrt()
        x = self.swiglu(x * self.scale.value.unsqueeze(3) + self.shift.unsqueeze(3))
        x = self.pool(x.permute(0, 2, 1))
        return x.mask_fill(x > 2.0, 0.0).mean_dim(2).squeeze_dim(2)


def zoo(backend: Backend) -> Zoo:
    def linear(d_input: int, d_output: int) -> Linear:
        return LinearConfig(d_input, d_output).init(backend)

    return Zoo(
        conv=Conv1dConfig(4, 4, 3, padding=PaddingConfig1d.Same()).init(backend),
        norm=NormalizationConfig.Batch(BatchNormConfig(4)).init(backend),
        act=ActivationConfig.LeakyRelu(LeakyReluConfig(0.2)).init(backend),
        gate=ActivationConfig.Gelu().init(backend),
        pool=AvgPool1dConfig(2).init(),
        swiglu=SwiGluConfig(8, 8).init(backend),
        parts=[
            Part(linear=linear(8, 8), norm=norm)
            for norm in (None, LayerNormConfig(8).init(backend), LayerNormConfig(8).init(backend))
        ],
        kinds=(Wide(inner=linear(8, 8)), Flat(**linear(8, 8).__dict__)),
        named={"first": linear(8, 8), "second": linear(8, 8)},
        scale=Initializer.Ones().init([8], backend),
        shift=Tensor.from_data([0.5, 0.25, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0], backend),
        rate=0.5,
    )


class Recurrent(Module):
    rnn: nn.Rnn
    gru: nn.Gru
    lstm: nn.Lstm
    both: nn.BiLstm
    cross: nn.CrossAttention
    loss: nn.MseLoss

    def forward(self, x: FloatTensor) -> FloatTensor:
        y, _ = self.rnn(x)
        y = self.gru(y) + x
        y, state = self.lstm(y)
        y = y + state.cell.unsqueeze_dim(1)
        y, _ = self.both(y)
        y = self.cross(y, x)
        return y + self.loss(y, y * 0.5).unsqueeze(3)


def recurrent(backend: Backend) -> Recurrent:
    return Recurrent(
        rnn=nn.RnnConfig(4, 4, bias=True).init(backend),
        gru=nn.GruConfig(4, 4, bias=True, reset_after=False).init(backend),
        lstm=nn.LstmConfig(4, 4, bias=True, clip=2.0).init(backend),
        both=nn.BiLstmConfig(4, 4, bias=False, hidden_activation=ActivationConfig.Relu()).init(backend),
        cross=nn.CrossAttentionConfig(8, 4, 2, 1, 4).init(backend),
        loss=nn.MseLoss(),
    )


class Gallery(Module):
    """All layers of minburn.nn that have a config or need nothing."""

    layers: dict[str, Any]


ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "bool": (True,),
    "float": (2.0,),
    "int": (4,),
    "tuple[int, int]": ((4, 4),),
    "tuple[int, int, int]": ((2, 2, 2),),
}
SPECIAL: dict[str, tuple[Any, ...]] = {
    "Dropout": (0.5,),
    "Threshold": (0.1, -1.0),
    "BiLstm": (4, 6, True),
    "Interpolate1d": (None, 2.0),
    "Interpolate2d": ((3, 4),),
    "GLU": (),
    "MultiHeadAttention": (8, 2),
    "CrossAttention": (8, 4, 2, 1, 4),
    "TransformerEncoder": (8, 16, 2, 1),
    "TransformerDecoder": (8, 16, 2, 1),
}
WITHOUT = {"Activation", "Normalization"}


def gallery(backend: Backend) -> Gallery:
    """A new layer of minburn.nn is in it by itself; what its config needs to know is in ARGUMENTS or SPECIAL."""
    layers: dict[str, Any] = {}
    for name in nn.__all__:
        cls = getattr(nn, name)
        if not (isinstance(cls, type) and issubclass(cls, Module)) or name in WITHOUT:
            continue
        config = getattr(nn, f"{name}Config", None)
        if config is not None:
            layers[f"l_{name.lower()}"] = built(name, config, backend)
        elif not any(field.required for field in cls._module_layout.table.fields.values()):
            layers[f"l_{name.lower()}"] = cls()
    layers["l_glu"] = nn.GLU(dim=1)
    return Gallery(layers=layers)


def built(name: str, config: Any, backend: Backend) -> Any:
    required = [field for field in config._json_form.table.fields.values() if field.required]
    arguments = SPECIAL.get(name) or tuple(ARGUMENTS[str(field.annotation)][0] for field in required)
    made = config(*arguments)
    return made.init(backend) if "backend" in inspect.signature(made.init).parameters else made.init()
