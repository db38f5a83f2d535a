"""What commands share: arguments that name a chain, a module and bags, numbers, and text for a terminal."""

import argparse
import math
import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from kane_dynamics_ros.description import Chain, Robot, load_robot, serial_chain
from kane_dynamics_ros.description.load import XACRO_SECONDS
from kane_dynamics_ros.errors import KaneDynamicsError

EXPANDED = "KD111"  # the finding of a file that xacro expanded


class ArgumentError(KaneDynamicsError):
    """The value ``found`` of an option cannot be used; ``code`` is the option's name."""


# Arguments that take a chain out of a URDF


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
        help="last link; several times for a tree, of which the first bears payload and wrench, or once "
        f'"all" for every leaf that moves; default: {tip}',
    )
    add(
        "--lock",
        metavar="JOINT=VALUE",
        action="append",
        default=[],
        help=f"hold a joint still [rad or m]; default: {lock}",
    )
    add(
        "--xacro",
        metavar="NAME:=VALUE",
        action="append",
        default=[],
        help="an argument of the xacro file; NAME=VALUE is the same",
    )
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
        type=float,
        default=XACRO_SECONDS,
        help="how long xacro may take; default: %(default)g",
    )


def add_strict_argument(parser: argparse.ArgumentParser) -> None:
    """``--strict``, for commands that decide whether a URDF is good enough."""
    parser.add_argument(
        "--strict",
        action="store_true",
        help="refuse a physically impossible inertia and a joint that moves no inertia (KD403, KD404), which "
        "are warned of otherwise",
    )


def loading(arguments: argparse.Namespace) -> dict[str, Any]:
    """How a URDF is loaded, for ``load_robot`` and ``urdf_content``. Raises ``ArgumentError``."""
    if not arguments.xacro_seconds > 0.0:
        found = arguments.xacro_seconds
        raise ArgumentError(f"--xacro-seconds {found:g}: a number above 0 is needed", "xacro", found=found)
    return {
        "xacro_arguments": xacro_arguments(arguments.xacro),
        "packages": arguments.packages,
        "xacro_seconds": arguments.xacro_seconds,
    }


def robot_of(arguments: argparse.Namespace) -> Robot:
    """The robot in the file ``urdf``. Raises ``DescriptionError``, ``ArgumentError``."""
    return load_robot(arguments.urdf, **loading(arguments))


def chain_of(arguments: argparse.Namespace, robot: Robot | None = None) -> Chain:
    """The chain of a robot, by default of that in the file, that the arguments mean, ``--strict`` included.

    Raises ``DescriptionError``, ``ArgumentError``.
    """
    return serial_chain(
        robot_of(arguments) if robot is None else robot,
        arguments.tip,
        root=arguments.root,
        lock=read_locks(arguments.lock),
        strict=getattr(arguments, "strict", False),
    )


def read_locks(texts: Sequence[str]) -> dict[str, float]:
    """``--lock JOINT=VALUE`` as a mapping. Raises ``ArgumentError``."""
    locks = {}
    for text in texts:
        joint, _, value = text.rpartition("=")
        try:
            locks[joint] = float(value)
        except ValueError:
            locks[joint] = math.nan
        if not joint or not math.isfinite(locks[joint]):
            raise ArgumentError(
                f"--lock {text!r}: found no joint name and finite number; write --lock JOINT=VALUE, with the "
                "position in rad or m",
                "lock",
                found=text,
            )
    return locks


def xacro_arguments(texts: Sequence[str]) -> dict[str, str]:
    """``--xacro NAME:=VALUE`` or ``NAME=VALUE`` as a mapping. Raises ``ArgumentError``."""
    given = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            message = f"--xacro {text!r}: found no name and value; write --xacro NAME:=VALUE"
            raise ArgumentError(message, "xacro", found=text)
        given[name.removesuffix(":")] = value
    return given


def view_command(arguments: argparse.Namespace, tip: str | None = None) -> str:
    """``kane_dynamics view`` of the trajectory in ``--output``, with the options that chose its chain.

    ``tip``: the tip that a command chose otherwise than ``view`` would, where none was asked for.
    """
    words = ["kane_dynamics", "view", arguments.urdf]
    words += ["--root", arguments.root] if arguments.root else []
    for option, values in (
        ("--tip", arguments.tip or ([tip] if tip else [])),
        ("--lock", arguments.lock),
        ("--xacro", arguments.xacro),
        ("--packages", arguments.packages),
    ):
        words += [word for value in values for word in (option, str(value))]
    return shlex.join([*words, "--trajectory", str(arguments.output)])


