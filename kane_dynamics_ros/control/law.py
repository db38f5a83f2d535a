"""Joint efforts from a reference and a state: the four modes, term by term.

feedforward:            tau = M(q_d) qdd_d + V(q_d, qd_d)
feedforward_pd:         tau = M(q_d) qdd_d + V(q_d, qd_d) + Kp e + Kd e'
computed_torque:        tau = M(q) (qdd_d + Kd e' + Kp e) + V(q, qd)
gravity_compensation:   tau = g(q)

with e = q_d - q. Friction is computed at the desired velocity, whose sign does not chatter at rest.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import numpy as np

from kane_dynamics_ros.algebra import Array, Mask
from kane_dynamics_ros.friction import ExtraFriction
from kane_dynamics_ros.runtime import DynamicsModel

Mode = Literal["feedforward", "feedforward_pd", "computed_torque", "gravity_compensation"]
MODES: tuple[Mode, ...] = get_args(Mode)
DELAY = 2  # periods from a state's measurement to the effect of the command that answers it, in ros2_control


@dataclass(frozen=True)
class TermSwitches:
    """Which terms the command holds; some robots compensate gravity or friction themselves."""

    inertia: bool = True
    coriolis: bool = True
    gravity: bool = True
    friction: bool = True


class Efforts(NamedTuple):
    """The parts of a command, each (n,) [N m or N]; ``total`` is their sum."""

    inertia: Array
    coriolis: Array
    gravity: Array
    friction: Array
    feedback: Array

    @property
    def total(self) -> Array:
        return self.inertia + self.coriolis + self.gravity + self.friction + self.feedback


@dataclass(frozen=True)
class Law:
    """Everything that the efforts depend on besides reference and state.

    ``friction`` is the model, whose friction coefficients are used at the desired velocity. The gains (n,)
    are in N m/rad and N m s/rad for ``feedforward_pd``, in 1/s^2 and 1/s for ``computed_torque``. ``extra``
    joins the viscous and Coulomb friction where it has any part.
    """

    mode: Mode
    friction: DynamicsModel
    kp: Array
    kd: Array
    switches: TermSwitches
    extra: ExtraFriction | None = None

    @cached_property
    def rigid(self) -> DynamicsModel:
        """The model without friction."""
        return self.friction.without_friction()

    @cached_property
    def continuous(self) -> Mask | None:
        """The joints (n,) whose position error is taken on the shorter side; None where there is none."""
        continuous = np.array([joint.kind == "continuous" for joint in self.friction.joints])
        return continuous if continuous.any() else None

    @cached_property
    def beyond(self) -> ExtraFriction | None:
        """The ``extra`` friction, under the rigid bodies' load at the reference; None where there is none."""
        return self.extra if self.extra is not None and self.extra.any else None

    @cached_property
    def has_friction(self) -> bool:
        """Whether there is any friction to compute."""
        return self.switches.friction and (self.friction.parameters.rub or self.beyond is not None)

    @cached_property
    def keeps_friction(self) -> bool:
        """Whether any joint keeps a part of its friction at rest."""
        return self.beyond is not None and bool(self.beyond.at_rest.any())


def efforts(law: Law, reference: Array, q: Array, qd: Array, direction: Array | None = None) -> Array:
    """The command (n,) for a reference (3, n) and a measured state (n,), before limits.

    ``direction`` (n,): in which each drive's reference moved last, where that is known.
    """
    on = law.switches
    if law.mode == "gravity_compensation" or not (on.inertia and on.coriolis and on.gravity):
        return efforts_by_term(law, reference, q, qd, direction).total
    q_d, qd_d, qdd_d = reference
    if law.mode == "computed_torque":
        tau = law.rigid.inverse_dynamics(q, qd, qdd_d + _pd(law, reference, q, qd))
    else:
        tau = law.rigid.inverse_dynamics(q_d, qd_d, qdd_d)
        if law.mode == "feedforward_pd":
            tau = tau + _pd(law, reference, q, qd)
    if law.has_friction:
        tau = tau + friction_at(law, reference, direction)
    return tau


def efforts_by_term(
    law: Law, reference: Array, q: Array, qd: Array, direction: Array | None = None
) -> Efforts:
    """The command part by part; terms that are switched off are 0.

    In mode ``feedforward`` a batch is allowed too: reference (3, N, n), q and qd (N, n).
    """
    q_d, qd_d, qdd_d = reference
    zero = np.zeros_like(q_d)
    if law.mode == "gravity_compensation":
        gravity = law.rigid.gravity(q) if law.switches.gravity else zero
        return Efforts(zero, zero, gravity, zero, zero)
    at_state = law.mode == "computed_torque"
    feedback = zero if law.mode == "feedforward" else _pd(law, reference, q, qd)
    terms = law.rigid.terms(q if at_state else q_d, qd if at_state else qd_d, qdd_d)
    on = law.switches
    return Efforts(
        inertia=terms.inertia if on.inertia else zero,
        coriolis=terms.coriolis if on.coriolis else zero,
        gravity=terms.gravity if on.gravity else zero,
        friction=friction_at(law, reference, direction) if law.has_friction else zero,
        feedback=law.rigid.mass_matrix(q) @ feedback if at_state else feedback,
    )


def friction_at(law: Law, reference: Array, direction: Array | None = None) -> Array:
    """The friction (n,) at a reference (3, n), or of a batch (3, N, n)."""
    q_d, qd_d, qdd_d = reference
    parameters = law.friction.parameters
    effort = law.friction.friction_at(q_d, qd_d)
    if law.beyond is not None:
        load = law.rigid.inverse_dynamics(q_d, qd_d, qdd_d) if law.beyond.load.any() else qd_d
        effort = effort + law.beyond.effort(qd_d, load, parameters.coulomb_velocity)
        if direction is not None and law.keeps_friction:
            coulomb, width = np.array(parameters.coulomb), parameters.coulomb_velocity
            effort = effort + law.beyond.effort_at_rest(qd_d, load, coulomb, width, direction)
    return effort


