"""Filters, renaming, adapters, and what a load reports."""

from __future__ import annotations

import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from models_store import Two, two, values, zoo

from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.module import Module, Param
from minburn.nn import Linear, LinearConfig
from minburn.pack import Reader, TensorEntry, Writer
from minburn.store import (
    Adapter,
    BurnpackStore,
    BurnToPyTorchAdapter,
    FloatCastAdapter,
    HalfPrecisionAdapter,
    KeyRemapper,
    PathFilter,
    PyTorchToBurnAdapter,
    StoreError,
)
from minburn.store.place import places_of
from minburn.store.remap import contiguous_indices

GOLDEN = Path(__file__).parent.parent / "golden" / "store"


def packed(tensors: dict[str, np.ndarray]) -> bytes:
    return Writer(
        TensorEntry(name, {"f": DType.F32, "i": DType.I32, "u": DType.U8}[array.dtype.kind], array.shape, array)
        for name, array in tensors.items()
    ).into_bytes()


def arrays(module: Module) -> dict[str, np.ndarray]:
    return {entry.path: entry.data.numpy() for entry in module.into_record()}


# Filters


def test_a_filter_is_the_union_of_its_criteria() -> None:
    found = PathFilter(regexes=[r"^enc\.", "bias$"], paths=["head.weight"], predicates=[lambda _, c: "Norm" in c])
    names = ["enc.x", "dec.enc.x", "head.bias", "head.weight", "head.weights", "norm.gamma"]
    assert [name for name in names if found.matches(name)] == ["enc.x", "head.bias", "head.weight"]
    assert found.matches("norm.gamma", "Struct:Model.Struct:LayerNorm")
    assert not PathFilter().matches("anything")
    assert PathFilter.all().matches("anything")
    both = PathFilter(paths=["a"]) | PathFilter(regexes=["^b"])
    assert [name for name in ("a", "b1", "c") if both.matches(name)] == ["a", "b1"]
    assert (PathFilter() | PathFilter.all()).matches("x")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"regexes": ["("]}, r"'\(' is not a regex"),
        ({"regexes": "abc"}, "regexes is a list, but got str"),
        ({"paths": "abc"}, "paths is a list, but got str"),
        ({"paths": [1]}, "paths: each is a text, but got int 1"),
        ({"regexes": [3]}, "a regex is a str"),
        ({"predicates": [3]}, "predicate is a function"),
    ],
)
def test_a_wrong_filter_is_refused_when_it_is_made(options: dict, text: str) -> None:
    with pytest.raises(StoreError, match=text):
        PathFilter(**options)


def test_a_filter_chooses_what_is_loaded_and_saved() -> None:
    model, other = two(1), two(2)
    only_a = PathFilter(regexes=[r"^a\."])
    data = BurnpackStore(b"", filter=only_a).collect_into_bytes(model)
    assert Reader.from_bytes(data).names() == ["a.bias", "a.weight"]
    loaded, result = BurnpackStore(data, filter=only_a).apply_to(other)
    assert result.applied == ["a.weight", "a.bias"]
    assert result.skipped == ["b.weight"]
    assert values(loaded)["a.weight"] == values(model)["a.weight"]
    assert values(loaded)["b.weight"] == values(other)["b.weight"]
    by_container = PathFilter(predicates=[lambda path, container: container.endswith("LayerNorm")])
    loaded, result = BurnpackStore(BurnpackStore(b"").collect_into_bytes(zoo()), filter=by_container).apply_to(zoo(2))
    assert result.applied == ["norm.gamma", "norm.beta", "choice.Layer.gamma", "choice.Layer.beta"]


# Renaming


@pytest.mark.parametrize(
    ("rules", "old", "new"),
    [
        ([(r"^module\.", "")], "module.a.module.b", "a.module.b"),
        ([("a", "b"), ("b", "c")], "a.b", "c.c"),
        ([(r"layer(\d+)", "layers.$1")], "layer12.w", "layers.12.w"),
        ([(r"(?P<part>enc|dec)_", "${part}.")], "enc_x", "enc.x"),
        ([(r"(\d)x", r"\1y")], "1x", "1y"),
        ([(r"(\d)x", "${1}a$$")], "1x", "1a$"),
        ({"x": "y"}, "x.x", "y.y"),
    ],
)
def test_rules_rename(rules: list, old: str, new: str) -> None:
    assert KeyRemapper(rules).rename(old) == new


@pytest.mark.parametrize(
    "rules", [[("(", "")], [("a", "$1")], [("(a)", "$1b")], ["ab"], [("a", 3)], [("a", "\\")], [("a", r"\g<no>")]]
)
def test_wrong_rules_are_refused_when_they_are_made(rules: list) -> None:
    with pytest.raises(StoreError, match="KeyRemapper"):
        KeyRemapper(rules)


