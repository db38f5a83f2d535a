"""The seam between generated code and everything that uses it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

# What may change at run time without generating again: gravity, payload, rotors, friction.


Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Payload:
    """A body fixed to the tip: mass [kg], centre of mass [m] and central inertia, in the tip frame.

    ``inertia`` is (ixx, ixy, ixz, iyy, iyz, izz) [kg m^2], the tensor's entries.
    """

    mass: float = 0.0
    com: Vector = (0.0, 0.0, 0.0)
    inertia: tuple[float, float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Parameters:
    """Run-time parameters of a model; per-joint tuples follow ``model.joint_names``.

    ``gravity`` is the free-fall acceleration in the root link's frame [m/s^2]. ``rotor_inertia`` is
    reflected to the joint side (gear ratio squared included) and adds to M's diagonal.
    Friction effort: viscous * qd + coulomb * tanh(qd / coulomb_velocity). ``inertial`` holds, for each body,
    m, h_x, h_y, h_z, J_xx, J_xy, J_xz, J_yy, J_yz, J_zz about its link frame's origin.
    """

    gravity: Vector
    rotor_inertia: tuple[float, ...]
    viscous: tuple[float, ...]
    coulomb: tuple[float, ...]
    coulomb_velocity: float = 0.01  # [rad/s] or [m/s]
    payload: Payload = Payload()
    inertial: tuple[float, ...] | None = None  # of modules generated with --inertial runtime


Array = NDArray[np.float64]
WrenchFrame = Literal["tip", "root"]  # whose axes a wrench at the tip's origin is given in


class JointInfo(NamedTuple):
    """What the URDF says of one joint; ``None`` where it says nothing.

    ``damping``, ``friction`` and ``rotor_inertia`` include those of the joints that follow it.
    """

    name: str
    kind: str  # "revolute", "continuous" or "prismatic"
    lower: float | None
    upper: float | None
    velocity: float | None
    effort: float | None
    damping: float
    friction: float
    rotor_inertia: float
    initial_position: float | None


class Terms(NamedTuple):
    """The parts of a joint torque; they add up to ``inverse_dynamics``. Each (n,) or (N, n)."""

    inertia: Array
    coriolis: Array
    gravity: Array
    friction: Array


class Energy(NamedTuple):
    """Kinetic and potential energy [J]; scalars, or (N,) for a batch."""

    kinetic: Any
    potential: Any


@dataclass(frozen=True)
class BaseParameters:
    """``pi_base = map @ inertial_parameters`` and ``Y_base = Y[..., columns]`` give the same torques.

    ``columns``: the (b,) standard parameters that stand for the groups; ``map``: (b, 10 bodies).
    """

    columns: NDArray[np.intp]
    map: Array

    def regressor(self, Y: Array) -> Array:
        """The base regressor, (..., n, b), of a standard one, (..., n, 10 bodies)."""
        return Y[..., self.columns]


class DynamicsModel(Protocol):
    """A robot's dynamics, as every user of it sees it. Immutable: ``with_parameters`` returns another model.

    Shapes, units, frames and errors of each function: ``help(model.inverse_dynamics)``, written at
    ``model.GeneratedModel``.
    """

    @property
    def name(self) -> str: ...
    @property
    def joint_names(self) -> tuple[str, ...]: ...  # root to tip
    @property
    def joints(self) -> tuple[JointInfo, ...]: ...
    @property
    def bodies(self) -> tuple[str, ...]: ...  # the links that the joints move, root to tip
    @property
    def root(self) -> str: ...  # link
    @property
    def tip(self) -> str: ...  # link
    @property
    def locked(self) -> Mapping[str, float]: ...  # joints held at a position [rad or m] when it was generated
    @property
    def backend(self) -> str: ...  # "c" or "python"
    @property
    def parameters(self) -> Parameters: ...
    @property
    def urdf_hash(self) -> str: ...  # physics hash of the chain that it was generated from
    @property
    def c_addresses(self) -> tuple[int, int, int] | None:
        """Addresses of C's mass_matrix, bias and prepared parameters while this model lives; None in Python.

        mass_matrix(prepared, q, M) and bias(prepared, q, qd, V), without friction: see NAME.h.
        """

    def with_parameters(self, **changes: Any) -> "DynamicsModel":
        """The same robot with some fields of ``Parameters`` replaced. Raises on nonsense."""

    def with_urdf_friction(self) -> "DynamicsModel":
        """The same robot with the URDF's damping and friction switched on (off by default)."""

    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        out: Array | None = None,
        *,
        wrench: ArrayLike | None = None,
        frame: WrenchFrame = "tip",
    ) -> Array:
        """tau = M(q) qdd + V(q, qd), friction included when its coefficients are not zero."""

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike
    ) -> tuple[Array, Array]:
        """d tau / d q and d tau / d qd."""

    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        out: Array | None = None,
        *,
        wrench: ArrayLike | None = None,
        frame: WrenchFrame = "tip",
    ) -> Array:
        """qdd that the efforts tau cause."""

    def forward_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike
    ) -> tuple[Array, Array]:
        """d qdd / d q and d qdd / d qd."""

    def mass_matrix(self, q: ArrayLike, out: Array | None = None) -> Array:
        """M(q), rotor inertia on the diagonal."""

    def inverse_mass_matrix(self, q: ArrayLike, out: Array | None = None) -> Array:
        """M(q)^-1, (n, n) or (N, n, n): also d qdd / d tau."""

    def bias(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        """V(q, qd): Coriolis, centrifugal, gravity and friction efforts."""

    def gravity(self, q: ArrayLike, out: Array | None = None) -> Array:
        """Effort that holds the arm at rest against gravity."""

    def coriolis(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        """The matrix C(q, qd) of Christoffel symbols: V = C qd + g + friction; M' - 2C is skew."""

    def friction(self, qd: ArrayLike, out: Array | None = None) -> Array:
        """viscous * qd + coulomb * tanh(qd / coulomb_velocity)."""

    def terms(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Terms:
        """``inverse_dynamics`` term by term."""

    def energy(self, q: ArrayLike, qd: ArrayLike) -> Energy:
        """Kinetic and potential energy; potential is zero at the root link's origin."""

    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, out: Array | None = None) -> Array:
        """Y: tau = Y @ inertial_parameters; no rotors, no friction."""

    @property
    def inertial_parameters(self) -> Array:
        """m, h, J about the link frame's origin, ten a body, payload included."""

    def base_parameters(self) -> BaseParameters:
        """The combinations of inertial parameters that torques can tell apart."""

    def reaction_wrenches(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        out: Array | None = None,
        *,
        wrench: ArrayLike | None = None,
        frame: WrenchFrame = "tip",
    ) -> Array:
        """Force, then torque about the joint, by which each joint moves its link, link axes."""

    def tip_pose(self, q: ArrayLike, out: Array | None = None) -> Array:
        """Homogeneous transform of the tip in the root link's frame."""

    def external_effort(self, q: ArrayLike, wrench: ArrayLike, *, frame: WrenchFrame = "tip") -> Array:
        """J^T w of a wrench on the tip, force first: M qdd + V = tau + J^T w."""

    def external_effort_derivatives(
        self, q: ArrayLike, wrench: ArrayLike, *, frame: WrenchFrame = "tip"
    ) -> Array:
        """d (J^T w) / d q."""

    def momentum(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        """p = M qd, then C^T qd - g: p' = C^T qd - g + tau - friction + J^T w."""

    def tip_jacobian(self, q: ArrayLike, out: Array | None = None) -> Array:
        """J: angular, then linear velocity of the tip in root axes, for each joint's velocity."""

    def tip_velocity(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        """Angular, then linear velocity of the tip in root axes."""

    def center_of_mass(self, q: ArrayLike, out: Array | None = None) -> Array:
        """Centre of mass of all that moves, in the root link's frame."""

    def center_of_mass_jacobian(self, q: ArrayLike, out: Array | None = None) -> Array:
        """Velocity of the centre of mass for each joint's velocity."""

    def center_of_mass_velocity(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        """Velocity of the centre of mass in root axes."""
