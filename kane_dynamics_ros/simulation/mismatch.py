"""A plant whose links weigh something else than the controller's model believes.

A factor multiplies mass and inertia tensor of a body and leaves its centre of mass: still a body that
can exist. Needs a module generated with ``--inertial runtime``.
"""

from collections.abc import Mapping

import numpy as np

from kane_dynamics_ros.runtime.interface import DynamicsModel
from kane_dynamics_ros.simulation.engine import FixedInertiaError, SimulationOptionError, UnknownBodyError


def with_factors(model: DynamicsModel, factors: Mapping[str, float]) -> DynamicsModel:
    """The model with the inertial parameters of some bodies multiplied, by body name.

    Raises ``UnknownBodyError``, ``SimulationOptionError``, ``FixedInertiaError``.
    """
    check_factors(model, factors)
    if all(factor == 1.0 for factor in factors.values()):
        return model
    if model.parameters.inertial is None:
        raise FixedInertiaError(model.name)
    bodies = np.reshape(model.parameters.inertial, (-1, 10))
    scaled = bodies * np.array([[factors.get(name, 1.0)] for name in model.bodies])
    return model.with_parameters(inertial=tuple(scaled.ravel()))


def check_factors(model: DynamicsModel, factors: Mapping[str, float]) -> None:
    """Raise ``UnknownBodyError`` or ``SimulationOptionError`` when these cannot be factors of the model."""
    for name, factor in factors.items():
        if name not in model.bodies:
            raise UnknownBodyError(name, model.bodies)
        if not (np.isfinite(factor) and factor > 0.0):
            raise SimulationOptionError(f"mismatch factor of {name!r}", factor, "finite and > 0")


def drawn_factors(model: DynamicsModel, spread: float, seed: int) -> dict[str, float]:
    """A factor for each body, uniform between 1 - spread and 1 + spread. Same seed, same factors."""
    if not 0.0 <= spread < 1.0:
        raise SimulationOptionError("mismatch.spread", spread, "at least 0, below 1")
    draws = np.random.default_rng(seed).uniform(-1.0, 1.0, len(model.bodies))
    return {name: 1.0 + spread * float(draw) for name, draw in zip(model.bodies, draws, strict=True)}