def test_two_names_that_become_one_are_refused() -> None:
    data = packed({"a.x": np.zeros(1, "f4"), "b.x": np.zeros(1, "f4")})
    with pytest.raises(StoreError, match=r"a\.x and b\.x both become x"):
        BurnpackStore(data, remap=[(r"^.\.", "")]).keys()


def test_gaps_between_indices_close() -> None:
    names = ["fc.0.w", "fc.2.w", "fc.4.w", "b.10.c.7", "b.2.c.3", "b.2.c.5", "3.x", "9.x", "plain"]
    assert list(contiguous_indices(names).values()) == [
        "fc.0.w", "fc.1.w", "fc.2.w", "b.1.c.0", "b.0.c.0", "b.0.c.1", "0.x", "1.x", "plain"
    ]  # fmt: skip
    kept = contiguous_indices(names, [re.compile("^b$"), re.compile("^$")])
    assert [kept[name] for name in names[3:8]] == ["b.10.c.0", "b.2.c.0", "b.2.c.1", "3.x", "9.x"]


@given(
    st.lists(st.lists(st.sampled_from(["a", "b", "0", "1", "2", "7", "30"]), min_size=1, max_size=4), unique_by=tuple)
)
def test_contiguous_indices_stay_apart_in_order_and_do_so_once(parts: list[list[str]]) -> None:
    new = contiguous_indices([".".join(name) for name in parts])
    assert len(set(new.values())) == len(parts)
    again = contiguous_indices(new.values())
    assert all(again[name] == name for name in new.values())
    assert sorted(new, key=lambda n: [(p.isdigit(), int(p) if p.isdigit() else 0, p) for p in n.split(".")]) == sorted(
        new, key=lambda n: [(p.isdigit(), int(p) if p.isdigit() else 0, p) for p in new[n].split(".")]
    )


# Adapters


def test_the_class_that_declares_a_parameter_is_its_owner() -> None:
    class Mine(Linear):
        extra: Param

    backend = NumPy(seed=1)
    base = LinearConfig(2, 3).init(backend)
    owners = {place.path: place.owner for place in places_of(Mine(**base.__dict__, extra=base.bias.with_id(7)))}
    assert owners == {"weight": "Linear", "bias": "Linear", "extra": "Mine"}
    owners = {place.name: place.owner for place in places_of(zoo(), skip_enum_variants=True)}
    assert owners["choice.gamma"] == "LayerNorm"
    assert owners["layers.1.weight"] == "Linear"
    assert owners["counts"] == "Zoo"
    assert owners["bn.running_mean"] == "BatchNorm"


def test_pytorch_layouts_and_back() -> None:
    model = zoo()
    data = BurnpackStore(b"", to_adapter=BurnToPyTorchAdapter(), skip_enum_variants=True).collect_into_bytes(model)
    with Reader.from_bytes(data) as reader:
        found = {name: reader[name] for name in reader.names_by_position()}
    assert list(found) == [
        "embed.weight", "conv.weight", "conv.bias", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var",
        "norm.weight", "norm.bias", "choice.weight", "choice.bias", "layers.0.weight", "layers.0.bias",
        "layers.1.weight", "layers.1.bias", "col.weight", "col.bias", "counts", "keep", "scale",
    ]  # fmt: skip
    held = arrays(model)
    assert found["layers.0.weight"].shape == (3, 4)
    assert (np.frombuffer(found["layers.0.weight"].view(), "f4").reshape(3, 4) == held["layers.0.weight"].T).all()
    assert found["col.weight"].shape == (5, 3)  # a Col weight lies in files as PyTorch's
    assert found["embed.weight"].shape == (5, 4)
    store = BurnpackStore(data, from_adapter=PyTorchToBurnAdapter(), skip_enum_variants=True)
    loaded, result = store.apply_to(zoo(2))
    assert result.is_success
    assert result.unused == []
    assert values(loaded) == values(model)


def test_casting_adapters() -> None:
    model = zoo()
    half = HalfPrecisionAdapter()
    data = BurnpackStore(b"", to_adapter=half.without_module("Conv2d").with_module("Zoo")).collect_into_bytes(model)
    dtypes = {name: str(entry.dtype) for name, entry in Reader.from_bytes(data).items()}
    assert dtypes["layers.0.weight"] == dtypes["norm.gamma"] == dtypes["embed.weight"] == dtypes["scale"] == "F16"
    assert dtypes["bn.gamma"] == dtypes["bn.running_mean"] == dtypes["conv.weight"] == "F32"
    assert dtypes["counts"] == "I32"
    loaded, _ = BurnpackStore(data, from_adapter=half.without_module("Conv2d").with_module("Zoo")).apply_to(zoo(2))
    assert {dtype for dtype, _, _ in values(loaded).values()} == {"F32", "I32", "Bool(Native)"}
    wide, _ = BurnpackStore(data, from_adapter=Adapter().chain(FloatCastAdapter(DType.F64))).apply_to(zoo(2))
    assert {dtype for dtype, _, _ in values(wide).values()} == {"F64", "I32", "Bool(Native)"}
    with pytest.raises(StoreError, match="expected a float dtype"):
        FloatCastAdapter(DType.I32)
    with pytest.raises(StoreError, match="expected an Adapter"):
        half.chain(None)  # type: ignore[arg-type]


