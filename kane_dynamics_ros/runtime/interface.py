"""The seam between generated code and everything that uses it: what a model is asked, takes and returns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kane_dynamics_ros.algebra import Array

Vector = tuple[float, float, float]
WrenchFrame = Literal["tip", "root"]  # whose axes a wrench at the tip's origin is given in


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
    """What may change at run time without generating again; per-joint tuples follow ``model.joint_names``.

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


def initial_positions(joints: Sequence[JointInfo]) -> Array:
    """Where the arm starts (n,) [rad or m]: where the URDF's ``<ros2_control>`` puts it.

    Where that says nothing, 0, or the limit that is nearest to it.
    """
    return np.array([_initial_position(joint) for joint in joints], dtype=float)


def _initial_position(joint: JointInfo) -> float:
    if joint.initial_position is not None:
        return joint.initial_position
    at_least = 0.0 if joint.lower is None else max(joint.lower, 0.0)
    return at_least if joint.upper is None else min(joint.upper, at_least)


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
    """A robot's dynamics with one set of parameters, as every user of it sees it.

    Immutable: ``with_parameters`` returns another model.

    ``q``, ``qd``, ``qdd``, ``tau`` are float64 of shape (n,), or (N, n) for N states at once; results follow.
    Angles rad, lengths m, efforts N m (revolute) or N (prismatic), positive along the joint's axis, as the
    actuator must supply them; order as in ``joint_names``. Where a method has ``out``, the result is written
    there and nothing is allocated: a writable float64 array in C order, of the result's shape, that overlaps
    no input.

    Every evaluation raises ``ShapeError``, ``BatchError`` or ``NonFiniteError``, which name the argument, and
    ``TypeError`` for what is no array of real numbers.

    Attributes:
        name: the module's.
        joint_names: of the independent joints, root to tip.
        joints: what the URDF says of each.
        bodies: the links that the joints move, root to tip.
        root, tip: links.
        locked: joints held at a position [rad or m] when the module was generated.
        backend: "c" or "python".
        parameters: see ``Parameters``.
        urdf_hash: physics hash of the chain that the module was generated from.
    """

    name: str
    joint_names: tuple[str, ...]
    joints: tuple[JointInfo, ...]
    bodies: tuple[str, ...]
    root: str
    tip: str
    locked: Mapping[str, float]
    backend: str
    parameters: Parameters
    urdf_hash: str

    def with_parameters(self, **changes: Any) -> "DynamicsModel":
        """A model of the robot with some fields of ``Parameters`` replaced.

        Raises:
            ParameterError: an unknown field, or a value that makes no sense.
        """

    def with_urdf_friction(self) -> "DynamicsModel":
        """A model of the robot with the URDF's damping and friction switched on (off by default)."""

    # Inverse and forward dynamics, and their derivatives

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
        """tau = M(q) qdd + V(q, qd) - J^T w [N m or N], (n,) or (N, n): what causes the accelerations.

        Rotor inertia and payload are included, friction where its coefficients are not zero.
        [Malvezzi2017] eq. (4).

        Args:
            q, qd, qdd: position [rad or m], velocity and acceleration of each joint, (n,) or (N, n).
            out: array for the result.
            wrench, frame: what the environment exerts on the tip, as in ``external_effort``.

        Raises:
            ShapeError, BatchError, NonFiniteError: naming the argument.
            ParameterError: another frame than "tip" and "root".
        """

    def inverse_dynamics_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        wrench: ArrayLike | None = None,
        frame: WrenchFrame = "tip",
    ) -> tuple[Array, Array]:
        """d tau / d q and d tau / d qd, each (n, n) or (N, n, n), row i of effort i, friction included.

        d tau / d qdd is ``mass_matrix``.

        Args:
            q, qd, qdd: position [rad or m], velocity and acceleration of each joint, (n,) or (N, n).
            wrench, frame: as in ``external_effort``; the wrench is constant in the axes of ``frame``.

        Raises:
            ShapeError, BatchError, NonFiniteError: naming the argument.
            ParameterError: another frame than "tip" and "root".
        """

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
        """qdd [rad/s^2 or m/s^2], (n,) or (N, n): the accelerations that the efforts cause.

        Args:
            q, qd, tau: position [rad or m], velocity and effort [N m or N] of each joint, (n,) or (N, n).
            out: array for the result.
            wrench, frame: what the environment exerts on the tip, as in ``external_effort``.

        Raises:
            ShapeError, BatchError, NonFiniteError: naming the argument.
            ParameterError: another frame than "tip" and "root".
            SingularMassMatrixError: naming the joints whose acceleration nothing resists.
        """

    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        wrench: ArrayLike | None = None,
        frame: WrenchFrame = "tip",
    ) -> tuple[Array, Array]:
        """d qdd / d q and d qdd / d qd at fixed tau, each (n, n) or (N, n, n), friction included.

        d qdd / d tau is ``inverse_mass_matrix``.

        Args:
            q, qd, tau: position [rad or m], velocity and effort [N m or N] of each joint, (n,) or (N, n).
            wrench, frame: as in ``external_effort``; the wrench is constant in the axes of ``frame``.

        Raises:
            ShapeError, BatchError, NonFiniteError: naming the argument.
            ParameterError: another frame than "tip" and "root".
            SingularMassMatrixError: naming the joints whose acceleration nothing resists.
        """

    # Parts of the equations of motion

    def mass_matrix(self, q: ArrayLike, out: Array | None = None) -> Array:
        """M(q) [kg m^2, kg m, kg], (n, n) or (N, n, n), symmetric; rotor inertia on its diagonal.

        Args:
            q: position of each joint [rad or m], (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
        """

    def inverse_mass_matrix(self, q: ArrayLike, out: Array | None = None) -> Array:
        """M(q)^-1 [1/(kg m^2), 1/(kg m), 1/kg], (n, n) or (N, n, n): also d qdd / d tau.

        Args:
            q: position of each joint [rad or m], (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
            SingularMassMatrixError: naming the joints whose acceleration nothing resists.
        """

    def bias(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        """V(q, qd) [N m or N], (n,) or (N, n): Coriolis, centrifugal, gravity and friction efforts.

        Args:
            q, qd: position [rad or m] and velocity of each joint, (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, BatchError, NonFiniteError: naming the argument.
        """

    def gravity(self, q: ArrayLike, out: Array | None = None) -> Array:
        """g(q) [N m or N], (n,) or (N, n): the efforts that hold the arm at rest against gravity.

        Args:
            q: position of each joint [rad or m], (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
        """

    def coriolis(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        """The matrix C(q, qd) of Christoffel symbols, (n, n) or (N, n, n): V = C qd + g + friction.

        d M / d t - 2 C is skew-symmetric.

        Args:
            q, qd: position [rad or m] and velocity of each joint, (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, BatchError, NonFiniteError: naming the argument.
        """

    def friction(self, qd: ArrayLike, out: Array | None = None) -> Array:
        """viscous * qd + coulomb * tanh(qd / coulomb_velocity) [N m or N], (n,) or (N, n).

        Args:
            qd: velocity of each joint [rad/s or m/s], (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
        """

    def terms(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Terms:
        """``inverse_dynamics`` term by term; each (n,) or (N, n) [N m or N].

        Args:
            q, qd, qdd: position [rad or m], velocity and acceleration of each joint, (n,) or (N, n).

        Raises:
            ShapeError, BatchError, NonFiniteError: naming the argument.
        """

    def energy(self, q: ArrayLike, qd: ArrayLike) -> Energy:
        """Kinetic and potential energy [J], rotors included; potential is zero at the root link's origin.

        Args:
            q, qd: position [rad or m] and velocity of each joint, (n,) or (N, n).

        Raises:
            ShapeError, BatchError, NonFiniteError: naming the argument.
        """

    def momentum(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        """p = M qd, then C^T qd - g, (2, n) or (N, 2, n): p' = C^T qd - g + tau - friction + J^T w.

        What a momentum observer needs [DeLuca2005]; [N m s or N s], then [N m or N].

        Args:
            q, qd: position [rad or m] and velocity of each joint, (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, BatchError, NonFiniteError: naming the argument.
        """

    # Inertial parameters

    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, out: Array | None = None) -> Array:
        """Y, (n, 10 bodies) or (N, n, 10 bodies): tau = Y @ inertial_parameters, rotors and friction apart.

        Args:
            q, qd, qdd: position [rad or m], velocity and acceleration of each joint, (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, BatchError, NonFiniteError: naming the argument.
        """

    @property
    def inertial_parameters(self) -> Array:
        """pi, (10 bodies,): tau = regressor @ pi, rotors and friction excluded; payload included.

        For each body m [kg], h_x, h_y, h_z [kg m], J_xx, J_xy, J_xz, J_yy, J_yz, J_zz [kg m^2] about its link
        frame's origin.
        """

    def base_parameters(self) -> BaseParameters:
        """The combinations of inertial parameters that torques can tell apart, and the map to them."""

    # Joint reactions, and what the environment exerts on the tip

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
        """The joint reactions (liaison forces), (bodies, 6) or (N, bodies, 6).

        Of each body the force [N], then the torque about the joint's origin [N m], by which the joint moves
        it, in the axes of its link frame.

        Args:
            q, qd, qdd: position [rad or m], velocity and acceleration of each joint, (n,) or (N, n).
            out: array for the result.
            wrench, frame: what the environment exerts on the tip, as in ``external_effort``: the joints need
                not supply it.

        Raises:
            ShapeError, BatchError, NonFiniteError: naming the argument.
            ParameterError: another frame than "tip" and "root".
        """

    def external_effort(self, q: ArrayLike, wrench: ArrayLike, *, frame: WrenchFrame = "tip") -> Array:
        """J^T w, (n,) or (N, n) [N m or N]: what a wrench on the tip adds to tau in M qdd + V = tau + J^T w.

        E of [Hussain2016] eq. (6).

        Args:
            q: position of each joint [rad or m], (n,) or (N, n).
            wrench: the force [N], then the torque about the tip's origin [N m], that the environment exerts
                on the arm, (6,) or (N, 6).
            frame: whose axes the wrench is given in, "tip" or "root".

        Raises:
            ShapeError, BatchError, NonFiniteError: naming the argument.
            ParameterError: another frame than "tip" and "root".
        """

    def external_effort_derivatives(
        self, q: ArrayLike, wrench: ArrayLike, *, frame: WrenchFrame = "tip"
    ) -> Array:
        """d (J^T w) / d q, (n, n) or (N, n, n), of a wrench that is constant in the axes of ``frame``.

        Args:
            q, wrench, frame: as in ``external_effort``.

        Raises:
            ShapeError, BatchError, NonFiniteError: naming the argument.
            ParameterError: another frame than "tip" and "root".
        """

    # Tip and centre of mass

    def tip_pose(self, q: ArrayLike, out: Array | None = None) -> Array:
        """Homogeneous transform of the tip in the root link's frame [m], (4, 4) or (N, 4, 4).

        Args:
            q: position of each joint [rad or m], (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
        """

    def tip_jacobian(self, q: ArrayLike, out: Array | None = None) -> Array:
        """J, (6, n) or (N, 6, n): J qd is the tip's angular, then linear velocity in the root link's axes.

        Args:
            q: position of each joint [rad or m], (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
        """

    def tip_velocity(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        """The tip's angular [rad/s], then linear velocity [m/s] in the root link's axes, (6,) or (N, 6).

        Args:
            q, qd: position [rad or m] and velocity of each joint, (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, BatchError, NonFiniteError: naming the argument.
        """

    def center_of_mass(self, q: ArrayLike, out: Array | None = None) -> Array:
        """Centre of mass of all that moves, payload included, in the root link's frame [m], (3,) or (N, 3).

        Args:
            q: position of each joint [rad or m], (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
            NoMassError: nothing that moves has mass.
        """

    def center_of_mass_jacobian(self, q: ArrayLike, out: Array | None = None) -> Array:
        """(3, n) or (N, 3, n): times qd, the velocity of the centre of mass in the root link's axes.

        Args:
            q: position of each joint [rad or m], (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
            NoMassError: nothing that moves has mass.
        """

    def center_of_mass_velocity(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        """Velocity of the centre of mass in the root link's axes [m/s], (3,) or (N, 3).

        Args:
            q, qd: position [rad or m] and velocity of each joint, (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, BatchError, NonFiniteError: naming the argument.
            NoMassError: nothing that moves has mass.
        """

    @property
    def c_addresses(self) -> tuple[int, int, int] | None:
        """Addresses of C's mass_matrix, bias and prepared parameters while this model lives; None in Python.

        mass_matrix(prepared, q, M) and bias(prepared, q, qd, V), without friction: see NAME.h.
        """
