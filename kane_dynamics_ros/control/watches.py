"""What is watched beside the reference: states, the commands' effect, clamping, faults that come back."""

import math
from collections import Counter, deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import Array, Mask
from kane_dynamics_ros.control.law import Law, position_error
from kane_dynamics_ros.control.states import OF_COMMANDS, FaultKind, Reacting, Safety, State

JITTER = 0.02  # [s] by which a state may be late: it shows more motion than the time since the last one
JUMP_FACTOR = 2.0  # times the velocity limit: an arm that is pushed or falls exceeds it
NOTICEABLE = 0.1  # of the tolerance while moving: what a reference must move for a missing effect to be seen
STILL = 0.02  # of the reference's motion: less than any arm that gets its commands moves


class Seen(NamedTuple):
    """The last measured position, the last one that had not jumped (n,), and when the last state came [s]."""

    q: Array | None = None
    good_q: Array | None = None
    time: float = -math.inf


def seen(
    last: Seen, q: Array, time: float, law: Law, safety: Safety, fastest: Array | float, away: bool
) -> tuple[Seen, dict[FaultKind, str]]:
    """What is known after one more state, and the faults that it shows, each with its figures.

    A pause is an overrun when it is longer than ``overrun_period``. A joint jumped when it moved further than
    ``position_jump``, or than it can at ``JUMP_FACTOR`` times the ``fastest`` speeds (n,). After a pause that
    was reacted to (``away``) an arm may be anywhere.
    """
    if last.q is None:
        return Seen(q, q, time), {}
    gap = time - last.time
    faults: dict[FaultKind, str] = {}
    if 0.0 < safety.overrun_period < gap:
        faults["overrun"] = late_text(gap, safety.overrun_period, "overrun_period")
    excused = away and 0.0 < safety.state_timeout <= gap
    if safety.position_jump and not excused:
        moved = np.abs(position_error(law, q, last.q))
        largest = np.minimum(fastest * (JUMP_FACTOR * (gap + JITTER)), safety.position_jump)
        if any((moved > largest).tolist()):
            i = int(np.argmax(moved - largest))
            joint, most = law.rigid.joints[i], float(np.broadcast_to(largest, moved.shape)[i])
            own = f"{JUMP_FACTOR:g} times its velocity limit"
            limit = own if most < safety.position_jump else "safety.position_jump"
            faults["position_jump"] = (
                f"joint {joint.name} moved by {moved[i]:.3g} {joint.unit} in {1e3 * gap:.3g} ms; at most "
                f"{most:.3g} {joint.unit} ({limit})"
            )
            return Seen(q, last.good_q, time), faults
    return Seen(q, q, time), faults


def late_text(gap: float, allowed: float, parameter: str) -> str:
    """Figures of a state that did not come for ``gap`` [s]."""
    return f"no state for {gap:.3g} s; at most {allowed:g} s (safety.{parameter})"


class NoEffect(NamedTuple):
    """A joint that stood still for ``time`` [s] while its reference moved by ``asked`` [rad or m]."""

    joint: int
    time: float
    asked: float


class EffectWatch:
    """Compares how far reference and arm have moved: a joint that stands still gets no commands."""

    def __init__(self) -> None:
        self._past: deque[tuple[float, Array, Array]] = deque()  # time [s], reference and state

    def forget(self) -> None:
        self._past.clear()

    def missing(
        self, law: Law, noticed: Array, span: float, time: float, reference: Array, q: Array
    ) -> NoEffect | None:
        """The joint that stood still over ``span`` [s] while its reference moved away from it.

        By more than ``noticed`` (n,), 0 where nothing is; it moves from the beginning of that time on. A
        reference that moves towards a joint that rests shows nothing: the joint need not move.
        """
        past = self._past
        if not past or time > past[-1][0]:  # simulated time may stand still for days
            past.append((time, reference, q))
        while len(past) > 1 and past[1][0] <= time - span:
            past.popleft()
        then, reference_then, q_then = past[0]
        if then > time - span:
            return None
        moves = past[1][1] != reference_then
        asked = np.abs(position_error(law, reference, reference_then))
        done = np.abs(position_error(law, q, q_then))
        away = np.abs(position_error(law, reference, q)) - np.abs(position_error(law, reference_then, q_then))
        still = moves & (noticed > 0.0) & (asked > noticed) & (away > noticed) & (done < STILL * asked)
        if not still.any():
            return None
        joint = int(np.flatnonzero(still)[0])
        return NoEffect(joint, time - then, float(asked[joint]))


class SaturationWatch:
    """Counts the joints that are clamped, and for how long one is without a pause."""

    def __init__(self) -> None:
        self.clamped: Counter[str] = Counter()
        self._since: float | None = None

    def forget(self) -> None:
        self._since = None

    def lasts(self, clamped: Mask, names: Sequence[str], time: float, longest: float) -> bool:
        """Whether clamping goes on for longer than ``longest`` [s], 0 for ever; it counts anew then."""
        if not any(clamped.tolist()):
            self._since = None
            return False
        for i in np.flatnonzero(clamped).tolist():
            self.clamped[names[i]] += 1
        if self._since is None:
            self._since = time
        if 0.0 < longest < time - self._since:
            self._since = time
            return True
        return False


class RelapseWatch:
    """Counts faults that come back at once after a recovery: what the commands themselves may cause."""

    def __init__(self) -> None:
        self.relapses = 0
        self._recovered = -math.inf  # [s]

    def forget(self) -> None:
        self.relapses, self._recovered = 0, -math.inf

    def recovered(self, time: float) -> None:
        self._recovered = time

    def count(self, state: State, fault: FaultKind, time: float, relapse_time: float) -> int:
        """The faults in a row, with this one in a state that is not a reaction yet."""
        if fault in OF_COMMANDS and not isinstance(state, Reacting):
            self.relapses = self.relapses + 1 if time - self._recovered < relapse_time else 0
        return self.relapses