def test_a_chain_looks_for_both_names() -> None:
    class Prefixed(Adapter):
        def alternative(self, name, place):  # type: ignore[no-untyped-def]
            return f"old.{name}"

    data = packed({"old.norm.weight": np.ones(4, "f4")})
    only = PathFilter(paths=["norm.gamma"])
    chain = PyTorchToBurnAdapter().chain(Prefixed())
    _, result = BurnpackStore(data, from_adapter=chain, filter=only).apply_to(zoo())
    assert result.applied == ["norm.gamma"]


# Loading


def test_burns_own_store_file_loads_and_is_written_again_byte_for_byte() -> None:
    path = GOLDEN / "via_burnpack_store.bpk"
    loaded, result = BurnpackStore(path).apply_to(two())
    assert result.is_success
    assert [int(place.param.id) for place in places_of(loaded)] == [
        10101746050101399110, 3959768319270157725, 14508982502427490536
    ]  # fmt: skip
    assert BurnpackStore(b"").collect_into_bytes(loaded) == path.read_bytes()
    assert np.allclose(loaded.a.bias.value.numpy(), [-0.4795, 0.556, -0.1075, 0.544])


def test_a_partial_load_says_what_became_of_everything() -> None:
    data = packed(
        {
            "a.weight": np.ones((3, 4), "f4"),
            "a.bias": np.ones(4, "i4"),
            "head.weight": np.ones((4, 2), "f4"),
        }
    )
    model = two()
    with pytest.raises(StoreError) as caught:
        BurnpackStore(data).apply_to(model)
    result = caught.value.result
    assert result is not None
    assert result.applied == ["a.weight"]
    assert result.errors == {"a.bias": "the parameter holds float values, the file has I32"}
    assert list(result.missing) == ["b.weight"]
    assert result.missing["b.weight"] == "Struct:Two.Struct:Linear"
    assert result.unused == ["head.weight"]
    assert "a.bias: the parameter holds float values" in str(caught.value)
    assert "1 missing (b.weight)" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "unused   head.weight" in str(result)
    loaded, result = BurnpackStore(data, allow_partial=True, validate=False).apply_to(model)
    assert (loaded.a.weight.value.numpy() == 1).all()
    assert loaded.a.bias is model.a.bias
    assert loaded.a.weight.id == model.a.weight.id
    assert not result.is_success


@pytest.mark.parametrize(
    ("names", "hint"),
    [
        (lambda name: f"module.{name}", r"remap=\[\('\^module"),
        (lambda name: name.replace("gamma", "weight").replace("beta", "bias"), "PyTorchToBurnAdapter"),
        (lambda name: name.replace("Layer.", ""), "skip_enum_variants=True"),
        (lambda name: name.replace("scale", "scales"), r"Is scale called scales in the file\?"),
    ],
)
def test_what_does_not_meet_is_explained(names, hint: str) -> None:  # type: ignore[no-untyped-def]
    tensors = {names(name): array.view("u1") if array.dtype == bool else array for name, array in arrays(zoo()).items()}
    with pytest.raises(StoreError, match=hint) as caught:
        BurnpackStore(packed(tensors)).apply_to(zoo())
    assert caught.value.result is not None and len(caught.value.result.suggestions) == 1


def test_names_that_cannot_be_printed_are_shown_in_one_line() -> None:
    tensors = {"a\nb": np.ones(1, "f4"), "\x1b[31m": np.ones(1, "f4")}
    with pytest.raises(StoreError, match=r"'a\\nb'.*'\\x1b\[31m'") as caught:
        BurnpackStore(packed(tensors)).apply_to(two())
    assert str(caught.value).isprintable()
    assert caught.value.result is not None and "\x1b" not in str(caught.value.result)


def test_a_transposed_matrix_is_recognized() -> None:
    with pytest.raises(StoreError, match=r"shape \[3, 4\], the file has \[4, 3\], transposed.*PyTorchToBurnAdapter"):
        BurnpackStore(packed({"a.weight": np.ones((4, 3), "f4")}), allow_partial=True).apply_to(two())


