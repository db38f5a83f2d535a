"""The arm itself: forward dynamics of a generated module, integrated in fixed time steps.

One step of length h, from (q, v), under constant actuator efforts tau:

1.  Free velocity change: M(q) a = tau - V(q, v).
2.  Friction, brakes and hard stops: v+ from ``resistance.solve_velocity`` with
        A = M + h theta D,     b = M v + h (tau - V) - h (1 - theta) D v,
    implicit in the viscous damping D, so that a tiny inertia under a large damping stays stable.
    theta is fitted to the exponential, theta = 1/(1 - exp(-z)) - 1/z with z = h D_ii / M_ii: one joint
    with constant inertia is integrated exactly, 1/2 (second order) without stiffness, 1 (no ringing) with.
3.  The mean effort that did this, tau_bar = V(q, v) + M(q) (v+ - v)/h, drives one classical
    fourth-order Runge-Kutta step of M(q) q'' + V(q, q') = tau_bar. Without resistance tau_bar = tau.
4.  Joints that rest keep their position exactly; a joint that meets its stop is put onto it.
"""

from dataclasses import dataclass

import numpy as np

from kane_dynamics_ros.runtime.interface import DynamicsModel, JointInfo
from kane_dynamics_ros.runtime.parameters import Payload
from kane_dynamics_ros.simulation.engine import Array
from kane_dynamics_ros.simulation.errors import SimulationDivergedError, SimulationOptionError
from kane_dynamics_ros.simulation.friction import Friction, dry_level
from kane_dynamics_ros.simulation.resistance import LOCKED, solve_velocity
from kane_dynamics_ros.simulation.singularity import refuse_singular


@dataclass(frozen=True)
class PlantOptions:
    """What the plant has beside rigid-body dynamics.

    ``friction`` None takes the URDF's coefficients. ``restitution`` is the fraction of the speed that a
    joint keeps, reversed, when it meets a hard stop.
    """

    time_step: float = 1e-3  # [s]
    friction: Friction | None = None
    hard_stops: bool = True
    restitution: float = 0.0
    locked: tuple[str, ...] = ()  # joints that never move, by name

    def __post_init__(self) -> None:
        if not (np.isfinite(self.time_step) and 0.0 < self.time_step <= 0.1):
            raise SimulationOptionError("time_step", self.time_step, "above 0 s, at most 0.1 s")
        if not 0.0 <= self.restitution <= 1.0:
            raise SimulationOptionError("restitution", self.restitution, "0 to 1")


