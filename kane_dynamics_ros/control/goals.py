"""The trajectories that are followed: how far the arm may be from them, and what became of each.

A trajectory is accepted, then finished or dropped; or it is refused, with the reason.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.control.rejections import TrajectoryError

TrajectoryState = Literal["accepted", "refused", "dropped", "finished"]
Cause = Literal["", "replaced", "stopped", "path_tolerance", "goal_tolerance", "fault"]


@dataclass(frozen=True)
class Tolerances:
    """joint_trajectory_controller's ``constraints``: largest position errors (n,) [rad or m].

    While moving and at the goal; 0 switches a check off.

    The goal's must hold, and no joint be faster than ``stopped_velocity`` [rad/s or m/s], within
    ``goal_time`` [s] after the end of the motion; a ``goal_time`` of 0 waits for ever.
    """

    trajectory: Array
    goal: Array
    goal_time: float = 0.0
    stopped_velocity: float = 0.0

    @cached_property
    def _weights(self) -> Array:
        return _inverse(self.trajectory)

    @cached_property
    def _goal_weights(self) -> Array:
        return _inverse(self.goal)

    def violated(self, error: Array) -> int | None:
        """The joint whose error (n,) is worst, if it is too large while moving."""
        return _worst(error * self._weights)

    def missed(self, error: Array, qd: Array) -> int | None:
        """The joint that is not at its goal, or has not come to rest there; None when all have."""
        joint = _worst(error * self._goal_weights)
        if joint is None and self.stopped_velocity:
            joint = _worst(qd / self.stopped_velocity)
        return joint


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

    ``reason`` is in words; ``cause`` says why one was dropped, and ``error`` why it was refused.
    """

    ticket: Ticket
    state: TrajectoryState
    reason: str
    cause: Cause = ""
    error: TrajectoryError | None = None

    @property
    def by_sender(self) -> bool:
        """Whether it was dropped because a sender asked for something else."""
        return self.cause in ("replaced", "stopped")


@dataclass(frozen=True)
class Goal:
    """A trajectory that was accepted, with its start and end on the clock of trajectories [ns].

    ``tolerances`` are its own; None: those of the settings.
    """

    ticket: Ticket
    start_ns: int
    end_ns: int
    tolerances: Tolerances | None = None


HOLDS = "a request to stop: the position is held"  # without points, or with nothing to do


class Goals:
    """The trajectories that are followed or wait for their time, in order, and what there is to report."""

    def __init__(self) -> None:
        self.open: list[Goal] = []
        self._outcomes: list[TrajectoryOutcome] = []

    def accept(self, goal: Goal) -> None:
        """Take a goal; those that would end after its start are dropped."""
        why = f"replaced by trajectory {goal.ticket.number}"
        self.drop(why, "replaced", goal.start_ns)
        self.open.append(goal)
        duration = (goal.end_ns - goal.start_ns) * 1e-9
        self._report(goal.ticket, "accepted", f"takes {duration:.3f} s" if duration else HOLDS)

    def start_last(self, start_ns: int) -> None:
        """The newest goal starts at ``start_ns`` [ns]: later than it was taken, with the next state."""
        goal = self.open.pop()
        self.open.append(_moved(goal, start_ns - goal.start_ns))

    def refuse(self, ticket: Ticket, error: TrajectoryError) -> None:
        """Report a trajectory that is not followed."""
        self._outcomes.append(refusal(ticket, error))

    def drop(self, reason: str, cause: Cause = "fault", from_ns: int = 0) -> bool:
        """Drop the goals that would end after ``from_ns``; whether there was one."""
        dropped = [goal for goal in self.open if goal.end_ns > from_ns]
        self.open = [goal for goal in self.open if goal.end_ns <= from_ns]
        for goal in dropped:
            self._report(goal.ticket, "dropped", reason, cause)
        return bool(dropped)

    def finish(self) -> None:
        """The first goal has been reached."""
        goal = self.open.pop(0)
        reached = goal.end_ns > goal.start_ns
        self._report(goal.ticket, "finished", "the last point is reached and held" if reached else HOLDS)

    def shift(self, by_ns: int) -> None:
        """The clock of trajectories was stepped."""
        self.open = [_moved(goal, by_ns) for goal in self.open]

    @property
    def pending(self) -> bool:
        """Whether there is anything to report."""
        return bool(self._outcomes)

    def pop_outcomes(self) -> Iterator[TrajectoryOutcome]:
        """What there is to report, once."""
        outcomes, self._outcomes = self._outcomes, []
        return iter(outcomes)

    def _report(self, ticket: Ticket, state: TrajectoryState, reason: str, cause: Cause = "") -> None:
        self._outcomes.append(TrajectoryOutcome(ticket, state, reason, cause))


def refusal(ticket: Ticket, error: TrajectoryError) -> TrajectoryOutcome:
    """The outcome of a trajectory that is not followed."""
    return TrajectoryOutcome(ticket, "refused", str(error), error=error)


def _inverse(limits: Array) -> Array:
    return np.divide(1.0, limits, out=np.zeros_like(limits), where=limits > 0.0)


def _worst(shares: Array) -> int | None:
    """The index of the largest magnitude, if that is above 1; cheap when all are small."""
    if shares.dot(shares) <= 1.0:
        return None
    worst = int(np.abs(shares).argmax())
    return worst if abs(shares[worst]) > 1.0 else None


def _moved(goal: Goal, by_ns: int) -> Goal:
    return replace(goal, start_ns=goal.start_ns + by_ns, end_ns=goal.end_ns + by_ns)
