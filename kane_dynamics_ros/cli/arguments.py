"""What commands share: arguments that name a chain, a model and bags, numbers, and colour on a terminal.

A value is read where argparse converts it: the functions here that return a reader are its ``type``. What
cannot be read raises ``ArgumentError``.
"""

import argparse
import math
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kane_dynamics_ros.description import Chain, Joint, Robot, load_robot, serial_chain
from kane_dynamics_ros.description.load import XACRO_SECONDS
from kane_dynamics_ros.errors import KaneDynamicsError

FINGER = 2  # moving joints that a finger has at most
EXPANDED = "KD111"  # the finding of a file that xacro expanded
COLOURS = {"bold": "1", "error": "1;31", "warning": "33", "info": "34"}


class ArgumentError(KaneDynamicsError):
    """The value ``found`` of an option cannot be used; ``code`` is the option's name."""


def unusable(option: str, found: str, needed: str) -> ArgumentError:
    """An option's value that cannot be used, and what is needed, in words."""
    return ArgumentError(f"{option} {found!r}: {needed}", option.removeprefix("--"), found=found)


# Numbers


def number_in(text: str) -> float:
    """The finite number that a text is, else NaN."""
    try:
        number = float(text)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def positive(option: str, allowed: str, least: float = 0.0, most: float = math.inf) -> Callable[[str], float]:
    """A reader of numbers above 0, from ``least`` to ``most``; ``allowed`` says in words what is needed."""

    def read(text: str) -> float:
        number = number_in(text)
        if not (number > 0.0 and least <= number <= most):
            found = "found no positive number; " if not number > 0.0 else ""
            raise unusable(option, text, f"{found}allowed is {allowed}")
        return number

    return read


def number(option: str, needed: str, none: bool = False) -> Callable[[str], float]:
    """A reader of finite numbers; ``needed``: what to give, in words; ``none`` is allowed: minus infinity."""

    def read(text: str) -> float:
        value = -math.inf if none and text == "none" else number_in(text)
        if math.isnan(value):
            raise unusable(option, text, needed)
        return value

    return read


def whole(option: str, least: int, most: int | None = None) -> Callable[[str], int]:
    """A reader of whole numbers from ``least`` on, to ``most`` where that is given."""

    def read(text: str) -> int:
        if not (text.isdecimal() and least <= float(text) <= (most or math.inf)):
            span = f"from {least} on" if most is None else f"from {least} to {most}"
            raise unusable(option, text, f"a whole number {span} is needed")
        return int(text)

    return read


def named_number(option: str, needed: str, above: float = -math.inf) -> Callable[[str], tuple[str, float]]:
    """A reader of NAME=VALUE with a finite number ``above`` a bound; ``needed``: what to write, in words."""

    def read(text: str) -> tuple[str, float]:
        name, _, value = text.rpartition("=")
        if not (name and number_in(value) > above):
            raise unusable(option, text, f"found no name and number that can be used; {needed}")
        return name, number_in(value)

    return read


def numbers_of(option: str, text: str, names: Sequence[str]) -> list[float]:
    """A number for each of ``names``, separated by commas; none means zeros. Raises ``ArgumentError``."""
    if not text:
        return [0.0] * len(names)
    try:
        values = [float(word) for word in text.split(",")]
    except ValueError:
        values = []
    if len(values) != len(names):
        needed = f"{len(names)} numbers separated by commas are needed, in the order {', '.join(names)}"
        raise unusable(option, text, needed)
    return values


# A chain out of a URDF


def add_chain_arguments(
    parser: argparse.ArgumentParser,
    root: str = "the robot's",
    tip: str = "the one most joints lead to",
    lock: str = "none",
) -> None:
    """Which chain of which robot: see ``robot_of`` and ``chain_of``; with defaults in words."""
    add = parser.add_argument
    add(
        "--root",
        metavar="LINK",
        help="first link, which is held still with all that does not hang on it, as an arm's mobile base; "
        f"default: {root}",
    )
    add(
        "--tip",
        metavar="LINK",
        action="append",
        help="last link; several times for a tree, the first of which is meant where only one can be, or "
        f'once "all" for every leaf that moves; default: {tip}',
    )
    add(
        "--lock",
        metavar="JOINT=VALUE",
        action="append",
        default=[],
        type=named_number("--lock", "write --lock JOINT=VALUE, with the position in rad or m"),
        help=f"hold a joint still [rad or m]; default: {lock}",
    )
    add_xacro_argument(parser, "the xacro file; NAME=VALUE is the same")
    add(
        "--packages",
        metavar="DIR",
        type=Path,
        action="append",
        default=[],
        help="a ROS package, or a folder of packages, that the file names; those beside it, in the folders "
        "above it and of a sourced ROS are found without",
    )
    add(
        "--xacro-seconds",
        metavar="S",
        type=positive("--xacro-seconds", "a number of seconds above 0"),
        default=XACRO_SECONDS,
        help="how long xacro may take; default: %(default)g",
    )


