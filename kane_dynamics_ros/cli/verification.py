"""A module against the witnesses and against itself, at random states: the work behind ``verify``."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane_dynamics_ros.description import Chain, Inertia
from kane_dynamics_ros.formulation import gibbs_appell, lagrange, maggi
from kane_dynamics_ros.formulation.bodies import Actuation
from kane_dynamics_ros.runtime.interface import DynamicsModel
from kane_dynamics_ros.runtime.parameters import Payload

Array = NDArray[np.float64]

WITNESSES = {
    "Lagrange": lagrange.inverse_dynamics,
    "Maggi": maggi.inverse_dynamics,
    "Gibbs-Appell": gibbs_appell.inverse_dynamics,
}


@dataclass(frozen=True)
class Trial:
    """One random state under random conditions; ``model`` already has the conditions."""

    model: DynamicsModel
    chain: Chain
    q: Array
    qd: Array
    qdd: Array
    payload: Inertia

    def witness_effort(self, witness: Callable[..., Any]) -> Array:
        """What a witness says that ``inverse_dynamics`` is, friction and rotors included."""
        p = self.model.parameters
        actuation = Actuation(p.rotor_inertia, p.viscous, p.coulomb, p.coulomb_velocity)
        rigid = witness(self.chain, self.q, self.qd, self.qdd, p.gravity, self.payload)
        return np.asarray(rigid + actuation.effort(self.qd, self.qdd), dtype=float)

    @property
    def effort(self) -> Array:
        """The model's own inverse dynamics."""
        return self.model.inverse_dynamics(self.q, self.qd, self.qdd)


def random_trials(model: DynamicsModel, chain: Chain, count: int, seed: int) -> Iterator[Trial]:
    """``count`` trials; positions over a whole turn (or 1 m), since the equations know no limits."""
    rng = np.random.default_rng(seed)
    n = len(chain.coordinates)
    for _ in range(count):
        payload = _random_payload(rng)
        loaded = model.with_parameters(
            gravity=tuple(rng.normal(0.0, 6.0, 3)),  # [m/s^2], any direction
            payload=payload,
            rotor_inertia=tuple(rng.uniform(0.0, 0.5, n)),
            viscous=tuple(rng.uniform(0.0, 3.0, n)),
            coulomb=tuple(rng.uniform(0.0, 3.0, n)),
            coulomb_velocity=float(rng.uniform(0.005, 0.5)),
        )
        q, qd, qdd = rng.uniform(-np.pi, np.pi, n), rng.uniform(-3, 3, n), rng.uniform(-10, 10, n)
        yield Trial(loaded, chain, q, qd, qdd, _as_inertia(payload))


def differences(trial: Trial) -> dict[str, float]:
    """Largest relative difference of each witness and of each consistency check in one trial."""
    effort = trial.effort
    found = {name: relative(trial.witness_effort(w), effort) for name, w in WITNESSES.items()}
    return found | {name: relative(*check(trial)) for name, check in CHECKS.items()}


def relative(found: Any, expected: Any) -> float:
    """Largest difference over the largest expected magnitude; infinite when anything is not finite."""
    found, expected = np.atleast_1d(found), np.atleast_1d(expected)
    scale = max(float(np.max(np.abs(expected))), np.finfo(float).tiny)
    difference = float(np.max(np.abs(found - expected))) / scale
    return difference if np.isfinite(difference) else float("inf")


def _mass_matrix(t: Trial) -> tuple[Any, Any]:
    """M e_j = tau(q, 0, e_j) - tau(q, 0, 0), column by column."""
    still, units = np.zeros_like(t.qd), np.eye(t.q.size)
    rest = t.model.inverse_dynamics(t.q, still, still)
    return t.model.mass_matrix(t.q), np.array(
        [t.model.inverse_dynamics(t.q, still, e) - rest for e in units]
    ).T


def _bias(t: Trial) -> tuple[Any, Any]:
    return t.model.bias(t.q, t.qd), t.model.inverse_dynamics(t.q, t.qd, np.zeros_like(t.qd))


def _gravity(t: Trial) -> tuple[Any, Any]:
    still = np.zeros_like(t.qd)
    return t.model.gravity(t.q), t.model.inverse_dynamics(t.q, still, still)


def _coriolis(t: Trial) -> tuple[Any, Any]:
    C_qd = t.model.coriolis(t.q, t.qd) @ t.qd
    return C_qd + t.model.gravity(t.q) + t.model.friction(t.qd), t.model.bias(t.q, t.qd)


def _forward_dynamics(t: Trial) -> tuple[Any, Any]:
    return t.model.forward_dynamics(t.q, t.qd, t.effort), t.qdd


def _terms(t: Trial) -> tuple[Any, Any]:
    return sum(t.model.terms(t.q, t.qd, t.qdd)), t.effort


def _energy(t: Trial) -> tuple[Any, Any]:
    """The rigid bodies' energies; a rotor adds half its inertia times the squared rate."""
    kinetic, potential = lagrange.energies(t.chain, t.q, t.qd, t.model.parameters.gravity, t.payload)
    rotors = np.array(t.model.parameters.rotor_inertia) @ t.qd**2 / 2
    return np.array(t.model.energy(t.q, t.qd)), np.array([kinetic.item() + rotors, potential.item()])


CHECKS: dict[str, Callable[[Trial], tuple[Any, Any]]] = {
    "mass matrix, by columns": _mass_matrix,
    "bias": _bias,
    "gravity": _gravity,
    "Coriolis matrix": _coriolis,
    "forward dynamics inverts": _forward_dynamics,
    "terms add up": _terms,
    "energy": _energy,
}


def _random_payload(rng: np.random.Generator) -> Payload:
    """A body that can exist: its second moments of mass are positive."""
    mass = float(rng.uniform(0.0, 3.0))  # [kg]
    arms = rng.normal(0.0, 0.1, (3, 3))  # [m]
    P = mass * arms @ arms.T
    J = np.trace(P) * np.eye(3) - P
    x, y, z = (float(value) for value in rng.uniform(-0.2, 0.2, 3))
    ixx, ixy, ixz, iyy, iyz, izz = (float(J[i, j]) for i in range(3) for j in range(i, 3))
    return Payload(mass, (x, y, z), (ixx, ixy, ixz, iyy, iyz, izz))


def _as_inertia(payload: Payload) -> Inertia:
    ixx, ixy, ixz, iyy, iyz, izz = payload.inertia
    return Inertia(payload.mass, payload.com, ((ixx, ixy, ixz), (ixy, iyy, iyz), (ixz, iyz, izz)))
