"""Thresholds of the node's observer from recordings without contact, for a stated rate of false alarms.

The recordings run through the very observer that the node has. The shape of each joint's threshold, how
much of it is constant, at rest, and growing with speed and acceleration, is fitted to the residual; its
height follows from the residual's largest peaks over that shape (``extremes``), the rate shared equally by
the joints.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kane_dynamics_ros.algebra import Array, Mask
from kane_dynamics_ros.contact.events import force_jacobians
from kane_dynamics_ros.contact.extremes import fit_tail, interval
from kane_dynamics_ros.contact.residual import clusters, quantile_fit
from kane_dynamics_ros.control.observer import Collision, MomentumObserver, ObserverSettings, Thresholds
from kane_dynamics_ros.low_pass import differentiate
from kane_dynamics_ros.replay.messages import JointStates
from kane_dynamics_ros.replay.motion import passes
from kane_dynamics_ros.runtime import DynamicsModel
from kane_dynamics_ros.text import counted
from kane_dynamics_ros.yaml_text import parameter_file, rounded

SHAPE = 0.9  # share of the residuals below the fitted shape
MEMORY = 5.0  # time constants of the observer after which peaks hardly depend on each other
SETTLING = 3.0  # time constants, of the observer and the adaptation, before anything counts
VELOCITY_SHARE = 0.9  # of the states that must have a velocity, or it is derived
CUTOFF = 50.0  # [Hz] of the velocity where none is recorded, the node's default
DIRECTIONS = 200  # in which the least force at the tip is looked for
RECORDED_POSTURES = 200  # of the recordings, at which they are looked for
RESET_BELOW = 0.5  # of the thresholds, at which a collision is over
SEPARATION = 3600.0  # [s] between passes of a looped bag: more than any observer bridges
PARTS = ("slow", "speed", "acceleration")  # of the threshold, beside the constant one


@dataclass(frozen=True)
class Observed:
    """What the observer said at every state: ``time`` [s] (N,), the rest (N, n).

    ``contact`` is the residual less its adapted part; ``slow``, ``speed`` and ``acceleration`` are the
    threshold's parts at coefficient one. ``settled`` (N,): late enough after a beginning to count.
    """

    time: Array
    q: Array
    contact: Array
    slow: Array
    speed: Array
    acceleration: Array
    settled: Mask

    @property
    def seconds(self) -> float:
        """How long it was observed, pauses left out [s]."""
        steps = np.diff(self.time)
        return float(steps[(steps > 0.0) & self.settled[1:]].sum())


def observed(states: JointStates, settings: ObserverSettings) -> tuple[Observed, tuple[Collision, ...]]:
    """Run the node's observer over a recording; what it says, and the collisions that it reports.

    It is reset after each collision, once all joints are below half of their thresholds.
    """
    observer = MomentumObserver(settings)
    wait = SETTLING * max(1.0 / float(settings.gain.min()), settings.adaptation)
    rows: list[tuple[object, ...]] = []
    collisions: list[Collision] = []
    began = -np.inf
    for time, q, qd, effort in _samples(states):
        before = observer.seen
        if not observer.update(q, qd, effort, time):
            if time - before > settings.longest_gap:
                began = time
            continue
        if observer.collision is not None:
            if not collisions or observer.collision is not collisions[-1]:
                collisions.append(observer.collision)
            if (np.abs(observer.contact) < RESET_BELOW * observer.threshold).all():
                observer.reset()
        rows.append((time, q, observer.contact, *observer.threshold_parts, time - began >= wait))
    return Observed(*map(np.array, zip(*rows, strict=True))), tuple(collisions)


def _samples(states: JointStates) -> Iterator[tuple[float, Array, Array, Array]]:
    """Time [s], position, velocity and effort of every complete state; passes follow each other."""
    shift = 0.0
    for found in passes(states):
        has_velocity = np.isfinite(found.velocity).all(axis=1).mean() > VELOCITY_SHARE
        complete = np.isfinite(found.position).all(axis=1) & np.isfinite(found.effort).all(axis=1)
        if has_velocity:
            complete &= np.isfinite(found.velocity).all(axis=1)
        rows = np.flatnonzero(complete)
        if not len(rows):
            continue
        times = (found.stamps[rows] - found.stamps[rows[0]]) * 1e-9 + shift
        derived = None
        for row, time in zip(rows.tolist(), times.tolist(), strict=True):
            q, qd = found.position[row], found.velocity[row]
            if not has_velocity:
                derived = differentiate(derived, q, time, CUTOFF)
                qd = derived.qd
            yield time, q, qd, found.effort[row]
        shift = float(times[-1]) + SEPARATION


@dataclass(frozen=True)
class Calibration:
    """Thresholds, and how they came about.

    ``intervals``: each joint's range (5 %, 95 %) of the threshold, relative to the one given;
    ``least_force`` [N]: what ``least_forces`` says.
    """

    thresholds: Thresholds
    intervals: tuple[tuple[float, float], ...]
    rate: float
    hours: float
    least_force: dict[str, tuple[float, float, float]]


def calibrated(runs: Sequence[Observed], settings: ObserverSettings, rate: float) -> Calibration:
    """Thresholds that runs without contact exceed ``rate`` times an hour."""
    pooled = {
        name: np.concatenate([getattr(run, name)[run.settled] for run in runs])
        for name in ("contact", "slow", "speed", "acceleration", "q")
    }
    hours = sum(run.seconds for run in runs) / 3600.0
    n = pooled["contact"].shape[1]
    period = 3600.0 * hours / len(pooled["contact"])
    shapes, intervals = [], []
    for j in range(n):
        features = np.stack([np.ones(len(pooled["q"])), *(pooled[k][:, j] for k in PARTS)], axis=1)
        size = np.abs(pooled["contact"][:, j])
        shape = quantile_fit(features, size, SHAPE)
        # a part that never shows must not make the threshold vanish where it alone would count
        shape[0] = max(shape[0], 0.1 * float(np.quantile(size, SHAPE)), 1e-9)
        ratio = size / (features @ shape)
        gap = max(1, round(MEMORY / float(settings.gain[j]) / period))
        tail = fit_tail(clusters(ratio, gap), hours)
        height = tail.threshold(rate / n)
        low, high = interval(tail, rate / n)
        shapes.append(shape * height)
        intervals.append((low / height, high / height))
    constant, rest, speed, acceleration = np.array(shapes).T
    thresholds = Thresholds(constant, speed, acceleration, rest)
    step = max(1, len(pooled["q"]) // RECORDED_POSTURES)
    least = least_forces(settings.rigid, pooled["q"][::step], thresholds)
    return Calibration(thresholds, tuple(intervals), rate, hours, least)


def least_forces(
    model: DynamicsModel, q: Array, thresholds: Thresholds
) -> dict[str, tuple[float, float, float]]:
    """By tip, the force that is found in the best, the middle and 90 % of directions and postures [N].

    The arm is at rest at the postures q (N, n); a force is found when one joint's threshold is exceeded.
    """
    directions = np.random.default_rng(0).normal(size=(DIRECTIONS, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    at_rest = thresholds.constant + thresholds.rest
    forces: dict[str, list[Array]] = {}
    for posture in q:
        for tip, J in force_jacobians(model, posture).items():
            with np.errstate(divide="ignore"):
                found = (at_rest / np.abs(directions @ J)).min(axis=1)
            forces.setdefault(tip, []).append(found)
    return {
        tip: tuple(np.quantile(np.concatenate(found), (0.0, 0.5, 0.9)).tolist())
        for tip, found in forces.items()
    }


def parameters_text(calibration: Calibration, settings: ObserverSettings, bags: Sequence[str]) -> str:
    """The thresholds as a parameter file for ``feedforward_node``."""
    thresholds = calibration.thresholds
    content = {
        "observer": {"gain": rounded(settings.gain), "adaptation": settings.adaptation},
        "collision": {
            **{name: rounded(values) for name, values in vars(thresholds).items()},
            "confirmation": settings.confirmation,
        },
    }
    head = [
        f"From {', '.join(bags)}: {calibration.hours * 60.0:.3g} min without contact, for "
        f"{counted(calibration.rate, 'false alarm')} an hour.",
        f"Joints: {', '.join(settings.rigid.joint_names)}",
    ]
    return parameter_file(content, head)
