"""Burn's layers: how a layer of ours is made in Rust.

Our configs have Burn's names, fields, defaults and order, so one rule serves nearly all layers: read the config's
fields off the layer, then

    Conv2d { … }    →    Conv2dConfig::new([1, 8], [3, 3]).with_padding(PaddingConfig2d::Same).init(device)

What a layer does not have under the config's name is in `READ`. Initializers are not to be seen in a layer that was
made: the Rust layer has the default one, and a record brings the values.
"""

from __future__ import annotations

import enum
import inspect
import math
from collections.abc import Callable
from typing import Any

from minburn.cli.rust.error import NotExpressible
from minburn.cli.rust.tokens import Number, Setting, Tokens
from minburn.module import Config, Module
from minburn.module.fields import MISSING, Field, SameAs
from minburn.tensor import Tensor

PACKAGE = "minburn.nn."
FAMILIES = ("activation", "attention", "conv", "interpolate", "loss", "norm", "pool", "transformer")
"""Modules of burn::nn that are named as ours; the rest lies in burn::nn itself."""
ELSEWHERE = {"Identity": "burn::nn::Identity"}
SKIPPED = ("initializer",)
NOT_ALONE = ("TransformerEncoderLayer", "TransformerDecoderLayer", "GateController")
"""Burn makes these as parts of others only; a model that has one gets its struct."""
WRAPPERS = {"Activation": "ActivationConfig", "Normalization": "NormalizationConfig"}

Read = Callable[[Any], Any]


def has_bias(layer: Any) -> bool:
    return layer.bias is not None


def is_col(layer: Any) -> Any:
    from minburn.nn import LinearLayout

    return LinearLayout.Row if layer.weight._stored is None else LinearLayout.Col


def choice_of(activation: Any) -> Config:
    """The ActivationConfig that makes this activation."""
    from minburn.nn import ActivationConfig

    name = type(activation)._module_layout.variant or type(activation).__name__
    if name == "Gelu" and activation.approximate:
        name = "GeluApproximate"
    choice = getattr(ActivationConfig, name, None)
    if choice is None:
        raise NotExpressible(f"{name} is none of Burn's ActivationConfig")
    fields = choice._json_form.table.names
    return choice() if not fields else choice(config_of(activation, f"{name}Config"))  # type: ignore[no-any-return]


def config_of(layer: Any, name: str) -> Config:
    """A config of that name with the layer's values."""
    cls = getattr(nn(), name)
    base = next(base for base in type(layer).__mro__ if base.__name__ == name.removesuffix("Config"))
    table = cls._json_form.table.fields
    values = {field: setting(layer, base.__name__, field) for field in table if field not in SKIPPED}
    return cls(**{field: value for field, value in values.items() if value is not MISSING})  # type: ignore[no-any-return]


def of_gate(*places: str) -> dict[str, Read]:
    """Sizes of a recurrent layer, read off the gate at a place in it."""

    def gate(layer: Any) -> Any:
        for place in places:
            layer = getattr(layer, place)
        return layer.input_transform

    return {
        "d_input": lambda m: gate(m).weight.shape[0],
        "d_hidden": lambda m: gate(m).weight.shape[1],
        "bias": lambda m: has_bias(gate(m)),
    }


def of_forward(*fields: str) -> dict[str, Read]:
    """Settings of a layer of two directions, as its forward one has them."""

    def reader(field: str) -> Read:
        return lambda m: setting(m.forward_, type(m.forward_).__name__, field)

    return {field: reader(field) for field in fields}


def of_activations(*names: str) -> dict[str, Read]:
    def reader(field: str) -> Read:
        return lambda m: choice_of(getattr(m, field))

    return {f"{name}_activation": reader(f"{name}_activation") for name in names}


RECURRENT: dict[str, dict[str, Read]] = {
    "Rnn": {**of_gate("gate"), **of_activations("hidden")},
    "Gru": {**of_gate("update_gate"), **of_activations("gate", "hidden")},
    "Lstm": {**of_gate("input_gate"), **of_activations("gate", "cell", "hidden")},
    "BiRnn": {**of_gate("forward_", "gate"), **of_forward("clip", "hidden_activation")},
    "BiGru": {
        **of_gate("forward_", "update_gate"),
        **of_forward("reset_after", "clip", "gate_activation", "hidden_activation"),
    },
    "BiLstm": {
        **of_gate("forward_", "input_gate"),
        **of_forward("clip", "input_forget", "gate_activation", "cell_activation", "hidden_activation"),
    },
}

