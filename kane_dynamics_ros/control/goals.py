"""The trajectories that are followed: how far the arm may be from them, and what became of each.

A trajectory is accepted, then finished or dropped; or it is refused, with the reason.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.control.states import FaultKind
from kane_dynamics_ros.control.validation import SECOND_NS, TrajectoryError

TrajectoryState = Literal["accepted", "refused", "dropped", "finished"]
Cause = (
    FaultKind
    | Literal["", "replaced", "stopped", "cancelled", "path_tolerance", "goal_tolerance"]
    | Literal["not_active", "no_effect", "clock", "mode"]
)


@dataclass(frozen=True)
class Tolerances:
    """joint_trajectory_controller's ``constraints``: largest errors while moving and at the goal.

    Of positions (n,) [rad or m] and, where not None, of velocities (n,) [rad/s or m/s]; 0 switches a check
    off. The goal's must hold, and no joint be faster than ``stopped_velocity`` [rad/s or m/s], within
    ``goal_time`` [s] after the end of the motion; a ``goal_time`` of 0 waits for ever.
    """

    trajectory: Array
    goal: Array
    goal_time: float = 0.0
    stopped_velocity: float = 0.0
    trajectory_velocity: Array | None = None
    goal_velocity: Array | None = None

    @property
    def measures(self) -> bool:
        """Whether anything is asked of the arm at its goal."""
        asked = self.goal.any() or (self.goal_velocity is not None and self.goal_velocity.any())
        return bool(asked or self.stopped_velocity)

    @cached_property
    def _weights(self) -> Array:
        return _inverse(self.trajectory)

    def violated(self, error: Array, reference: Array, qd: Array) -> int | None:
        """The joint whose error of position (n,) or else of velocity is worst, if too large while moving."""
        joint = _worst(error * self._weights)
        if joint is None and self.trajectory_velocity is not None:
            joint = _worst((reference[1] - qd) * _inverse(self.trajectory_velocity))
        return joint

    def missed(self, error: Array, qd: Array) -> int | None:
        """The joint that is not at its goal, or has not come to rest there; None when all have."""
        stopped = np.full_like(qd, self.stopped_velocity)
        checks = (error, self.goal), (qd, self.goal_velocity), (qd, stopped)
        worst = (_worst(values * _inverse(allowed)) for values, allowed in checks if allowed is not None)
        return next((joint for joint in worst if joint is not None), None)


ANYWHERE = Tolerances(np.zeros(1), np.zeros(1))  # no joint is too far from its reference


def own_tolerances(goal: Any, joint_names: Sequence[str], defaults: Tolerances) -> Tolerances:
    """The tolerances of a FollowJointTrajectory goal; 0 means the default, a negative one none.

    Raises ``TrajectoryError``, "tolerance": for a joint that the model does not have, a number that is not
    finite, and an acceleration, which nobody measures.
    """
    for each in (*goal.path_tolerance, *goal.goal_tolerance):
        wrong = None
        if each.name not in joint_names:
            known = ", ".join(map(repr, joint_names))
            wrong = f"a tolerance for the unknown joint {each.name!r}; the model's joints are {known}"
        elif not math.isfinite(each.position + each.velocity + each.acceleration):
            wrong = (
                f"a tolerance of joint {each.name!r} is not finite; give a number, 0 for the parameter's, or "
                "a negative one for none"
            )
        elif each.acceleration > 0.0:
            wrong = (
                f"a tolerance of {each.acceleration:g} for the acceleration of joint {each.name!r}: joint "
                "states have no accelerations to compare with; give 0 or a negative one"
            )
        if wrong is not None:
            raise TrajectoryError(wrong, "tolerance", joint=each.name)
    path = {each.name: each for each in goal.path_tolerance}
    end = {each.name: each for each in goal.goal_tolerance}
    none = np.zeros(len(joint_names))
    time = goal.goal_time_tolerance.sec + goal.goal_time_tolerance.nanosec / SECOND_NS

    def merged(asked: dict[str, Any], field: str, default: Array) -> Array:
        values = [getattr(asked[name], field) if name in asked else 0.0 for name in joint_names]
        return np.array([max(x, 0.0) if x else y for x, y in zip(values, default.tolist(), strict=True)])

    return replace(
        defaults,
        trajectory=merged(path, "position", defaults.trajectory),
        goal=merged(end, "position", defaults.goal),
        trajectory_velocity=merged(path, "velocity", none) if path else None,
        goal_velocity=merged(end, "velocity", none) if end else None,
        goal_time=max(time, 0.0) if time else defaults.goal_time,
    )


@dataclass(frozen=True)
class Ticket:
    """How a trajectory is told from others.

    ``number`` counts those that were received, from 1 on. ``stamp_ns`` is its header's stamp [ns], 0 without
    one. ``label`` is what its sender wrote beside the stamp (``header.frame_id``).
    """

    number: int
    stamp_ns: int = 0
    label: str = ""


@dataclass(frozen=True)
class TrajectoryOutcome:
    """One change of a trajectory's state.

    ``reason`` is in words; ``cause`` says in one word why one was dropped, or refused: the error's code.
    """

    ticket: Ticket
    state: TrajectoryState
    reason: str
    cause: str = ""

    @property
    def by_sender(self) -> bool:
        """Whether it was dropped because a sender asked for something else."""
        return self.cause in ("replaced", "stopped", "cancelled")


@dataclass(frozen=True)
class Goal:
    """A trajectory that was accepted, with its start and end on the clock of trajectories [ns].

    ``tolerances`` are its own; None: those of the settings. ``stops``: it has no points and asks to stop.
    ``slowed``: how many times longer it takes than asked for.
    """

    ticket: Ticket
    start_ns: int
    end_ns: int
    tolerances: Tolerances | None = None
    stops: bool = False
    slowed: float = 1.0


FAR_AHEAD = 3600.0  # [s] until a start: rather a wrong clock, or one that is not simulated
HOLDS = "a request to stop: the position is held"
REACHED = "the last point is reached and held"
ENDED = "the motion has ended; no goal tolerance is set, so whether the arm followed was not checked"


class Goals:
    """The trajectories that are followed or wait for their time, in order, and what there is to report."""

    def __init__(self) -> None:
        self.open: list[Goal] = []
        self._outcomes: list[TrajectoryOutcome] = []

    def accept(self, goal: Goal, now_ns: int) -> None:
        """Take a goal at ``now_ns`` [ns]; those that would end after its start are dropped."""
        why = f"replaced by trajectory {goal.ticket.number}"
        self.drop(why, "replaced", goal.start_ns)
        self.open.append(goal)
        duration = (goal.end_ns - goal.start_ns) * 1e-9
        why, wait = f"takes {duration:.3f} s", (goal.start_ns - now_ns) * 1e-9
        if wait > 0.0:
            why += f", starts in {wait:.3f} s"
        if wait > FAR_AHEAD:
            why += " (is the sender's clock that of the node? a stamp of 0 means now)"
        if goal.slowed > 1.0:
            why += f", {goal.slowed:.3f} times as long as asked for: the limits on velocities and efforts"
        self._report(goal.ticket, "accepted", HOLDS if goal.stops else why)

    def refuse(self, ticket: Ticket, error: TrajectoryError) -> None:
        """Report a trajectory that is not followed."""
        self._outcomes.append(refusal(ticket, error))

    def find(self, number: int) -> Goal | None:
        """The open goal of a trajectory's number."""
        return next((goal for goal in self.open if goal.ticket.number == number), None)

    def drop(self, reason: str, cause: Cause, from_ns: int = 0) -> bool:
        """Drop the goals that would end after ``from_ns``; whether there was one."""
        dropped = [goal for goal in self.open if goal.end_ns > from_ns]
        self.open = [goal for goal in self.open if goal.end_ns <= from_ns]
        for goal in dropped:
            self._report(goal.ticket, "dropped", reason, cause)
        return bool(dropped)

    def finish(self, measured: bool) -> None:
        """The first goal has ended well; ``measured``: the arm is known to be there."""
        goal = self.open.pop(0)
        self._report(goal.ticket, "finished", HOLDS if goal.stops else REACHED if measured else ENDED)

    def drop_one(self, goal: Goal, reason: str, cause: Cause) -> None:
        """Drop one open goal alone."""
        self.open.remove(goal)
        self._report(goal.ticket, "dropped", reason, cause)

    def pop_outcomes(self) -> Iterator[TrajectoryOutcome]:
        """What there is to report, once."""
        outcomes, self._outcomes = self._outcomes, []
        return iter(outcomes)

    def _report(self, ticket: Ticket, state: TrajectoryState, reason: str, cause: Cause = "") -> None:
        self._outcomes.append(TrajectoryOutcome(ticket, state, reason, cause))


def refusal(ticket: Ticket, error: TrajectoryError) -> TrajectoryOutcome:
    """The outcome of a trajectory that is not followed."""
    return TrajectoryOutcome(ticket, "refused", str(error), error.code)


def _inverse(allowed: Array) -> Array:
    """What makes values shares of what is allowed (n,); 0 where anything is."""
    return np.divide(1.0, allowed, out=np.zeros_like(allowed), where=allowed > 0.0)


def _worst(shares: Array) -> int | None:
    """The index of the largest magnitude, if that is above 1; cheap when all are small."""
    if shares.dot(shares) <= 1.0:
        return None
    worst = int(np.abs(shares).argmax())
    return worst if abs(shares[worst]) > 1.0 else None
