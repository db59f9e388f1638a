"""The same model in Rust: a crate for Burn that loads our records.

    minburn rust models:MlpConfig --set d_input=64 --input 1,64 --record model.bpk --out mlp-rs
    cd mlp-rs && cargo run --release -- model.bpk example.bpk

TARGET names a Config class whose `init(backend)` makes the model, or a function of a backend: `module:Name`, or
`file.py:Name`. Required fields of the config are given by --set or --config.

--input tells what the model is called with, once for each argument: the sizes, and the kind if it is not float:
`--input 2,64`, `--input int:2,16`. The forward pass runs on it and is written down. Without it, or where it cannot be
written, `forward` is a marked skeleton with the Python as a comment. The example's sizes are not fixed in the Rust.

Needs Rust 1.95 or newer only to compile what was written.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minburn.cli.error import CommandError

if TYPE_CHECKING:
    from minburn.cli.rust.crate import RustSource
    from minburn.module import Config, Module

HELP = "the same model in Rust, for Burn"


def source_of(
    model: Module, inputs: list[tuple[str, tuple[int, ...]]] | None = None, config: Config | None = None, name: str = ""
) -> RustSource:
    """The crate of a model: `source_of(model, [("float", (1, 64))]).write(folder)`.

    inputs: kind and shape of each argument of forward, to run it once. config: what made the model, to be a Config in
    Rust too. Errors: NotExpressible for a model whose fields have no counterpart.
    """
    from minburn.cli.rust.crate import write_crate

    return write_crate(model, config, inputs, name or crate_name(type(model).__name__))


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", help="module:Class or file.py:Class of a Config, or of a function of a backend")
    parser.add_argument("--record", metavar="FILE.bpk", help="a record of the model, to be checked and put beside")
    parser.add_argument("--out", metavar="DIR", help="where the crate goes; without it model.rs is printed")
    parser.add_argument("--input", action="append", metavar="[KIND:]SIZES", help="2,64 or int:2,16; once an argument")
    parser.add_argument("--config", metavar="FILE.json", help="the config, as its save() wrote it")
    parser.add_argument("--set", action="append", metavar="FIELD=VALUE", help="a field of the config, as JSON")
    parser.add_argument("--force", action="store_true", help="replace files in DIR")


def run(args: argparse.Namespace) -> int:
    from minburn.cli.rust.crate import write_crate
    from minburn.cli.rust.error import NotExpressible

    shapes = [input_shape(text) for text in args.input] if args.input else None
    try:
        model, config = make_target(args)
        if args.record is not None:
            model = load(model, args.record)
        source = write_crate(model, config, shapes, crate_name(type(model).__name__))
    except NotExpressible as why:
        raise CommandError(f"{args.target} has no counterpart in Burn: {why}.", status=1) from why
    if args.out is None:
        print(source.model, end="")
    else:
        write(Path(args.out), source, model, args, shapes)
    for name, why_not in source.unwritten.items():
        print(f"{name}.forward is to be written by you: {why_not}.")
    return 0


def make_target(args: argparse.Namespace) -> tuple[Module, Config | None]:
    """The model, and the config that made it."""
    from minburn.backends import NumPy
    from minburn.cli.rust.config import make
    from minburn.cli.rust.target import load_target, make_config
    from minburn.module import Config, Module

    found = load_target(args.target)
    if isinstance(found, type) and issubclass(found, Config):
        config: Any = make_config(found, args.config, args.set or [])
        return make(config), config
    if isinstance(found, type) or not callable(found):
        raise CommandError(
            f"{args.target} is no Config, and no function of a backend. Give the Config whose init makes the model."
        )
    model = found(NumPy(seed=0))
    if not isinstance(model, Module):
        raise CommandError(f"{args.target} gives a {type(model).__name__}, not a Module.")
    return model, None


def load(model: Module, file: str) -> Module:
    from minburn.module import RecordError

    try:
        return model.load_file(file)
    except RecordError as error:
        raise CommandError(str(error), status=1) from error


def write(out: Path, source: RustSource, model: Module, args: argparse.Namespace, shapes: Any) -> None:
    """The crate, the record (or one of the model as it was made) and the example."""
    from minburn.backends import NumPy
    from minburn.cli.rust.crate import example_of
    from minburn.module import ModuleRecord, ParamId
    from minburn.module.record import RecordEntry
    from minburn.tensor import Tensor

    if not args.force and (out / "Cargo.toml").exists():
        raise CommandError(f"{out} has a Cargo.toml: --force replaces what is there.")
    try:
        source.write(out)
        if args.record is None:
            model.into_record().save(out / "model.bpk")
        elif Path(args.record).resolve() != (out / "model.bpk").resolve():
            shutil.copyfile(args.record, out / "model.bpk")
        if "example.bpk" in source.main:
            example = example_of(model, shapes, source.names)
            data = {name: Tensor.from_data(array, NumPy(seed=0)).into_data() for name, array in example.items()}
            entries = [RecordEntry(name, ParamId(index + 1), value) for index, (name, value) in enumerate(data.items())]
            ModuleRecord(entries).save(out / "example.bpk")
    except OSError as error:
        raise CommandError(f"{out}: {error.strerror or error}.", status=1) from error
    example_file = " example.bpk" if "example.bpk" in source.main else ""
    print(f"{out}: cd {out} && cargo run --release -- model.bpk{example_file}")


def input_shape(text: str) -> tuple[str, tuple[int, ...]]:
    """`2,64` or `int:2,16`."""
    found = re.fullmatch(r"(?:(float|int|bool):)?(\d+(?:,\d+)*)", text)
    if found is None:
        raise CommandError(f"--input {text}: expected sizes, such as 2,64 or int:2,16.")
    return found[1] or "float", tuple(int(size) for size in found[2].split(","))


def crate_name(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


def parse_setting(text: str) -> tuple[str, Any]:
    """`hidden=128`: the value as JSON, or as the text it is."""
    name, equals, value = text.partition("=")
    if not equals:
        raise CommandError(f"--set {text}: expected FIELD=VALUE.")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
