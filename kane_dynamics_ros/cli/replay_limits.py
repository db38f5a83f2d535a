"""The limits that turn a verdict into an exit code."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kane_dynamics_ros.errors import KaneDynamicsError, UnknownJointError
from kane_dynamics_ros.replay.verdict.verdict import Verdict


class NumberArgumentError(KaneDynamicsError):
    """An option's value is no positive number."""

    def __init__(self, option: str, found: str, allowed: str) -> None:
        super().__init__(f"{option} {found!r}: found no positive number; allowed is {allowed}")


@dataclass(frozen=True)
class Limits:
    """Largest NRMSE of any joint (a fraction), and largest RMSE of some joints [N m] or [N]."""

    nrmse: float | None
    rmse: dict[str, float]


def read_limits(nrmse: str | None, rmse: Sequence[str], joints: Sequence[str]) -> Limits:
    """The limits that the options mean. Raises ``NumberArgumentError`` and ``UnknownJointError``."""
    each = {}
    for text in rmse:
        joint, _, value = text.rpartition("=")
        each[joint] = _number("--max-rmse", text, value, "JOINT=VALUE, in N m or N")
        if joint not in joints:
            raise UnknownJointError(joint, joints)
    return Limits(
        None if nrmse is None else positive_number("--max-nrmse", nrmse, "a part of the range: 0.05 is 5 %"),
        each,
    )


def exceeded(verdict: Verdict, limits: Limits) -> Iterator[str]:
    """A sentence for each limit that a joint exceeds."""
    for joint in verdict.joints:
        found, unit = joint.fit, joint.unit
        # a measured effort that never changes has no range: any error is then too much
        nrmse = math.inf if found.nrmse is None and found.rmse else found.nrmse or 0.0
        if limits.nrmse is not None and nrmse > limits.nrmse:
            yield f"joint {joint.name!r}: NRMSE {nrmse:.4g} exceeds --max-nrmse {limits.nrmse:g}"
        most = limits.rmse.get(joint.name)
        if most is not None and found.rmse > most:
            yield f"joint {joint.name!r}: RMSE {found.rmse:.4g} {unit} exceeds --max-rmse {most:g} {unit}"


def positive_number(option: str, text: str, allowed: str, least: float = 0.0) -> float:
    """The number in ``text``; above 0, and ``least`` at least. Raises ``NumberArgumentError``."""
    return _number(option, text, text, allowed, least)


def _number(option: str, text: str, value: str, allowed: str, least: float = 0.0) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number > 0 and number >= least):
        raise NumberArgumentError(option, text, allowed)
    return number