READ: dict[str, dict[str, Read]] = {
    "Linear": {
        "d_input": lambda m: m.weight.shape[0],
        "d_output": lambda m: m.weight.shape[1],
        "bias": has_bias,
        "layout": is_col,
    },
    "Embedding": {"n_embedding": lambda m: m.weight.shape[0], "d_model": lambda m: m.weight.shape[1]},
    "Conv1d": {
        "channels_in": lambda m: m.weight.shape[1] * m.groups,
        "channels_out": lambda m: m.weight.shape[0],
        "bias": has_bias,
    },
    **{
        name: {"channels": lambda m: (m.weight.shape[1] * m.groups, m.weight.shape[0]), "bias": has_bias}
        for name in ("Conv2d", "Conv3d")
    },
    "DeformConv2d": {
        "channels": lambda m: (m.weight.shape[1] * m.weight_groups, m.weight.shape[0]),
        "bias": has_bias,
    },
    **{f"ConvTranspose{rank}d": {"bias": has_bias} for rank in (1, 2, 3)},
    "BatchNorm": {"num_features": lambda m: m.gamma.shape[0]},
    "LayerNorm": {"d_model": lambda m: m.gamma.shape[0], "bias": lambda m: m.beta is not None},
    "RmsNorm": {"d_model": lambda m: m.gamma.shape[0]},
    "PositionalEncoding": {"d_model": lambda m: m.sinusoids.shape[1]},
    "RotaryEncoding": {
        "max_sequence_length": lambda m: m.cos.shape[0],
        "d_model": lambda m: 2 * m.theta.shape[0],
        "theta": lambda m: base_of(m.theta.numpy()),
    },
    "PRelu": {"num_parameters": lambda m: m.alpha.shape[0], "alpha": lambda m: MISSING},
    "SwiGlu": {
        "d_input": lambda m: m.linear_inner.weight.shape[0],
        "d_output": lambda m: m.linear_inner.weight.shape[1],
        "bias": lambda m: has_bias(m.linear_inner),
        "layout": lambda m: is_col(m.linear_inner),
    },
    "MultiHeadAttention": {
        "dropout": lambda m: m.dropout.prob,
        "query_bias": lambda m: has_bias(m.query),
        "key_bias": lambda m: has_bias(m.key),
        "value_bias": lambda m: has_bias(m.value),
        "output_bias": lambda m: has_bias(m.output),
    },
    "CrossAttention": {
        "d_model": lambda m: m.query.weight.shape[0],
        "d_context": lambda m: m.key.weight.shape[0],
        "dropout": lambda m: m.dropout.prob,
    },
    "PositionWiseFeedForward": {
        "d_model": lambda m: m.linear_inner.weight.shape[0],
        "d_ff": lambda m: m.linear_inner.weight.shape[1],
        "dropout": lambda m: m.dropout.prob,
        "activation": lambda m: choice_of(m.activation),
    },
    **{
        name: {
            "activation": lambda m: choice_of(m.layers[0].pwff.activation) if m.layers else MISSING,
            "layer_norm_eps": lambda m: m.layers[0].norm_1.epsilon if m.layers else MISSING,
        }
        for name in ("TransformerEncoder", "TransformerDecoder")
    },
    **RECURRENT,
}


def base_of(theta: Any) -> float:
    """Of frequencies theta[i] = base^(-i / n)."""
    if len(theta) < 2:
        return 10000.0
    base = float(theta[1]) ** -len(theta)
    rounded = float(f"{base:.4g}")
    return rounded if math.isclose(base, rounded, rel_tol=1e-3) else base


def nn() -> Any:
    import minburn.nn

    return minburn.nn


def burn_class(cls: type) -> str | None:
    """`minburn.nn.conv.convolution.Conv2d` → `burn::nn::conv::Conv2d`; None for a class that Burn does not have."""
    if not cls.__module__.startswith(PACKAGE) or not hasattr(nn(), cls.__name__) or cls.__name__ in NOT_ALONE:
        return None
    family = cls.__module__.removeprefix(PACKAGE).split(".")[0]
    if cls.__name__ in ELSEWHERE:
        return ELSEWHERE[cls.__name__]
    return f"burn::nn::{f'{family}::' if family in FAMILIES else ''}{cls.__name__}"


def wrapper_of(layer: object) -> type | None:
    """Activation or Normalization, if the layer is a variant of one."""
    cls = type(layer)
    if getattr(cls, "_module_layout", None) is None or cls._module_layout.variant is None:  # type: ignore[attr-defined]
        return None
    return next(
        (base for base in cls.__mro__ if base.__module__.startswith(PACKAGE) and base.__name__ in WRAPPERS), None
    )


def is_burns(layer: object) -> bool:
    """Whether Burn has the layer, so that its fields need not be written."""
    return isinstance(layer, Module) and (burn_class(type(layer)) is not None or wrapper_of(layer) is not None)


def setting(layer: Any, cls: str, field: str) -> Any:
    """A config's value as the layer has it; MISSING if that is not to be seen."""
    read = READ.get(cls, {}).get(field)
    value = getattr(layer, field, MISSING) if read is None else read(layer)
    if isinstance(value, Tensor):
        return value.numpy().tolist()
    return value


def make_layer(layer: Module, use: Callable[[str], str]) -> Tokens:
    """The expression that makes it. use: takes a full Rust path, gives the name to write."""
    wrapper = wrapper_of(layer)
    if wrapper is not None:
        return make_wrapped(layer, wrapper, use)
    cls = type(layer)
    path = burn_class(cls)
    assert path is not None
    config = getattr(nn(), f"{cls.__name__}Config", None)
    if config is None:
        return plain_layer(layer, use(path))
    tokens = make_config(config, f"{path}Config", lambda field: setting(layer, cls.__name__, field), use)
    return [*tokens, init_call(config)]


