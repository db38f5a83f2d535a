"""The ``kane_dynamics`` command: a table of subcommands, each imported only when it is called."""

import argparse
import difflib
import importlib
import io
import os
import re
import sys
import traceback
from collections.abc import Sequence
from typing import NamedTuple

from kane_dynamics_ros import __version__
from kane_dynamics_ros.cli import INTERRUPTED
from kane_dynamics_ros.errors import KaneDynamicsError, missing_package, path_error
from kane_dynamics_ros.files import FULL

NEGATIVE = re.compile(r"-\.?\d")  # how values begin that are no options: lists too, as from Python 3.14 on
FAULT = 70  # a fault of ours, as sysexits.h reports it; 1 is a command's own "no", 2 an error of the user's
CLOSE = 0.7  # likeness from which a word is taken for a slip of another


class Command(NamedTuple):
    """A subcommand, a module of its name: the line that ``--help`` shows, an example, the extra it needs."""

    help: str
    example: str
    extra: str = ""


COMMANDS = {  # in the order of their use
    "inspect": Command(
        "show the chain, the lumped bodies and every warning about a URDF",
        "inspect my_robot.urdf --tip tool0",
    ),
    "generate": Command(
        "derive a robot's equations and write the module",
        "generate my_robot.urdf --name my_robot -o models",
    ),
    "package": Command(
        "write a ROS 2 package in C++: the robot's dynamics as a ros2_control controller",
        "package my_robot.urdf --name my_robot_dynamics -o ws/src",
        "generate",
    ),
    "verify": Command(
        "compare a generated module with independent derivations, at random states",
        "verify models/my_robot.py --urdf my_robot.urdf",
    ),
    "torque": Command(
        "joint torques of one state, term by term",
        "torque models/my_robot.py --q 0,0.5,-1 --qd 0,0,0 --qdd 1,0,0",
    ),
    "trajectory": Command(
        "write a smooth motion within all limits, to drive, record and test with",
        "trajectory my_robot.urdf --duration 8 -o trajectory.yaml",
    ),
    "annotate": Command(
        "fill in the efforts of a trajectory, with points dense enough for linear interpolation",
        "annotate models/my_robot.py trajectory.yaml -o annotated.yaml",
    ),
    "retime": Command(
        "the fastest timing of a path within limits on velocity, acceleration, jerk and effort",
        "retime path.yaml --urdf my_robot.urdf -o retimed.yaml",
        "retime",
    ),
    "send": Command(
        "send a trajectory to the running controller, and tell what becomes of it",
        "send trajectory.yaml",
        "ros",
    ),
    "view": Command(
        "play a bag, or a trajectory on a URDF, in three dimensions in one HTML page",
        "view demo_output/computed_torque/bag -o view.html",
        "view",
    ),
    "demo": Command(
        "run the nodes over DDS under three controllers; a table of tracking errors, plots, bags",
        "demo --output demo_output",
        "bags",
    ),
    "replay": Command(
        "judge a model by recorded bags: how well it explains the efforts, and which term is at fault",
        "replay my_bag --model models/my_robot.py --report report --max-nrmse 0.05",
        "bags",
    ),
    "excite": Command(
        "find a trajectory worth recording for identify, within all limits",
        "excite my_robot.urdf -o trajectory.yaml",
        "identify",
    ),
    "identify": Command(
        "fit masses, inertias and friction to recorded motion: a corrected URDF, a module, a report",
        "identify my_bag --urdf my_robot.urdf -o identified",
        "identify",
    ),
    "observe": Command(
        "find contacts in bags; from bags without contact, the node's thresholds for a rate of false alarms",
        "observe my_bag --model models/my_robot.py --report report",
        "bags",
    ),
    "paper": Command(
        "run a paper's simulations again, and check what it says",
        "paper manipulator_5dof --output figures",
        "papers",
    ),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns its exit code, 2 for an error that a user can correct, ``FAULT`` else."""
    words = list(sys.argv[1:] if argv is None else argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names may be in any script
    if not words:
        print(frame()[0].format_help(), end="")
        return 0
    try:
        arguments = parse(words)
        code = int(arguments.run(arguments))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader, say `head`, has seen enough
        _silence_output()
        return 0
    except Exception as error:
        if told := _told(error, words[0]):
            print(f"error: {told}", file=sys.stderr)
            return 2
        traceback.print_exc()
        fault = "this is a fault of kane_dynamics; please report it with the lines above"
        print(f"error: {fault}", file=sys.stderr)
        return FAULT


def _told(error: Exception, command: str) -> KaneDynamicsError | str | None:
    """What a user can correct; None where it is a fault of ours."""
    if isinstance(error, KaneDynamicsError):
        return error
    if isinstance(error, MemoryError):
        return f"there is not enough memory for what was asked for: {error or 'ask for less'}"
    if isinstance(error, ImportError):
        return missing_package(error, COMMANDS[command].extra if command in COMMANDS else "")
    if isinstance(error, OSError) and error.filename is not None:
        return path_error(error)
    if isinstance(error, OSError) and error.errno in FULL:
        _silence_output()
        return f"the output cannot be written: {error.strerror}; make room for it"
    return None


def _silence_output() -> None:
    """Spare the interpreter the flush at its exit, which would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The arguments, with ``run`` of the subcommand that the first word names.

    An option that the command does not know ends the process with the command's own usage.
    """
    parser, commands = frame()
    chosen = commands.get(words[0])
    if chosen is None and not words[0].startswith("-"):
        close = difflib.get_close_matches(words[0], COMMANDS, 1, CLOSE)
        hint = f"did you mean {close[0]}?" if close else f"the commands are {', '.join(COMMANDS)}"
        parser.error(f"there is no command {words[0]!r}; {hint}")
    if chosen is not None:
        module = importlib.import_module(f"kane_dynamics_ros.cli.{words[0]}")
        module.add_arguments(chosen)
        chosen._negative_number_matcher = NEGATIVE
        chosen.set_defaults(run=module.run)
    arguments, unknown = parser.parse_known_args(words)
    if unknown:
        known = [option for action in (chosen or parser)._actions for option in action.option_strings]
        close = difflib.get_close_matches(unknown[0].partition("=")[0], known, 1, CLOSE)
        hint = f"; did you mean {close[0]}?" if close else ""
        (chosen or parser).error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
    return arguments


def frame() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """The parser, and those of the commands by name, which have no arguments yet."""
    parser = argparse.ArgumentParser(
        prog="kane_dynamics", description="Dynamics of serial manipulators by Kane's method."
    )
    parser.add_argument("--version", action="version", version=__version__)
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands = {
        name: subparsers.add_parser(
            name,
            help=command.help,
            description=command.help,
            epilog=f"example:\n  kane_dynamics {command.example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        for name, command in COMMANDS.items()
    }
    return parser, commands