# Arguments that name a generated module


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


# Arguments that name bags, and numbers


def add_bag_arguments(parser: argparse.ArgumentParser) -> None:
    """The bags, the model, and how the one is read for the other: ``replay`` and ``observe`` share them."""
    add = parser.add_argument
    add("bags", nargs="+", type=Path, metavar="BAG", help="bag folder or file, or a folder of bags")
    add("--model", required=True, metavar="MODULE.py", help="generated module, or the shipped one's name")
    add("--urdf-friction", action="store_true", help="switch on the damping and friction of the URDF")
    add(
        "--rename",
        action="append",
        default=[],
        metavar="BAG_NAME=MODEL_NAME",
        help="a joint that the bag calls otherwise; one * on both sides: 'left_*=*'",
    )
    add("--topic", help="the joint states, when a bag has several topics of them")
    add("--cutoff", metavar="HZ", help="of the low-pass; default: chosen from the recording")


def report_folders(report: Path | None, bags: Sequence[Path]) -> list[Path | None]:
    """Where each bag's report goes: the folder itself for one bag, else a folder in it by the bag's name."""
    if report is None or len(bags) == 1:
        return [report] * len(bags)
    names = [bag.resolve().name for bag in bags]
    return [report / (name if names.count(name) == 1 else f"{i + 1}_{name}") for i, name in enumerate(names)]


def positive_number(option: str, text: str, allowed: str, least: float = 0.0) -> float:
    """The number in ``text``; above 0, and ``least`` at least. Raises ``ArgumentError``."""
    return number_of(option, text, text, allowed, least)


def optional_number(option: str, text: str | None, allowed: str) -> float | None:
    """The positive number in ``text``; None where the option is not given. Raises ``ArgumentError``."""
    return None if text is None else number_of(option, text, text, allowed)


def number_of(option: str, text: str, value: str, allowed: str, least: float = 0.0) -> float:
    """The positive number in ``value``, a part of the option's ``text``. Raises ``ArgumentError``."""
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number > 0 and number >= least):
        message = f"{option} {text!r}: found no positive number; allowed is {allowed}"
        raise ArgumentError(message, option.removeprefix("--"), found=text)
    return number


def numbers_of(option: str, text: str, names: Sequence[str]) -> list[float]:
    """A number for each of ``names``, separated by commas; none means zeros. Raises ``ArgumentError``."""
    if not text:
        return [0.0] * len(names)
    try:
        values = [float(word) for word in text.split(",")]
    except ValueError:
        values = []
    if len(values) != len(names):
        message = f"{option} {text!r}: {len(names)} numbers separated by commas are needed, in the order "
        raise ArgumentError(message + ", ".join(names), option.removeprefix("--"), found=text)
    return values


def whole_number(least: int) -> Callable[[str], int]:
    """The type of an option that takes a whole number from ``least`` on, for argparse."""

    def parse(text: str) -> int:
        number = int(text)
        if number < least:
            raise argparse.ArgumentTypeError(f"{text} is below {least}")
        return number

    return parse


# Text for a terminal: colour where it shows, and only characters that it has


class Palette(NamedTuple):
    """Wraps text in terminal colours, or leaves it plain."""

    on: bool

    def bold(self, text: str) -> str:
        return self._wrapped("1", text)

    def severity(self, severity: str, text: str) -> str:
        """Red for errors, yellow for warnings, blue for information."""
        return self._wrapped({"error": "1;31", "warning": "33"}.get(severity, "34"), text)

    def _wrapped(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.on else text


def palette_for(stream: TextIO) -> Palette:
    """Colours where ``stream`` is a terminal, unless NO_COLOR is set (https://no-color.org) or it is dumb."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return Palette(stream.isatty() and not plain)


def printable(text: str, stream: TextIO) -> str:
    """``text`` with escapes for what the stream's encoding lacks: names may be in any script."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
