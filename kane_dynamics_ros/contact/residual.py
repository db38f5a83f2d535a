"""External efforts over a recording: what the model leaves unexplained, less the model's own errors.

The measured effort less the model's, e = tau - M q'' - V, holds external efforts and the errors of the
model. The latter repeat with the motion, the former do not: hence what the motion explains is fitted and
subtracted, and only what is left counts. The fit is linear in

- corrections of the ten inertial parameters of every body (the regressor),
- for each drive an offset, a rotor inertia, viscous friction, and dry friction that saturates at several
  speeds, one part of it growing with the effort as in gears; viscous and dry friction that change as the arm
  warms up, by so much at the beginning, after ``WARMS``, and twice, four times ... as late.

Each unknown has a prior of half of its nominal size, so that a motion which does not excite it leaves it
alone. Contacts are outliers: samples are weighted by Student's t distribution [Lange1989], under which a
few seconds of contact in a recording neither enter the fit nor hide themselves.

What the fit leaves without contact is not the same everywhere: friction is least known where a joint
reverses. Its ``spread`` is a sum of parts, for rest and low speeds, speed and acceleration, that leaves the
stated share of the residuals below it (quantile regression [KoenkerBassett1978]).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d
from scipy.optimize import nnls

from kane_dynamics_ros.algebra import Array, Mask
from kane_dynamics_ros.contact.signals import Fault
from kane_dynamics_ros.control.observer import felt_coulomb
from kane_dynamics_ros.friction import ExtraFriction
from kane_dynamics_ros.replay.motion import Motion
from kane_dynamics_ros.runtime import DynamicsModel

PRIOR = 0.5  # standard deviation of each correction, of its nominal size
SPEEDS = (0.02, 0.1, 0.4)  # [rad/s] or [m/s] at which parts of the dry friction saturate
WARMS = 60.0  # [s] until friction may have changed first; a recording that is no longer shows no change
STANDS, TRAVEL = 0.05, 0.2  # [rad/s] and [rad], or [m/s] and [m]: less motion than both is none
CORRELATED = 1.0  # [s] errors of the model last as long as motions do: so long counts as one sample
FREEDOM = 3.0  # of Student's t: errors this heavy-tailed are expected
ROUNDS, QUANTILE_ROUNDS = 30, 60
STIFFER, RELAXED = 100.0, 0.6  # times the stiffness at first, and from one round to the next
MOST_FITTED = 8000  # samples that enter the fit
AT_ONCE = 4000  # samples of which the regressor is held in memory
QUANTILE = 0.65  # of the residuals below their spread: up to a third of the time may be contact
AROUND = 2.0  # times 1 / cut-off: so far the low pass spreads what a failing sensor shows
DEVIATIONS = 3.0  # of a failing sensor's noise, which may hide a contact
FLOOR = 0.01  # of a joint's effort limit, or of its largest effort: less is no contact


@dataclass(frozen=True)
class Residual:
    """All intervals of a recording, one after another: ``time`` [s] (N,), the rest (N, n) but ``floor`` (n,).

    ``q`` [rad or m], ``qd`` and ``qdd``, per s and s^2. Efforts [N m or N]: ``external`` is the external one,
    positive where it drives the joint; ``uncorrected`` the same before the model's errors were taken out;
    ``spread`` what may be expected of it without contact, ``floor`` what no contact falls below. ``joins``:
    the indices at which an interval begins. ``rate`` [Hz]: of the samples, ``cutoff`` [Hz]: of the motion.
    ``free`` (N,): samples without contact, of which the noise was fitted. ``hidden``: what dry friction may
    hide where a joint hardly moves, or the noise of a failing sensor anywhere; ``stiction`` what dry friction
    may do to an effort; ``at_rest`` the part of it that the model knows. ``standing``: no joint moves but by
    contact. ``faults``: those of efforts, and what of the others shows in the external efforts.
    """

    time: Array
    q: Array
    qd: Array
    qdd: Array
    external: Array
    uncorrected: Array
    spread: Array
    floor: Array
    rate: float
    cutoff: float
    joins: tuple[int, ...]
    free: Mask
    hidden: Array
    stiction: Array
    at_rest: Array
    standing: bool
    faults: tuple[Fault, ...]

    @cached_property
    def ratio(self) -> Array:
        """External effort beyond friction at rest over its spread (N, n); 0 below the floor."""
        return np.where(self.excess > self.floor, self.excess / self.spread, 0.0)

    def bound(self, ratio: float) -> Array:
        """The external effort (N, n) of which ``ratio`` is that one: a threshold."""
        return self.at_rest + np.maximum(ratio * self.spread, self.floor)

    @property
    def excess(self) -> Array:
        """What no dry friction of the model explains (N, n)."""
        return np.maximum(np.abs(self.external) - self.at_rest, 0.0)


def external_efforts(
    motion: Motion,
    model: DynamicsModel,
    *,
    correct: bool = True,
    free: Mask | None = None,
    share: float = QUANTILE,
    beyond: ExtraFriction | None = None,
    faults: Sequence[Fault] = (),
) -> Residual:
    """The external efforts of a recorded motion; ``correct=False`` leaves the model's errors in.

    ``free`` (N,): the samples without contact, from which errors and noise are fitted; all where None.
    ``share``: of these samples' residuals that the spread leaves below. ``beyond``: friction that the
    model has not. ``faults`` of the signals: a joint whose efforts are frozen tells nothing meanwhile, a
    silent one nothing at all; noise is told apart from that of all else.
    """
    inner = motion.compared
    time, q, qd, qdd, effort = (
        np.concatenate([getattr(interval, name) for interval in inner])
        for name in ("time", "q", "qd", "qdd", "effort")
    )
    most = np.abs(effort).max(axis=0)
    floor = FLOOR * np.array([joint.effort or each for joint, each in zip(model.joints, most, strict=True)])
    shown, noise, sound = _failing(faults, motion, model, time, q, floor)
    silent = ~sound.any(axis=0)
    healthy = np.asarray((sound | silent).all(axis=1) & ~(noise > 0.0).any(axis=1))
    # what a standing joint does move comes of what pushes it
    stands = (np.abs(qd[healthy]).max(axis=0) < STANDS) & (np.ptp(q[healthy], axis=0) < TRAVEL)
    qd, qdd = (np.where(stands, 0.0, each) for each in (qd, qdd))
    predicted = model.inverse_dynamics(q, qd, qdd)
    if beyond is not None:
        terms = model.terms(q, qd, qdd)
        load = terms.inertia + terms.coriolis + terms.gravity
        predicted = predicted + beyond.effort(qd, load, model.parameters.coulomb_velocity)
    missing = effort - predicted
    free = healthy if free is None else np.logical_and(healthy, free)
    explained, coulomb = np.zeros_like(missing), np.zeros_like(missing)
    if correct:
        explained, coulomb = _explained(model, time, (q, qd, qdd), predicted, missing, free, motion.rate)
    external = explained - missing  # what the environment adds, the drive need not supply
    for j in np.flatnonzero(~sound.all(axis=0) & ~silent):
        external[:, j] = np.interp(time, time[sound[:, j]], external[sound[:, j], j])
    least = np.where(stands, floor, 1e-6 * floor) + np.finfo(float).tiny  # stiction keeps what pushes leave
    slow = 1.0 - np.abs(np.tanh(qd / SPEEDS[0]))
    at_rest = slow * felt_coulomb(model)
    usual = np.maximum(spread(external, qd, qdd, free, share, motion.rate / motion.cutoff), least)
    loudest = np.abs(external).max(axis=0)
    usual = np.where(silent, loudest, np.hypot(usual, noise))
    stiction = slow * coulomb + at_rest
    hidden = np.where(silent, loudest, np.where(stands, 0.0, stiction) + DEVIATIONS * noise)
    low, high = np.quantile(external[free], (0.05, 0.95), axis=0)  # what pushes leave behind
    stiction = np.where(stands, np.maximum(stiction, 0.5 * (high - low)), stiction)
    return Residual(
        time=time,
        q=q,
        qd=qd,
        qdd=qdd,
        external=external,
        uncorrected=-missing,
        spread=usual,
        floor=floor,
        rate=motion.rate,
        cutoff=motion.cutoff,
        joins=tuple(np.cumsum([0, *(len(interval.time) for interval in inner[:-1])]).tolist()),
        free=free,
        hidden=hidden,
        stiction=stiction,
        at_rest=at_rest,
        standing=bool(stands.all()),
        faults=shown,
    )


def _failing(
    faults: Sequence[Fault], motion: Motion, model: DynamicsModel, time: Array, q: Array, floor: Array
) -> tuple[tuple[Fault, ...], Array, Mask]:
    """The faults that show above ``floor`` or in efforts; their noise and where efforts count (N, n)."""
    shown, noise, sound = [], np.zeros_like(q), np.ones(q.shape, bool)
    around = AROUND / motion.cutoff
    for fault in faults:
        rows = np.flatnonzero((time > fault.start - around) & (time < fault.end + around))
        left = noise_left(fault, motion, model, q[rows])
        if fault.signal == "effort" or (DEVIATIONS * left > floor).any():
            shown.append(fault)
            noise[rows] = np.maximum(noise[rows], left)
            sound[rows, fault.joint] &= fault.kind not in ("frozen", "silent")
    return tuple(shown), noise, sound


def noise_left(fault: Fault, motion: Motion, model: DynamicsModel, q: Array) -> Array:
    """The standard deviation that noise leaves in external efforts at q (K, n), low-passed: (K, n).

    Of noise in the band up to f, derivatives have (2 pi f)^2 / 3 and (2 pi f)^4 / 5 times the power.
    """
    derived, turn = model.joint_names[fault.joint] in motion.derived, 2.0 * np.pi * motion.cutoff
    gains = {"velocity": turn / 3**0.5 * (not derived), "position": turn**2 / 5**0.5 * derived, "effort": 1.0}
    passed = np.sqrt(min(1.0, 2.0 * motion.cutoff / motion.sampled)) * (fault.kind == "noisy")
    felt = np.eye(q.shape[1]) if fault.signal == "effort" else np.abs(model.mass_matrix(q))
    return np.asarray(fault.level * passed * gains[fault.signal] * felt[..., fault.joint])


# What the motion explains


def _explained(
    model: DynamicsModel,
    time: Array,
    state: Sequence[Array],
    predicted: Array,
    missing: Array,
    free: Mask,
    rate: float,
) -> tuple[Array, Array]:
    """The part of ``missing`` (N, n) that errors of the model explain, as the samples ``free`` (N,) tell.

    And how much dry friction is in it, whatever its sign (N, n).
    """
    q, qd, qdd = state
    size = np.sqrt(np.mean(np.square(missing + predicted), axis=0)) + np.finfo(float).tiny
    C = np.eye(q.shape[1]) if model.coupling is None else model.coupling
    turning_at, gaining = qd @ C.T, qdd @ C.T  # of the drives
    fastest, hardest = largest(turning_at), largest(gaining)
    # m, m l and m l^2 of each body, l its radius of gyration about the link frame's origin
    bodies = model.inertial_parameters.reshape(-1, 10)
    mass = np.maximum(bodies[:, 0], 0.1)
    turning = np.maximum(bodies[:, 4] + bodies[:, 7] + bodies[:, 9], 0.0)
    lever = np.maximum(np.sqrt(turning / 2.0 / mass), 0.05)
    inertial = np.stack([mass, *(mass * lever,) * 3, *(mass * lever**2,) * 6], axis=1).ravel()

    age = np.log2(1.0 + (time - time[0]) / WARMS)
    warm = np.maximum(1.0 - np.abs(age[:, None] - np.arange(np.floor(age[-1]))), 0.0)

    def features(part: slice | NDArray[np.intp]) -> Array:
        """(samples, n, P): the effort of each unknown at its nominal size."""
        speed = turning_at[part]
        of_drives = [
            np.broadcast_to(size, speed.shape),
            size * speed / fastest,
            size * gaining[part] / hardest,
            *(size * np.tanh(speed / saturated) for saturated in SPEEDS),
            np.abs(predicted[part]) * np.tanh(speed / SPEEDS[1]),
        ]
        viscous, dry = of_drives[1], of_drives[4]
        of_drives += [share[:, None] * each for share in warm[part].T for each in (viscous, dry)]
        own = [each[:, None, :] * C.T for each in of_drives]
        return np.concatenate([model.regressor(q[part], qd[part], qdd[part]) * inertial, *own], axis=2)

    step = max(1, int(free.sum()) // MOST_FITTED)
    fitted = np.flatnonzero(free)[::step]
    coefficients = robust_fit(features(fitted), missing[fitted], CORRELATED * rate / PRIOR**2 / step)
    pieces = [slice(start, start + AT_ONCE) for start in range(0, len(q), AT_ONCE)]
    explained = np.concatenate([features(piece) @ coefficients for piece in pieces])
    *dry, by_load = np.abs(coefficients[len(inertial) :].reshape(-1, q.shape[1])[3:7])
    return explained, (size * sum(dry) + by_load * np.abs(predicted)) @ np.abs(C)


def largest(values: Array) -> Array:
    """The largest magnitude of each column (n,), that may be divided by."""
    return np.asarray(np.maximum(np.abs(values).max(axis=0), 1e-6))


def robust_fit(features: Array, wanted: Array, stiffness: float) -> Array:
    """Coefficients (P,) with features (N, n, P) @ coefficients = wanted (N, n), outliers left out.

    Iteratively reweighted least squares under Student's t; each joint's sample has a weight of its own, for a
    push may show in one joint alone. ``stiffness`` pulls every coefficient to zero: samples per unit of the
    squared coefficient. It begins ``STIFFER`` times as high, so that the first rounds, which cannot tell a
    contact yet, do not explain it by errors of the model.
    """
    weights = np.ones_like(wanted)
    deviation = _deviation(wanted - np.median(wanted, axis=0))
    coefficients = np.zeros(features.shape[2])
    for k in range(ROUNDS):
        scale = np.sqrt(weights) / deviation
        A = (features * scale[:, :, None]).reshape(-1, features.shape[2])
        normal = A.T @ A
        normal[np.diag_indices_from(normal)] += stiffness * max(1.0, STIFFER * RELAXED**k)
        coefficients = np.linalg.solve(normal, A.T @ (wanted * scale).ravel())
        residual = wanted - features @ coefficients
        deviation = _deviation(residual)
        weights = (FREEDOM + 1.0) / (FREEDOM + np.square(residual / deviation))
    return coefficients


def _deviation(residual: Array) -> Array:
    """Standard deviation (n,) from the median of the magnitudes, which outliers do not move."""
    found = 1.4826 * np.median(np.abs(residual), axis=0)
    return np.maximum(found, 1e-9 * max(float(np.abs(residual).max()), 1e-9))


# What is left without contact


def spread(external: Array, qd: Array, qdd: Array, free: Mask, share: float, period: float) -> Array:
    """(N, n): what a share of each joint's external efforts (N, n) stays below, as a function of the motion.

    Fitted to the samples ``free`` (N,). Accelerations count by their root mean square over a ``period`` of
    the cut-off, in samples: where noise takes one through zero, the external effort need not be small.
    """
    parts = [np.ones_like(qd), *(1.0 - np.abs(np.tanh(qd / speed)) for speed in SPEEDS)]
    jerk = np.gradient(qdd, axis=0) if len(qdd) > 1 else qdd  # a delay between motion and effort shows in it
    powers = [uniform_filter1d(np.square(each), round(period), axis=0) for each in (qdd, jerk)]
    parts += [each / largest(each) for each in (np.abs(qd), *np.sqrt(np.maximum(powers, 0.0)))]
    features = np.stack(parts, axis=2)
    columns = [
        features[:, j] @ quantile_fit(features[free, j], np.abs(external[free, j]), share)
        for j in range(qd.shape[1])
    ]
    return np.stack(columns, axis=1)


def quantile_fit(features: Array, values: Array, share: float) -> Array:
    """Coefficients (P,), none negative, of a bound that ``share`` of the values (N,) stay below.

    The pinball loss is minimised by reweighted non-negative least squares.
    """
    step = max(1, len(values) // MOST_FITTED)
    X, y = features[::step], values[::step]
    small = 1e-3 * max(float(np.median(y)), 1e-3 * float(y.max()), np.finfo(float).tiny)
    coefficients = np.full(X.shape[1], float(np.quantile(y, share)) / X.shape[1])
    for _ in range(QUANTILE_ROUNDS):
        missing = y - X @ coefficients
        weights = np.sqrt(np.where(missing > 0.0, share, 1.0 - share) / np.maximum(np.abs(missing), small))
        scale = np.linalg.norm(X * weights[:, None], axis=0)
        scale = np.where(scale > 1e-9 * scale.max(), scale, np.inf)  # a part that never shows is left out
        coefficients = nnls(X * (weights[:, None] / scale), y * weights)[0] / scale
    return coefficients


def clusters(values: Array, gap: int) -> Array:
    """Largest value of each run of ``gap`` samples of values (N,): peaks that hardly depend on each other."""
    whole = len(values) // gap * gap
    return np.asarray(np.max(values[:whole].reshape(-1, gap) if whole else values[None], axis=1, initial=0.0))
