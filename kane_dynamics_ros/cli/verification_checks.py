"""What of a module must agree with what, at one state: each check gives (found, expected)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kane_dynamics_ros.description import Chain, Inertia
from kane_dynamics_ros.formulation import kane_of_chain, lagrange, maggi
from kane_dynamics_ros.formulation.bodies import Actuation
from kane_dynamics_ros.formulation.dual import lanes
from kane_dynamics_ros.runtime.generated_model import GeneratedModel
from kane_dynamics_ros.runtime.interface import Array

Pair = tuple[Any, Any]
SMALL = 1e-3  # of the largest entry, the least by which a difference is measured


@dataclass(frozen=True)
class Trial:
    """One random state under random conditions; ``model`` already has the conditions."""

    model: GeneratedModel
    chain: Chain
    q: Array
    qd: Array
    qdd: Array
    payload: Inertia

    @property
    def effort(self) -> Array:
        """The module's own inverse dynamics."""
        return self.model.inverse_dynamics(self.q, self.qd, self.qdd)

    def rigid_effort_by(self, derivation: Callable[..., Any]) -> Array:
        """What a derivation says of the rigid bodies alone, payload included."""
        gravity = self.model.parameters.gravity
        return np.asarray(derivation(self.chain, self.q, self.qd, self.qdd, gravity, self.payload), float)

    def effort_by(self, derivation: Callable[..., Any]) -> Array:
        """The same with rotors and friction: what ``inverse_dynamics`` should be."""
        p = self.model.parameters
        actuation = Actuation(p.rotor_inertia, p.viscous, p.coulomb, p.coulomb_velocity)
        return np.asarray(self.rigid_effort_by(derivation) + actuation.effort(self.qd, self.qdd), float)


def relative(found: Any, expected: Any) -> float:
    """Largest difference of an entry over its expected magnitude; infinite when anything is not finite.

    An entry below a thousandth of the largest one is measured by that thousandth: so a wrist's torque is
    not hidden by a shoulder's, and a torque that happens to vanish does not turn rounding into an error.
    """
    found, expected = np.atleast_1d(found), np.atleast_1d(expected)
    if not (np.all(np.isfinite(found)) and np.all(np.isfinite(expected))):
        return float("inf")
    size = np.abs(expected)
    scale = np.maximum(size, max(SMALL * float(np.max(size)), np.finfo(float).tiny))
    return float(np.max(np.abs(found - expected) / scale))


def _mass_matrix(t: Trial) -> Pair:
    """M e_j = tau(q, 0, e_j) - tau(q, 0, 0), column by column."""
    still, units = np.zeros_like(t.qd), np.eye(t.q.size)
    rest = t.model.inverse_dynamics(t.q, still, still)
    columns = [t.model.inverse_dynamics(t.q, still, unit) - rest for unit in units]
    return t.model.mass_matrix(t.q), np.array(columns).T


def _bias(t: Trial) -> Pair:
    return t.model.bias(t.q, t.qd), t.model.inverse_dynamics(t.q, t.qd, np.zeros_like(t.qd))


def _gravity(t: Trial) -> Pair:
    still = np.zeros_like(t.qd)
    return t.model.gravity(t.q), t.model.inverse_dynamics(t.q, still, still)


def _coriolis(t: Trial) -> Pair:
    """C qd + g + friction = V."""
    C_qd = t.model.coriolis(t.q, t.qd) @ t.qd
    return C_qd + t.model.gravity(t.q) + t.model.friction(t.qd), t.model.bias(t.q, t.qd)


def _forward_dynamics(t: Trial) -> Pair:
    return t.model.forward_dynamics(t.q, t.qd, t.effort), t.qdd


def _terms(t: Trial) -> Pair:
    return np.sum(t.model.terms(t.q, t.qd, t.qdd), axis=0), t.effort


def _energy(t: Trial) -> Pair:
    """Lagrange's energies; a rotor adds half its inertia times the squared rate."""
    kinetic, potential = lagrange.energies(t.chain, t.q, t.qd, t.model.parameters.gravity, t.payload)
    rotors = np.array(t.model.parameters.rotor_inertia) @ t.qd**2 / 2
    return np.array(t.model.energy(t.q, t.qd)), np.array([kinetic.item() + rotors, potential.item()])


