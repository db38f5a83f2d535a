"""The ``kane_dynamics`` command: a table of subcommands, each imported only when it is called."""

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import NamedTuple

from kane_dynamics_ros import __version__
from kane_dynamics_ros.errors import KaneDynamicsError


class Command(NamedTuple):
    """A subcommand: its module under ``cli`` and the line that ``--help`` shows."""

    module: str
    help: str


COMMANDS = {
    "generate": Command("generate", "derive a robot's equations and write the module"),
    "inspect": Command("inspect", "show the chain, the lumped bodies and every doubt about a URDF"),
    "torque": Command("torque", "joint torques of one state, term by term"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns its exit code, 2 for an error of ours."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="kane_dynamics", description=__doc__)
    parser.add_argument("--version", action="version", version=__version__)
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        subparser = subparsers.add_parser(name, help=command.help, description=command.help)
        if name in words[:1]:
            module = importlib.import_module(f"kane_dynamics_ros.cli.{command.module}")
            module.add_arguments(subparser)
            subparser.set_defaults(run=module.run)
    arguments = parser.parse_args(words)
    try:
        return int(arguments.run(arguments))
    except KaneDynamicsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 0
