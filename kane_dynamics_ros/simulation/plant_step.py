"""One time step of the arm: in NumPy, and in C on the compiled functions of a generated module.

From (q, v), over a step of length h, under constant actuator efforts tau:

1.  Free velocity change: M(q) a = tau - V(q, v).
2.  Friction, brakes and hard stops: v+ from ``friction.solve_velocity`` with
        A = M + h theta D,     b = M v + h (tau - V) - h (1 - theta) D v,
    implicit in the viscous damping D, so that a tiny inertia under a large damping stays stable.
    D is the damping in the direction of v. What friction adds whatever the direction, the offset and the
    difference of Coulomb friction between the directions, is taken from tau. Friction by the load M a + V
    is found in ``LOAD_ROUNDS`` more rounds, each with the load of the round before.
    Where drives are coupled, all of this is in their speeds w = C v: with K = C^-1, K^T M K takes the place
    of M, K^T (tau - V) that of tau - V. Brakes and stops are the joints' and become bounds on K w.
    theta is fitted to the exponential, theta = 1/(1 - exp(-z)) - 1/z with z = h D_ii / M_ii: one joint
    with constant inertia is integrated exactly; 1/2 (second order) without stiffness, 1 (no ringing) with.
3.  The mean effort that did this, tau_bar = V(q, v) + M(q) (v+ - v)/h, drives one classical
    fourth-order Runge-Kutta step of M(q) q'' + V(q, q') = tau_bar. Without resistance tau_bar = tau.
4.  Joints that rest or are locked keep their position exactly; one that meets its stop is put onto it.

The error of a Runge-Kutta step grows with the fifth power of the angle that a joint turns in it, so a
step in which a joint would turn further than ``MOST_TURN`` is made in parts. plant_step.c takes the same
step, some fifty times faster.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.friction import ExtraFriction, signed_root
from kane_dynamics_ros.runtime import DynamicsModel
from kane_dynamics_ros.runtime.compilation import shared_function
from kane_dynamics_ros.simulation.friction import LOCKED, solve_coupled, solve_velocity

SOURCE = Path(__file__).with_suffix(".c")
MOST_TURN = 0.015  # [rad or m]; with it light arms that spin at 200 rad/s keep their energy, too
MOST_PARTS = 100  # beyond 1500 rad/s at 1 kHz
LOAD_ROUNDS = 4
# Of kd_plant.
ARRAYS = ("viscous", "coulomb", "brake", "lower", "upper", "shift")
OF_BEYOND = ("stribeck", "stribeck_velocity", "load", "viscous_asymmetry", "square_root")
OF_DRIVES = ("coupling", "to_joints", "missing")  # null where each joint has its own


@dataclass(frozen=True)
class Resistances:
    """What opposes the joints' motion, each (n,) in joint order; ``beyond``: more terms of friction.

    The arrays may change between steps, in place: ``brake`` does.
    """

    viscous: Array
    coulomb: Array
    beyond: ExtraFriction
    brake: Array
    lower: Array
    upper: Array
    restitution: float

    @property
    def shift(self) -> Array:
        """The part of friction that the direction does not change (n,)."""
        return self.beyond.offset + self.beyond.coulomb_asymmetry

    def damping(self, v: Array) -> Array:
        """Viscous friction in the direction of ``v``, (n,)."""
        return np.asarray(self.viscous + self.beyond.viscous_asymmetry * np.sign(v))


def step_in_parts(
    model: DynamicsModel, resistances: Resistances, q: Array, v: Array, effort: Array, h: float
) -> tuple[Array, Array]:
    """q and v after ``h`` [s] under ``effort``, each (n,).

    Raises ``NonFiniteError`` or ``LinAlgError`` when the state diverges within the step.
    """
    parts = 1 + int(min(h * np.abs(v).max() / MOST_TURN, MOST_PARTS - 1))
    for _ in range(parts):
        q, v = _step(model, resistances, q, v, effort, h / parts)
    return q, v


def _step(
    model: DynamicsModel, resistances: Resistances, q: Array, v: Array, effort: Array, h: float
) -> tuple[Array, Array]:
    M, V = model.mass_matrix(q), model.bias(q, v)
    free = np.flatnonzero(resistances.brake < LOCKED)
    v_end = _velocity_after(resistances, M, V, effort, q, v, h)
    if v_end is None:
        return _runge_kutta(model, free, q, v, _solve(M, effort - V, free), effort, h)
    if not (v.any() or v_end.any()):
        return q, v
    a1 = (v_end - v) / h
    q_new, v_new = _runge_kutta(model, free, q, v, a1, V + M @ a1, h)
    return settle(resistances, q, v, q_new, v_new, v_end)


def implicit_weight(hD: Array, M_diagonal: Array) -> Array:
    """theta(z) = 1/(1 - exp(-z)) - 1/z with z = h D / M, each (n,): 1/2 at z = 0, 1 at infinity."""
    z = np.divide(hD, M_diagonal, out=np.full(len(hD), np.inf), where=M_diagonal > 0.0)
    small = z < 1e-3  # the difference cancels there; the series is 1/2 + z/12
    safe = np.where(small, 1.0, z)
    return np.where(small, 0.5 + z / 12.0, 1.0 / -np.expm1(-safe) - 1.0 / safe)


def _velocity_after(
    r: Resistances, M: Array, V: Array, effort: Array, q: Array, v: Array, h: float
) -> Array | None:
    """Velocities at the end of the step under friction, brakes and stops; None when nothing resists."""
    lower, upper = velocity_bounds(r, q, v, h)
    C = r.beyond.coupling
    if C is not None:
        K = np.linalg.inv(C).astype(np.float64)
        M, V, effort, v = K.T @ M @ K, V @ K, effort @ K, C @ v
    dry, damping = dry_friction(r, v, V), r.damping(v)
    by_load = r.beyond.load.any()
    resists = damping.any() or dry.any() or r.shift.any() or by_load
    if not (resists or np.isfinite(lower).any() or np.isfinite(upper).any()):
        return None
    diagonal = np.diag(M)
    theta = implicit_weight(h * damping, diagonal)
    A = M + np.diag(h * theta * damping + (diagonal == 0.0))
    b = M @ v + h * (effort - V - r.shift - (1.0 - theta) * damping * v)

    def solved(dry: Array, guess: Array) -> Array:
        if C is None:
            return solve_velocity(A, b, h * dry, lower, upper, guess)
        return solve_coupled(A, b, h * dry, lower, upper, guess, K)

    v_end = solved(dry, v)
    for _ in range(LOAD_ROUNDS if by_load else 0):
        v_end = solved(dry_friction(r, v, V + M @ (v_end - v) / h), v_end)
    return v_end if C is None else np.clip(K @ v_end, lower, upper)


def dry_friction(r: Resistances, v: Array, load: Array) -> Array:
    """What dry friction and brakes can hold at the speeds ``v`` under ``load``, (n,) [N m or N] each.

    The brakes of joints with coupled drives are bounds.
    """
    root = r.beyond.square_root * signed_root(np.abs(v))
    brake = r.brake if r.beyond.coupling is None else 0.0
    return np.asarray(np.maximum(r.coulomb + r.beyond.level(v, load) + root, 0.0) + brake)


def velocity_bounds(r: Resistances, q: Array, v: Array, h: float) -> tuple[Array, Array]:
    """A joint on its stop, or crossing it in this step, may only move away from it."""
    ahead = q + h * v
    rebound = -r.restitution * v
    upper = np.where(np.maximum(q, ahead) >= r.upper, np.minimum(rebound, 0.0), np.inf)
    lower = np.where(np.minimum(q, ahead) <= r.lower, np.maximum(rebound, 0.0), -np.inf)
    if r.beyond.coupling is not None:
        upper, lower = (np.where(r.brake > 0.0, 0.0, bound) for bound in (upper, lower))
    return lower, upper


def _solve(M: Array, load: Array, free: NDArray[np.intp]) -> Array:
    """a from M a = load over the joints ``free``, 0 at the others."""
    a = np.zeros(len(load))
    a[free] = np.linalg.solve(M[np.ix_(free, free)], load[free])
    return a


def _runge_kutta(
    model: DynamicsModel,
    free: NDArray[np.intp],
    q: Array,
    v: Array,
    a1: Array,
    effort: Array,
    h: float,
) -> tuple[Array, Array]:
    """Classical fourth order for q'' = a(q, q'), with the stage positions eliminated."""

    def a(q: Array, v: Array) -> Array:
        return _solve(model.mass_matrix(q), effort - model.bias(q, v), free)

    a2 = a(q + h / 2 * v, v + h / 2 * a1)
    a3 = a(q + h / 2 * v + h * h / 4 * a1, v + h / 2 * a2)
    a4 = a(q + h * v + h * h / 2 * a2, v + h * a3)
    return q + h * v + h * h / 6 * (a1 + a2 + a3), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)


