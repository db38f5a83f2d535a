"""Cycles of the Python control loop on an arm that fails in every way, and what the loop answered to each.

The reference that comes in with each cycle is what the loop's own plan says; where the loop has dropped its
motion, the plan goes on as joint_trajectory_controller's would, out of reach, or nothing comes in.
"""

import itertools
import math
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.control import states
from kane_dynamics_ros.control.goals import Tolerances
from kane_dynamics_ros.control.law import MODES, Law, TermSwitches
from kane_dynamics_ros.control.limits import position_limits, velocity_limits
from kane_dynamics_ros.control.loop import ControlLoop, LoopSettings
from kane_dynamics_ros.control.plan import Plan, sample
from kane_dynamics_ros.control.validation import RequestPoint, Rules, TrajectoryError, TrajectoryRequest
from kane_dynamics_ros.friction import BEYOND, ExtraFriction
from kane_dynamics_ros.runtime import DynamicsModel, Payload

PERIOD = 0.001  # [s]
WATCH_PERIOD = 0.05  # [s], the node's and the core's
FAULTS = ("stale_state", "position_jump", "saturation", "overrun", "non_finite", "tracking_error")
PHASES = ("starting", "holding", "following", "reacting")
REACTIONS = ("ignore", "hold", "zero", "stop")
LIMITS = ("reject", "clamp", "ignore")
SWITCHES = (  # thresholds that switch a check off where they are 0
    "state_timeout",
    "position_jump",
    "saturation_time",
    "overrun_period",
    "no_effect_time",
)
SPEED = 0.3  # of the velocity limits, or rad/s
LONGEST_TURN = 1.2  # [rad or m] from the middle, where there are no limits


class Recording(NamedTuple):
    """``record`` as replay.cpp reads it; of each cycle the effort (n,), NaN without one, and the state."""

    record: Array
    efforts: Array
    phases: list[str]
    lasting: list[bool]
    faults: Array
    reactions: set[str]


def flat(settings: LoopSettings, model: DynamicsModel) -> list[float]:
    """Settings in the order of replay.cpp."""
    law, n, safety = settings.law, len(model.joints), settings.safety
    p = law.friction.parameters
    beyond = law.beyond or ExtraFriction.of(n)
    rate = settings.effort_rate if settings.effort_rate is not None else np.full(n, math.inf)
    numbers = [
        [1.0, MODES.index(law.mode)],
        law.kp,
        law.kd,
        [law.switches.inertia, law.switches.coriolis, law.switches.gravity, law.switches.friction],
        p.gravity,
        [p.payload.mass],
        p.payload.com,
        p.payload.inertia,
        p.rotor_inertia,
        p.viscous,
        p.coulomb,
        [p.coulomb_velocity],
        *(getattr(beyond, name) for name in (*BEYOND, "stribeck_velocity", "at_rest")),
        settings.effort_limits,
        rate,
        settings.lower,
        settings.upper,
        settings.fastest,
        settings.tolerances.trajectory,
        [LIMITS.index(settings.reference_limits)],
        [safety.state_timeout, safety.position_jump, safety.saturation_time],
        [safety.overrun_period, safety.recovery_time, safety.no_effect_time],
        [REACTIONS.index(safety.reactions[fault]) for fault in FAULTS],
    ]
    return [float(x) for x in itertools.chain(*numbers)]


class Arm:
    """An arm that follows what it is asked, late and with noise, until it is blocked."""

    def __init__(self, q: Array, rng: np.random.Generator) -> None:
        self.q, self.qd, self._rng = q, np.zeros_like(q), rng
        self.blocked = 0  # cycles to come

    def step(self, reference: Array) -> None:
        if self.blocked:
            self.blocked -= 1
            self.qd = np.zeros_like(self.q)
            return
        q = self.q + 0.1 * (reference - self.q) + self._rng.normal(0.0, 1e-6, len(self.q))
        self.qd = (q - self.q) / PERIOD
        self.q = q