def test_integers_are_bools_where_bools_are_wanted() -> None:
    only = PathFilter(paths=["keep"])
    data = packed({"keep": np.array([1, 0, 0, 1], "u1")})
    loaded, _ = BurnpackStore(data, filter=only).apply_to(zoo())
    assert loaded.keep.value.numpy().tolist() == [True, False, False, True]
    with pytest.raises(StoreError, match=r"keep.*only 0 and 1 are bools"):
        BurnpackStore(packed({"keep": np.array([1, 0, 2, 1], "u1")}), filter=only).apply_to(zoo())


def test_a_shared_parameter_stays_shared() -> None:
    backend = Autodiff(NumPy(seed=1))
    layer = LinearConfig(3, 3, bias=False).init(backend)
    data = BurnpackStore(b"").collect_into_bytes(Two(a=layer, b=layer))
    loaded, result = BurnpackStore(data).apply_to(Two(a=(x := LinearConfig(3, 3, bias=False).init(backend)), b=x))
    assert loaded.a.weight is loaded.b.weight
    assert result.applied == ["a.weight", "b.weight"]
    assert loaded.a.weight.value.is_require_grad
    other = packed({"a.weight": np.zeros((3, 3), "f4"), "b.weight": np.ones((3, 3), "f4")})
    with pytest.raises(StoreError, match=r"a\.weight and b\.weight are one shared parameter"):
        BurnpackStore(other).apply_to(Two(a=x, b=x))


def test_a_load_draws_nothing_and_reads_one_tensor_at_a_time() -> None:
    class Many(Module):
        layers: list[Linear]

    def many(seed: int) -> Many:
        return Many(layers=[LinearConfig(256, 256, bias=False).init(NumPy(seed=seed)) for _ in range(16)])

    data = BurnpackStore(b"", to_adapter=BurnToPyTorchAdapter()).collect_into_bytes(many(1))
    model = many(2)
    tracemalloc.start()
    loaded, _ = BurnpackStore(data, from_adapter=PyTorchToBurnAdapter()).apply_to(model)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < (16 + 3) * 256 * 256 * 4  # the loaded model, and what one transposed matrix needs
    assert not any(layer.weight.is_initialized for layer in model.layers)
    assert values(loaded) == values(many(1)) or len(values(loaded)) == 16


# Files


def test_files_are_replaced_only_on_demand(tmp_path: Path) -> None:
    store = BurnpackStore(tmp_path / "model")
    store.collect_from(two(1))
    assert [path.name for path in tmp_path.iterdir()] == ["model.bpk"]
    with pytest.raises(StoreError, match="already exists"):
        store.collect_from(two(2))
    BurnpackStore(tmp_path / "model", overwrite=True).collect_from(two(3))
    assert values(BurnpackStore(tmp_path / "model").apply_to(two())[0]) == values(two(3))
    BurnpackStore(tmp_path / "bare", auto_extension=False, metadata={"made by": "a test"}).collect_from(two(1))
    with Reader.from_file_exact(tmp_path / "bare") as reader:
        assert dict(reader.metadata) == {
            "format": "burnpack", "producer": "burn", "version": "0.22.1", "made by": "a test"
        }  # fmt: skip


def test_a_failing_save_leaves_nothing(tmp_path: Path) -> None:
    class Failing(Adapter):
        def adapt(self, entry, place):  # type: ignore[no-untyped-def]
            def fail() -> bytes:
                raise RuntimeError("disk on fire")

            return TensorEntry.deferred(entry.name, entry.dtype, entry.shape, fail)

    with pytest.raises(StoreError, match="disk on fire"):
        BurnpackStore(tmp_path / "model", to_adapter=Failing()).collect_from(two())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda path: BurnpackStore(path / "none").keys(), "none.bpk: cannot open it: No such file"),
        (lambda path: BurnpackStore(path, auto_extension=False).keys(), "not a regular file"),
        (
            lambda path: BurnpackStore(b"PK\3\4 and more").keys(),
            "<bytes>: not a burnpack file.*It is a zip; minburn.store reads",
        ),
        (lambda path: BurnpackStore(b"").keys(), "<bytes>: too short"),
        (lambda path: BurnpackStore(3), "path: expected str or PathLike, got int"),
        (lambda path: BurnpackStore(path / "x", filter="a"), "filter is a PathFilter"),
        (lambda path: BurnpackStore(path / "x").collect_from(3), "expected a Module"),
        (lambda path: BurnpackStore(b"").collect_from(two()), "this store reads from bytes"),
        (lambda path: BurnpackStore(packed({})).get_tensor("x"), "no tensor 'x' among its 0"),
    ],
)
def test_what_makes_no_sense_is_a_store_error(call, text: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(StoreError, match=text):
        call(tmp_path)
