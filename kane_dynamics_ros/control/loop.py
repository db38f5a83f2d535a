"""One control step after another: state in, effort out. No clock and no ROS: times are passed in.

``settings`` is immutable and replaced whole, so a change takes effect between two steps.

A fault leads to a reaction that its rule chooses. The reaction lasts until the states have been good
again for the recovery time; then control resumes by holding the measured position. The reaction to a
collision lasts until it is reset.
"""

import math
from collections import Counter, deque
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.control.goals import Cause, Goal, Goals, Ticket, Tolerances
from kane_dynamics_ros.control.law import Law, efforts, efforts_by_term, position_error
from kane_dynamics_ros.control.limits import Limited, clamp, clamp_reference, limit_rate, motion_limits
from kane_dynamics_ros.control.plan import (
    STOP_KNOTS,
    Plan,
    Prepared,
    hold_at,
    hold_from,
    joined,
    prepare,
    sample,
    shifted,
    slowed,
)
from kane_dynamics_ros.control.rejections import NoEffectError, NoStateError, TrajectoryError
from kane_dynamics_ros.control.validation import Rules, TrajectoryRequest
from kane_dynamics_ros.errors import NonFiniteError

# hold gives gravity's effort at the last good position, zero no effort, stop no commands; comply gives
# gravity's effort at the measured position and damping, so that the arm can be pushed; ignore only counts
Reaction = Literal["ignore", "comply", "hold", "zero", "stop"]
REACTIONS: tuple[Reaction, ...] = get_args(Reaction)

FaultKind = Literal[
    "stale_state", "position_jump", "saturation", "overrun", "non_finite", "tracking_error", "collision"
]
FAULT_KINDS: tuple[FaultKind, ...] = get_args(FaultKind)

JITTER = 0.02  # [s] by which a state may be late: it shows more motion than the time since the last one
JUMP_FACTOR = 2.0  # times the velocity limit: an arm that is pushed or falls exceeds it
NOTICEABLE = 0.1  # of the tolerance while moving: what a reference must move for a missing effect to be seen
STILL = 0.02  # of the reference's motion: less than any arm that gets its commands moves


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
class Alarm:
    """A fault that is being reacted to, and since when states have been good again [s]; None: not yet."""

    fault: FaultKind
    reaction: Reaction
    good_since: float | None = None


def raised(alarm: Alarm | None, fault: FaultKind, safety: Safety) -> Alarm | None:
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


@dataclass(frozen=True)
class LoopSettings:
    """What a step depends on. Limits (n,); ``effort_rate`` (n,) [N m/s or N/s] is None when unlimited.

    ``reference_limits`` says what happens to a reference outside the position limits.
    """

    law: Law
    rules: Rules
    safety: Safety
    effort_limits: Array
    effort_rate: Array | None
    lower: Array
    upper: Array
    reference_limits: str  # "reject", "clamp" or "ignore"
    tolerances: Tolerances | None = None  # None: the arm may be anywhere
    fastest: Array | None = None  # (n,) [rad/s or m/s]
    comply_damping: float = 5.0  # [1/s] of the momentum, in the reaction ``comply``


class ControlStep(NamedTuple):
    """One answered state: reference (3, n), effort before and after limits (n,), measured q and qd (n,)."""

    reference: Array
    wanted: Array
    tau: Array
    q: Array
    qd: Array


@dataclass(frozen=True)
class Candidate:
    """A trajectory that wants to be followed: prepared, refused already, or None: a request to stop.

    ``tolerances`` hold instead of the settings'.
    """

    ticket: Ticket
    prepared: Prepared | TrajectoryError | None
    tolerances: Tolerances | None = None


