"""Arms whose motion is known in closed form: no generated module, no library."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from kane_dynamics_ros.runtime import Energy, JointInfo, Parameters


@dataclass(frozen=True)
class UncoupledArm:
    """Independent joints of constant inertia J_i under constant loads g_i: J_i q_i'' + g_i = tau_i."""

    joints: tuple[JointInfo, ...]
    inertia: tuple[float, ...]
    load: tuple[float, ...]
    parameters: Parameters
    c_addresses = None

    @property
    def joint_names(self) -> tuple[str, ...]:
        return tuple(joint.name for joint in self.joints)

    def with_parameters(self, **changes: Any) -> "UncoupledArm":
        return replace(self, parameters=replace(self.parameters, **changes))

    def mass_matrix(self, q: Any) -> Any:
        return np.diag(self.inertia) + np.diag(self.parameters.rotor_inertia)

    def bias(self, q: Any, qd: Any) -> Any:
        return np.array(self.load)

    def gravity(self, q: Any) -> Any:
        return np.array(self.load)

    def energy(self, q: Any, qd: Any) -> Energy:
        kinetic = 0.5 * float(qd @ self.mass_matrix(q) @ qd)
        return Energy(kinetic, float(np.dot(self.load, q)))


@pytest.fixture
def uncoupled_arm() -> Callable[..., UncoupledArm]:
    """Factory: ``uncoupled_arm(inertia=[..], load=[..], damping=.., friction=.., limits=(a, b))``."""

    def make(
        inertia: list[float],
        load: list[float] | None = None,
        damping: float = 0.0,
        friction: float = 0.0,
        limits: tuple[float | None, float | None] = (None, None),
        effort: float | None = None,
    ) -> UncoupledArm:
        n = len(inertia)
        joints = tuple(
            JointInfo(f"j{i}", "revolute", *limits, None, effort, damping, friction, 0.0, None)
            for i in range(n)
        )
        zeros = (0.0,) * n
        parameters = Parameters((0.0, 0.0, -9.81), zeros, zeros, zeros)
        return UncoupledArm(joints, tuple(inertia), tuple(load or zeros), parameters)

    return make
