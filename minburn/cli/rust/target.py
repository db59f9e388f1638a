"""What `module:Class` or `file.py:Class` names."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

from minburn.cli.error import CommandError
from minburn.module import Config, ConfigError
from minburn.module.config import encode


def load_target(target: str) -> Any:
    """The object. The folder one is in is searched as `python` would."""
    place, colon, name = target.rpartition(":")
    if not colon or not place or not name:
        raise CommandError(f"{target}: expected module:Class, such as models:MlpConfig or models.py:MlpConfig.")
    found: Any = load_module(place)
    for part in name.split("."):
        if not hasattr(found, part):
            raise CommandError(f"{place} has no {name}.")
        found = getattr(found, part)
    return found


def load_module(place: str) -> Any:
    path = Path(place)
    try:
        if place.endswith(".py"):
            spec = importlib.util.spec_from_file_location(path.stem, path)
            if spec is None or spec.loader is None or not path.exists():
                raise CommandError(f"{place}: there is no such file.")
            module = importlib.util.module_from_spec(spec)
            sys.modules[path.stem] = module
            sys.path.insert(0, str(path.resolve().parent))
            spec.loader.exec_module(module)
            return module
        sys.path.insert(0, "")
        return importlib.import_module(place)
    except CommandError:
        raise
    except Exception as error:  # whatever a user's module does when it is imported
        raise CommandError(f"{place} cannot be imported: {type(error).__name__}: {error}", status=1) from error


def make_config(cls: type[Config], file: str | None, settings: list[str]) -> Config:
    """From a JSON file and settings, which win."""
    from minburn.cli.rust import parse_setting

    given = dict(parse_setting(text) for text in settings)
    try:
        if file is None:
            required = {name: None for name, field in cls._json_form.table.fields.items() if field.required}
            missing = [name for name in required if name not in given]
            if missing:
                example = " ".join(f"--set {name}=…" for name in missing)
                raise CommandError(f"{cls.__name__} needs {', '.join(missing)}: {example}, or --config FILE.json.")
            defaults = {
                name: field.default for name, field in cls._json_form.table.fields.items() if not field.required
            }
            content: dict[str, Any] = {name: encode_default(value, given, defaults) for name, value in defaults.items()}
        else:
            content = json.loads(cls.load(file).to_json())
        return cls.from_json(json.dumps({**content, **given}))
    except ConfigError as error:
        raise CommandError(str(error)) from error


def encode_default(value: Any, given: dict[str, Any], defaults: dict[str, Any]) -> Any:
    from minburn.module.fields import SameAs

    if isinstance(value, SameAs):
        return given.get(value.field, encode_default(defaults.get(value.field), given, defaults))
    return encode(value, "default")
