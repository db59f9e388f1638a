"""What cannot be written in Rust."""

from __future__ import annotations


class NotExpressible(Exception):
    """A part of a model for which there are no words; the text says which and why, in one line."""
