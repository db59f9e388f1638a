"""The command `minburn`: what one wants to know or do without writing a program.

    minburn where float_add         our place and Burn's
    minburn doctor                  what is installed, and what is missing
    minburn --help                  all of them

One file a command. A command module has a `HELP` line, `add(parser)` for its arguments and `run(args)`, which returns
the exit status: 0, or 1 where something was found wrong. Whatever else stops a command is a `CommandError`: one line on
stderr and its status, 2 if the command was called wrongly.

Importing this package imports no command's tools: they are imported where they are used.
"""

from minburn.cli.commands import main
from minburn.cli.error import CommandError

__all__ = ["CommandError", "main"]
