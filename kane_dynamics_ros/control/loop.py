"""One control step after another: state in, effort out. No clock and no ROS: times are passed in.

``ControlLoop.state`` (states.py) says what the loop does; each step reads it from the top: a reaction to a
fault, a suspension, a collision, gravity compensation, and at last the reference that is held or followed.
``settings`` is immutable and replaced whole, so a change takes effect between two steps.
"""

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import Array, finite
from kane_dynamics_ros.control import states
from kane_dynamics_ros.control.goals import ANYWHERE, Cause, Goal, Goals, Ticket, Tolerances
from kane_dynamics_ros.control.law import (
    Law,
    direction_after,
    efforts,
    efforts_by_term,
    has_stiffness,
    position_error,
)
from kane_dynamics_ros.control.limits import clamp, clamp_reference, limit_rate, motion_limits
from kane_dynamics_ros.control.plan import (
    STOP_KNOTS,
    Prepared,
    hold_at,
    hold_from,
    joined,
    prepare,
    sample,
    slowed,
    without_motion_from,
)
from kane_dynamics_ros.control.slowing import slowed_to_limits
from kane_dynamics_ros.control.validation import NANOSECOND, Rules, TrajectoryError, TrajectoryRequest
from kane_dynamics_ros.control.watches import (
    NOTICEABLE,
    EffectWatch,
    RelapseWatch,
    SaturationWatch,
    Seen,
    late_text,
    seen,
)
from kane_dynamics_ros.errors import NonFiniteError
from kane_dynamics_ros.text import named

STOP_PERIODS = 20  # of the states: a stop that is shorter is none for a loop with delays
SLOW = 0.01  # [rad/s or m/s]: an arm that is slower stays where it is
SLOW_STATES = 5  # in a row: at the turning point of an oscillation an arm is slow for a moment


@dataclass(frozen=True)
class LoopSettings:
    """What a step depends on. Limits (n,); ``effort_rate`` (n,) [N m/s or N/s] is None when unlimited.

    ``reference_limits`` says what happens to a reference outside the limits; "retime" gives it more time.
    """

    law: Law
    rules: Rules
    safety: states.Safety
    effort_limits: Array
    effort_rate: Array | None
    lower: Array
    upper: Array
    reference_limits: str  # "reject", "retime", "clamp" or "ignore"
    tolerances: Tolerances = ANYWHERE
    fastest: Array | float = math.inf  # (n,) [rad/s or m/s]
    comply_damping: float = 5.0  # [1/s] of the momentum, in the reaction ``comply``

    @property
    def rejects(self) -> bool:
        """Whether a trajectory outside the limits, which no more time would bring inside, is refused."""
        return self.reference_limits in ("reject", "retime")


class ControlStep(NamedTuple):
    """One answered state: reference (3, n), effort before and after limits (n,), measured q and qd (n,).

    ``direction`` (n,): in which each drive's reference moved last, 0 before it did.
    """

    reference: Array
    wanted: Array
    tau: Array
    q: Array
    qd: Array
    direction: Array


@dataclass(frozen=True)
class Candidate:
    """A trajectory that wants to be followed: prepared, refused already, or None: a request to stop.

    ``tolerances`` hold instead of the settings'. ``slowed``: how many times longer it takes than asked for.
    """

    ticket: Ticket
    prepared: Prepared | TrajectoryError | None
    tolerances: Tolerances | None = None
    slowed: float = 1.0