def add_xacro_argument(parser: argparse.ArgumentParser, file: str) -> None:
    """``--xacro NAME:=VALUE``, or ``NAME=VALUE``; the values are pairs."""

    def read(text: str) -> tuple[str, str]:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise unusable("--xacro", text, "found no name and value; write --xacro NAME:=VALUE")
        return name.removesuffix(":"), value

    text = f"an argument of {file}"
    parser.add_argument("--xacro", metavar="NAME:=VALUE", action="append", default=[], type=read, help=text)


def add_strict_argument(parser: argparse.ArgumentParser) -> None:
    """``--strict``, for commands that decide whether a URDF is good enough."""
    parser.add_argument(
        "--strict",
        action="store_true",
        help="refuse a physically impossible inertia and a joint that moves no inertia (KD403, KD404), which "
        "are warned of otherwise",
    )


def loading(arguments: argparse.Namespace) -> dict[str, Any]:
    """How a URDF is loaded, for ``load_robot`` and ``urdf_content``."""
    return {
        "xacro_arguments": dict(arguments.xacro),
        "packages": arguments.packages,
        "xacro_seconds": arguments.xacro_seconds,
    }


def robot_of(arguments: argparse.Namespace) -> Robot:
    """The robot in the file ``urdf``. Raises ``DescriptionError``."""
    return load_robot(arguments.urdf, **loading(arguments))


def chain_of(arguments: argparse.Namespace, robot: Robot | None = None) -> Chain:
    """The chain of a robot, by default of that in the file, that the arguments mean, ``--strict`` included.

    Raises ``DescriptionError``.
    """
    return serial_chain(
        robot_of(arguments) if robot is None else robot,
        arguments.tip,
        root=arguments.root,
        lock=dict(arguments.lock),
        strict=getattr(arguments, "strict", False),
    )


def without_gripper(robot: Robot, chain: Chain) -> tuple[Chain, list[str]]:
    """The chain up to a gripper at its end, which no arm's controller moves along, and a note on that.

    A gripper is where several joints leave one rigid body, each with at most ``FINGER`` moving joints.
    """
    above, below = robot.above, robot.below

    def moving(joint: Joint) -> int:
        return (joint.kind != "fixed") + sum(moving(each) for each in below.get(joint.child, ()))

    def leaving(link: str) -> list[Joint]:
        found = []
        for joint in below.get(link, ()):
            found += leaving(joint.child) if joint.kind == "fixed" else [joint]
        return found

    for name in chain.coordinates[1:]:
        tip = link = robot.joint_named[name].parent
        while link in above and above[link].kind == "fixed":
            link = above[link].parent
        fingers = leaving(link)
        if len(fingers) > 1 and all(moving(finger) <= FINGER for finger in fingers):
            named = ", ".join(finger.name for finger in fingers)
            note = f"tip {tip!r} was chosen: {named} are a gripper; --tip chooses another"
            return serial_chain(robot, tip, lock=dict(chain.locked), root=chain.root), [note]
    return chain, []


def gripper_lines(arguments: argparse.Namespace, robot: Robot, chain: Chain) -> list[str]:
    """Which tip leaves the gripper out, where the chain without ``--tip`` ends in one."""
    arm, notes = without_gripper(robot, chain) if arguments.tip is None else (chain, [])
    return [f"the chain ends in a gripper, which --tip {arm.tip} leaves out, as excite does"] if notes else []


def view_command(arguments: argparse.Namespace, tip: str | None = None) -> str:
    """``kane_dynamics view`` of the trajectory in ``--output``, with the options that chose its chain.

    ``tip``: the tip that a command chose otherwise than ``view`` would, where none was asked for.
    """
    options: dict[str, Sequence[object]] = {
        "--root": [arguments.root] if arguments.root else [],
        "--tip": arguments.tip or ([tip] if tip else []),
        "--lock": [f"{joint}={position!r}" for joint, position in arguments.lock],
        "--xacro": [f"{name}:={value}" for name, value in arguments.xacro],
        "--packages": arguments.packages,
    }
    chosen = [word for option, values in options.items() for value in values for word in (option, str(value))]
    words = ["kane_dynamics", "view", arguments.urdf, *chosen, "--trajectory", str(arguments.output)]
    return shlex.join(words)


