"""Run states: any tree of plain values comes back to the last bit, and equal trees are equal bytes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minburn.dtype import DType
from minburn.pack import Reader, Scalar, TensorEntry, Writer
from minburn.tensor import TensorData
from minburn.train.checkpoint import CheckpointError, RunState
from minburn.train.checkpoint.state_codec import STATE, decode_state, encode_state, same_state

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
floats = st.floats(allow_nan=True, allow_infinity=True)
arrays = st.one_of(
    st.lists(st.floats(width=32), max_size=4).map(lambda values: TensorData.from_numpy(np.array(values, np.float32))),
    st.lists(st.booleans(), max_size=4).map(lambda values: TensorData.from_numpy(np.array(values, np.bool_))),
    st.lists(st.integers(0, 65535), max_size=4).map(
        lambda bits: TensorData(np.array(bits, "<u2"), [len(bits)], DType.BF16)
    ),
)
leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.integers(-(1 << 90), 1 << 90), floats, texts, arrays)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.lists(floats, max_size=4), st.dictionaries(texts, inner, max_size=4)
    ),
    max_leaves=20,
)


def there_and_back(tree: Any) -> Any:
    return decode_state(Reader.from_bytes(encode_state(tree).into_bytes()), "here")


@given(st.dictionaries(texts, trees, max_size=5))
@settings(max_examples=100, deadline=None)
def test_every_tree_comes_back(tree: dict[str, Any]) -> None:
    data = encode_state(tree).into_bytes()
    back = decode_state(Reader.from_bytes(data), "here")
    assert same_state(tree, back)
    assert encode_state(back).into_bytes() == data
    assert encode_state(dict(reversed(tree.items()))).into_bytes() == data


def test_keys_that_look_like_paths_do_not_meet() -> None:
    tree = {"a/b": 1, "a": {"b": 2, "": 3, "~": 4}, "a~1b": 5, "": {"": 6}, STATE: 7}
    assert there_and_back(tree) == tree


def test_what_becomes_of_numpy_values_and_tuples() -> None:
    tree = {
        "scalars": [np.float64(0.1), np.float32(0.1), np.int64(3), np.bool_(True)],
        "floats": [np.float64(0.5), 0.25],
        "tuple": (1, 2),
        "array": np.arange(6, dtype=np.int32).reshape(2, 3),
    }
    back = there_and_back(tree)
    assert back["scalars"] == [0.1, float(np.float32(0.1)), 3, True]
    assert [type(value) for value in back["scalars"]] == [float, float, int, bool]
    assert back["floats"] == [0.5, 0.25]
    assert back["tuple"] == [1, 2]
    assert back["array"] == TensorData.from_numpy(np.arange(6, dtype=np.int32).reshape(2, 3))
    assert encode_state(back).into_bytes() == encode_state(tree).into_bytes()


def test_signs_and_infinities_are_kept() -> None:
    back = there_and_back({"zero": -0.0, "list": [-0.0, math.inf, math.nan], "nan": math.nan, "inf": -math.inf})
    assert math.copysign(1, back["zero"]) == math.copysign(1, back["list"][0]) == -1
    assert back["inf"] == -math.inf
    assert math.isnan(back["nan"])
    assert math.isnan(back["list"][2])


def test_what_cannot_be_saved_is_named() -> None:
    loop: dict[str, Any] = {}
    loop["again"] = loop
    cases: list[tuple[Any, str]] = [
        ({"a": {"b": [1, object()]}}, "run state: /a/b/1 is object"),
        ({"a": {3: 1}}, "run state: /a has the key 3. Keys must be text."),
        ({"a": {1, 2}}, "run state: /a is set"),
        (loop, "nested deeper than 64 levels"),
        ({"a": "\ud800"}, "run state: "),
        ({"a": np.array(["x"])}, "dtype"),
    ]
    for tree, message in cases:
        with pytest.raises(ValueError, match=r".") as caught:
            encode_state(tree)
        assert message in str(caught.value)


def test_foreign_and_damaged_files_are_refused() -> None:
    def with_text(text: str) -> Reader:
        return Reader.from_bytes(Writer([], {STATE: text}).into_bytes())

    for reader, message in [
        (Reader.from_bytes(Writer([]).into_bytes()), "not a run's state"),
        (with_text("{"), "damaged"),
        (with_text("[" * 100_000), "damaged"),
        (with_text("[]"), "holds no tree"),
        (with_text('{"tree": {}, "version": 2}'), "a state of version 2"),
        (with_text('{"tree": {"a": 0}, "version": 1}'), "the value of /a is missing"),
        (with_text('{"tree": {"a": [2]}, "version": 1}'), "the value of /a/0 is missing"),
        (with_text('{"tree": {"a": 9}, "version": 1}'), "the value of /a is missing"),
        (with_text('{"tree": {"a": 0.5}, "version": 1}'), "the value of /a is missing"),
        (
            Reader.from_bytes(
                Writer(
                    [TensorEntry("/a", DType.U8, [1], b"1")], {STATE: '{"tree": {"a": 2}, "version": 1}'}
                ).into_bytes()
            ),
            "not a list of float64",
        ),
    ]:
        with pytest.raises(CheckpointError, match=message):
            decode_state(reader, "file")


STATE_OF_ALL = RunState(
    epoch=3,
    batch=7,
    global_step=53,
    optimizer_steps=27,
    last_lr=0.1 + 0.2,
    streams={"model": {"seed": 1 << 70, "counters": {"dropout": 12, "init": 3}}},
    kept_epochs=(1, 2),
    strategy={"released": [[1], []], "strategies": [None, {"best": 2}]},
    early_stopping={"best": -math.inf},
    history={"train": {"Loss": [1.0, 0.1]}, "valid": {"Accuracy": [math.nan, 97.5], "Loss": [2.0, 3.0]}},
    metrics={"Loss": {"sum": 1e300, "count": 7}},
    accumulated={"1234": TensorData.from_numpy(np.array([[1.5, -0.0]], np.float32))},
    accumulated_count=1,
    logs={"train/epoch-3/Loss.log": 120},
    fingerprint={"seed": 42, "parameters": {"fc.weight ü": {"shape": [2, 3], "dtype": "F32"}}},
)


def test_a_state_comes_back_from_its_file(tmp_path: Path) -> None:
    report = STATE_OF_ALL.save(tmp_path / "state-3.bpk", digest=True)
    back = RunState.load(report.path)
    assert same_state(vars(back), {**vars(STATE_OF_ALL), "kept_epochs": (1, 2)})
    assert back.into_bytes() == STATE_OF_ALL.into_bytes() == report.path.read_bytes()
    assert RunState.from_bytes(STATE_OF_ALL.into_bytes()).into_bytes() == back.into_bytes()
    assert list(tmp_path.iterdir()) == [report.path]


def test_a_state_reads_well_in_any_burnpack_tool() -> None:
    reader = Reader.from_bytes(STATE_OF_ALL.into_bytes())
    assert reader.scalars["/global_step"] == Scalar.uint(53)
    assert reader.scalars["/metrics/Loss/sum"] == Scalar.float(1e300)
    assert reader["/history/train/Loss"].shape == (2,)
    assert reader["/accumulated/1234"].dtype == DType.F32


def test_states_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="RunState: batch must be an int of at least 0 and below"):
        RunState(epoch=1, batch=-1, global_step=0)
    with pytest.raises(CheckpointError, match="kept_epochs must be a list"):
        RunState(epoch=1, global_step=0, kept_epochs=3)  # type: ignore[arg-type]
    cases: list[tuple[Any, str]] = [
        ({"epoch": 1}, "it has no global_step"),
        ({"epoch": 1, "global_step": 0, "more": 1}, "it has the entry 'more'"),
        ({"epoch": 1, "global_step": 0, "history": []}, "history is list, not a dict"),
        ({"epoch": "1", "global_step": 0}, "epoch must be an int"),
    ]
    for tree, message in cases:
        with pytest.raises(CheckpointError, match=message):
            RunState.from_bytes(encode_state(tree).into_bytes())
    path = tmp_path / "state-1.bpk"
    with pytest.raises(CheckpointError, match=r"state-1\.bpk: cannot open it: No such file"):
        RunState.load(path)
    path.write_bytes(STATE_OF_ALL.into_bytes()[:100])
    with pytest.raises(CheckpointError, match=r"state-1\.bpk: truncated"):
        RunState.load(path)