class ControlLoop:
    """What the loop is doing, the last step, the open trajectories, and the counts.

    Example:
        >>> import numpy as np
        >>> from kane_dynamics_ros.control.law import TermSwitches, Law
        >>> from kane_dynamics_ros.runtime import load_model
        >>> model, five = load_model("manipulator_5dof"), np.ones(5)
        >>> law = Law("computed_torque", model, 400.0 * five, 40.0 * five, TermSwitches())
        >>> loop = ControlLoop(
        ...     LoopSettings(law, Rules(), states.Safety(), 1e3 * five, None, -five, five, "reject")
        ... )
        >>> tau = loop.step(0.1 * five, 0.0 * five, now_ns=0, time=0.0)
        >>> bool(np.allclose(tau, model.gravity(0.1 * five)))  # the first position is held
        True
    """

    def __init__(self, settings: LoopSettings) -> None:
        self.settings = self._settings = settings  # as asked for, and as of the last step
        self.state: states.State = states.Starting()
        self.goals = Goals()
        self.last: ControlStep | None = None
        self.counts: Counter[str] = Counter()
        self.lost = ""  # what the last tracking error was
        self.no_state_reason = "no joint states have come yet"  # why a trajectory is refused then
        self.seen = Seen()
        self.saturation = SaturationWatch()
        self._effect = EffectWatch()
        self._relapses = RelapseWatch()
        self._sent: tuple[Array, float] | None = None  # the last effort, and when [s]
        self._last_ns = 0  # of the last state
        self.ahead_ns = 0  # how far the clock of trajectories was stepped: plans and goals go on without it
        self._direction: Array = np.zeros(len(settings.law.rigid.joints))  # of the reference's last motion
        self._slow: int | None = None  # states in a row at which the arm was slow; None: it need not stop

    # Trajectories

    def prepare(self, request: TrajectoryRequest, now_ns: int, number: int = 1) -> Candidate:
        """All that takes long about a trajectory. Changes nothing, so that another thread may do it.

        ``number`` tells the trajectory from others in ``goals``, which report what becomes of it.
        """
        ticket, settings, state = Ticket(number, request.stamp_ns, request.label), self.settings, self.state
        if not request.points:
            return Candidate(ticket, None)
        joints = settings.law.rigid.joints
        check, begin = None, None
        if settings.rejects:
            time = (request.stamp_ns or now_ns) - self.ahead_ns
            begin = sample(state.plan, time)[0] if isinstance(state, states.Tracking) else None
            limits = motion_limits(joints, begin)
            if settings.reference_limits == "retime":
                limits = replace(limits, fastest=np.full(len(joints), math.inf))
            check = limits.check
        law, rules = settings.law, settings.rules
        try:
            if settings.reference_limits != "retime":
                return Candidate(ticket, prepare(request, joints, rules, check))
            found = slowed_to_limits(request, law, rules, settings.effort_limits, check, begin)
            return Candidate(ticket, found[1], slowed=found[2])
        except TrajectoryError as error:
            return Candidate(ticket, error)

    def follow(self, request: TrajectoryRequest, now_ns: int, number: int = 1) -> None:
        """Take a trajectory; one without a stamp starts at the next state. Raises ``TrajectoryError``."""
        self.accept(self.prepare(request, now_ns, number), now_ns)

    def accept(self, candidate: Candidate, now_ns: int) -> None:
        """Follow a prepared trajectory. Raises ``TrajectoryError``; ``goals`` reports that too."""
        try:
            self._accept(candidate, now_ns - self.ahead_ns)
        except TrajectoryError as error:
            self.goals.refuse(candidate.ticket, error)
            raise

    def _accept(self, candidate: Candidate, now_ns: int) -> None:
        ticket, prepared, state = candidate.ticket, candidate.prepared, self._tracking()
        if isinstance(prepared, TrajectoryError):
            raise prepared
        if prepared is None:
            self.state = states.Holding(hold_from(state.plan, now_ns), state.begin)
            self.goals.drop(f"stopped by trajectory {ticket.number}, which has no points", "stopped")
            self.goals.accept(Goal(ticket, now_ns, now_ns, stops=True), now_ns)
            return
        if isinstance(state, states.Moving) and state.waiting is not None:
            state = self.state = self._started(state, state.waiting, now_ns)  # this one may begin much later
        start_ns = ticket.stamp_ns - self.ahead_ns if ticket.stamp_ns else now_ns
        joints = self.settings.law.rigid.joints
        found = joined(state.plan, prepared, joints, start_ns, now_ns)
        limits = motion_limits(joints, sample(state.plan, found.begin_ns)[0])
        limits.check_start(found, start_ns, self.settings.rejects)
        if ticket.stamp_ns:
            self.state = states.Moving(found.plan, state.begin, stamped=True)
        else:
            self.state = states.Moving(state.plan, state.begin, prepared, getattr(state, "stamped", False))
        self.goals.accept(
            Goal(ticket, start_ns, found.plan.end_ns, candidate.tolerances, slowed=candidate.slowed), now_ns
        )

    def _tracking(self) -> states.Tracking:
        """The state, where trajectories are followed in it. Raises ``TrajectoryError``."""
        state = self.state
        if self.settings.law.mode == "gravity_compensation":
            raise TrajectoryError(
                "mode gravity_compensation follows no trajectory, for the arm may be led by hand; set "
                "another mode, then send the trajectory again",
                "gravity_compensation",
            )
        if isinstance(state, states.Tracking):
            return state
        again = "send the trajectory again when the node controls the arm"
        if isinstance(state, states.Suspended):
            raise TrajectoryError(f"{state.reason}; {again}", "no_effect")
        if isinstance(state, states.Starting):
            raise TrajectoryError(f"{self.no_state_reason}; {again}", "no_state")
        fault = state.fault if isinstance(state, states.Reacting) else "collision"
        if states.collision_in(state) is not None:
            again = "call ~/reset_collision, then send the trajectory again"
        raise TrajectoryError(f"the arm is in a safe state after {fault}; {again}", "safe_state", fault=fault)

    def _started(self, state: states.Moving, waiting: Prepared, now_ns: int) -> states.Moving:
        """A trajectory that waited for a state starts now."""
        plan = joined(state.plan, waiting, self.settings.law.rigid.joints, now_ns, now_ns).plan
        self.goals.open[-1] = replace(self.goals.open[-1], start_ns=now_ns, end_ns=plan.end_ns)
        return states.Moving(plan, state.begin)

    def cancel(self, number: int, now_ns: int) -> None:
        """Drop a trajectory alone, as its sender asks; one that waits for its time stops no other.

        The one that is followed stops where the reference is. Nothing happens where it is not open any more.
        """
        goal = self.goals.find(number)
        if goal is None:
            return
        state, now_ns = self.state, now_ns - self.ahead_ns
        if isinstance(state, states.Tracking):
            if goal.start_ns <= now_ns:
                self.state = states.Holding(hold_from(state.plan, now_ns), state.begin)
            else:
                plan = without_motion_from(state.plan, goal.start_ns, now_ns)
                self.state = replace(state, plan=plan)
        if goal.start_ns <= now_ns:
            self.goals.drop("the trajectory before was cancelled", "cancelled", goal.end_ns)
        self.goals.drop_one(goal, "cancelled", "cancelled")

    def stop(self, now_ns: int, longest: float, period: float = 0.0) -> float:
        """Come to rest along the reference; how long that takes [s], 0 where nothing moves by itself.

        Of some durations up to ``longest`` [s] the shortest for which the efforts are within their limits,
        and which has ``STOP_PERIODS`` of the states' ``period`` [s]; the longest where a limit is not known.
        """
        state, settings, last, now_ns = self.state, self.settings, self.last, now_ns - self.ahead_ns
        if isinstance(state, states.Moving) and state.waiting is not None:
            state = self.state = states.Moving(state.plan, state.begin)  # the next one has not begun
        resting = isinstance(state, states.Holding) and last is not None and np.abs(last.qd).max() < SLOW
        self._slow = SLOW_STATES if resting else 0
        if not isinstance(state, states.Moving) or now_ns >= state.plan.end_ns or longest <= 0.0:
            return 0.0
        law = replace(settings.law, mode="feedforward")
        known = np.isfinite(settings.effort_limits).all()
        plan, duration = state.plan, longest
        for halvings in (4, 3, 2, 1, 0) if known else (0,):
            duration = longest / 2**halvings
            if duration < STOP_PERIODS * period and halvings:
                continue
            plan = slowed(state.plan, now_ns, duration)
            times = np.linspace(now_ns, plan.end_ns, 4 * STOP_KNOTS)
            reference = np.array([sample(plan, round(t)) for t in times]).swapaxes(0, 1)
            wanted = efforts_by_term(law, reference, reference[0], reference[1]).total
            if (np.abs(wanted) <= settings.effort_limits).all():
                break
        self.state = states.Moving(plan, state.begin)
        return duration

    @property
    def stopped(self) -> bool:
        """Since ``stop``: whether reference and arm have come to rest, or the arm is not tracked."""
        if not isinstance(self.state, states.Tracking):
            return True
        return self._last_ns >= self.state.plan.end_ns and (self._slow or 0) >= SLOW_STATES

    # What changes from outside

    def forget(self, reason: str) -> None:
        """Drop the motion and the states, as after a jump of the clock; the next state is held."""
        self.goals.drop(reason, "clock")
        self.state, self.last, self.seen, self._slow = states.untracked(self.state), None, Seen(), None
        for watch in (self.saturation, self._effect, self._relapses):
            watch.forget()

    def suspend(self, reason: str | None) -> None:
        """Commands have no effect, as ``reason`` says, until this is called with None.

        Meanwhile no motion is followed, and gravity's effort at the measured position is given: whenever
        commands take effect again, they begin without a jump.
        """
        if reason is not None:
            self.goals.drop(reason, "no_effect")
        self.state = states.suspended(self.state, reason)

    def collide(self, joint: str) -> None:
        """A collision was found at a joint: react from the next state on, until ``reset_collision``."""
        self.counts["collision"] += 1
        reaction = self.settings.safety.reactions["collision"]
        if reaction != "ignore":
            self.state = states.collided(self.state, joint, reaction)
            self.goals.drop(f"collision at joint {joint}: reaction is {reaction}", "collision")

    def reset_collision(self) -> None:
        """End the reaction to a collision; the measured position is held then."""
        self.state = states.reset(self.state)

    def shift_clock(self, by_ns: int, now_ns: int, drops: bool = True) -> bool:
        """The clock of trajectories was stepped; whether the motion was dropped.

        ``now_ns`` is the time after the step. The motion goes on undisturbed; one that was asked for at a
        time of that clock is dropped if the step is one that ``drops`` it, and the present reference held.
        """
        self.ahead_ns += by_ns
        state, now_ns = self.state, now_ns - self.ahead_ns
        if drops and isinstance(state, states.Moving) and state.stamped and now_ns < state.plan.end_ns:
            self.state = states.Holding(hold_from(state.plan, now_ns), state.begin)
            self.goals.drop(f"the clock was stepped by {by_ns * NANOSECOND:.3f} s", "clock")
            return True
        return False

    def _adopt(self, settings: LoopSettings) -> None:
        """The step that follows has other settings than the one before it."""
        before, self._settings = self._settings, settings
        self._relapses.forget()
        state = self.state
        if isinstance(state, states.Reacting) and state.lasting:
            self.state = replace(state, lasting=False, good_since=None)
        if isinstance(state, states.Tracking):
            if (has_stiffness(settings.law) & ~has_stiffness(before.law)).any():
                self._release(f"mode {settings.law.mode} begins at the measured position")
            elif settings.reference_limits != before.reference_limits and self.last is not None:
                self.state = replace(state, begin=self.last.reference[0])

    def _release(self, reason: str) -> None:
        """Track nothing: the position that is measured next is held."""
        self.goals.drop(reason, "mode")
        self.state = states.untracked(self.state)
        self._effect.forget()

    # A state and what is between two

    def step(self, q: Array, qd: Array, now_ns: int, time: float) -> Array | None:
        """The effort (n,) for a measured state, or None when nothing may be published.

        ``now_ns`` is the clock of trajectories [ns]; ``time`` [s] is one that never steps.
        """
        settings = self.settings
        if settings is not self._settings:
            self._adopt(settings)
        law, safety = settings.law, settings.safety
        self._last_ns = now_ns = now_ns - self.ahead_ns
        away = isinstance(self.state, states.Reacting)
        self.seen, faults = seen(self.seen, q, time, law, safety, settings.fastest, away)
        for fault, why in faults.items():
            self._raise(fault, why, time)
        if isinstance(self.state, states.Reacting):
            self.state = states.after_good_state(self.state, time, safety)
            if not isinstance(self.state, states.Reacting):
                self._relapses.recovered(time)
        if isinstance(self.state, (states.Reacting, states.Suspended, states.Collided)):
            return self._paused(self.state, q, qd, time)
        if law.mode == "gravity_compensation":
            if isinstance(self.state, states.Tracking):
                self._release("mode gravity_compensation follows no trajectory")
            return self._commanded(np.stack((q, np.zeros_like(q), np.zeros_like(q))), q, qd, time)
        if isinstance(self.state, states.Starting):
            self.state = states.Holding(hold_at(q, now_ns), q)
            self._direction = np.zeros_like(q)  # whatever moved the arm meanwhile
        elif isinstance(self.state, states.Moving):
            if self.state.waiting is not None:
                self.state = self._started(self.state, self.state.waiting, now_ns)
            elif now_ns >= self.state.plan.end_ns:
                self.state = states.Holding(self.state.plan, self.state.begin)
        return self._tracked(self.state, q, qd, now_ns, time)

    def _paused(
        self, state: states.Reacting | states.Suspended | states.Collided, q: Array, qd: Array, time: float
    ) -> Array | None:
        """The effort while nothing is tracked; ``comply``: g(q) - d M q': the momentum decays with rate d."""
        reaction = "hold" if isinstance(state, states.Suspended) else state.reaction
        if reaction != "comply":
            return self.safe_effort(reaction, time)
        rigid = self.settings.law.rigid
        try:
            effort = -self.settings.comply_damping * (rigid.mass_matrix(q) @ qd)
            if self.settings.law.switches.gravity:
                effort = effort + rigid.gravity(q)
        except NonFiniteError:
            effort = np.full(len(q), math.nan)
        if not finite(effort):
            return self.safe_effort("hold", time)
        return self._limited(effort, time)

    def _tracked(self, state: states.Tracking, q: Array, qd: Array, now_ns: int, time: float) -> Array | None:
        """Follow the reference, and compare the arm with it."""
        reference = self._reference(state, now_ns)
        tolerances = self._tolerances()
        error = position_error(self.settings.law, reference[0], q)
        if self.goals.open and now_ns >= self.goals.open[0].end_ns:
            self._arrive(tolerances, error, qd, time)
        elif (joint := tolerances.violated(error, reference, qd)) is not None:
            unit = self.settings.law.rigid.joints[joint].unit
            far, allowed = abs(error[joint]), tolerances.trajectory[joint]
            what = f"is {far:.3g} {unit} from its reference; allowed is {allowed:g} {unit}"
            if (most := tolerances.trajectory_velocity) is not None and not far > allowed > 0.0:
                what = f"moves at {qd[joint]:.3g} {unit}/s, its reference at {reference[1, joint]:.3g}; "
                what += f"they may differ by {most[joint]:g} {unit}/s"
            self._lose(joint, what, time)
        if isinstance(self.state, states.Reacting):
            return self._paused(self.state, q, qd, time)
        if self.state is not state and isinstance(self.state, states.Tracking):
            reference = self._reference(self.state, now_ns)
        return self._commanded(reference, q, qd, time)

    def _reference(self, state: states.Tracking, now_ns: int) -> Array:
        reference, settings = sample(state.plan, now_ns), self.settings
        if settings.reference_limits == "clamp":  # an arm that was outside is not pulled in
            lower, upper = np.minimum(settings.lower, state.begin), np.maximum(settings.upper, state.begin)
            reference = clamp_reference(reference, lower, upper)
        return reference

    def _commanded(self, reference: Array, q: Array, qd: Array, time: float) -> Array | None:
        """The law's effort within the limits, or a reaction where it is not finite."""
        settings = self.settings
        try:
            if settings.law.keeps_friction:
                self._direction = direction_after(settings.law, reference, self._direction)
            wanted = efforts(settings.law, reference, q, qd, self._direction)
        except NonFiniteError:
            wanted = np.full(len(q), math.nan)
        if not finite(wanted):
            bad = named("joint", np.array(settings.law.rigid.joint_names)[~np.isfinite(wanted)].tolist())
            self._raise("non_finite", f"the effort of {bad} is not finite", time)
            return self._reaction(time)
        tau, clamped = self._limited(wanted, time), np.abs(wanted) > settings.effort_limits
        names, longest = settings.law.rigid.joint_names, settings.safety.saturation_time
        if self.saturation.lasts(clamped, names, time, longest):
            why = f"clamped for {longest:g} s or more (safety.saturation_time), now "
            self._raise("saturation", why + named("joint", np.array(names)[clamped].tolist()), time)
        self.last = ControlStep(reference, wanted, tau, q, qd, self._direction)
        if self._slow is not None:
            self._slow = self._slow + 1 if np.abs(qd).max() < SLOW else 0
        return tau

    def watch(self, time: float) -> Array | None:
        """Between states: the safe effort while they are missing, None while all is well."""
        self._watch_effect(time)
        timeout = self.settings.safety.state_timeout
        if self.seen.q is None or not 0.0 < timeout < time - self.seen.time:
            return None
        if not isinstance(self.state, states.Reacting) or self.state.good_since is not None:
            why = late_text(time - self.seen.time, timeout, "state_timeout")
            self._raise("stale_state", why, time)
        return self._reaction(time)

    def _reaction(self, time: float) -> Array | None:
        """The effort of the reaction to a fault, if there is one now."""
        state = self.state
        return self.safe_effort(state.reaction, time) if isinstance(state, states.Reacting) else None

    def safe_effort(self, reaction: states.Reaction, time: float) -> Array | None:
        """What to publish in a reaction: gravity's effort at the last good position, zero, or nothing.

        It is reached as fast as the limits allow; ``last_effort`` is what it comes to.
        """
        effort = self.last_effort(reaction)
        return None if effort is None else self._limited(effort, time)

    def last_effort(self, reaction: states.Reaction) -> Array | None:
        """The command without the limit on its rate of change: what may stay when nothing follows."""
        q = self.seen.good_q
        if q is None or reaction == "stop":
            return None
        law = self.settings.law
        if reaction == "zero" or not law.switches.gravity:
            return np.zeros(len(q))
        try:
            return clamp(law.rigid.gravity(q), self.settings.effort_limits)
        except NonFiniteError:  # of parameters far beyond any arm: no effort is all that is left
            return np.zeros(len(q))

    def _limited(self, wanted: Array, time: float) -> Array:
        """Clamp to the effort limits, then limit the change since the last command."""
        settings = self.settings
        tau = clamp(wanted, settings.effort_limits)
        if settings.effort_rate is not None and self._sent is not None:
            largest_step = settings.effort_rate * max(time - self._sent[1], 0.0)
            tau = limit_rate(tau, self._sent[0], largest_step)
        self._sent = (tau, time)
        return tau

    # Does the arm follow?

    def _tolerances(self) -> Tolerances:
        """Those of the trajectory that is followed, if it has its own."""
        goals = self.goals.open
        own = goals[0].tolerances if goals else None
        return self.settings.tolerances if own is None else own

    def _arrive(self, tolerances: Tolerances, error: Array, qd: Array, time: float) -> None:
        """The motion has ended: the trajectory is finished when the arm is measured to be there."""
        goal = self.goals.open[0]
        joint = tolerances.missed(error, qd)
        if joint is None:
            self.goals.finish(tolerances.measures)
        elif tolerances.goal_time and self._last_ns - goal.end_ns > tolerances.goal_time / NANOSECOND:
            unit = self.settings.law.rigid.joints[joint].unit
            what = (
                f"is {abs(error[joint]):.3g} {unit} from its goal, at {abs(qd[joint]):.3g} {unit}/s, "
                f"{tolerances.goal_time:g} s after the end; allowed is {tolerances.goal[joint]:g} {unit}, at "
                f"{tolerances.stopped_velocity:g} {unit}/s"
            )
            self._lose(joint, what, time, "goal_tolerance")

    def _watch_effect(self, time: float) -> None:
        """Drop a motion of which the arm shows nothing."""
        span, tolerances, last = self.settings.safety.no_effect_time, self._tolerances(), self.last
        if not span or last is None or not isinstance(self.state, states.Tracking):
            self._effect.forget()
            return
        noticed = NOTICEABLE * tolerances.trajectory
        found = self._effect.missing(self.settings.law, noticed, span, time, last.reference[0], last.q)
        if found is not None:
            joint = self.settings.law.rigid.joints[found.joint]
            limit = self.settings.effort_limits[found.joint]
            moved = f"has not moved for {found.time:.2f} s, its reference by {found.asked:.3g} {joint.unit}"
            asked = f"{abs(last.tau[found.joint]):.3g} {joint.effort_unit}"
            asked += f" of at most {limit:g} {joint.effort_unit}" if math.isfinite(limit) else ""
            causes = "a brake or friction holds it, or commands do not reach it"
            if not has_stiffness(law := self.settings.law)[found.joint]:
                causes += f"; mode {law.mode} has no feedback to overcome friction"
            self._lose(found.joint, f"{moved}; commanded are {asked}: {causes}", time)

    def _lose(self, joint: int, what: str, time: float, cause: Cause = "path_tolerance") -> None:
        """The arm does not follow: drop the trajectory, hold the measured position or what is asked for."""
        self.lost = f"joint {self.settings.law.rigid.joint_names[joint]!r} {what}"
        reaction = self.settings.safety.reactions["tracking_error"]
        reason = f"tracking_error: {self.lost}"
        if reaction != "ignore":
            self.goals.drop(reason, cause)
            self._effect.forget()
        elif cause == "goal_tolerance":  # the motion is over, and did not succeed
            self.goals.drop_one(self.goals.open[0], reason, cause)
        if reaction == "hold" and self.seen.q is not None:
            self.counts["tracking_error"] += 1
            self.state = states.Holding(hold_at(self.seen.q, self._last_ns), self.seen.q)
        else:
            self._raise("tracking_error", self.lost, time)

    def _raise(self, fault: states.FaultKind, why: str, time: float) -> None:
        self.counts[fault] += 1
        if self.settings.safety.reactions[fault] == "ignore":
            return
        relapses = self._relapses.count(self.state, fault, time, states.RELAPSE_TIME)
        lasting = relapses >= states.MOST_RELAPSES
        self.state = states.raised(self.state, fault, self.settings.safety, lasting, why)
        if isinstance(self.state, states.Reacting):
            self.goals.drop(f"{fault}: {why}; reaction is {self.state.reaction}", fault)
