"""Which commands there are, and how one is run."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from minburn.cli import diff, doctor, inspect, rust, selftest, verify, where
from minburn.cli.error import CommandError

COMMANDS: dict[str, Any] = {
    "inspect": inspect,
    "diff": diff,
    "verify": verify,
    "rust": rust,
    "where": where,
    "doctor": doctor,
    "selftest": selftest,
}


def parser() -> argparse.ArgumentParser:
    whole = argparse.ArgumentParser(
        prog="minburn", description="Burn's architecture in Python.", epilog="minburn COMMAND --help tells more."
    )
    commands = whole.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        form = argparse.RawDescriptionHelpFormatter
        sub = commands.add_parser(name, help=command.HELP, description=command.__doc__, formatter_class=form)
        command.add(sub)
    return whole


def drop_output() -> None:
    """Where there is no place for it; Python would try again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    args = parser().parse_args(argv)
    try:
        status: int = COMMANDS[args.command].run(args)
        sys.stdout.flush()
        return status
    except CommandError as error:
        print(f"minburn {args.command}: {error}", file=sys.stderr)
        return error.status
    except BrokenPipeError:  # `minburn … | head` has seen enough
        drop_output()
        return 0
    except OSError as error:  # what is printed goes to a disk that is full
        print(f"minburn {args.command}: {error}", file=sys.stderr)
        drop_output()
        return 1
    except KeyboardInterrupt:
        print(f"minburn {args.command}: interrupted", file=sys.stderr)
        return 130
