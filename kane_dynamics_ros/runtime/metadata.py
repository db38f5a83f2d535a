"""What a generated module states about itself, read from its ``MODEL``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kane_dynamics_ros.runtime.interface import Array, JointInfo, Parameters, Payload


class Origin(NamedTuple):
    """Where a model came from: what another process needs to load it again."""

    path: Path
    checksum: str  # of the module's text
    backend: str  # "c" or "python"
    load: Callable[..., Any]  # (path, backend, checksum, parameters) to model


@dataclass(frozen=True)
class ModelMetadata:
    """A generated module's statement, typed."""

    model: Mapping[str, Any]

    @property
    def joint_names(self) -> tuple[str, ...]:
        return tuple(self.model["joint_names"])

    @property
    def joints(self) -> tuple[JointInfo, ...]:
        return tuple(JointInfo(*joint) for joint in self.model["joints"])

    @property
    def bodies(self) -> tuple[str, ...]:
        return tuple(self.model["bodies"])

    @property
    def inertial(self) -> bool:
        """Whether the bodies' inertial parameters are run-time parameters."""
        start, stop = self.model["parameters"]["inertial"]
        return bool(stop > start)

    def default_parameters(self) -> Parameters:
        """The parameters that the module was generated with."""
        values = self.model["defaults"]
        part = {name: tuple(values[start:stop]) for name, (start, stop) in self.model["parameters"].items()}
        gravity = part["gravity"]
        return Parameters(
            (gravity[0], gravity[1], gravity[2]),
            part["rotor_inertia"],
            part["viscous"],
            part["coulomb"],
            part["coulomb_velocity"][0],
            Payload(),
            part["inertial"] if self.inertial else None,
        )

    def total_mass(self, parameters: Parameters) -> float:
        """Of all that the joints move, payload included [kg]."""
        own = parameters.inertial if parameters.inertial is not None else self.model["inertial_parameters"]
        return float(sum(own[::10]) + parameters.payload.mass)

    def inertial_parameters(self, parameters: Parameters) -> Array:
        """The bodies' parameters about their link frames' origins, payload included, (10 bodies,)."""
        own = parameters.inertial if parameters.inertial is not None else self.model["inertial_parameters"]
        values = np.array(own, dtype=float)
        payload = parameters.payload
        R, p = (np.array(part, dtype=float) for part in self.model["tip_in_body"])
        xx, xy, xz, yy, yz, zz = payload.inertia
        c = p + R @ np.array(payload.com)
        J = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
        J += payload.mass * (c @ c * np.eye(3) - np.outer(c, c))
        values[-10:] += [payload.mass, *(payload.mass * c), *J[np.triu_indices(3)]]
        return values


def packed(parameters: Parameters) -> tuple[float, ...]:
    """The ``parameters`` array of the generated code, in its documented order."""
    payload = parameters.payload
    return (
        *parameters.gravity,
        payload.mass,
        *payload.com,
        *payload.inertia,
        *parameters.rotor_inertia,
        *parameters.viscous,
        *parameters.coulomb,
        parameters.coulomb_velocity,
        *(parameters.inertial or ()),
    )
