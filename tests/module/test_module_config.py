"""Config: values, and Burn's JSON."""

import enum
import inspect
import json
from typing import Any, ClassVar, Literal

import pytest

from minburn.module import Config, ConfigError, Initializer, same_as
from minburn.nn import Conv2dConfig, CrossEntropyLossConfig, DropoutConfig, LinearConfig, LinearLayout, PaddingConfig2d


class Mode(enum.Enum):
    Fast = 1
    Slow = 2


class Clip(Config):
    """The enum."""


class Norm(Clip, variant="Norm", tuple_variant=True):
    limit: float


class Range(Clip, variant="Range", tuple_variant=True):
    low: float
    high: float


class Nothing(Clip, variant="Nothing"):
    pass


class Inner(Config):
    size: int
    sides: tuple[int, int] = (1, 1)


class Whole(Config):
    width: int
    inner: Inner
    rate: float = 0.1
    name: str = "net"
    deep: bool = False
    mode: Mode = Mode.Fast
    clip: Clip | None = None
    layers: list[Inner] | None = None
    kinds: dict[str, int] | None = None
    activation: Literal["relu", "gelu"] = "relu"
    sizes: tuple[int, ...] = ()
    either: int | str = 0
    extra: Any = None
    limit: ClassVar[int] = 5


def whole(**changes):
    return Whole(3, Inner(4), **changes)


def test_values():
    config = Whole(3, Inner(4), 0.5, name="x")
    assert (config.width, config.inner.size, config.rate, config.name) == (3, 4, 0.5, "x")
    assert config == Whole(width=3, inner=Inner(4), rate=0.5, name="x")
    assert config != config.replace(width=4)
    assert hash(whole()) == hash(whole())
    assert repr(Inner(4)) == "Inner(size=4, sides=(1, 1))"
    assert isinstance(whole(rate=1).rate, float)
    with pytest.raises(AttributeError, match=r"Whole is a value: width cannot be set. Use config.replace\(width=…\)"):
        config.width = 5
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del config.width


def test_help_shows_the_fields():
    assert str(inspect.signature(Inner)) == "(size: int, sides: tuple[int, int] = (1, 1))"
    shown = str(inspect.signature(Conv2dConfig))
    assert "stride: 'tuple[int, int]' = (1, 1), dilation" in shown
    assert "padding: 'PaddingConfig2d' = PaddingConfig2d.Valid()" in shown
    assert list(inspect.signature(Config).parameters) == ["args", "fields"]

    class Square(Config):
        width: int
        height: int = same_as("width")

    assert str(inspect.signature(Square)) == "(width: int, height: int = same_as('width'))"
    assert repr(PaddingConfig2d.Explicit(1, 1, 0, 0)).startswith("PaddingConfig2d.Explicit(top=1")
    assert repr(Norm(0.5)) == "Norm(limit=0.5)"


def test_wrong_constructions():
    with pytest.raises(TypeError, match="missing fields width, inner"):
        Whole()
    with pytest.raises(TypeError, match=r"unknown field wdith \(did you mean width\?\)"):
        Whole(wdith=3, inner=Inner(4))
    with pytest.raises(TypeError, match="field inner must be Inner, but got int 4"):
        Whole(3, 4)
    with pytest.raises(TypeError, match="given twice"):
        Inner(3, size=3)
    with pytest.raises(TypeError, match="2 fields, but got 3 values"):
        Inner(1, (1, 1), 2)
    with pytest.raises(TypeError, match="required field b comes after a"):

        class Wrong(Config):
            a: int = 1
            b: int

    with pytest.raises(TypeError, match="has no __init__"):

        class AlsoWrong(Config):
            def __init__(self):
                pass


class Window(Config):
    kernel_size: int
    stride: int = same_as("kernel_size")


def test_a_list_stands_for_a_tuple():
    assert Conv2dConfig([1, 8], [3, 3]) == Conv2dConfig((1, 8), (3, 3))
    assert Inner(1, sides=[2, 3]).sides == (2, 3) and whole(layers=[Inner(1)]).layers == [Inner(1)]
    with pytest.raises(TypeError, match="kernel_size must be tuple, but got int 3"):
        Conv2dConfig([1, 8], 3)


def test_a_default_may_be_an_earlier_field():
    assert (Window(3).stride, Window(3, 2).stride, Window(kernel_size=4, stride=1).stride) == (3, 2, 1)
    assert json.loads(Window(3).to_json()) == {"kernel_size": 3, "stride": 3}
    with pytest.raises(TypeError, match=r"^Window: missing field kernel_size\. "):
        Window()
    with pytest.raises(TypeError, match="same_as names no earlier field 'size'"):

        class Wrong(Config):
            stride: int = same_as("size")
            size: int = 1


def test_json_is_burns():
    assert LinearConfig(4, 2).to_json() == (
        "{\n"
        '  "d_input": 4,\n'
        '  "d_output": 2,\n'
        '  "bias": true,\n'
        '  "initializer": {\n'
        '    "KaimingUniform": {\n'
        '      "gain": 0.5773502691896258,\n'
        '      "fan_out_only": false\n'
        "    }\n"
        "  },\n"
        '  "layout": "Row"\n'
        "}"
    )
    assert json.loads(DropoutConfig(0.5).to_json()) == {"prob": 0.5}
    assert Initializer.Zeros().to_json() == '"Zeros"'
    assert json.loads(CrossEntropyLossConfig(weights=[1.0]).to_json())["weights"] == [1.0]


