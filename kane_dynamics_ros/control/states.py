"""What the control loop is doing, as one value, and how it changes.

``Starting`` waits for a position to hold; ``Holding`` and ``Moving`` follow a reference. Three pauses lie
above them, each with what comes after it: ``Collided`` until it is reset, ``Suspended`` while commands cannot
take effect, and ``Reacting`` to a fault until the states are good again. A pause drops the motion. After the
last pause, and wherever else the arm was not tracked, ``Starting`` holds the position that is measured then:
no way leads from a pause back to an old reference.
"""

from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.control.plan import Plan, Prepared

# hold gives gravity's effort at the last good position, zero no effort, stop no commands; comply gives
# gravity's effort at the measured position and damping, so that the arm can be pushed; ignore only counts
Reaction = Literal["ignore", "comply", "hold", "zero", "stop"]
REACTIONS: tuple[Reaction, ...] = get_args(Reaction)

FaultKind = Literal[
    "stale_state", "position_jump", "saturation", "overrun", "non_finite", "tracking_error", "collision"
]
FAULT_KINDS: tuple[FaultKind, ...] = get_args(FaultKind)
OF_COMMANDS = ("position_jump", "saturation", "non_finite", "tracking_error")  # which commands may cause

RELAPSE_TIME = 1.0  # [s] of control after a recovery, before which a fault is a relapse
MOST_RELAPSES = 5  # in a row, after which nothing but the user ends a reaction


@dataclass(frozen=True)
class Safety:
    """Thresholds (0 switches one off) and the reaction to each fault."""

    state_timeout: float = 0.1  # [s]
    position_jump: float = 0.5  # [rad] or [m] between two states
    saturation_time: float = 0.5  # [s] of clamping without a pause
    overrun_period: float = 0.02  # [s] between two states
    recovery_time: float = 0.2  # [s] of good states
    no_effect_time: float = 0.3  # [s] in which a joint must move when its reference does
    reactions: dict[FaultKind, Reaction] = field(
        default_factory=lambda: {
            "stale_state": "hold",
            "position_jump": "hold",
            "saturation": "ignore",
            "overrun": "ignore",
            "non_finite": "hold",
            "tracking_error": "hold",
            "collision": "ignore",
        }
    )


@dataclass(frozen=True)
class Starting:
    """No position is held yet: the next one that is measured will be."""


@dataclass(frozen=True)
class Tracking:
    """The arm follows the reference of ``plan``; ``begin`` (n,) is the position where that began."""

    plan: Plan
    begin: Array


class Holding(Tracking):
    """The reference rests, at the end of its plan."""


@dataclass(frozen=True)
class Moving(Tracking):
    """The reference moves, or will when it is time to.

    ``waiting`` starts with the next state. ``stamped``: a time of the clock was asked for.
    """

    waiting: Prepared | None = None
    stamped: bool = False


@dataclass(frozen=True)
class Collided:
    """A joint collided, and the reaction lasts until it is reset."""

    joint: str
    reaction: Reaction


@dataclass(frozen=True)
class Suspended:
    """Commands have no effect, for a ``reason`` outside: gravity's effort is given where the arm is."""

    reason: str
    then: Starting | Collided = Starting()


@dataclass(frozen=True)
class Reacting:
    """A fault is reacted to. ``good_since`` [s]: since when states have been good again; None: not yet.

    ``lasting``: it came back too often; other settings or a new activation end it. ``why``: its figures.
    """

    fault: FaultKind
    reaction: Reaction
    good_since: float | None = None
    then: Starting | Collided | Suspended = Starting()
    lasting: bool = False
    why: str = ""


Pause = Starting | Collided | Suspended
State = Tracking | Pause | Reacting


def untracked(state: State) -> Pause:
    """What remains of a state without its motion and without the reaction to a fault."""
    if isinstance(state, Reacting):
        return state.then
    return state if isinstance(state, (Collided, Suspended)) else Starting()


def raised(state: State, fault: FaultKind, safety: Safety, lasting: bool = False, why: str = "") -> State:
    """After a fault: of two reactions the stronger one; one that is ignored changes nothing."""
    reaction = safety.reactions[fault]
    if reaction == "ignore":
        return state
    stronger = isinstance(state, Reacting) and REACTIONS.index(state.reaction) > REACTIONS.index(reaction)
    if isinstance(state, Reacting) and (state.lasting or stronger):
        return replace(state, good_since=None)
    return Reacting(fault, reaction, then=untracked(state), lasting=lasting, why=why)


def after_good_state(state: Reacting, time: float, safety: Safety) -> State:
    """After a good state at ``time`` [s]: the reaction goes on, or ends."""
    if state.good_since is None:
        return replace(state, good_since=time)
    over = time - state.good_since >= safety.recovery_time and not state.lasting
    return state.then if over else state


def suspended(state: State, reason: str | None) -> State:
    """Commands have no effect any more, as ``reason`` says; None: they have again."""
    if isinstance(state, Reacting):
        return replace(state, then=untracked(suspended(state.then, reason)))
    if reason is not None:
        then = state.then if isinstance(state, Suspended) else state
        return Suspended(reason, then if isinstance(then, Collided) else Starting())
    return state.then if isinstance(state, Suspended) else state


def collided(state: State, joint: str, reaction: Reaction) -> State:
    """After a collision that is reacted to."""
    now = Collided(joint, reaction)
    if isinstance(state, Reacting):
        then = replace(state.then, then=now) if isinstance(state.then, Suspended) else now
        return replace(state, then=then)
    return replace(state, then=now) if isinstance(state, Suspended) else now


def collision_in(state: State) -> Collided | None:
    """The collision that is reacted to, now or after the pauses above it."""
    below = untracked(state)
    pause = below.then if isinstance(below, Suspended) else below
    return pause if isinstance(pause, Collided) else None


def reset(state: State) -> State:
    """After the collision was reset: the position that is measured next is held."""
    if isinstance(state, Collided):
        return Starting()
    if isinstance(state, Suspended) and isinstance(state.then, Collided):
        return replace(state, then=Starting())
    if isinstance(state, Reacting):
        return replace(state, then=untracked(reset(state.then)))
    return state