class Plant:
    """Our own ``Engine``: see the module's text for the method.

    The model's own friction is switched off: the plant's takes its place. Raises
    ``SingularMassMatrixError`` when a joint that is not locked moves no inertia.
    """

    def __init__(self, model: DynamicsModel, options: PlantOptions | None = None) -> None:
        self.options = options or PlantOptions()
        n = len(model.joint_names)
        self._model = model.with_parameters(viscous=(0.0,) * n, coulomb=(0.0,) * n)
        friction = self.options.friction or Friction.from_urdf(model.joints)
        self._viscous = np.array(friction.viscous)
        self._friction = friction
        self._locked = np.array([name in self.options.locked for name in model.joint_names])
        self._lower, self._upper = self._stops()
        self._q, self._qd = initial_positions(model.joints), np.zeros(n)
        self._time = 0.0
        self.set_brake(np.zeros(n))
        refuse_singular(self._model.mass_matrix(self._q), model.joint_names, self._locked)

    @property
    def joints(self) -> tuple[JointInfo, ...]:
        return self._model.joints

    @property
    def model(self) -> DynamicsModel:
        """The rigid-body model with the present payload, without friction."""
        return self._model

    @property
    def time_step(self) -> float:
        return self.options.time_step

    @property
    def q(self) -> Array:
        return self._q

    @property
    def qd(self) -> Array:
        return self._qd

    def reset(self, q: Array, qd: Array) -> None:
        self._q, self._qd = np.array(q, dtype=float), np.array(qd, dtype=float)

    def set_payload(self, payload: Payload) -> None:
        self._model = self._model.with_parameters(payload=payload)

    def set_brake(self, effort: Array) -> None:
        self._brake = np.where(self._locked, LOCKED, np.minimum(effort, LOCKED))

    def energy(self) -> float:
        """Kinetic plus potential energy [J]."""
        energy = self._model.energy(self._q, self._qd)
        return float(energy.kinetic + energy.potential)

    def step(self, effort: Array) -> None:
        h, q, v = self.time_step, self._q, self._qd
        M, V = self._model.mass_matrix(q), self._model.bias(q, v)
        load = effort - V
        v_end = self._velocity_after(M, load, h)
        if v_end is None:
            tau_bar, a1 = effort, self._solve(M, load)
        else:
            a1 = (v_end - v) / h
            tau_bar = V + M @ a1
        q_new, v_new = self._runge_kutta(a1, tau_bar, h)
        if v_end is not None:
            q_new, v_new = self._settle(q_new, v_new, v_end)
        self._time += h
        if not (np.isfinite(q_new).all() and np.isfinite(v_new).all()):
            bad = int(np.flatnonzero(~(np.isfinite(q_new) & np.isfinite(v_new)))[0])
            raise SimulationDivergedError(self._time, self.joints[bad].name, h)
        self._q, self._qd = q_new, v_new

    def _velocity_after(self, M: Array, load: Array, h: float) -> Array | None:
        """Velocities at the end of the step under friction, brakes and stops; None when nothing resists."""
        v, D = self._qd, self._viscous
        dry = dry_level(self._friction, v) + self._brake
        lower, upper = self._velocity_bounds(v, load, h)
        if not (D.any() or dry.any() or np.isfinite(lower).any() or np.isfinite(upper).any()):
            return None
        theta = implicit_weight(h * D, np.diag(M))
        A = M + np.diag(h * theta * D + (np.diag(M) == 0.0))
        b = M @ v + h * (load - (1.0 - theta) * D * v)
        return solve_velocity(A, b, h * dry, lower, upper, v)

    def _velocity_bounds(self, v: Array, load: Array, h: float) -> tuple[Array, Array]:
        """A joint on its stop, or crossing it in this step, may only move away from it."""
        ahead = self._q + h * v
        rebound = -self.options.restitution * v
        upper = np.where(np.maximum(self._q, ahead) >= self._upper, np.minimum(rebound, 0.0), np.inf)
        lower = np.where(np.minimum(self._q, ahead) <= self._lower, np.maximum(rebound, 0.0), -np.inf)
        return lower, upper

    def _solve(self, M: Array, load: Array) -> Array:
        """a from M a = load, over the joints that are not locked."""
        free = np.flatnonzero(self._brake < LOCKED)
        a = np.zeros(len(load))
        a[free] = np.linalg.solve(M[np.ix_(free, free)], load[free])
        return a

    def _acceleration(self, q: Array, v: Array, effort: Array) -> Array:
        return self._solve(self._model.mass_matrix(q), effort - self._model.bias(q, v))

    def _runge_kutta(self, a1: Array, effort: Array, h: float) -> tuple[Array, Array]:
        """Classical fourth order for q'' = a(q, q'), with the stage positions eliminated."""
        q, v = self._q, self._qd
        a2 = self._acceleration(q + h / 2 * v, v + h / 2 * a1, effort)
        a3 = self._acceleration(q + h / 2 * v + h * h / 4 * a1, v + h / 2 * a2, effort)
        a4 = self._acceleration(q + h * v + h * h / 2 * a2, v + h * a3, effort)
        return q + h * v + h * h / 6 * (a1 + a2 + a3), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)

    def _settle(self, q_new: Array, v_new: Array, v_end: Array) -> tuple[Array, Array]:
        """Joints that the friction or a stop brought to rest are at rest, and on the stop, not in it."""
        v_new = np.where(v_end == 0.0, 0.0, v_new)
        q_new = np.where((v_end == 0.0) & (self._qd == 0.0), self._q, q_new)
        inside = np.minimum(
            np.maximum(q_new, np.minimum(self._lower, self._q)), np.maximum(self._upper, self._q)
        )
        return inside, v_new

    def _stops(self) -> tuple[Array, Array]:
        n = len(self.joints)
        if not self.options.hard_stops:
            return np.full(n, -np.inf), np.full(n, np.inf)
        lower = [-np.inf if joint.lower is None else joint.lower for joint in self.joints]
        upper = [np.inf if joint.upper is None else joint.upper for joint in self.joints]
        return np.array(lower), np.array(upper)


def initial_positions(joints: tuple[JointInfo, ...]) -> Array:
    """Where the URDF's ``<ros2_control>`` puts the arm; 0, moved into the limits, where it says nothing."""
    positions = []
    for joint in joints:
        position = 0.0 if joint.initial_position is None else joint.initial_position
        if joint.initial_position is None and joint.lower is not None and joint.upper is not None:
            position = min(max(position, joint.lower), joint.upper)
        positions.append(position)
    return np.array(positions)


def implicit_weight(hD: Array, M_diagonal: Array) -> Array:
    """theta(z) = 1/(1 - exp(-z)) - 1/z with z = h D / M, each (n,): 1/2 at z = 0, 1 at infinity."""
    z = np.divide(hD, M_diagonal, out=np.full(len(hD), np.inf), where=M_diagonal > 0.0)
    small = z < 1e-3  # the difference cancels there; the series is 1/2 + z/12
    safe = np.where(small, 1.0, z)
    return np.where(small, 0.5 + z / 12.0, 1.0 / -np.expm1(-safe) - 1.0 / safe)
