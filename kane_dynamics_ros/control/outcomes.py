"""What became of each trajectory: accepted, then finished or dropped; or refused, with the reason."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

TrajectoryState = Literal["accepted", "refused", "dropped", "finished"]


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
class Outcome:
    """One change of a trajectory's state; ``by_sender``: dropped since a sender asked for something else."""

    ticket: Ticket
    state: TrajectoryState
    reason: str
    by_sender: bool = False


@dataclass(frozen=True)
class Goal:
    """A trajectory that was accepted, with its start and end on the clock of trajectories [ns]."""

    ticket: Ticket
    start_ns: int
    end_ns: int


class Goals:
    """The trajectories that are followed or wait for their time, in order, and what there is to report."""

    def __init__(self) -> None:
        self.open: list[Goal] = []
        self._outcomes: list[Outcome] = []

    def accept(self, goal: Goal) -> None:
        """Take a goal; those that would end after its start are dropped."""
        why = f"replaced by trajectory {goal.ticket.number}"
        self.drop(why, by_sender=True, from_ns=goal.start_ns)
        self.open.append(goal)
        duration = (goal.end_ns - goal.start_ns) * 1e-9
        self._report(goal.ticket, "accepted", f"takes {duration:.3f} s")

    def start_last(self, start_ns: int) -> None:
        """The newest goal starts at ``start_ns`` [ns]: later than it was taken, with the next state."""
        goal = self.open.pop()
        self.open.append(Goal(goal.ticket, start_ns, start_ns + goal.end_ns - goal.start_ns))

    def refuse(self, ticket: Ticket, reason: str) -> None:
        """Report a trajectory that is not followed."""
        self._report(ticket, "refused", reason)

    def drop(self, reason: str, by_sender: bool = False, from_ns: int = 0) -> bool:
        """Drop the goals that would end after ``from_ns``; whether there was one."""
        dropped = [goal for goal in self.open if goal.end_ns > from_ns]
        self.open = [goal for goal in self.open if goal.end_ns <= from_ns]
        for goal in dropped:
            self._report(goal.ticket, "dropped", reason, by_sender)
        return bool(dropped)

    def finish(self) -> None:
        """The first goal has been reached."""
        self._report(self.open.pop(0).ticket, "finished", "the last point is reached and held")

    def shift(self, by_ns: int) -> None:
        """The clock of trajectories was stepped."""
        self.open = [Goal(goal.ticket, goal.start_ns + by_ns, goal.end_ns + by_ns) for goal in self.open]

    @property
    def news(self) -> bool:
        """Whether there is anything to report."""
        return bool(self._outcomes)

    def taken(self) -> Iterator[Outcome]:
        """What there is to report, once."""
        outcomes, self._outcomes = self._outcomes, []
        return iter(outcomes)

    def _report(self, ticket: Ticket, state: TrajectoryState, reason: str, by_sender: bool = False) -> None:
        self._outcomes.append(Outcome(ticket, state, reason, by_sender))
