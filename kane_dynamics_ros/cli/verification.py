"""A module against the witnesses and against itself, at random states: the work behind ``verify``."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from kane_dynamics_ros.cli.verification_checks import CHECKS, Trial, relative
from kane_dynamics_ros.description import Chain, Inertia
from kane_dynamics_ros.formulation import gibbs_appell, lagrange, maggi
from kane_dynamics_ros.runtime.generated_model import GeneratedModel
from kane_dynamics_ros.runtime.parameters import Payload

WITNESSES = {
    "Lagrange": lagrange.inverse_dynamics,
    "Maggi": maggi.inverse_dynamics,
    "Gibbs-Appell": gibbs_appell.inverse_dynamics,
}


def largest_differences(model: GeneratedModel, chain: Chain, states: int, seed: int) -> dict[str, float]:
    """Of each witness and consistency check, over ``states`` random trials; relative."""
    largest: dict[str, float] = defaultdict(float)
    for trial in random_trials(model, chain, states, seed):
        for name, difference in differences(trial).items():
            largest[name] = max(largest[name], difference)
    return dict(largest)


def differences(trial: Trial) -> dict[str, float]:
    """Largest relative difference of each witness and of each consistency check in one trial."""
    found = {name: relative(trial.effort, trial.effort_by(w)) for name, w in WITNESSES.items()}
    return found | {name: relative(*check(trial)) for name, check in CHECKS.items()}


def random_trials(model: GeneratedModel, chain: Chain, count: int, seed: int) -> Iterator[Trial]:
    """Two trials at each of ``count`` states: the module as it was generated, and with other parameters.

    Positions go over a whole turn (or 3 m), since the equations know no limits.
    """
    rng = np.random.default_rng(seed)
    n = len(chain.coordinates)
    for _ in range(count):
        state = rng.uniform(-np.pi, np.pi, n), rng.uniform(-3, 3, n), rng.uniform(-10, 10, n)
        yield Trial(model, chain, *state, _as_inertia(model.parameters.payload))
        loaded, other = _with_other_conditions(model, chain, rng)
        yield Trial(loaded, other, *state, _as_inertia(loaded.parameters.payload))


def _with_other_conditions(
    model: GeneratedModel, chain: Chain, rng: np.random.Generator
) -> tuple[GeneratedModel, Chain]:
    """Random gravity, payload, rotors and friction, and other bodies where the module takes them."""
    n = len(chain.coordinates)
    changes: dict[str, Any] = {
        "gravity": tuple(rng.normal(0.0, 6.0, 3)),  # [m/s^2], any direction
        "payload": _random_payload(rng),
        "rotor_inertia": tuple(rng.uniform(0.0, 0.5, n)),
        "viscous": tuple(rng.uniform(0.0, 3.0, n)),
        "coulomb": tuple(rng.uniform(0.0, 3.0, n)),
        "coulomb_velocity": float(rng.uniform(0.005, 0.5)),
    }
    if model.parameters.inertial is not None:  # generated with --inertial runtime
        chain = _with_other_inertias(chain, rng)
        changes["inertial"] = _standard_parameters(chain)
    return model.with_parameters(**changes), chain


def _with_other_inertias(chain: Chain, rng: np.random.Generator) -> Chain:
    """The chain with other bodies, as after an identification."""
    bodies = (_as_inertia(_random_payload(rng)) for _ in chain.joints)
    joints = tuple(replace(joint, inertia=body) for joint, body in zip(chain.joints, bodies, strict=True))
    return replace(chain, joints=joints)


def _standard_parameters(chain: Chain) -> tuple[float, ...]:
    """m, h, J about the link frame's origin of each body, in the module's order."""
    values: list[float] = []
    for joint in chain.joints:
        m, c = joint.inertia.mass, np.array(joint.inertia.com)
        J = np.array(joint.inertia.tensor) + m * (c @ c * np.eye(3) - np.outer(c, c))
        values += [m, *(m * c), *J[np.triu_indices(3)]]
    return tuple(float(value) for value in values)


def _random_payload(rng: np.random.Generator) -> Payload:
    """A body that can exist: its second moments of mass are positive."""
    mass = float(rng.uniform(0.1, 3.0))  # [kg]
    arms = rng.normal(0.0, 0.1, (3, 3))  # [m]
    P = mass * arms @ arms.T
    J = np.trace(P) * np.eye(3) - P
    x, y, z = (float(value) for value in rng.uniform(-0.2, 0.2, 3))
    ixx, ixy, ixz, iyy, iyz, izz = (float(J[i, j]) for i in range(3) for j in range(i, 3))
    return Payload(mass, (x, y, z), (ixx, ixy, ixz, iyy, iyz, izz))


def _as_inertia(payload: Payload) -> Inertia:
    ixx, ixy, ixz, iyy, iyz, izz = payload.inertia
    return Inertia(payload.mass, payload.com, ((ixx, ixy, ixz), (ixy, iyy, iyz), (ixz, iyz, izz)))
