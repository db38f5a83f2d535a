"""What the environment does to the arm, from states and efforts alone: a momentum observer [DeLuca2005].

With p = M(q) q' and p' = tau + tau_ext + C^T q' - g - f(q'), the residual

    r = K (p - p_0 - integral (tau + C^T q' - g - f + r) dt)

follows r' = K (tau_ext - r): the external effort, low-passed joint by joint with time constant 1/K, free of
accelerations. Over one step dt the mean external effort is what is missing in the balance of momentum,

    z = (p_k - p_(k-1)) / dt - mean(tau + C^T q' - g - f),
    r_k = r_(k-1) + (1 - exp(-K dt)) (z - r_(k-1)),

which is the exact solution of r' = K (tau_ext - r) for an external effort that is constant in each step,
whatever the steps are. The mean of what depends on the state is the trapezoid's, of second order in dt.

No clock and no ROS: times are passed in. All arrays are (n,) in model order, efforts in N m or N.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import Array, Mask
from kane_dynamics_ros.friction import ExtraFriction
from kane_dynamics_ros.low_pass import share_of_step
from kane_dynamics_ros.runtime import DynamicsModel

Assumption = Literal["wrench", "force"]

GAIN = 100.0  # [1/s] of joints for which nothing else is asked
SHARE_OF_LIMIT = 0.025  # of a joint's effort limit: the constant threshold where none was calibrated
DETERMINED = 0.95  # resolution above which a component of the tip's wrench counts as determined
LEVER = 0.1  # [m] a torque counts as the force that it makes on this lever
MOVED = 2e-3  # [rad or m]: more than a sensor's noise; what has moved so far is held by no brake


@dataclass(frozen=True)
class Thresholds:
    """The residual that may be there without contact, because the model has errors of its own; each (n,).

    A joint's threshold is ``constant`` + ``speed`` |q'| + ``acceleration`` |q''|, and ``rest`` where the
    joint is so slow that the sign of its dry friction is not known. As the residual is a low-passed error of
    the model, the parts pass through the same low pass: an error below the bound stays below the threshold.
    """

    constant: Array  # [N m]
    speed: Array  # [N m s/rad]
    acceleration: Array  # [N m s^2/rad]
    rest: Array  # [N m], usually the Coulomb friction


@dataclass(frozen=True)
class ObserverSettings:
    """What the observer depends on.

    ``rigid`` has no friction, ``friction`` the coefficients that act at the measured velocity, ``beyond``
    what joins them, under the load of gravity. ``gain`` is K [1/s]. ``held``: an effort that comes with a
    state acts until the next (a command); otherwise it is a measurement at the time of the state.
    ``wrench``: keep the tip's Jacobian for ``tip_wrenches``. Over a gap longer than ``longest_gap`` [s]
    nothing is concluded, and the residual starts anew. ``adaptation`` [s] is the time constant with which a
    lasting residual is taken for an error of the model, 0 for never; ``confirmation`` [s] how long the
    threshold must be exceeded.
    """

    rigid: DynamicsModel
    friction: DynamicsModel
    gain: Array
    thresholds: Thresholds
    held: bool = False
    wrench: bool = False
    longest_gap: float = 0.1
    adaptation: float = 0.0
    confirmation: float = 0.0
    beyond: ExtraFriction | None = None


def default_thresholds(model: DynamicsModel, limits: Array) -> Thresholds:
    """2.5 % of each joint's effort limit ``limits`` (n,), and the Coulomb friction that it feels at rest.

    A joint without a limit, or with one of 0, gets an infinite threshold: it never reports a collision.
    """
    zero, constant = np.zeros(len(limits)), np.where(limits > 0.0, SHARE_OF_LIMIT * limits, math.inf)
    return Thresholds(constant, zero, zero, felt_coulomb(model))


def felt_coulomb(model: DynamicsModel) -> Array:
    """The Coulomb friction that each joint feels at most (n,): of coupled drives, of all that it turns."""
    coulomb = np.array(model.parameters.coulomb)
    return coulomb if model.coupling is None else np.asarray(coulomb @ np.abs(model.coupling))


class Collision(NamedTuple):
    """A joint whose residual exceeded its threshold: when [s], both, and their unit, N m or N."""

    joint: str
    time: float
    residual: float
    threshold: float
    unit: str


class BrakeRelease:
    """The joints that no brake holds, as far as measured efforts tell.

    The balance of momentum knows no brakes: what one holds looks like a contact, and it may hold the arm
    until the first command has had its effect. A joint is taken as released from the state on in which its
    effort is the one that was commanded, or in which it has moved.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Take no joint as released, as after a pause: the brakes may have been applied meanwhile."""
        self.all = False
        self._joints: Mask | None = None
        self._begin: Array | None = None

    def after(self, q: Array, effort: Array, commanded: Array | None, slack: Array) -> Mask:
        """The released joints (n,) after one more state.

        ``commanded`` (n,) is what was sent before the state, None where nothing was: efforts within ``slack``
        (n,) of each other are the same.
        """
        if self._joints is None or self._begin is None:
            self._joints, self._begin = np.zeros(len(q), dtype=np.bool_), q
        if not self.all:
            self._joints = self._joints | (np.abs(q - self._begin) > MOVED)
            if commanded is not None:
                self._joints |= np.abs(effort - commanded) <= slack
            self.all = bool(self._joints.all())
        return self._joints


class _Sample(NamedTuple):
    """One state's part of the balance: ``drift`` is C^T q' - g - f; (2, n) ``speed_parts``."""

    time: float
    p: Array
    drift: Array
    effort: Array
    released: Mask | bool
    qd: Array
    speed_parts: Array
    jacobian: Array | None


class MomentumObserver:
    """The residual, its threshold, and whether it was exceeded; ``update`` once per state.

    ``residual``, ``threshold`` and ``offset`` (the adapted part, 0 without adaptation) are (n,). ``jacobian``
    (6 tips, n), if the settings want it, is the tips' in root axes through the residual's low pass: of a
    constant wrench w in root axes the residual is jacobian^T w, also while the arm moves.
    ``settings`` is immutable and may be replaced between two states.
    """

    def __init__(self, settings: ObserverSettings) -> None:
        self.settings = settings
        self.collision: Collision | None = None
        self.forget()

    def forget(self) -> None:
        """Start anew, as after a jump of the clock; a collision stays latched."""
        n = len(self.settings.gain)
        self.residual, self.offset = np.zeros(n), np.zeros(n)
        self.threshold = np.full(n, math.inf)
        self._filtered: Array | None = None  # (3, n): of ``threshold_parts``, the acceleration with its sign
        self.jacobian: Array | None = None
        self._before: _Sample | None = None
        self._observed = 0.0  # [s]
        self._above_since = np.full(n, math.inf)

    def interrupt(self) -> None:
        """Let the next state follow as after a gap: its time cannot be compared with those of before."""
        self._before = None

    def reset(self) -> None:
        """Forget the collision; a contact that lasts is one again after the confirmation time."""
        self.collision = None
        self._above_since[:] = math.inf

    def update(self, q: Array, qd: Array, effort: Array, time: float, released: Mask | bool = True) -> bool:
        """Take a state and its effort at ``time`` [s]; whether the residual is new.

        Nothing is concluded of joints that a brake may hold: all but those ``released`` (n,).
        """
        settings, before = self.settings, self._before
        if time <= self.seen:
            return False  # a state that was seen already
        p, drift = settings.rigid.momentum(q, qd)
        J = root_jacobian(settings.rigid, q) if settings.wrench else None
        drift = drift - settings.friction.friction_at(q, qd)
        if settings.beyond is not None:
            width = settings.friction.parameters.coulomb_velocity
            drift = drift - settings.beyond.effort(qd, settings.rigid.gravity(q), width)
        self._before = now = _Sample(time, p, drift, effort, released, qd, _speed_parts(settings, qd), J)
        if before is None or time - before.time > settings.longest_gap:
            self.residual = self.offset.copy()  # a contact of before the gap is none of after it
            self._filtered = self.jacobian = None
            self._above_since[:] = math.inf
            return False
        self._follow(before, now)
        self._compare(time, time - before.time)
        return True

    @property
    def seen(self) -> float:
        """When the last state was [s]; minus infinity when there was none."""
        return -math.inf if self._before is None else self._before.time

    @property
    def contact(self) -> Array:
        """The residual without its adapted part."""
        return self.residual - self.offset

    @property
    def threshold_parts(self) -> Array:
        """What ``rest``, ``speed`` and ``acceleration`` of the thresholds are multiplied by now, (3, n).

        Zero before the first residual.
        """
        return np.zeros((3, len(self.residual))) if self._filtered is None else np.abs(self._filtered)

    @property
    def above(self) -> Mask:
        """The joints whose threshold is exceeded now."""
        return np.abs(self.contact) > self.threshold

    def _follow(self, before: _Sample, now: _Sample) -> None:
        dt = now.time - before.time
        effort = before.effort if self.settings.held else 0.5 * (before.effort + now.effort)
        z = (now.p - before.p) / dt - effort - 0.5 * (before.drift + now.drift)
        share = share_of_step(self.settings.gain, dt)
        residual = self.residual + share * (z - self.residual)
        self.residual = np.where(before.released & now.released, residual, self.offset)
        mean = np.vstack((0.5 * (before.speed_parts + now.speed_parts), (now.qd - before.qd) / dt))
        if self._filtered is None:  # the acceleration is filtered from rest on, as the residual is from zero
            self._filtered = mean
            mean[2] *= share
        else:
            self._filtered = self._filtered + share * (mean - self._filtered)
        if before.jacobian is None or now.jacobian is None:
            self.jacobian = None
        else:
            J = 0.5 * (before.jacobian + now.jacobian)
            self.jacobian = J if self.jacobian is None else self.jacobian + share * (J - self.jacobian)
        at = self.settings.thresholds
        slow, speed, acceleration = np.abs(self._filtered)
        self.threshold = at.constant + at.rest * slow + at.speed * speed + at.acceleration * acceleration

    def _compare(self, time: float, dt: float) -> None:
        """Latch the first joint whose threshold was exceeded for long enough; adapt where none is.

        With adaptation, nothing is a collision before its time constant has passed once.
        """
        settings = self.settings
        self._observed += dt
        above = self.above
        if above.any() and self._observed >= settings.adaptation:
            self._above_since = np.where(above, np.minimum(self._above_since, time), math.inf)
            exceeded = time - self._above_since >= settings.confirmation
            if self.collision is None and exceeded.any():
                excess = np.where(exceeded, np.abs(self.contact) / self.threshold, 0.0)
                j = int(np.argmax(excess))
                joint, figures = settings.rigid.joints[j], (float(self.contact[j]), float(self.threshold[j]))
                self.collision = Collision(joint.name, time, *figures, joint.effort_unit)
        else:
            self._above_since[:] = math.inf
            if settings.adaptation > 0.0:
                share = dt / max(min(self._observed, settings.adaptation), dt)
                self.offset = self.offset + share * (self.residual - self.offset)


def _speed_parts(settings: ObserverSettings, qd: Array) -> Array:
    """What ``rest`` and ``speed`` are multiplied by (2, n); the first fades as the smooth sign saturates.

    Of coupled drives the slowest counts that a joint turns.
    """
    C = settings.friction.coupling
    drives = qd if C is None else C @ qd
    slow = 1.0 - np.abs(np.tanh(drives / settings.friction.parameters.coulomb_velocity))
    if C is not None:
        slow = (slow[:, None] * (C != 0.0)).max(axis=0)
    return np.stack((slow, np.abs(qd)))


# The wrench at a tip, or at each of several


class TipWrench(NamedTuple):
    """Force [N], then torque about the tip's origin [N m], tip axes; and how far each is determined.

    ``resolution`` (6,), the diagonal of the resolution matrix, is 1 for a component that the efforts
    determine, 0 for one on which they do not depend. In between, the component is mixed with others.
    """

    value: Array
    resolution: Array

    @property
    def determined(self) -> Mask:
        """The components (6,) that the efforts determine in this posture."""
        return self.resolution > DETERMINED


def tip_wrenches(
    jacobian: Array,
    effort: Array,
    R_RT: Array,
    weights: Array | None = None,
    *,
    damping: float = 0.02,
    assume: Assumption = "wrench",
) -> list[TipWrench]:
    """The smallest wrenches at the tips that explain external efforts (n,), by damped least squares.

    Minimises |W (J^T w - effort)|; directions whose singular value is less than ``damping`` times the
    largest are damped [Nakamura1986], the others are solved exactly.

    Args:
        jacobian: (6 tips, n), the efforts of unit forces and torques at each tip in root axes:
            ``root_jacobian``, or the observer's, which is late by as much as the efforts are.
        effort: (n,) [N m or N].
        R_RT: (tips, 3, 3), the tip frames in the root frame.
        weights: (n,), 1 over each joint's uncertainty.
        assume: "force" when the torque is known to be zero; three joints are then enough.
    """
    tips, size = len(R_RT), 6 if assume == "wrench" else 3
    scale = np.tile([1.0, 1.0, 1.0, LEVER, LEVER, LEVER][:size], tips)  # w = scale * what is solved for
    each = jacobian.reshape(tips, -1, len(effort))[:, :size]
    unknown = each.reshape(tips * size, -1)
    W = np.ones(len(effort)) if weights is None else weights
    U, s, Vt = np.linalg.svd((scale[:, None] * unknown).T * W[:, None], full_matrices=False)
    inverse = s / np.maximum(np.maximum(s, damping * s[0]), np.finfo(float).tiny) ** 2
    solved = scale * (Vt.T @ (inverse * (U.T @ (W * effort))))
    found = []
    for tip, R in enumerate(R_RT):
        value, resolution = np.zeros(6), np.ones(6)
        for part in range(0, size, 3):  # force, torque: from root to tip axes
            own, there = slice(part, part + 3), slice(tip * size + part, tip * size + part + 3)
            value[own] = R.T @ solved[there]
            resolution[own] = np.square(Vt[:, there] @ R).T @ (s * inverse)
        found.append(TipWrench(value, resolution))
    return found


def root_jacobian(model: DynamicsModel, q: Array) -> Array:
    """(6 tips, n): the joint efforts of unit forces and torques in root axes at each tip."""
    states, units = np.tile(q, (6, 1)), np.eye(6)
    return np.concatenate([model.external_effort(states, {tip: units}, frame="root") for tip in model.tips])
