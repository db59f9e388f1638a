"""Counterparts of layers/*: the layer of the case's config, with the case's parameters, called on its inputs."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from cases import Case
from play import Deviation, Play, close, compare, parameters, with_parameters

from minburn import Tensor, nn

CONFIGS = {
    "linear": "LinearConfig",
    "embedding": "EmbeddingConfig",
    "swiglu": "SwiGluConfig",
    "prelu": "PReluConfig",
    "conv1d": "Conv1dConfig",
    "conv2d": "Conv2dConfig",
    "conv3d": "Conv3dConfig",
    "convt1d": "ConvTranspose1dConfig",
    "convt2d": "ConvTranspose2dConfig",
    "convt3d": "ConvTranspose3dConfig",
    "deform_conv2d": "DeformConv2dConfig",
    "layer_norm": "LayerNormConfig",
    "rms_norm": "RmsNormConfig",
    "group_norm": "GroupNormConfig",
    "instance_norm": "InstanceNormConfig",
    "batch_norm": "BatchNormConfig",
    "max_pool1d": "MaxPool1dConfig",
    "max_pool2d": "MaxPool2dConfig",
    "avg_pool1d": "AvgPool1dConfig",
    "avg_pool2d": "AvgPool2dConfig",
    "adaptive_avg_pool1d": "AdaptiveAvgPool1dConfig",
    "adaptive_avg_pool2d": "AdaptiveAvgPool2dConfig",
    "unfold4d": "Unfold4dConfig",
    "fold4d": "Fold4dConfig",
    "pixel_shuffle": "PixelShuffleConfig",
    "interpolate1d": "Interpolate1dConfig",
    "interpolate2d": "Interpolate2dConfig",
    "pairwise_distance": "PairwiseDistanceConfig",
    "cosine_similarity": "CosineSimilarityConfig",
    "dropout": "DropoutConfig",
    "mha": "MultiHeadAttentionConfig",
    "cross_attention": "CrossAttentionConfig",
    "encoder": "TransformerEncoderConfig",
    "decoder": "TransformerDecoderConfig",
    "pwff": "PositionWiseFeedForwardConfig",
    "positional_encoding": "PositionalEncodingConfig",
    "rope": "RotaryEncodingConfig",
    "lstm": "LstmConfig",
    "bilstm": "BiLstmConfig",
    "gru": "GruConfig",
    "bigru": "BiGruConfig",
    "birnn": "BiRnnConfig",
}
"""By the first part of a case's name."""

WITHOUT_BACKEND = {"dropout", "unfold4d", "fold4d", "pixel_shuffle", "interpolate1d", "interpolate2d"} | {
    "max_pool1d", "max_pool2d", "avg_pool1d", "avg_pool2d", "adaptive_avg_pool1d", "adaptive_avg_pool2d",
    "pairwise_distance", "cosine_similarity",
}  # fmt: skip
"""Layers without parameters: their `init()` takes no backend."""


def kind_of(name: str) -> str | None:
    return next((kind for kind in sorted(CONFIGS, key=len, reverse=True) if name.startswith(kind)), None)


def layer_of(i: Any, kind: str) -> Any:
    config_class = getattr(nn, CONFIGS[kind])
    config = config_class.from_json(json.dumps(i.config))
    written = json.loads(config.to_json())
    if written != i.config:
        raise Deviation(f"the config is written as {written}, Burn's as {i.config}")
    layer = config.init() if kind in WITHOUT_BACKEND else config.init(i.backend)
    return layer if i.case.panics else with_parameters(layer, i.case)


def called(i: Any, kind: str, layer: Any) -> Any:
    """The outputs, as Burn names them."""
    given = i.given
    if kind == "mha":
        q = given.get("query", given.get("input"))
        k, v = given.get("key", q), given.get("value", q)
        output = layer(nn.MhaInput(q, k, v, mask_pad=given.get("mask_pad"), mask_attn=given.get("mask_attn")))
        return {"weights": output.weights, "context": output.context}
    if kind == "encoder":
        return layer(nn.TransformerEncoderInput(i.input, mask_pad=i.get("mask_pad"), mask_attn=i.get("mask_attn")))
    if kind == "decoder":
        masks = {name: given[name] for name in given if "mask" in name}
        return layer(nn.TransformerDecoderInput(i.target, i.memory, **masks))
    if kind in ("lstm", "bilstm"):
        state = nn.LstmState(i.cell, i.hidden) if "cell" in given else None
        output, after = layer(i.input, state)
        return {"output": output, "cell_out": after.cell, "hidden_out": after.hidden}
    if kind == "gru":
        return {"output": layer(i.input, i.get("hidden"))}
    if kind == "bigru":
        output, after = layer(i.input, i.get("hidden"))
        return {"output": output, "state_out": after}
    if kind == "birnn":
        output, after = layer(i.input, nn.RnnState(i.hidden) if "hidden" in given else None)
        return {"output": output, "hidden_out": after.hidden}
    if kind == "deform_conv2d":
        return layer(i.input, i.offset, i.get("mask"))
    if kind == "cross_attention":
        return layer(i.query, i.context, i.get("mask"))
    return layer(*given.values())


