"""The crate: `src/model.rs` with the model, `src/main.rs` that loads a record and runs it, `Cargo.toml`."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from minburn.cli.rust.config import write_config, write_init
from minburn.cli.rust.courses import example
from minburn.cli.rust.error import NotExpressible
from minburn.cli.rust.forward import Forward, enum_forward, write_forwards
from minburn.cli.rust.structs import TENSOR_KINDS, Classes, burns_base
from minburn.cli.rust.trace import Shapes
from minburn.module import Config, Module

BURN = "0.22.1"
CARGO = """[package]
name = "{name}"
version = "0.1.0"
edition = "2024"

[dependencies]
burn = {{ version = "={burn}", default-features = false, features = ["std", "optim", "autodiff", "flex"] }}

[profile.release]
opt-level = 3
debug = false
"""
MAIN = """//! Loads a record of minburn's into the model, and runs it on an example.
//!
//!     cargo run --release -- model.bpk example.bpk
//!
//! example.bpk holds {inputs}, and what minburn makes of it as `output`.

mod model;

use burn::module::{{Module, Param{ids}}};
use burn::tensor::{{{kinds}}};

/// The tensors of example.bpk, read as the record of a module.
#[derive(Module, Debug)]
struct Example {{
{fields}
}}

fn main() {{
    let mut args = std::env::args().skip(1);
    let mut file = |what| args.next().unwrap_or_else(|| panic!("give {{what}}: cargo run -- model.bpk example.bpk"));
    let device = Device::flex();
    let model = {make}.load_file(file("the file of a record"));
    println!("{{model}}");
    let example = Example {{
{values}
    }};
    let example = example.load_file(file("the file of an example"));
    let output = model.forward({arguments});
    println!("shape {{:?}}", output.dims());
    println!("output {{:?}}", output.to_data().iter::<f32>().collect::<Vec<_>>());
    let difference: f32 = (output{float} - example.output.val(){float}).abs().max().into_scalar();
    println!("differs from minburn's by {{difference:e}} at most");
}}
"""
LOAD_ONLY = """//! Loads a record of minburn's into the model: cargo run --release -- model.bpk
//! Its forward is still to be written, in model.rs.

mod model;

use burn::module::Module;
use burn::tensor::Device;

fn main() {{
    let record = std::env::args().nth(1).expect("give the file of a record: cargo run -- model.bpk");
    let device = Device::flex();
    let model = {make}.load_file(record);
    println!("{{model}}");
}}
"""


class RustSource(NamedTuple):
    """The files of a crate; the classes whose forward is left to be written, and why; the inputs' names."""

    cargo: str
    model: str
    main: str
    unwritten: dict[str, str]
    names: list[str]

    def write(self, folder: Path) -> None:
        """Into a folder; files of these names are replaced."""
        (folder / "src").mkdir(parents=True, exist_ok=True)
        for name, text in (("Cargo.toml", self.cargo), ("src/model.rs", self.model), ("src/main.rs", self.main)):
            (folder / name).write_text(text, encoding="utf-8")
        tidy([str(folder / "src" / name) for name in ("model.rs", "main.rs")])


def tidy(files: list[str]) -> None:
    """Through rustfmt, where there is one; only lines are broken by it."""
    rustfmt = shutil.which("rustfmt") or shutil.which("rustfmt", path=str(Path.home() / ".cargo" / "bin"))
    if rustfmt is not None:
        command = [rustfmt, "--edition", "2024", "--config", "max_width=120", *files]
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)


