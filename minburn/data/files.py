"""The bundled files, read through the package, so that they are found in an installed wheel as well."""

from __future__ import annotations


def read_bundled(name: str) -> bytes:
    """The bytes of `minburn/data/bundled/{name}`. Sources and terms: `ATTRIBUTION.md` there."""
    # Imported here: it costs 15 ms, and a program that reads no bundled file should not pay them.
    from importlib.resources import files

    return files("minburn.data").joinpath("bundled", name).read_bytes()