# Generated modules, bags, and files to write


def add_model_argument(parser: argparse.ArgumentParser) -> None:
    """The module as first argument or, as all commands take it, as ``--model``; see ``named_model``."""
    text = "a generated NAME.py, or a shipped model's name"
    parser.add_argument("module", metavar="MODULE", nargs="?", help=text)
    parser.add_argument("--model", metavar="MODULE", help="the same as an option")


def named_model(arguments: argparse.Namespace) -> str:
    """The module that ``add_model_argument``'s arguments name. Raises ``ArgumentError``."""
    if bool(arguments.module) == bool(arguments.model):
        both = f"found {arguments.module} and --model {arguments.model}"
        found = both if arguments.module else "found none"
        message = f"a generated module is needed, once: MODULE, or --model MODULE; {found}"
        raise ArgumentError(message, "model", found=arguments.module)
    return str(arguments.module or arguments.model)


def add_friction_argument(parser: argparse.ArgumentParser) -> None:
    """``--urdf-friction``, or ``--friction``, as scripts may call it still."""
    add, text = parser.add_argument, "switch on the damping and friction of the URDF"
    add("--urdf-friction", action="store_true", help=text)
    add("--friction", dest="urdf_friction", action="store_true", help=argparse.SUPPRESS)


def add_parameters_argument(parser: argparse.ArgumentParser) -> None:
    """``--parameters``, which ``with_parameter_file`` reads."""
    text = (
        "gravity, payload, rotor inertias and friction that a ROS parameter file gives to feedforward_node, "
        "as the parameters.yaml that identify writes; friction is the file's, whatever else is asked for"
    )
    parser.add_argument("--parameters", type=Path, metavar="FILE", help=text)


def add_bags(parser: argparse.ArgumentParser) -> None:
    """The bags, and how their joint states are read."""
    add = parser.add_argument
    add("bags", nargs="+", type=Path, metavar="BAG", help="bag folder or file, or a folder of bags")
    add("--topic", help="the joint states, when a bag has several topics of them")
    low_pass = "of the low-pass; default: chosen from the recording"
    add("--cutoff", type=positive("--cutoff", "Hz"), metavar="HZ", help=low_pass)


def add_workers(parser: argparse.ArgumentParser) -> None:
    """How many bags are read at once, and where."""
    jobs, text = whole("--jobs", 1), "bags read at once; default: all cores"
    parser.add_argument("--jobs", type=jobs, default=os.cpu_count() or 1, metavar="N", help=text)
    parser.add_argument("--dask", metavar="ADDRESS", help="read the bags on this Dask cluster")


def add_bag_arguments(parser: argparse.ArgumentParser) -> None:
    """The bags, the model, and how the one is read for the other: ``replay`` and ``observe`` share them."""
    add_bags(parser)
    add = parser.add_argument
    add("--model", required=True, metavar="MODULE.py", help="generated module, or the shipped one's name")
    add_friction_argument(parser)
    add(
        "--rename",
        action="append",
        default=[],
        metavar="BAG_NAME=MODEL_NAME",
        help="a joint that the bag calls otherwise; one * on both sides: 'left_*=*'",
    )


def report_folders(report: Path | None, bags: Sequence[Path]) -> list[Path | None]:
    """Where each bag's report goes: the folder itself for one bag, else a folder in it by the bag's name."""
    if report is None or len(bags) == 1:
        return [report] * len(bags)
    names = [bag.resolve().name for bag in bags]
    return [report / (name if names.count(name) == 1 else f"{i + 1}_{name}") for i, name in enumerate(names)]


def add_output_argument(parser: argparse.ArgumentParser, metavar: str, default: str, text: str) -> None:
    """``-o``, ``--output``: where a command writes, always, by default to ``default``."""
    text = f"{text}; default: %(default)s"
    parser.add_argument("-o", "--output", type=Path, default=Path(default), metavar=metavar, help=text)


def coloured(text: str, colour: str) -> str:
    """``text`` in one of ``COLOURS`` where the output is a terminal, unless that is dumb or NO_COLOR is set.

    See https://no-color.org.
    """
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty()
    return text if plain else f"\x1b[{COLOURS[colour]}m{text}\x1b[0m"