def _regressor(t: Trial) -> Pair:
    """Y pi is the rigid bodies' effort."""
    Y = t.model.regressor(t.q, t.qd, t.qdd)
    return Y @ t.model.inertial_parameters, t.rigid_effort_by(lagrange.inverse_dynamics)


def _reaction_wrenches(t: Trial) -> Pair:
    """The part of each wrench along its joint's axis is the rigid bodies' effort."""
    found = np.zeros_like(t.q)
    for joint, wrench in zip(t.chain.joints, t.model.reaction_wrenches(t.q, t.qd, t.qdd), strict=True):
        along = wrench[:3] if joint.kind == "prismatic" else wrench[3:]
        found[joint.coordinate] += joint.multiplier * (np.array(joint.axis) @ along)
    return found, t.rigid_effort_by(lagrange.inverse_dynamics)


def _derivatives(t: Trial) -> Pair:
    """d tau/d q and d tau/d qd by dual numbers; rotors add nothing, friction its slope."""
    n, gravity = t.q.size, t.model.parameters.gravity
    state = lanes(t.q, 0, 2 * n), lanes(t.qd, n, 2 * n), t.qdd
    tau = kane_of_chain.inverse_dynamics(t.chain, *state, gravity, t.payload)
    expected = np.array([effort.slope.reshape(2 * n) for effort in tau])
    p = t.model.parameters
    smooth = 1 - np.tanh(t.qd / p.coulomb_velocity) ** 2
    expected[:, n:] += np.diag(p.viscous + np.array(p.coulomb) * smooth / p.coulomb_velocity)
    return np.hstack(t.model.inverse_dynamics_derivatives(t.q, t.qd, t.qdd)), expected


def _batch(t: Trial) -> Pair:
    """Many states in one call, against one by one."""
    states = [(t.q + k, t.qd - k, t.qdd * k) for k in range(5)]
    batch = t.model.inverse_dynamics(*(np.array(column) for column in zip(*states, strict=True)))
    return batch, np.array([t.model.inverse_dynamics(*state) for state in states])


def _tip(t: Trial) -> Pair:
    """Where a point at the tip's origin is, and how it moves with each joint."""
    nothing = (0.0, 0.0, 0.0)
    point = Inertia(1.0, nothing, (nothing, nothing, nothing))
    *_, tip = maggi.redundant_coordinates(t.chain, lanes(t.q), point)
    expected = np.column_stack([tip.x.value, tip.x.slope.reshape(-1, 3).T])
    return np.column_stack([t.model.tip_pose(t.q)[:3, 3], t.model.tip_jacobian(t.q)[3:]]), expected


def _center_of_mass(t: Trial) -> Pair:
    """Of all that moves, and how it moves with each joint; nothing to compare where all that has no mass."""
    bodies = list(maggi.redundant_coordinates(t.chain, lanes(t.q), t.payload))
    mass = sum(body.inertia.mass for body in bodies)
    if mass == 0.0:
        return 0.0, 0.0
    weighted: Any = sum(body.inertia.mass / mass * body.x for body in bodies)
    expected = np.column_stack([weighted.value, weighted.slope.reshape(-1, 3).T])
    return np.column_stack([t.model.center_of_mass(t.q), t.model.center_of_mass_jacobian(t.q)]), expected


CHECKS: dict[str, Callable[[Trial], Pair]] = {
    "mass matrix, by columns": _mass_matrix,
    "bias": _bias,
    "gravity": _gravity,
    "Coriolis matrix": _coriolis,
    "forward dynamics inverts": _forward_dynamics,
    "terms add up": _terms,
    "energy": _energy,
    "regressor": _regressor,
    "reaction wrenches": _reaction_wrenches,
    "derivatives": _derivatives,
    "batch": _batch,
    "tip": _tip,
    "centre of mass": _center_of_mass,
}