def some_settings(model: DynamicsModel, rng: np.random.Generator, number: int) -> LoopSettings:
    """The ``number``-th settings: every mode in turn, everything else at random."""
    n = len(model.joints)
    mode = MODES[number % len(MODES)]
    share = rng.uniform(0.5, 1.0, (16, n))
    own = model.with_parameters(
        viscous=(2.0 * share[0]).tolist(),
        coulomb=(1.5 * share[1]).tolist(),
        coulomb_velocity=0.02,
        rotor_inertia=(0.3 * share[2]).tolist(),
        payload=Payload(3.0 * share[3, 0], (0.02, -0.01, 0.1), (0.02, 0.001, 0.0, 0.03, 0.002, 0.025)),
        gravity=(0.3, -0.2, -9.7),
    )
    parts = (0.3 * (share[4 + k] - 0.6) for k in range(len(BEYOND)))
    beyond = ExtraFriction(*parts, stribeck_velocity=share[10], at_rest=share[15])
    switches = TermSwitches(*(rng.uniform(size=4) < 0.8)) if number % 3 == 2 else TermSwitches()
    size = 1.0 if mode == "computed_torque" else 0.2
    kp, kd = 400.0 * size * share[11], 40.0 * size * share[12]
    if number % 5 == 4:
        kp = kp * (np.arange(n) != 0)  # a joint that may be anywhere
    holding = np.abs(own.gravity(np.zeros(n))).max()
    limits = np.full(n, 1e4) if number % 2 else (0.4 + share[13]) * holding + 5.0
    reactions: dict[Any, Any] = {fault: REACTIONS[rng.integers(4)] for fault in FAULTS}
    reactions["non_finite"] = REACTIONS[1 + rng.integers(3)]
    if number % 2:
        reactions["tracking_error"] = "hold"
    lower, upper = position_limits(model.joints)
    thresholds = {"saturation_time": 0.05, "recovery_time": 0.05}
    if number % 2 and number // 2 % 6 < len(SWITCHES):
        thresholds[SWITCHES[number // 2 % 6]] = 0.0
    return LoopSettings(
        law=Law(mode, own, kp, kd, switches, beyond if number % 4 < 2 else None),
        rules=Rules(),
        safety=states.Safety(
            **thresholds,
            reactions=states.Safety().reactions | reactions,
        ),
        effort_limits=limits,
        effort_rate=500.0 * share[14] if number % 3 == 0 else None,
        lower=lower * 0.5 if number % 3 == 1 else lower,
        upper=upper * 0.5 if number % 3 == 1 else upper,
        reference_limits=LIMITS[(0, 1, 2)[number % 3]],
        tolerances=Tolerances(np.full(n, 0.15), np.zeros(n)),
        fastest=velocity_limits(model.joints),
    )


def some_motion(model: DynamicsModel, rng: np.random.Generator, reference: Array) -> TrajectoryRequest:
    """A trajectory of half a second to two, from the reference to somewhere within the limits."""
    lower, upper = (np.clip(bound, -LONGEST_TURN, LONGEST_TURN) for bound in position_limits(model.joints))
    middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
    goal = np.clip(rng.normal(reference, 0.4), middle - 0.9 * half, middle + 0.9 * half)
    speed = np.minimum(velocity_limits(model.joints), 2.0) * SPEED
    seconds = max(0.3, float((2.0 * np.abs(goal - reference) / speed).max()))
    zeros = [0.0] * len(model.joints)
    points = (RequestPoint(round(1e9 * seconds), goal.tolist(), zeros, zeros),)
    return TrajectoryRequest(model.joint_names, points)


def events(rng: np.random.Generator) -> Iterator[str]:
    """What happens at each cycle: nothing, most of the time."""
    kinds = ("jump", "step aside", "pause", "blocked", "missing", "missing for long", "fast", "settings")
    while True:
        yield from itertools.repeat("", int(rng.integers(50, 500)))
        yield str(rng.choice(kinds))


def record_loop(model: DynamicsModel, cycles: int, seed: int) -> Recording:
    """So many cycles of a loop, its settings changed as it goes."""
    rng = np.random.default_rng(seed)
    n, number = len(model.joints), 0
    settings = some_settings(model, rng, number)
    loop = ControlLoop(settings)
    record = flat(settings, model)
    arm = Arm(0.5 * rng.uniform(-1.0, 1.0, n), rng)
    plan: Plan | None = None  # what the reference is taken from
    time, watched, missing, number_of_goal = 100.0, -math.inf, 0, 0
    wanted = arm.q
    efforts, phases, lasting, faults, reactions = [], [], [], [], set()
    happens = events(rng)
    for _ in range(cycles):
        event = next(happens)
        time += 0.03 if event == "pause" else PERIOD
        now_ns = round(time * 1e9)
        if event == "settings":
            number += 1
            settings = loop.settings = some_settings(model, rng, number)
            record += flat(settings, model)
        q, qd = measured(event, arm, wanted, rng)
        missing = {"missing": 30, "missing for long": 250}.get(event, missing)
        state = loop.state
        if (
            isinstance(state, states.Holding)
            and rng.uniform() < 0.01
            and settings.law.mode != "gravity_compensation"
        ):
            number_of_goal += 1
            with suppress(TrajectoryError):
                loop.follow(some_motion(model, rng, sample(state.plan, now_ns)[0]), now_ns, number_of_goal)
        before = loop.state
        plan_before = before.plan if isinstance(before, states.Tracking) else None
        if missing:
            missing -= 1
            tau, q, qd = None, np.full(n, math.nan), np.full(n, math.nan)
        else:
            tau = loop.step(q, qd, now_ns, time)
            loop.goals.drop("whether a goal is reached is the business of another controller", "stopped")
            list(loop.goals.pop_outcomes())
        after = loop.state
        if isinstance(before, states.Moving):
            moved = isinstance(after, states.Tracking) and before.waiting is not None
            plan = after.plan if moved else plan_before
        released = event == "settings" and loop.state is not before
        reference, given = incoming(loop, plan, None if released else plan_before, wanted, now_ns)
        if time - watched >= WATCH_PERIOD:
            watched = time
            safe = loop.watch(time)
            tau = tau if safe is None else safe
        record += [0.0, time, *q, *qd, float(given), *reference.ravel()]
        efforts.append(np.full(n, math.nan) if tau is None else tau)
        phases.append(phase_of(loop.state))
        lasting.append(isinstance(loop.state, states.Reacting) and loop.state.lasting)
        faults.append([loop.counts[fault] for fault in FAULTS])
        if isinstance(loop.state, states.Reacting):
            lasts = " lasting" if loop.state.lasting else ""
            reactions.add(f"{loop.state.fault} {loop.state.reaction}{lasts}")
        if isinstance(loop.state, states.Tracking) and loop.last is not None:
            wanted = loop.last.reference[0]
        elif loop.seen.q is not None:
            wanted = loop.seen.q
    return Recording(np.array(record), np.array(efforts), phases, lasting, np.array(faults), reactions)


def measured(event: str, arm: Arm, wanted: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """What the arm's encoders say in this cycle."""
    arm.blocked = int(rng.integers(200, 900)) if event == "blocked" else arm.blocked
    arm.step(wanted)
    if event == "step aside":
        arm.q = arm.q + rng.uniform(-0.3, 0.3, len(arm.q))
    if event == "jump":
        return arm.q + 1.5, arm.qd
    return arm.q, arm.qd + 1e200 if event == "fast" else arm.qd


def incoming(
    loop: ControlLoop, plan: Plan | None, plan_before: Plan | None, wanted: Array, now_ns: int
) -> tuple[Array, bool]:
    """The reference (3, n) that comes in with this cycle, and whether one does."""
    nothing = np.zeros((3, len(wanted)))
    if plan is None:
        return nothing, False
    reference = sample(plan, now_ns)
    state = loop.state
    followed = plan_before is plan or (isinstance(state, states.Tracking) and state.plan is plan)
    far = np.abs(reference[0] - wanted).max() > 0.1
    return (reference, True) if followed or far else (nothing, False)


def phase_of(state: states.State) -> str:
    """In the core's words; holding and following are one, for a plan at its end is both."""
    if isinstance(state, states.Reacting):
        return "reacting"
    return "starting" if isinstance(state, states.Starting) else "tracking"
