"""What ends a command."""

from __future__ import annotations


class CommandError(Exception):
    """One line for the user. status: 2 if the command was called wrongly, 1 if what it looked at is wrong."""

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.status = status