def write_crate(model: Module, config: Config | None, shapes: Shapes | None, name: str) -> RustSource:
    """All of it. NotExpressible where a struct cannot be written; a forward that cannot is a skeleton."""
    if model.materialize() is not model:
        raise NotExpressible("it has a reparameterization, as LoRA is one; model.materialize() makes plain parameters")
    classes = Classes(model)
    root = type(model).__name__
    forwards = write_forwards(classes, model, shapes)
    parts = []
    make = f"model::{root}::new(&device)"
    if config is None:
        expression, _ = write_init(model, classes, None, [])
        device = classes.uses("burn::tensor::Device")
        new = f"    pub fn new(device: &{device}) -> Self {{\n        {expression}\n    }}"
        parts.append(f"impl {root} {{\n{new}\n}}")
    else:
        text = write_config(config, classes)
        expression, missed = write_init(model, classes, config, text.fields)
        make = f"model::{text.make}.init(&device)"
        parts += [text.struct, init_of(type(config).__name__, root, expression, missed, config, classes)]
    for cls in classes.instances:
        if cls._module_layout.variant is None or burns_base(cls) is None:
            parts.append(classes.struct(cls))
            if cls in forwards and forwards[cls].text:
                parts.append(f"impl {cls.__name__} {{\n{forwards[cls].text}\n}}")
    parts += [classes.map_struct(one) for one in classes.maps]
    for enum_name, variants in classes.enums().items():
        parts.append(classes.enum(enum_name))
        impl = enum_forward(enum_name, variants, forwards)
        parts += [impl] if impl else []
    body = "\n\n".join(parts)
    if "#[derive(Module" in body:
        classes.uses("burn::module::Module")
    note = (
        f"//! {root}, written by `minburn rust`. Names of fields, and so of tensors in a record, are those in Python."
    )
    whole = f"{note}\n\n#![allow(dead_code)]\n\n{classes.uses.text(body)}\n\n{body}\n"
    unwritten = {cls.__name__: forward.why_not for cls, forward in forwards.items() if forward.why_not}
    forward = forwards.get(type(model))
    main = LOAD_ONLY.format(make=make)
    if forward is not None and shapes is not None and forward.result is not None:
        main = write_main(make, forward, shapes, example_of(model, shapes, forward.names)["output"])
    return RustSource(CARGO.format(name=name, burn=BURN), whole, main, unwritten, forward.names if forward else [])


def init_of(config_name: str, root: str, expression: str, missed: list[str], config: Config, classes: Classes) -> str:
    """`impl MlpConfig { pub fn init(&self, device: &Device) -> Mlp }`."""
    notes = [
        f"        // {name} decides about more than numbers: this is the model for {getattr(config, name)!r}.\n"
        for name in missed
    ]
    device = classes.uses("burn::tensor::Device")
    head = f"    pub fn init(&self, device: &{device}) -> {root} {{\n"
    return f"impl {config_name} {{\n{head}{''.join(notes)}        {expression}\n    }}\n}}"


def write_main(make: str, forward: Forward, shapes: Shapes, output: Any) -> str:
    """main.rs for a model whose forward is known; output: what it makes of the example."""
    kind_of_output = {"f": "float", "b": "bool"}.get(output.dtype.kind, "int")
    places = [*zip(forward.names, shapes, strict=True), ("output", (kind_of_output, output.shape))]
    fields, values, kinds = [], [], set()
    for name, (kind, shape) in places:
        rust = TENSOR_KINDS[kind]
        kinds |= {rust} if rust else set()
        argument = f", {rust}" if rust else ""
        fields.append(f"    {name}: Param<Tensor<{len(shape)}{argument}>>,")
        data = f"Tensor::<{len(shape)}{argument}>::{'empty' if kind == 'bool' else 'zeros'}({list(shape)}, &device)"
        values.append(f"        {name}: Param::initialized(ParamId::new(), {data}),")
    return MAIN.format(
        inputs=" and ".join(f"`{name}`" for name in forward.names),
        ids=", ParamId",
        kinds=", ".join(sorted({*kinds, "Device", "Tensor"})),
        fields="\n".join(fields),
        values="\n".join(values),
        make=make,
        arguments=", ".join(f"example.{name}.val()" for name in forward.names),
        float="" if kind_of_output == "float" else ".float()",
    )


def example_of(model: Module, shapes: Shapes, names: list[str]) -> dict[str, Any]:
    """Inputs by name, and what the model makes of them: host arrays."""
    from minburn.backends import NumPy
    from minburn.tensor import Tensor

    arrays = {name: example(kind, shape) for name, (kind, shape) in zip(names, shapes, strict=True)}
    backend = NumPy(seed=0)
    forward: Any = model
    output = forward(*(Tensor.from_data(array, backend) for array in arrays.values()))
    return {**arrays, "output": output.numpy()}
