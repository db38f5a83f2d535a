"""How fast a push is found, how often one is found that is not there, and how well its wrench is told.

The reference robot with the URDF's friction under computed torque at 1 kHz, headless; the measured effort has
noise of 1 % of each joint's limit. ``python -m benchmark.contact`` prints the figures of ten simulated
minutes; the tests run shortened versions of the same functions.
"""

import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane_dynamics_ros.cli.demo_tracking import DURATION, reference
from kane_dynamics_ros.control.law import Law, TermSwitches, efforts
from kane_dynamics_ros.control.limits import effort_limits, position_limits
from kane_dynamics_ros.control.observer import (
    GAIN,
    Collision,
    MomentumObserver,
    ObserverSettings,
    default_thresholds,
    tip_wrenches,
)
from kane_dynamics_ros.control.splines import evaluate, segments
from kane_dynamics_ros.runtime import DynamicsModel, Payload, initial_positions, load_model
from kane_dynamics_ros.simulation.plant import Plant

Array = NDArray[np.float64]
Trajectory = Callable[[float], Array]  # from the time [s] to position, velocity and acceleration, (3, n)
NOISE = 0.01  # standard deviation of the measured effort, of the joint's limit
PUSH = 0.05  # of the joint's limit
STEP = 1e-3  # [s]
CONDITION = 10.0  # of the Jacobian above which a posture does not tell a force well
SEGMENT = (1.5, 4.0)  # [s] between the points of a random trajectory


class Instant(NamedTuple):
    """One control period: time [s], what the observer says then, and the external effort that acted, (n,)."""

    time: float
    q: Array
    observer: MomentumObserver
    external: Array


def demo(start: Array) -> Trajectory:
    """The demonstration's motion, over and over."""
    period = round((DURATION + 0.5) / STEP)
    table = np.stack(reference(np.arange(period) * STEP, start)[1:], axis=1)

    def at(time: float) -> Array:
        row: Array = table[round(time / STEP) % period]
        return row

    return at


def still(q: Array) -> Trajectory:
    """Rest at ``q`` (n,): dry friction then holds the arm in a way that no model knows."""
    reference = np.stack((q, np.zeros_like(q), np.zeros_like(q)))
    return lambda time: reference


def random_motion(model: DynamicsModel, seed: int) -> Trajectory:
    """From one random configuration to the next through splines of fifth order, a third of them at rest."""
    random = np.random.default_rng(seed)
    lower, upper = (np.clip(bound, -np.pi, np.pi) for bound in position_limits(model.joints))
    fastest = np.array([joint.velocity or 2.0 for joint in model.joints])
    middle, half = (lower + upper) / 2, 0.4 * (upper - lower)
    ends = [0.0]
    pieces: list[Array] = []
    last = np.zeros((3, len(lower)))  # position, velocity and acceleration where the last piece ends
    last[0] = initial_positions(model.joints)

    def at(time: float) -> Array:
        nonlocal last
        while time >= ends[-1]:
            q = middle + half * random.uniform(-1.0, 1.0, len(lower))
            rests = random.random() < 0.33
            qd = np.zeros(len(lower)) if rests else 0.2 * fastest * random.uniform(-1.0, 1.0, len(lower))
            seconds = max(random.uniform(*SEGMENT), float((2.5 * np.abs(q - last[0]) / fastest).max()))
            end = np.array([q, qd, np.zeros(len(lower))])
            pieces.append(segments(*np.stack([last, end], axis=1), np.array([seconds]))[0])
            ends.append(ends[-1] + seconds)
            last = end
        piece = int(np.searchsorted(ends, time, side="right")) - 1
        return evaluate(pieces[piece], time - ends[piece])

    return at


def closed_loop(
    trajectory: Trajectory,
    seconds: float,
    external: Callable[[float, Array], Array],
    seed: int,
    payload: Payload | None = None,
) -> Iterator[Instant]:
    """The arm under computed torque with an observer that hears noisy efforts.

    ``external`` gives, at a time and position, the joint efforts (n,) that the environment adds. The
    payload, if any, is known to the controller and the observer.
    """
    model = load_model("manipulator_5dof")
    model = model.with_parameters(payload=payload or Payload())
    law, observer, plant = _law(model), MomentumObserver(_settings(model)), Plant(model)
    noise = NOISE * effort_limits(model.joints)
    random = np.random.default_rng(seed)
    plant.reset(trajectory(0.0)[0], np.zeros(len(noise)))
    effort = model.gravity(plant.q)
    for k in range(round(seconds / STEP)):
        time = k * STEP
        q, qd = plant.q.copy(), plant.qd.copy()
        observer.update(q, qd, effort + noise * random.standard_normal(len(noise)), time)
        acting = external(time, q)
        yield Instant(time, q, observer, acting)
        effort = efforts(law, trajectory(time), q, qd)
        plant.step(effort + acting)


