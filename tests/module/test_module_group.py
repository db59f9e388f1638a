"""Which parameters a group takes, and what modules do with it."""

from __future__ import annotations

import json

import pytest

from minburn import Module, Param, ParamGroup, ParamId
from minburn.backends import Autodiff, NumPy
from minburn.module import Flag, ModuleError
from minburn.nn import BatchNormConfig, Dropout, DropoutConfig, Linear, LinearConfig
from minburn.nn.norm import BatchNorm

PATHS = ["stem.weight", "stem.bias", "head.weight", "head.bias"]


def taken(group: ParamGroup) -> list[str]:
    return [path for path in PATHS if group.matches(7, path)]


@pytest.mark.parametrize(
    ("group", "paths"),
    [
        (ParamGroup.all(), PATHS),
        (ParamGroup.from_path("head.bias"), ["head.bias"]),
        (ParamGroup.from_paths(["head.bias", "stem.bias", "head"]), ["stem.bias", "head.bias"]),
        (ParamGroup.from_predicate("head"), ["head.weight", "head.bias"]),
        (ParamGroup.from_predicates(["head", "bias"]), ["head.bias"]),
        (ParamGroup.from_predicates([]), PATHS),
        (ParamGroup.from_any_predicates(["stem", "head.b"]), ["stem.weight", "stem.bias", "head.bias"]),
        (ParamGroup.from_any_predicates([]), PATHS),
        (ParamGroup.from_regex("^head"), ["head.weight", "head.bias"]),
        (ParamGroup.from_regexes(["^head", "s$"]), ["head.bias"]),
        (ParamGroup.from_any_regexes(["^head", "s$"]), ["stem.bias", "head.weight", "head.bias"]),
        (ParamGroup.from_any_regexes([]), PATHS),
        (ParamGroup.from_ids([7]), PATHS),
        (ParamGroup.from_ids([8]), []),
        (ParamGroup.all().exclude(ParamGroup.from_predicate("head")), ["stem.weight", "stem.bias"]),
        (
            ParamGroup.all().exclude(ParamGroup.from_predicate("head")).exclude(ParamGroup.from_predicate("bias")),
            ["stem.weight"],
        ),
        (ParamGroup.from_path("head.bias").fuse(ParamGroup.from_path("stem.bias")), ["stem.bias", "head.bias"]),
        (ParamGroup.from_path("head.bias").fuse(ParamGroup.all()), PATHS),
    ],
)
def test_what_a_group_takes_also_after_json(group: ParamGroup, paths: list[str]) -> None:
    assert taken(group) == paths
    again = ParamGroup.from_json(group.to_json())
    assert again == group
    assert taken(again) == paths


def test_a_path_that_is_not_known_matches_no_text() -> None:
    assert not ParamGroup.from_regex(".*").matches(7, None)
    assert not ParamGroup.from_predicates([]).matches(7, None)
    assert ParamGroup.from_ids([7]).matches(7, None)
    assert ParamGroup.all().matches(7, None)


def test_json_is_burns() -> None:
    def form(group: ParamGroup) -> object:
        return json.loads(group.to_json())

    include = {"Path": {"Include": ["b"]}}
    assert form(ParamGroup.from_predicate("b")) == {"matcher": include, "excludes": None}
    assert form(ParamGroup.all().exclude(ParamGroup.from_ids([2**64 - 1]))) == {
        "matcher": "All",
        "excludes": {"Explicit": [{"value": 2**64 - 1}]},
    }
    assert form(ParamGroup.from_regexes(["a", "b"]))["matcher"] == {"Path": {"Regex": ["a", "b"]}}  # type: ignore[index]
    fused = ParamGroup.from_path("a").fuse(ParamGroup.from_predicate("b")).fuse(ParamGroup.from_ids([1]))
    assert form(fused)["matcher"] == {  # type: ignore[index]
        "Combined": [{"Path": {"Exact": ["a"]}}, include, {"Explicit": [{"value": 1}]}]
    }


