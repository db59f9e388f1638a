"""Every public name of Burn 0.22.1 has a counterpart here or a reason why not, and the pages about it are true.

What to do when one of these fails: a counterpart is named in the "Burn:" sentence of its docstring, a reason stands in
`minburn/cli/names/left_out.txt`, and `make names` writes the pages anew.
"""

from __future__ import annotations

import functools
import importlib
from pathlib import PurePosixPath
from typing import Any

import page
import pytest

from minburn.cli.names.burn import Name, names, sources
from minburn.cli.names.index import index
from minburn.cli.names.left_out import patterns
from minburn.cli.names.match import match, means


@functools.cache
def missing() -> list[Name]:
    return [name for name in names() if not name.matches()]


def test_every_name_has_a_counterpart_or_a_reason() -> None:
    assert len(names()) > 4800
    assert [str(name) for name in missing() if name.reason() is None] == []


def test_no_name_has_both() -> None:
    """A pattern may cover what is here too; a path that is written out must be missing, or marked as something else."""
    written = {(pattern.crate, pattern.path) for pattern in patterns() if "*" not in pattern.path}
    assert [str(name) for name in names() if (name.crate, name.path) in written and name.matches()] == []


def test_every_reason_is_needed() -> None:
    used = {name.pattern() for name in missing()}
    assert [f"{pattern.crate}: {pattern.path}" for pattern in patterns() if pattern not in used] == []
    beside = [pattern for pattern in patterns() if pattern.beside]
    assert [pattern.path for pattern in beside if not match(pattern.crate, pattern.path)] == []


def test_what_docstrings_name_is_in_burn() -> None:
    by_last: dict[str, list[Name]] = {}
    for name in names():
        by_last.setdefault(name.path.rpartition("::")[2], []).append(name)
    unknown = [
        f"{place.file}:{place.line}: {told}"
        for place in index()
        for told in place.own.names
        if not any(means(place, told, name.crate, name.path) for name in by_last.get(told.rpartition("::")[2], ()))
    ]
    assert unknown == []


def test_the_places_that_docstrings_name_are_in_burn() -> None:
    """Files and folders, of the crates of which names are listed."""
    crates = {crate for crate, _ in sources()}
    there = {f"crates/{crate}/{file}" for crate, file in sources()}
    there |= {str(parent) for file in there for parent in PurePosixPath(file).parents}
    wrong = [
        f"{place.file}:{place.line}: {given}"
        for place in index()
        for given in place.own.places
        if given.startswith("crates/")
        for path in braces(given.rstrip("/"))
        if given.split("/")[1] in crates and path not in there
    ]
    assert wrong == []


def braces(path: str) -> list[str]:
    """`a/{b,c/d}.rs` → a/b.rs, a/c/d.rs."""
    before, brace, rest = path.partition("{")
    inside, _, after = rest.partition("}")
    return [before + part + after for part in inside.split(",")] if brace else [path]


def test_counterparts_can_be_imported() -> None:
    """By the names that the pages give them."""
    ours = {found.name: found.member for name in names() for found in name.matches()}
    assert [name for name, member in sorted(ours.items()) if not exists(name, bool(member))] == []


def exists(name: str, member: bool) -> bool:
    """A module below minburn, then attributes. A member may be a field or a parameter, which no class has."""
    parts = name.split(".")
    found: Any = importlib.import_module("minburn")
    for depth, part in enumerate(parts[:-1] if member else parts, 1):
        if not hasattr(found, part):
            try:
                importlib.import_module(".".join(["minburn", *parts[:depth]]))
            except ModuleNotFoundError:
                return False
        found = getattr(found, part)
    return True


def test_what_does_not_exist_is_found_out() -> None:
    assert exists("nn.LinearConfig.bias", True) and exists("train.log.MetricLog", False)
    assert not exists("nn.NoSuchLayer", False) and not exists("nn.NoSuchLayer.weight", True)


def test_layers_and_their_configs_are_given_by_nn() -> None:
    layers = [name for name in names() if name.crate == "burn-nn" and name.kind == "struct"]
    assert len(layers) > 150
    deeper = [name.path for name in layers for found in name.matches() if found.name.count(".") > 1]
    assert all(path.endswith("AutoregressiveCache") for path in deeper)


@pytest.mark.parametrize(
    ("crate", "path", "ours"),
    [
        ("burn-nn", "Linear", "nn.Linear"),
        ("burn-nn", "LinearConfig::bias", "nn.LinearConfig.bias"),
        ("burn-optim", "ModuleOptimizer", "optim.OptimizerAdaptor"),
        ("burn-optim", "ModuleOptimizer::step", "optim.OptimizerAdaptor.step"),
        ("burn-backend", "ops::FloatTensorOps::float_add", "backends.base.FloatTensorOps.add"),
        ("burn-backend", "ops::BoolTensorOps::bool_not", "backends.base.BoolTensorOps.not_"),
        ("burn-backend", "ops::FloatTensorOps::float_cross", "tensor.FloatTensor.cross"),
        ("burn-tensor", "Tensor::backward", "tensor.FloatTensor.backward"),
        ("burn-tensor", "Tensor::greater_elem", "tensor.NumericTensor.greater_scalar"),
        ("burn-pack", "Tensor", "pack.TensorEntry"),
        ("burn-core", "data::dataloader::batcher::Batcher", "data.Batcher"),
        ("burn-std", "BoolStore", None),
    ],
)
def test_counterparts(crate: str, path: str, ours: str | None) -> None:
    (name,) = [name for name in names() if (name.crate, name.path) == (crate, path)]
    assert [found.name for found in name.matches()] == ([ours] if ours else [])


def test_the_page_is_as_it_is_made() -> None:
    assert page.PAGE.read_text("utf-8") == page.page(), "run make names"


def test_the_readmes_table_is_as_it_is_made() -> None:
    text = page.README.read_text("utf-8")
    assert page.BEGIN in text and page.readme(text) == text, "run make names"