REFUSED_INPUT: dict[str, Any] = {
    "linear_wrong_size": (2, 4),
    "conv2d_too_small": (1, 1, 2, 2),
    "positional_encoding_too_long": (1, 5, 4),
    "pixel_shuffle_bad": (1, 8, 2, 3),
    "embedding_out_of_range": [[6]],
    "embedding_negative": [[-1]],
}
"""What Burn refused when the layer was called; the other refusals come when it is built."""


def layer(name: str) -> Play | None:
    if name == "masks":
        return masks
    kind = kind_of(name)
    if kind is None:
        return None
    if kind == "batch_norm":
        return batch_norm
    if name == "dropout":
        return dropout

    def play(i: Any) -> Any:
        made = layer_of(i, kind)
        if i.case.panics:
            wrong = REFUSED_INPUT.get(name)
            if wrong is None:
                return made
            return made(i.data(wrong) if isinstance(wrong, list) else i.floats(*wrong))
        return made, called(i, kind, made)

    return play


def dropout(i: Any) -> dict[str, Any]:
    """Not in training it changes nothing; in training, as many are kept as Burn keeps, give or take four deviations."""
    made = nn.DropoutConfig.from_json(json.dumps(i.config)).init()
    spec = i.case.data["outputs"]["plain_device"]
    x = i.tensor(spec)
    kept = made(Tensor.ones((4000,), i.backend)).numpy()
    if abs(np.count_nonzero(kept) - 2400) > 4 * math.sqrt(4000 * 0.6 * 0.4):
        raise Deviation(f"{np.count_nonzero(kept)} of 4000 are kept, Burn's {i.case.data['autodiff_device']}")
    close("a kept value", kept[kept != 0][:1], np.array([1 / 0.6], np.float32), 1e-6)
    return {
        "plain_device": made(x.inner()),
        "valid_on_autodiff": made.valid()(x),
        "frozen_on_autodiff": made.freeze()(x),
    }


def batch_norm(i: Any) -> Any:
    """Three batches in turn through one layer, the running values after them, and the same layer in evaluation."""
    config = nn.BatchNormConfig.from_json(json.dumps(i.config))
    params = i.case.data["params"]
    start = [
        {**spec, "data": FRESH[spec["path"]] * len(spec["data"])} if spec["path"] in FRESH else spec for spec in params
    ]
    made: Any = with_parameters(
        config.init(i.backend), Case(i.case.file, i.case.name, {**i.case.data, "params": start})
    )
    outputs = {name.replace("input", "output"): made(x) for name, x in i.given.items()}
    evaluated = i.case.data.get("eval")
    if evaluated is not None:
        valid = made.valid()
        compare("output in evaluation", valid(i.tensor(evaluated["input"]).inner()), evaluated["output"], 2e-5)
        for path, param in parameters(valid):
            spec = next(spec for spec in evaluated["params"] if spec["path"] == path)
            compare(path, param.value, spec, 2e-5)
    return made, outputs


FRESH = {"running_mean": [0.0], "running_var": [1.0]}
"""The running values of a new layer; a case lists those after its three batches."""


def masks(i: Any) -> dict[str, Any]:
    sequences = [[1, 2, 3, 4], [5], [], [6, 7]]
    found: dict[str, Any] = {"autoregressive_2_4": nn.generate_autoregressive_mask(2, 4, i.backend)}
    for name, length in {"nomax": None, "max3": 3, "fixed6": nn.SeqLengthOption.Fixed(6)}.items():
        padded = nn.generate_padding_mask(9, sequences, length, i.backend)
        found |= {f"padding_{name}_tensor": padded.tensor, f"padding_{name}_mask": padded.mask}
    return found