def test_what_makes_no_group() -> None:
    with pytest.raises(ModuleError, match=r"'\(' is not a regular expression: missing \)"):
        ParamGroup.from_regex("(")
    with pytest.raises(ModuleError, match="from_paths: expected a list of texts, but got str 'ab'"):
        ParamGroup.from_paths("ab")
    with pytest.raises(ModuleError, match="expected texts, but got int 3"):
        ParamGroup.from_predicate(3)  # type: ignore[arg-type]
    with pytest.raises(ModuleError, match="from_ids: expected a list of ParamIds, but got int 3"):
        ParamGroup.from_ids(3)  # type: ignore[arg-type]
    with pytest.raises(ModuleError, match="ids_from_module: expected a Module, but got str"):
        ParamGroup.ids_from_module("head")  # type: ignore[arg-type]
    unchecked = ParamGroup.from_json('{"matcher": {"Path": {"Regex": ["a", "("]}}, "excludes": null}')
    with pytest.raises(ModuleError, match="not a regular expression"):
        net().freeze_group(unchecked)
    with pytest.raises(ModuleError, match="freeze_group: expected a ParamGroup, but got str"):
        net().freeze_group("head")  # type: ignore[arg-type]


class Net(Module):
    stem: Linear
    norm: BatchNorm
    dropout: Dropout
    head: Linear


def net(backend: Autodiff | None = None) -> Net:
    backend = backend or Autodiff(NumPy(seed=0))
    return Net(
        stem=LinearConfig(2, 3).init(backend),
        norm=BatchNormConfig(3).init(backend),
        dropout=DropoutConfig(0.5).init(),
        head=LinearConfig(3, 1).init(backend),
    )


def test_freezing_a_group_leaves_the_others_as_they_are() -> None:
    model = net()
    frozen = model.freeze_group(ParamGroup.from_any_predicates(["stem", "norm", "dropout"]))
    assert not frozen.stem.weight.is_require_grad and not frozen.norm.gamma.is_require_grad
    assert not frozen.norm.training.is_enabled and not frozen.dropout.training.is_enabled
    assert frozen.head is model.head
    thawed = frozen.unfreeze_group(ParamGroup.from_ids([model.stem.weight.id, model.dropout.training.id]))
    assert thawed.stem.weight.is_require_grad and thawed.dropout.training.is_enabled
    assert not thawed.norm.training.is_enabled and not thawed.norm.beta.is_require_grad


def test_set_require_grad_of_a_group_leaves_flags() -> None:
    model = net().set_require_grad_group(ParamGroup.all(), False)
    assert not model.head.weight.is_require_grad and model.dropout.training.is_enabled
    assert model.set_require_grad_group(ParamGroup.from_path("head.weight"), True).head.weight.is_require_grad


def test_the_ids_of_a_part_choose_it_within_the_whole() -> None:
    model = net()
    group = ParamGroup.ids_from_module(model.norm)
    assert group.matches(model.norm.training.id, None) and not group.matches(model.dropout.training.id, None)
    frozen = model.freeze_group(group)
    assert frozen.stem is model.stem and not frozen.norm.gamma.is_require_grad


def test_the_record_of_a_group_draws_nothing_else() -> None:
    model = net()
    record = model.into_record_group(ParamGroup.from_predicate("head"))
    assert record.paths() == ["head.weight", "head.bias"]
    assert not model.stem.weight.is_initialized
    other = net().load_record(record.allow_partial())
    assert other.head.weight.value.numpy().tobytes() == model.head.weight.value.numpy().tobytes()


def test_a_shared_parameter_goes_by_its_first_path() -> None:
    class Tied(Module):
        first: Param
        second: Param
        flag: Param[Flag]

    weight = Param.from_data([1.0], Autodiff(NumPy(seed=0)))
    model = Tied(first=weight, second=weight, flag=Param.from_bool(True))
    with pytest.warns(UserWarning, match=r"freeze_group: ParamGroup\(.*'second'.*takes nothing of Tied, which stays"):
        assert model.freeze_group(ParamGroup.from_predicate("second")) is model
    frozen = model.freeze_group(ParamGroup.from_predicate("first"))
    assert frozen.first is frozen.second and not frozen.second.is_require_grad


def test_groups_of_ids_follow_renamed_parameters() -> None:
    group = ParamGroup.from_ids([1, 2]).exclude(ParamGroup.from_ids([3]).fuse(ParamGroup.from_ids([4])))
    assert group.with_ids({2: 9, 4: 8}) == ParamGroup.from_ids([1, 9]).exclude(
        ParamGroup.from_ids([3]).fuse(ParamGroup.from_ids([8]))
    )
    assert isinstance(ParamId(1), int)