def settle(
    r: Resistances, q: Array, v: Array, q_new: Array, v_new: Array, v_end: Array
) -> tuple[Array, Array]:
    """Joints that friction or a stop brought to rest are at rest, and on the stop, not in it."""
    rests = v_end == 0.0
    q_new = np.where(rests & ((v == 0.0) | (r.brake == LOCKED)), q, q_new)
    inside = np.minimum(np.maximum(q_new, np.minimum(r.lower, q)), np.maximum(r.upper, q))
    return inside, np.where(rests, 0.0, v_new)


# The same step in C


class _Plant(ctypes.Structure):
    """``kd_plant`` of plant_step.c."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("mass_matrix", "bias", "forward_dynamics", "prepared")),
        *((name, ctypes.c_double) for name in ("h", "restitution", "locked", "most_turn", "most_parts")),
        *((name, ctypes.c_void_p) for name in (*ARRAYS, *OF_BEYOND, *OF_DRIVES, "q", "qd")),
    ]


def compiled_step(
    model: DynamicsModel, resistances: Resistances, q: Array, qd: Array, h: float
) -> Callable[[Array], bool] | None:
    """The compiled step of a plant; None when the model is not compiled, or no C compiler was found.

    It steps the arrays q and qd in place under efforts (n,); False when the state diverged, and stays.
    """
    if model.c_addresses is None:
        return None
    function = shared_function(SOURCE, "kd_plant_step", ctypes.c_int, f"-DKD_JOINTS={len(q)}")
    if function is None:
        return None
    beyond = resistances.beyond
    arrays = [getattr(resistances, name) for name in ARRAYS]
    arrays += [np.array(getattr(beyond, name), dtype=float) for name in OF_BEYOND]
    plant = _Plant(*model.c_addresses, h)
    plant.restitution, plant.locked = resistances.restitution, LOCKED
    plant.most_turn, plant.most_parts = MOST_TURN, MOST_PARTS
    C, J = beyond.coupling, np.diag(model.parameters.rotor_inertia)
    if C is not None:
        arrays += [np.ascontiguousarray(C, dtype=float), np.linalg.inv(C), C.T @ J @ C - J]
    for name, array in zip((*ARRAYS, *OF_BEYOND, *OF_DRIVES), arrays, strict=False):
        setattr(plant, name, array.ctypes.data)
    plant.q, plant.qd = q.ctypes.data, qd.ctypes.data
    plant.held = model, arrays, q, qd  # what the C code points to must live as long as this
    given = np.zeros(len(q))
    view: Any = memoryview(given.data)  # takes an array in half of the time that the array does
    of_plant, of_given = ctypes.byref(plant), ctypes.c_void_p(given.ctypes.data)

    def step(effort: Array) -> bool:
        view[:] = effort
        return not function(of_plant, of_given)

    return step
