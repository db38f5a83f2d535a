"""The arguments of every command that takes a chain out of a URDF: URDF, ``--tip``, ``--lock``."""

import argparse
import math

from kane_dynamics_ros.description import Chain, load_robot, serial_chain
from kane_dynamics_ros.errors import KaneDynamicsError


class LockArgumentError(KaneDynamicsError):
    """``--lock`` is not JOINT=VALUE."""

    def __init__(self, found: str) -> None:
        self.found = found
        super().__init__(
            f"--lock {found!r}: found no joint name and finite number; write --lock JOINT=VALUE, with the "
            "position in rad or m"
        )


def add_chain_arguments(
    parser: argparse.ArgumentParser, tip: str = "the one most joints lead to", lock: str = "none"
) -> None:
    """``--tip LINK`` and ``--lock JOINT=VALUE``, the latter as often as wanted; their defaults in words."""
    parser.add_argument("--tip", metavar="LINK", help=f"last link; default: {tip}")
    parser.add_argument(
        "--lock",
        metavar="JOINT=VALUE",
        action="append",
        default=[],
        help=f"hold a joint still [rad or m]; default: {lock}",
    )


def read_chain(urdf: str, tip: str | None, locks: list[str]) -> Chain:
    """The chain that the arguments mean. Raises ``DescriptionError`` and ``LockArgumentError``."""
    return serial_chain(load_robot(urdf), tip, lock=dict(_lock(text) for text in locks))


def _lock(text: str) -> tuple[str, float]:
    joint, _, value = text.rpartition("=")
    try:
        position = float(value)
    except ValueError:
        position = math.nan
    if not joint or not math.isfinite(position):
        raise LockArgumentError(text)
    return joint, position
