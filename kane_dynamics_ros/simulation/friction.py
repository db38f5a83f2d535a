"""Joint friction of the simulated arm: viscous, Coulomb and Stribeck."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kane_dynamics_ros.runtime.interface import JointInfo
from kane_dynamics_ros.simulation.errors import SimulationOptionError


@dataclass(frozen=True)
class Friction:
    """Friction coefficients, one per joint in model order.

    viscous * v + level(|v|) * sign(v),
    with level(s) = coulomb + (static - coulomb) exp(-(s / stribeck_velocity)^2).
    At rest the joint holds any load up to ``static``: the friction effort is then whatever balances it.
    """

    viscous: tuple[float, ...]  # [N m s/rad] or [N s/m]
    coulomb: tuple[float, ...]  # [N m] or [N]
    static: tuple[float, ...]  # [N m] or [N], at least ``coulomb``
    stribeck_velocity: tuple[float, ...]  # [rad/s] or [m/s]

    def __post_init__(self) -> None:
        _require("friction.viscous", self.viscous, 0.0)
        _require("friction.coulomb", self.coulomb, 0.0)
        for static, coulomb in zip(self.static, self.coulomb, strict=True):
            _require("friction.static", [static], coulomb)
        if not all(np.isfinite(v) and v > 0.0 for v in self.stribeck_velocity):
            raise SimulationOptionError(
                "friction.stribeck_velocity", list(self.stribeck_velocity), "finite and > 0"
            )

    @classmethod
    def from_urdf(
        cls, joints: Sequence[JointInfo], stribeck_velocity: float = 0.05, static_ratio: float = 1.0
    ) -> "Friction":
        """The URDF's ``<dynamics damping friction>``; at rest ``static_ratio`` times the Coulomb level."""
        return cls(
            tuple(joint.damping for joint in joints),
            tuple(joint.friction for joint in joints),
            tuple(static_ratio * joint.friction for joint in joints),
            (stribeck_velocity,) * len(joints),
        )

    @classmethod
    def none(cls, n: int) -> "Friction":
        """No friction on n joints."""
        return cls((0.0,) * n, (0.0,) * n, (0.0,) * n, (1.0,) * n)


def _require(option: str, found: Sequence[float], least: float) -> None:
    if not all(np.isfinite(value) and value >= least for value in found):
        raise SimulationOptionError(option, list(found), f"finite and >= {least:g}")