class ControlLoop:
    """The running reference, the last step, the alarm and the counts."""

    def __init__(self, settings: LoopSettings) -> None:
        self.settings = settings
        self.goals = Goals()
        self.counts: Counter[str] = Counter()
        self.clamped: Counter[str] = Counter()
        self.plan: Plan | None = None
        self.alarm: Alarm | None = None
        self.last: ControlStep | None = None
        self._waiting: Prepared | None = None  # to start at the next state
        self._stamped = False  # whether the motion was asked for at a time of the clock
        self._q: Array | None = None  # the last measured position
        self._safe_q: Array | None = None  # the last one that had not jumped
        self._seen = -math.inf  # when the last state came [s]
        self._sent: tuple[Array, float] | None = None  # the last effort, and when [s]
        self._last_ns = 0  # of the last state
        self._suspended: str | None = None
        self.collided: Reaction | None = None  # what is done until the collision is reset
        self.lost = ""  # what the last tracking error was
        self._watched: deque[tuple[float, Array, Array]] = deque()  # time [s], reference and state of watches
        self._saturated_since: float | None = None

    def forget(self, reason: str) -> None:
        """Drop the motion and the states, as after a jump of the clock; the next state is held."""
        self.goals.drop(reason)
        self.plan = self.last = self.alarm = None
        self._waiting = self._q = self._safe_q = self._saturated_since = None
        self._seen = -math.inf
        self._watched.clear()

    @property
    def suspended(self) -> str | None:
        """Why commands cannot have an effect now; None when they can."""
        return self._suspended

    def suspend(self, reason: str | None) -> None:
        """Commands have no effect, as ``reason`` says, until this is called with None.

        Meanwhile no motion is followed, and gravity's effort at the measured position is given: whenever
        commands take effect again, they begin without a jump.
        """
        if reason is not None:
            self.goals.drop(reason)
            self.plan = self._waiting = None
        self._suspended = reason

    def prepare(self, request: TrajectoryRequest, now_ns: int, number: int = 1) -> Candidate:
        """All that takes long about a trajectory. Changes nothing, so that another thread may do it.

        ``number`` tells the trajectory from others in ``goals``, which report what becomes of it.
        """
        ticket, settings, plan = Ticket(number, request.stamp_ns, request.label), self.settings, self.plan
        if not request.points:
            return Candidate(ticket, None)
        joints = settings.law.rigid.joints
        check = None
        if settings.reference_limits == "reject":
            begin = None if plan is None else sample(plan, request.stamp_ns or now_ns)[0]
            check = motion_limits(joints, begin).check
        try:
            return Candidate(ticket, prepare(request, joints, settings.rules, check))
        except TrajectoryError as error:
            return Candidate(ticket, error)

    def follow(self, request: TrajectoryRequest, now_ns: int, number: int = 1) -> None:
        """Take a trajectory; one without a stamp starts at the next state. Raises ``TrajectoryError``."""
        self.accept(self.prepare(request, now_ns, number), now_ns)

    def accept(self, candidate: Candidate, now_ns: int) -> None:
        """Follow a prepared trajectory. Raises ``TrajectoryError``; ``goals`` reports that too."""
        try:
            self._accept(candidate, now_ns)
        except TrajectoryError as error:
            self.goals.refuse(candidate.ticket, error)
            raise

    def _accept(self, candidate: Candidate, now_ns: int) -> None:
        ticket, prepared = candidate.ticket, candidate.prepared
        if self._suspended is not None:
            raise NoEffectError(self._suspended)
        if self.plan is None or self.alarm is not None or self.collided is not None:
            collided = None if self.collided is None else "collision"
            raise NoStateError(collided if self.alarm is None else self.alarm.fault)
        if isinstance(prepared, TrajectoryError):
            raise prepared
        if prepared is None:
            self.plan, self._waiting, self._stamped = hold_from(self.plan, now_ns), None, False
            self.goals.drop(f"stopped by trajectory {ticket.number}, which has no points", "stopped")
            self.goals.accept(Goal(ticket, now_ns, now_ns))
            return
        self._start_waiting(self.plan, now_ns)  # the new one may begin long after it
        joints, start_ns = self.settings.law.rigid.joints, ticket.stamp_ns or now_ns
        plan, move = joined(self.plan, prepared, joints, start_ns, now_ns)
        if self.settings.reference_limits == "reject" and move is not None:
            motion_limits(joints, sample(self.plan, max(start_ns, now_ns))[0]).check(move)
        if ticket.stamp_ns:
            self.plan, self._waiting, self._stamped = plan, None, True
        else:
            self._waiting = prepared
        self.goals.accept(Goal(ticket, start_ns, plan.end_ns, candidate.tolerances))

    def stop(self, now_ns: int, longest: float) -> float:
        """Come to rest along the reference; how long that takes [s], 0 where nothing moves by itself.

        Of some durations up to ``longest`` [s] the shortest for which the efforts are within their limits;
        the longest where a limit is not known.
        """
        plan = self.plan
        still = plan is None or now_ns >= plan.end_ns or self.settings.law.mode == "gravity_compensation"
        if plan is None or still or self.alarm is not None or self._suspended is not None or longest <= 0.0:
            return 0.0
        law = replace(self.settings.law, mode="feedforward")
        known = np.isfinite(self.settings.effort_limits).all()
        duration = longest
        for halvings in (4, 3, 2, 1, 0) if known else (0,):
            duration = longest / 2**halvings
            self.plan = slowed(plan, now_ns, duration)
            times = np.linspace(now_ns, self.plan.end_ns, 4 * STOP_KNOTS)
            reference = np.array([sample(self.plan, round(t)) for t in times]).swapaxes(0, 1)
            wanted = efforts_by_term(law, reference, reference[0], reference[1]).total
            if (np.abs(wanted) <= self.settings.effort_limits).all():
                break
        self._waiting, self._stamped = None, False
        return duration

    @property
    def rests(self) -> bool:
        """Whether the reference has come to its end."""
        return self.plan is None or self._last_ns >= self.plan.end_ns

    def shift_clock(self, by_ns: int, now_ns: int) -> bool:
        """The clock of trajectories was stepped; whether the motion was dropped.

        ``now_ns`` is the time after the step. A motion that was asked for at a time of that clock is
        dropped, the present reference held; any other goes on undisturbed.
        """
        if self.plan is None:
            return False
        self.plan = shifted(self.plan, by_ns)
        self.goals.shift(by_ns)
        dropped = self._stamped and now_ns < self.plan.end_ns
        if dropped:
            self.plan, self._stamped = hold_from(self.plan, now_ns), False
            self.goals.drop(f"the clock was stepped by {by_ns * 1e-9:.3f} s")
        return dropped

    def step(self, q: Array, qd: Array, now_ns: int, time: float) -> Array | None:
        """The effort (n,) for a measured state, or None when nothing may be published.

        ``now_ns`` is the clock of trajectories [ns]; ``time`` [s] is one that never steps.
        """
        self._last_ns = now_ns
        self._inspect(q, time)
        if self.alarm is not None:
            self.alarm = after_good_state(self.alarm, time, self.settings.safety)
            if self.alarm is not None:
                return self.safe_effort(self.alarm.reaction, time)
            self.plan = None
        if self._suspended is not None:
            return self.safe_effort("hold", time)
        if self.collided is not None:
            self.plan = None
            return self._after_collision(self.collided, q, qd, time)
        if self.plan is None:
            self.plan, self._waiting = hold_at(q, now_ns), None
        else:
            self._start_waiting(self.plan, now_ns)
        return self._regulated(self.plan, q, qd, now_ns, time)

    def watch(self, time: float) -> Array | None:
        """Between states: the safe effort while they are missing, None while all is well."""
        self._watch_effect(time)
        timeout = self.settings.safety.state_timeout
        if self._q is None or not 0.0 < timeout < time - self._seen:
            return None
        if self.alarm is None or self.alarm.good_since is not None:
            self._raise("stale_state")
        return None if self.alarm is None else self.safe_effort(self.alarm.reaction, time)

    def safe_effort(self, reaction: Reaction, time: float) -> Array | None:
        """What to publish in a reaction: gravity's effort at the last good position, zero, or nothing.

        It is reached as fast as the limits allow; ``last_effort`` is what it comes to.
        """
        effort = self.last_effort(reaction)
        return None if effort is None else self._limited(effort, time)[0]

    def last_effort(self, reaction: Reaction) -> Array | None:
        """The command without the limit on its rate of change: what may stay when nothing follows."""
        if self._safe_q is None or reaction == "stop":
            return None
        law = self.settings.law
        if reaction == "zero" or not law.switches.gravity:
            return np.zeros(len(self._safe_q))
        gravity = law.rigid.gravity(self._safe_q)
        if not math.isfinite(gravity.sum()):  # of absurd parameters; no effort is all that is left
            return np.zeros(len(self._safe_q))
        return clamp(gravity, self.settings.effort_limits).tau

    def collide(self, joint: str) -> None:
        """A collision was found at a joint: react from the next state on, until ``reset_collision``."""
        self.counts["collision"] += 1
        reaction = self.settings.safety.reactions["collision"]
        if reaction != "ignore":
            self.collided, self._waiting = reaction, None
            self.goals.drop(f"collision at joint {joint}: reaction is {reaction}")

    def reset_collision(self) -> None:
        """End the reaction to a collision; the measured position is held then."""
        self.collided = None

    def _after_collision(self, reaction: Reaction, q: Array, qd: Array, time: float) -> Array | None:
        """The reaction's effort; ``comply``: g(q) - d M q', under which the momentum decays with rate d."""
        if reaction != "comply":
            return self.safe_effort(reaction, time)
        law = self.settings.law
        effort = -self.settings.comply_damping * (law.rigid.mass_matrix(q) @ qd)
        if law.switches.gravity:
            effort = effort + law.rigid.gravity(q)
        if not math.isfinite(effort.sum()):
            return self.safe_effort("hold", time)
        return self._limited(effort, time)[0]

    def _start_waiting(self, plan: Plan, now_ns: int) -> None:
        """Begin the trajectory that waits for the next state, if there is one."""
        if self._waiting is not None:
            joints = self.settings.law.rigid.joints
            self.plan = joined(plan, self._waiting, joints, now_ns, now_ns)[0]
            self.goals.start_last(now_ns)
            self._waiting, self._stamped = None, False

    def _inspect(self, q: Array, time: float) -> None:
        """Compare a new state with the one before it."""
        safety, previous, gap = self.settings.safety, self._q, time - self._seen
        self._q, self._seen = q, time
        if previous is not None:
            if 0.0 < safety.overrun_period < gap:
                self._raise("overrun")
            excused = self.alarm is not None and 0.0 < safety.state_timeout <= gap  # known to be away
            if safety.position_jump and not excused and self._jumped(q, previous, gap):
                self._raise("position_jump")
                return
        self._safe_q = q

    def _jumped(self, q: Array, previous: Array, gap: float) -> bool:
        """Whether a joint moved further in ``gap`` [s] than ``position_jump``, or than it can."""
        moved = np.abs(position_error(self.settings.law, q, previous))
        largest, fastest = self.settings.safety.position_jump, self.settings.fastest
        if fastest is None:
            return bool(moved.max() > largest)
        return bool((moved > np.minimum(fastest * (JUMP_FACTOR * (gap + JITTER)), largest)).any())

    def _regulated(self, plan: Plan, q: Array, qd: Array, now_ns: int, time: float) -> Array | None:
        settings = self.settings
        reference = sample(plan, now_ns)
        if settings.reference_limits == "clamp":
            reference = clamp_reference(reference, settings.lower, settings.upper)
        tolerances = self._tolerances()
        if tolerances is not None:
            error = position_error(settings.law, reference[0], q)
            joint = tolerances.violated(error)
            if joint is not None:
                limit = float(tolerances.trajectory[joint])
                self._lose(
                    joint, f"is {abs(error[joint]):.3g} from its reference; allowed is {limit:g}", now_ns
                )
                if self.alarm is not None:
                    return self.safe_effort(self.alarm.reaction, time)
                reference = sample(self.plan or plan, now_ns)
            elif self.goals.open and now_ns >= self.goals.open[0].end_ns:
                self._arrive(tolerances, error, qd, now_ns)
        try:
            wanted = efforts(settings.law, reference, q, qd)
        except NonFiniteError:
            wanted = np.full(len(q), math.nan)
        if not math.isfinite(wanted.sum()):
            self._raise("non_finite")
            return None if self.alarm is None else self.safe_effort(self.alarm.reaction, time)
        tau, clamped = self._limited(wanted, time)
        self._watch_saturation(clamped, time)
        self.last = ControlStep(reference, wanted, tau, q, qd)
        if tolerances is None and self.goals.open and now_ns >= self.goals.open[0].end_ns:
            self.goals.finish()
        return tau

    def _tolerances(self) -> Tolerances | None:
        """Those of the trajectory that is followed, if it has its own; None where nothing is tracked."""
        if self.settings.law.mode == "gravity_compensation":
            return None
        goals = self.goals.open
        own = goals[0].tolerances if goals else None
        return self.settings.tolerances if own is None else own

    def _arrive(self, tolerances: Tolerances, error: Array, qd: Array, now_ns: int) -> None:
        """The motion has ended: the trajectory is finished when the arm is there too."""
        goal = self.goals.open[0]
        joint = tolerances.missed(error, qd)
        if joint is None:
            self.goals.finish()
        elif tolerances.goal_time and now_ns - goal.end_ns > tolerances.goal_time * 1e9:
            self._lose(
                joint,
                f"is {abs(error[joint]):.3g} from its goal, at {abs(qd[joint]):.3g} per second, "
                f"{tolerances.goal_time:g} s after the end; allowed is {tolerances.goal[joint]:g}, at "
                f"{tolerances.stopped_velocity:g}",
                now_ns,
                "goal_tolerance",
            )

    def _lose(self, joint: int, what: str, now_ns: int, cause: Cause = "path_tolerance") -> None:
        """The arm does not follow: drop the trajectory, hold the measured position or what is asked for."""
        self.counts["tracking_error"] += 1
        self.lost = f"joint {self.settings.law.rigid.joint_names[joint]!r} {what}"
        reaction = self.settings.safety.reactions["tracking_error"]
        if reaction == "ignore":
            if self.goals.open and now_ns >= self.goals.open[0].end_ns:
                self.goals.finish()
            return
        self.goals.drop(f"tracking_error: {self.lost}", cause)
        self._watched.clear()
        if reaction == "hold" and self._q is not None:
            self.plan, self._waiting, self._stamped = hold_at(self._q, now_ns), None, False
        else:
            self.alarm = raised(self.alarm, "tracking_error", self.settings.safety)

    def _watch_effect(self, time: float) -> None:
        """Compare how far reference and arm have moved: a joint that stands still gets no commands."""
        span, tolerances = self.settings.safety.no_effect_time, self._tolerances()
        if not span or tolerances is None or self.plan is None or self.last is None or self.alarm is not None:
            self._watched.clear()
            return
        watched, now = self._watched, (time, self.last.reference[0], self.last.q)
        watched.append(now)
        while len(watched) > 1 and watched[1][0] <= time - span:
            watched.popleft()
        then = watched[0]
        if then[0] > time - span:
            return
        law = self.settings.law
        asked = np.abs(position_error(law, now[1], then[1]))
        done = np.abs(position_error(law, now[2], then[2]))
        away = np.abs(position_error(law, now[1], now[2])) - np.abs(position_error(law, then[1], then[2]))
        noticed = NOTICEABLE * tolerances.trajectory
        still = (noticed > 0.0) & (asked > noticed) & (away > noticed) & (done < STILL * asked)
        if still.any():
            joint = int(np.flatnonzero(still)[0])
            moved = f"has not moved for {time - then[0]:.2f} s, its reference by {asked[joint]:.3g}"
            self._lose(joint, f"{moved}: commands have no effect", self._last_ns)

    def _limited(self, wanted: Array, time: float) -> Limited:
        """Clamp to the effort limits, then limit the change since the last command."""
        settings = self.settings
        limited = clamp(wanted, settings.effort_limits)
        if settings.effort_rate is not None and self._sent is not None:
            largest_step = settings.effort_rate * max(time - self._sent[1], 0.0)
            limited = Limited(limit_rate(limited.tau, self._sent[0], largest_step), limited.clamped)
        self._sent = (limited.tau, time)
        return limited

    def _watch_saturation(self, clamped: NDArray[np.bool_], time: float) -> None:
        """Count clamped joints, and raise when clamping goes on for too long."""
        if not clamped.any():
            self._saturated_since = None
            return
        for i in np.flatnonzero(clamped):
            self.clamped[self.settings.law.rigid.joint_names[i]] += 1
        if self._saturated_since is None:
            self._saturated_since = time
        if 0.0 < self.settings.safety.saturation_time < time - self._saturated_since:
            self._saturated_since = time
            self._raise("saturation")

    def _raise(self, fault: FaultKind) -> None:
        self.counts[fault] += 1
        self.alarm = raised(self.alarm, fault, self.settings.safety)
        if self.alarm is not None and self.goals.open:
            self.goals.drop(f"{fault}: reaction is {self.alarm.reaction}")
            self._waiting = None