def nothing(time: float, q: Array) -> Array:
    """No contact."""
    return np.zeros(len(q))


def false_alarms(trajectory: Trajectory, seconds: float, seed: int) -> list[Collision]:
    """The collisions reported in a motion without any, the observer reset after each."""
    found = []
    for instant in closed_loop(trajectory, seconds, nothing, seed):
        if instant.observer.collision is not None:
            found.append(instant.observer.collision)
            instant.observer.reset()
    return found


def detection_delay(trajectory: Trajectory, joint: int, onset: float, sign: float, seed: int) -> float:
    """From the onset [s] of a push of 5 % of a joint's limit until it is reported [s]; infinite if never.

    Negative where something was reported before.
    """
    limits = effort_limits(load_model("manipulator_5dof").joints)

    def push(time: float, q: Array) -> Array:
        efforts = np.zeros(len(q))
        efforts[joint] = sign * PUSH * limits[joint] if time >= onset else 0.0
        return efforts

    for instant in closed_loop(trajectory, onset + 0.1, push, seed):
        if instant.observer.collision is not None:
            return instant.time - onset
    return float("inf")


class ForceError(NamedTuple):
    """Relative error of a force told at the tip, and the condition number of the posture."""

    error: float
    condition: float


def force_error(
    trajectory: Trajectory, onset: float, force: Array, seed: int, payload: Payload
) -> ForceError:
    """How well a constant force (3,) [N], root axes, is told half a second after its onset [s].

    The payload is known, and that there is no torque. The estimate is the mean over the last tenth of a
    second, in which the arm moves on.
    """
    model = load_model("manipulator_5dof").with_parameters(payload=payload)
    wrench = np.concatenate((force, np.zeros(3)))

    def push(time: float, q: Array) -> Array:
        effort = model.external_effort(q, wrench, frame="root")
        return effort if time >= onset else 0.0 * effort

    told, condition = [], []
    weights = 1.0 / effort_limits(model.joints)
    for instant in closed_loop(trajectory, onset + 0.5, push, seed, payload):
        if instant.time >= onset + 0.4 and instant.observer.jacobian is not None:
            R_RT, J = model.tip_pose(instant.q)[:3, :3], instant.observer.jacobian
            (found,) = tip_wrenches(J, instant.observer.residual, R_RT[None], weights, assume="force")
            told.append(R_RT @ found.value[:3])
            condition.append(float(np.linalg.cond(J[:3] * weights)))
    error = np.linalg.norm(np.mean(told, axis=0) - force) / np.linalg.norm(force)
    return ForceError(float(error), max(condition))


def _settings(model: DynamicsModel) -> ObserverSettings:
    rubbing = model.with_urdf_friction()
    limits = effort_limits(model.joints)
    return ObserverSettings(
        model, rubbing, np.full(len(limits), GAIN), default_thresholds(rubbing, limits), wrench=True
    )


def _law(model: DynamicsModel) -> Law:
    n = len(model.joint_names)
    return Law(
        "computed_torque", model.with_urdf_friction(), np.full(n, 400.0), np.full(n, 40.0), TermSwitches()
    )


def main(minutes: float = 10.0) -> int:
    """Print the figures; 1 when one is missed."""
    model = load_model("manipulator_5dof")
    start = initial_positions(model.joints)
    motions = {"demo": demo(start), "random": random_motion(model, 1)}
    alarms = {name: false_alarms(motion, 60.0 * minutes, 2) for name, motion in motions.items()}
    for name, found in alarms.items():
        print(f"{name} motion, {minutes:g} min without contact: {len(found)} false alarms {found[:3]}")
    delays = [
        detection_delay(motion, k % 5, 1.0 + 0.37 * k, (-1.0) ** (k // 5), k)
        for k in range(20)
        for motion in (random_motion(model, 10 + k), still(start))
    ]
    print(
        f"push of {PUSH:.0%} of a joint's limit: found after {min(delays) * 1e3:.0f} to "
        f"{max(delays) * 1e3:.0f} ms in {len(delays)} trials"
    )
    payload = Payload(1.5, (0.0, 0.05, 0.0), (0.01, 0.0, 0.0, 0.01, 0.0, 0.01))
    errors = [
        force_error(random_motion(model, 40 + k), 1.0, 40.0 * np.eye(3)[k % 3], k, payload) for k in range(20)
    ]
    told = [each.error for each in errors if each.condition < CONDITION]
    print(
        f"a force of 40 N at the tip, payload known: error {np.median(told):.1%} in the "
        f"middle, {max(told):.1%} at most, in the {len(told)} of {len(errors)} postures of a condition "
        f"number below {CONDITION:g}"
    )
    missed = any(alarms.values()) or not 0.0 <= min(delays) <= max(delays) <= 0.02 or max(told) >= 0.05
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main(*map(float, sys.argv[1:2])))
