"""What to do when something is wrong, and when to go on.

A fault leads to a reaction that its rule chooses. The reaction lasts until the states have been good
again for the recovery time; then control resumes by holding the measured position.
"""

from dataclasses import dataclass, field
from typing import Literal, get_args

Reaction = Literal["ignore", "hold", "zero", "stop"]
REACTIONS: tuple[Reaction, ...] = get_args(Reaction)
"""``hold`` gives gravity's effort at the last good position, ``zero`` no effort, ``stop`` no commands;
``ignore`` only counts."""

Fault = Literal["stale_state", "position_jump", "saturation", "overrun", "non_finite"]
FAULTS: tuple[Fault, ...] = get_args(Fault)


@dataclass(frozen=True)
class Safety:
    """Thresholds (0 switches one off) and the reaction to each fault."""

    state_timeout: float = 0.1  # [s]
    position_jump: float = 0.5  # [rad] or [m] between two states
    saturation_time: float = 0.5  # [s] of clamping without a pause
    overrun_period: float = 0.02  # [s] between two states
    recovery_time: float = 0.2  # [s] of good states
    reactions: dict[Fault, Reaction] = field(
        default_factory=lambda: {
            "stale_state": "hold",
            "position_jump": "hold",
            "saturation": "ignore",
            "overrun": "ignore",
            "non_finite": "hold",
        }
    )


@dataclass(frozen=True)
class Alarm:
    """A fault that is being reacted to, and since when states have been good again [s]; None: not yet."""

    fault: Fault
    reaction: Reaction
    good_since: float | None = None


def raised(alarm: Alarm | None, fault: Fault, safety: Safety) -> Alarm | None:
    """The alarm after ``fault``; one that is ignored changes nothing."""
    reaction = safety.reactions[fault]
    if reaction == "ignore":
        return alarm
    if alarm is not None and REACTIONS.index(alarm.reaction) > REACTIONS.index(reaction):
        return Alarm(alarm.fault, alarm.reaction)
    return Alarm(fault, reaction)


def after_good_state(alarm: Alarm, time: float, safety: Safety) -> Alarm | None:
    """The alarm after a good state at ``time`` [s]; None when control may resume."""
    if alarm.good_since is None:
        return Alarm(alarm.fault, alarm.reaction, time)
    return None if time - alarm.good_since >= safety.recovery_time else alarm