def direction_after(law: Law, reference: Array, before: Array) -> Array:
    """The direction (n,) in which each drive's reference moved last, from that of the state before."""
    C = law.friction.coupling
    speeds = reference[1] if C is None else C @ reference[1]
    moves = np.abs(speeds) >= law.friction.parameters.coulomb_velocity
    return np.where(moves, np.sign(speeds), before)


def position_error(law: Law, q_d: Array, q: Array) -> Array:
    """q_d - q (n,); for continuous joints the nearest of all whole turns."""
    error = q_d - q
    if law.continuous is not None:
        turns = np.round(error / math.tau) * math.tau
        error = np.where(law.continuous, error - turns, error)
    return error


def has_stiffness(law: Law) -> Mask:
    """The joints (n,) that are drawn towards the reference's position; the others may be anywhere."""
    feedback = law.mode in ("feedforward_pd", "computed_torque")
    return law.kp > 0.0 if feedback else np.zeros(len(law.kp), dtype=np.bool_)


def _pd(law: Law, reference: Array, q: Array, qd: Array) -> Array:
    """Kp e + Kd e'."""
    return np.asarray(law.kp * position_error(law, reference[0], q) + law.kd * (reference[1] - qd))


# The feedback at a finite rate


def damping_ratio(kp: float, kd: float, period: float, delay: int = DELAY) -> float:
    """Damping ratio of the worst mode of q'' = u, with u = -(kp q + kd q') sampled, held and delayed.

    ``kp`` [1/s^2], ``kd`` [1/s], ``period`` [s], ``delay`` in periods. Below 0 the loop is unstable. The
    modes are the eigenvalues z = exp(s T) of the sampled double integrator with its delayed inputs, the ratio
    is -Re(s) / |s|.
    """
    step = np.zeros((2 + delay, 2 + delay))
    step[:2, :2] = ((1.0, period), (0.0, 1.0))
    effect, feedback = (0.5 * period**2, period), (-kp, -kd)
    if delay:
        step[:2, -1] = effect
        step[2, :2] = feedback
        step[range(3, 2 + delay), range(2, 1 + delay)] = 1.0
    else:
        step[:2, :2] += np.outer(effect, feedback)
    z = np.linalg.eigvals(step).astype(complex)
    s = np.log(z[np.abs(z) > 1e-12]) / period
    return float((-s.real / np.abs(s)).min())


def critical_gains(period: float, damping: float) -> tuple[float, float]:
    """The largest kp [1/s^2], with kd = 2 sqrt(kp) [1/s], of that damping ratio at ``period`` [s]."""
    low, high = 0.0, 1.0  # of sqrt(kp) T: the loop depends on nothing else
    for _ in range(40):
        middle = 0.5 * (low + high)
        good = damping_ratio(middle**2, 2.0 * middle, 1.0) >= damping
        low, high = (middle, high) if good else (low, middle)
    root = low / period
    return root**2, 2.0 * root


class WeakDamping(NamedTuple):
    """A joint whose gains, from errors to acceleration, damp too little at the rate: 1/s^2, 1/s."""

    joint: int
    kp: float
    kd: float
    damping: float


def effective_inertia(M: Array) -> Array:
    """1 / (M^-1)_ii (n,): each joint's inertia while the others are free to move.

    While they stand still it is M_ii, in an outstretched arm several times as much. Where M is singular, the
    answer is M_ii.
    """
    try:
        inverse_factor = np.linalg.inv(np.linalg.cholesky(M))
    except np.linalg.LinAlgError:
        return np.array(M.diagonal())
    inertia: Array = 1.0 / np.square(inverse_factor).sum(axis=0)  # M^-1 = L^-T L^-1
    return inertia


def gain_unit(law: Law, q: Array) -> Array:
    """What the law's gains are divided by to be of accelerations, in 1/s^2 and 1/s, (n,)."""
    pd = law.mode == "feedforward_pd"
    return effective_inertia(law.rigid.mass_matrix(q)) if pd else np.ones(len(law.kp))


def too_stiff(law: Law, q: Array, period: float, damping: float, delay: int = DELAY) -> WeakDamping | None:
    """The first joint whose gains at ``q`` (n,) have less than that damping ratio at ``period`` [s]."""
    if law.mode not in ("feedforward_pd", "computed_torque"):
        return None
    unit = gain_unit(law, q)
    gains = zip((law.kp / unit).tolist(), (law.kd / unit).tolist(), strict=True)
    for joint, (kp, kd) in enumerate(gains):
        if kp and (found := damping_ratio(kp, kd, period, delay)) < damping:
            return WeakDamping(joint, kp, kd, found)
    return None


def damped_gains(law: Law, q: Array, period: float, damping: float) -> tuple[Array, Array]:
    """kp and kd (n,), in the law's units, of which no joint's has less than that damping ratio.

    Gains that are damped so well stay; of the others kp is lowered where it must be, and kd made critical.
    """
    unit = gain_unit(law, q)
    kp, kd = law.kp / unit, law.kd / unit
    most = critical_gains(period, damping)[0]
    for joint in np.flatnonzero(kp).tolist():
        if damping_ratio(kp[joint], kd[joint], period) < damping:
            kp[joint] = min(kp[joint], most)
            kd[joint] = 2.0 * math.sqrt(kp[joint])
    return kp * unit, kd * unit