FULL = {
    "clip": Range(-1.0, 1.0),
    "layers": [Inner(1), Inner(2, (3, 4))],
    "kinds": {"a": 1},
    "mode": Mode.Slow,
    "activation": "gelu",
    "sizes": (1, 2, 3),
    "either": "text",
    "extra": {"free": [1, None]},
    "name": "größer",
}


@pytest.mark.parametrize("config", [whole(), whole(**FULL), whole(clip=Norm(0.5)), whole(clip=Nothing())])
def test_round_trip(config, tmp_path):
    assert Whole.from_json(config.to_json()) == config
    config.save(tmp_path / "config.json")
    assert Whole.load(tmp_path / "config.json") == config
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]


def test_variants():
    assert json.loads(whole(clip=Norm(0.5)).to_json())["clip"] == {"Norm": 0.5}
    assert json.loads(whole(clip=Range(0.0, 1.0)).to_json())["clip"] == {"Range": [0.0, 1.0]}
    assert json.loads(whole(clip=Nothing()).to_json())["clip"] == "Nothing"
    assert Norm.from_json(Norm(0.5).to_json()) == Norm(0.5)
    assert Initializer.from_json('{"Constant": {"value": 1}}') == Initializer.Constant(value=1.0)
    for bad in ('"Small"', '{"Norm": [1, 2]}', '{"Norm": 1, "Nothing": {}}', "7", '{"Range": 1}', '{"Nothing": 3}'):
        with pytest.raises(ConfigError, match="Clip"):
            Clip.from_json(bad)


GOOD = json.loads(whole(**FULL).to_json())


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("width", 3.0, r"Whole\.width: expected an integer, but got float 3.0"),
        ("width", True, "expected an integer, but got bool True"),
        ("width", None, "Whole.width: expected an integer, but got None"),
        ("rate", "fast", "Whole.rate: expected a number, but got str 'fast'"),
        ("deep", 1, "Whole.deep: expected true or false"),
        ("name", 3, "Whole.name: expected a text"),
        ("mode", "Medium", "Whole.mode: expected one of Fast, Slow"),
        ("clip", {"Norm": "x"}, r"Whole\.clip\.Norm\.limit: expected a number"),
        ("clip", {"Other": 1}, "Whole.clip: expected one of Norm, Range, Nothing"),
        ("inner", [], "Whole.inner: expected an object, but got list"),
        ("inner", {"size": 1}, r"Whole\.inner: field sides missing"),
        ("inner", {"size": 1, "sides": [1]}, r"Whole\.inner\.sides: expected 2 values"),
        ("inner", {"size": 1, "sides": [1, "2"]}, r"Whole\.inner\.sides\.1: expected an integer"),
        (
            "inner",
            {"size": 1, "sides": [1, 2], "side": 1},
            r"Whole\.inner: unknown field side \(did you mean sides\?\)",
        ),
        ("layers", [{"size": "x", "sides": [1, 2]}], r"Whole\.layers\.0\.size"),
        ("kinds", {"a": "x"}, r"Whole\.kinds\.a"),
        ("activation", "tanh", "one of 'relu', 'gelu'"),
        ("sizes", 3, "Whole.sizes: expected a list"),
        ("either", 1.5, "Whole.either"),
    ],
)
def test_wrong_json_names_the_field(field, value, message):
    with pytest.raises(ConfigError, match=message):
        Whole.from_json(json.dumps({**GOOD, field: value}))


def test_missing_and_unknown_fields():
    less = {name: value for name, value in GOOD.items() if name not in ("width", "deep", "clip", "layers")}
    with pytest.raises(
        ConfigError, match=r"Whole: fields width, deep missing; unknown field wdith \(did you mean width\?\)"
    ):
        Whole.from_json(json.dumps({**less, "wdith": 3}))
    without_optional = {name: value for name, value in GOOD.items() if name not in ("clip", "layers")}
    loaded = Whole.from_json(json.dumps(without_optional))
    assert (loaded.clip, loaded.layers) == (None, None)  # as Burn: only what may be None may be absent


def test_files_and_values_that_are_not_json(tmp_path):
    path = tmp_path / "config.json"
    with pytest.raises(ConfigError, match=r"config\.json: cannot be read: No such file"):
        Inner.load(path)
    path.write_text('{"size": ')
    with pytest.raises(ConfigError, match=r"config\.json: Inner: this is not JSON"):
        Inner.load(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"config\.json: cannot be read"):
        Inner.load(path)
    with pytest.raises(ConfigError, match=r"Whole\.rate: nan cannot be written"):
        whole(rate=float("nan")).to_json()
    with pytest.raises(ConfigError, match=r"Whole\.extra: a set cannot be written"):
        whole(extra={1}).save(path)
    assert path.read_bytes() == b"\xff\xfe"
    with pytest.raises(ConfigError, match="cannot be written"):
        Inner(1).save(tmp_path / "nowhere" / "config.json")


def test_layout_is_an_enum():
    assert LinearConfig.from_json(LinearConfig(1, 2, layout=LinearLayout.Col).to_json()).layout is LinearLayout.Col


class Keyword(Config):
    lambda_: float
    other: int = 1


def test_a_field_named_after_a_word_of_python_has_its_plain_name_in_json():
    config = Keyword(0.5)
    assert json.loads(config.to_json()) == {"lambda": 0.5, "other": 1}
    assert Keyword.from_json(config.to_json()) == config
    with pytest.raises(ConfigError, match="field lambda missing; unknown field lambda_"):
        Keyword.from_json('{"lambda_": 0.5, "other": 1}')