def plain_layer(layer: Any, name: str) -> Tokens:
    """A layer without a config: `Relu::new()`."""
    if name.endswith("GLU"):
        return [f"{name}::new(", Number(layer.dim), ")"]
    approximate = getattr(layer, "approximate", False)
    return [f"{name}::new_approximate()" if approximate else f"{name}::new()"]


def make_wrapped(layer: Any, wrapper: type, use: Callable[[str], str]) -> Tokens:
    """`NormalizationConfig::Batch(BatchNormConfig::new(8)).init(device)`."""
    path = burn_class(wrapper)
    assert path is not None
    if wrapper.__name__ == "Activation":
        return [*value_tokens(choice_of(layer), use), ".init(device)"]
    variant = layer._module_layout.variant
    head = f"{use(f'{path}Config')}::{variant}"
    inner = next(
        (base for base in type(layer).__mro__[1:] if base is not wrapper and hasattr(nn(), f"{base.__name__}Config")),
        None,
    )
    if inner is None:
        return [f"{head}.init(device)"]
    config = getattr(nn(), f"{inner.__name__}Config")
    inner_path = burn_class(inner)
    tokens = make_config(config, f"{inner_path}Config", lambda field: setting(layer, inner.__name__, field), use)
    return [f"{head}(", *tokens, ").init(device)"]


def make_activation(layer: Any, use: Callable[[str], str]) -> Tokens:
    """An activation in a field that takes any."""
    return [*value_tokens(choice_of(layer), use), ".init(device)"]


def init_call(config: type[Config]) -> str:
    parameters = list(inspect.signature(config.init).parameters)  # type: ignore[attr-defined]
    return ".init(device)" if "backend" in parameters else ".init()"


def make_config(config: type[Config], path: str, value: Callable[[str], Any], use: Callable[[str], str]) -> Tokens:
    """`XConfig::new(required, …).with_option(…)`."""
    required: list[Tokens] = []
    options: Tokens = []
    fields = config._json_form.table.fields
    for name, field in fields.items():
        if name in SKIPPED:
            continue
        found = value(name)
        if found is MISSING and not field.required:
            continue
        if found is MISSING:
            raise NotExpressible(f"{config.__name__}.{name} is not to be seen in the layer that it made")
        tokens = value_tokens(found, use)
        if field.required:
            required.append(tokens)
            continue
        optional = may_be_none(field)
        if optional and found is not None:
            tokens = ["Some(", *tokens, ")"]
        default = field.default
        other = value(default.field) if isinstance(default, SameAs) else default
        options.append(Setting(name.rstrip("_"), tokens, found == other))
    listed: Tokens = []
    for index, tokens in enumerate(required):
        listed += [", "] * (index > 0) + tokens
    return [f"{use(path)}::new(", *listed, ")", *options]


def may_be_none(field: Field) -> bool:
    import typing

    return type(None) in typing.get_args(field.resolved())


def value_tokens(value: Any, use: Callable[[str], str]) -> Tokens:
    """A hyper-parameter in Rust."""
    if value is None:
        return ["None"]
    if isinstance(value, (bool, int, float)):
        return [Number(value)]
    if isinstance(value, str):
        return [rust_string(value)]
    if isinstance(value, enum.Enum):
        path = burn_class(type(value))
        if path is None:
            raise NotExpressible(f"{value!r} has no counterpart in Burn")
        return [f"{use(path)}::{value.name}"]
    if isinstance(value, (tuple, list)):
        tokens: Tokens = ["vec![" if isinstance(value, list) else "["]
        for index, item in enumerate(value):
            tokens += [", "] * (index > 0) + value_tokens(item, use)
        return [*tokens, "]"]
    if isinstance(value, Config):
        return config_tokens(value, use)
    raise NotExpressible(f"a {type(value).__name__} is no hyper-parameter of Burn's")


def config_tokens(value: Config, use: Callable[[str], str]) -> Tokens:
    """A config as a value: `PaddingConfig2d::Explicit(1, 1, 1, 1)`, or `LinearConfig::new(…)`."""
    cls = type(value)
    variant = cls._json_form.variant
    if variant is None:
        path = burn_class(cls)
        if path is None:
            raise NotExpressible(f"the config {cls.__name__} has no counterpart in Burn")
        return make_config(cls, path, lambda field: getattr(value, field), use)
    base = next(base for base in cls.__mro__ if base is not cls and burn_class(base) is not None)
    head = f"{use(str(burn_class(base)))}::{variant}"
    items = [value_tokens(item, use) for item in value.__dict__.values()]
    if not items:
        return [head]
    tokens: Tokens = []
    for index, (name, item) in enumerate(zip(value.__dict__, items, strict=True)):
        tokens += [", "] * (index > 0) + ([] if cls._json_form.tuple_variant else [f"{name}: "]) + item
    return [f"{head}(", *tokens, ")"] if cls._json_form.tuple_variant else [f"{head} {{ ", *tokens, " }"]


def rust_string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}".to_string()'
