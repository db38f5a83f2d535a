"""A ``DynamicsModel`` from a generated module, whichever way its functions are evaluated."""

import inspect
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics_ros.errors import BatchError, KaneDynamicsError
from kane_dynamics_ros.runtime.interface import (
    Array,
    BaseParameters,
    Energy,
    JointInfo,
    Parameters,
    Payload,
    Terms,
    WrenchFrame,
)
from kane_dynamics_ros.runtime.parameters import ParameterError, changed, find_base_parameters, packed
from kane_dynamics_ros.runtime.python_kernel import checked_arrays


class NoMassError(KaneDynamicsError):
    """The centre of mass of nothing was asked for."""

    def __init__(self) -> None:
        super().__init__(
            "there is no centre of mass: nothing that moves has mass; give a link or the payload some"
        )


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


class Kernel(Protocol):
    """The generated functions with prepared parameters, compiled or in Python; friction is apart.

    Each takes its arrays in order and, last, the array for the result or ``None``.
    """

    def __getattr__(self, name: str) -> Callable[..., Array]: ...


WRENCH_FRAMES = {"tip": "", "root": "_in_root"}  # and the suffix of the generated functions
MakeKernel = Callable[[Sequence[float]], Kernel]


class GeneratedModel:
    """A robot's dynamics with one set of parameters. Immutable: ``with_parameters`` returns another model.

    ``q``, ``qd``, ``qdd``, ``tau`` are float64 of shape (n,), or (N, n) for N states at once; results follow.
    Angles rad, lengths m, efforts N m (revolute) or N (prismatic), positive along the joint's axis, as the
    actuator must supply them; order as in ``joint_names``. Where a method has ``out``, the result is written
    there and nothing is allocated: a writable float64 array in C order, of the result's shape, that overlaps
    no input.

    Every evaluation raises ``ShapeError``, ``BatchError`` or ``NonFiniteError``, which name the argument, and
    ``TypeError`` for what is no array of real numbers.
    """

    def __init__(
        self, metadata: ModelMetadata, make_kernel: MakeKernel, origin: Origin, parameters: Parameters
    ) -> None:
        self._metadata, self._make_kernel, self._origin = metadata, make_kernel, origin
        self.name: str = metadata.model["name"]
        self.joint_names = metadata.joint_names
        self.joints: tuple[JointInfo, ...] = metadata.joints
        self.bodies = metadata.bodies
        self.root: str = metadata.model["root"]
        self.tip: str = metadata.model["tip"]
        self.locked: dict[str, float] = dict(metadata.model["locked"])
        self.urdf_hash: str = metadata.model["urdf_hash"]
        self.backend = origin.backend
        self.parameters = parameters
        self._kernel = make_kernel(packed(parameters))
        plain = parameters == metadata.default_parameters()
        self._rigid = self._kernel.inverse_dynamics if plain else self._kernel.inverse_dynamics_with
        self._has_friction = any(parameters.viscous) or any(parameters.coulomb)
        self._has_mass = metadata.total_mass(parameters) != 0.0
        if self.backend == "c":
            self._call_c_directly()

    def _call_c_directly(self) -> None:
        """Put the compiled functions before the methods of the same name, which cost a third of a call more.

        They have the methods' signatures and docstrings, see ``documents``; with keywords they call them.
        """
        reference = weakref.ref(self)

        def general(name: str, *arguments: Any, **keywords: Any) -> Any:
            model = reference()
            if model is None:
                raise ReferenceError(f"{name}: its model is gone; keep the model to call it with keywords")
            return getattr(type(model), SHOWN.get(name, name))(model, *arguments, **keywords)

        self._kernel.generalize(general)
        direct = {name: getattr(self._kernel, name) for name in ALWAYS_DIRECT}
        if self._has_mass:
            direct |= {name: getattr(self._kernel, name) for name in DIRECT_WITH_MASS}
        if not self._has_friction:
            direct |= {name: getattr(self._kernel, name) for name in DIRECT_WITHOUT_FRICTION}
            direct["inverse_dynamics"] = self._rigid
        for name, function in direct.items():
            setattr(self, name, function)

    def __reduce__(self) -> tuple[Any, ...]:
        """Models travel as the path of their module, their backend and their parameters."""
        return self._origin.load, (self._origin.path, self.backend, self._origin.checksum, self.parameters)

    def with_parameters(self, **changes: Any) -> "GeneratedModel":
        """The same robot with some fields of ``Parameters`` replaced.

        Raises:
            ParameterError: an unknown field, or a value that makes no sense.
        """
        parameters = changed(self.parameters, len(self.joint_names), len(self.bodies), changes)
        return self._with(parameters)

    def _with(self, parameters: Parameters) -> "GeneratedModel":
        return GeneratedModel(self._metadata, self._make_kernel, self._origin, parameters)

    def with_urdf_friction(self) -> "GeneratedModel":
        """The same robot with the URDF's damping and friction switched on."""
        return self.with_parameters(
            viscous=[joint.damping for joint in self.joints],
            coulomb=[joint.friction for joint in self.joints],
        )

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
        [Malvezzi2017] eq. (19).

        Args:
            q, qd, qdd: position [rad or m], velocity and acceleration of each joint, (n,) or (N, n).
            out: array for the result.
            wrench, frame: what the environment exerts on the tip, as in ``external_effort``.

        Raises:
            ShapeError, BatchError, NonFiniteError: naming the argument.
            ParameterError: another frame than "tip" and "root".
        """
        effort = None if wrench is None else self.external_effort(q, wrench, frame=frame)
        tau = self._rigid(q, qd, qdd, out)
        if self._has_friction:
            tau += self.friction(qd)
        if effort is not None:
            tau -= effort
        return tau

    def mass_matrix(self, q: ArrayLike, out: Array | None = None) -> Array:
        """M(q) [kg m^2, kg m, kg], (n, n) or (N, n, n), symmetric; rotor inertia on its diagonal.

        Args:
            q: position of each joint [rad or m], (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
        """
        return self._kernel.mass_matrix(q, out)

    def inverse_mass_matrix(self, q: ArrayLike, out: Array | None = None) -> Array:
        """M(q)^-1 [1/(kg m^2), 1/(kg m), 1/kg], (n, n) or (N, n, n): also d qdd / d tau.

        Args:
            q: position of each joint [rad or m], (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
            SingularMassMatrixError: naming the joints whose acceleration nothing resists.
        """
        return self._kernel.inverse_mass_matrix(q, out)

    def bias(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        """V(q, qd) [N m or N], (n,) or (N, n): Coriolis, centrifugal, gravity and friction efforts.

        Args:
            q, qd: position [rad or m] and velocity of each joint, (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, BatchError, NonFiniteError: naming the argument.
        """
        bias = self._kernel.bias(q, qd, out)
        if self._has_friction:
            bias += self.friction(qd)
        return bias

    def gravity(self, q: ArrayLike, out: Array | None = None) -> Array:
        """g(q) [N m or N], (n,) or (N, n): the efforts that hold the arm at rest against gravity.

        Args:
            q: position of each joint [rad or m], (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
        """
        return self._kernel.gravity(q, out)

    def coriolis(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        """The matrix C(q, qd) of Christoffel symbols, (n, n) or (N, n, n): V = C qd + g + friction.

        d M / d t - 2 C is skew-symmetric.

        Args:
            q, qd: position [rad or m] and velocity of each joint, (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, BatchError, NonFiniteError: naming the argument.
        """
        return self._kernel.coriolis(q, qd, out)

    def friction(self, qd: ArrayLike, out: Array | None = None) -> Array:
        """viscous * qd + coulomb * tanh(qd / coulomb_velocity) [N m or N], (n,) or (N, n).

        Args:
            qd: velocity of each joint [rad/s or m/s], (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
        """
        return self._kernel.friction(qd, out)

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
        if not self._has_friction and wrench is None:
            return self._kernel.forward_dynamics(q, qd, tau, out)
        others = -self.friction(qd)
        if wrench is not None:
            others = others + self.external_effort(q, wrench, frame=frame)
        (effort,) = checked_arrays(len(self.joint_names), tau=tau)
        if effort.shape != others.shape:  # NumPy would stretch it
            raise BatchError("tau", effort.shape, others.shape)
        return self._kernel.forward_dynamics(q, qd, effort + others, out)

    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, out: Array | None = None) -> Array:
        """Y, (n, 10 bodies) or (N, n, 10 bodies): tau = Y @ inertial_parameters, rotors and friction apart.

        Args:
            q, qd, qdd: position [rad or m], velocity and acceleration of each joint, (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, BatchError, NonFiniteError: naming the argument.
        """
        return self._kernel.regressor(q, qd, qdd, out)

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
        if wrench is None:
            return self._kernel.reaction_wrenches(q, qd, qdd, out)
        supplied = self._kernel.external_wrenches(q, self._in_tip_axes(q, wrench, frame))
        found = self._kernel.reaction_wrenches(q, qd, qdd, out)
        found -= supplied
        return found

    def tip_pose(self, q: ArrayLike, out: Array | None = None) -> Array:
        """Homogeneous transform of the tip in the root link's frame [m], (4, 4) or (N, 4, 4).

        Args:
            q: position of each joint [rad or m], (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
        """
        return self._kernel.tip_pose(q, out)

    def tip_jacobian(self, q: ArrayLike, out: Array | None = None) -> Array:
        """J, (6, n) or (N, 6, n): J qd is the tip's angular, then linear velocity in the root link's axes.

        Args:
            q: position of each joint [rad or m], (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
        """
        return self._kernel.tip_jacobian(q, out)

    def tip_velocity(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        """The tip's angular [rad/s], then linear velocity [m/s] in the root link's axes, (6,) or (N, 6).

        Args:
            q, qd: position [rad or m] and velocity of each joint, (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, BatchError, NonFiniteError: naming the argument.
        """
        return self._kernel.tip_velocity(q, qd, out)

    def center_of_mass(self, q: ArrayLike, out: Array | None = None) -> Array:
        """Centre of mass of all that moves, payload included, in the root link's frame [m], (3,) or (N, 3).

        Args:
            q: position of each joint [rad or m], (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
            NoMassError: nothing that moves has mass.
        """
        return self._of_mass(self._kernel.center_of_mass)(q, out)

    def center_of_mass_jacobian(self, q: ArrayLike, out: Array | None = None) -> Array:
        """(3, n) or (N, 3, n): times qd, the velocity of the centre of mass in the root link's axes.

        Args:
            q: position of each joint [rad or m], (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
            NoMassError: nothing that moves has mass.
        """
        return self._of_mass(self._kernel.center_of_mass_jacobian)(q, out)

    def center_of_mass_velocity(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        """Velocity of the centre of mass in the root link's axes [m/s], (3,) or (N, 3).

        Args:
            q, qd: position [rad or m] and velocity of each joint, (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, BatchError, NonFiniteError: naming the argument.
            NoMassError: nothing that moves has mass.
        """
        return self._of_mass(self._kernel.center_of_mass_velocity)(q, qd, out)

    def momentum(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        """p = M qd, then C^T qd - g, (2, n) or (N, 2, n): p' = C^T qd - g + tau - friction + J^T w.

        Args:
            q, qd: position [rad or m] and velocity of each joint, (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, BatchError, NonFiniteError: naming the argument.
        """
        return self._kernel.momentum(q, qd, out)

    def _of_mass(self, function: Callable[..., Array]) -> Callable[..., Array]:
        """The function, which divides by the mass. Raises ``NoMassError``."""
        if not self._has_mass:
            raise NoMassError
        return function

    def terms(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Terms:
        """``inverse_dynamics`` term by term; each (n,) or (N, n) [N m or N]."""
        gravity = self.gravity(q)
        inertia = self._rigid(q, np.zeros_like(gravity), qdd) - gravity
        coriolis = self._kernel.bias(q, qd) - gravity
        return Terms(inertia, coriolis, gravity, self.friction(qd))

    def energy(self, q: ArrayLike, qd: ArrayLike) -> Energy:
        """Kinetic and potential energy [J], rotors included; potential is zero at the root link's origin."""
        both = self._kernel.energy(q, qd)
        rotors = np.square(np.asarray(qd, dtype=float)) @ np.array(self.parameters.rotor_inertia) / 2
        return Energy(both[..., 0] + rotors, both[..., 1])

    def inverse_dynamics_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        wrench: ArrayLike | None = None,
        frame: WrenchFrame = "tip",
    ) -> tuple[Array, Array]:
        """d tau / d q and d tau / d qd, each (n, n) or (N, n, n), friction included.

        A ``wrench`` on the tip is constant in the axes of ``frame``, see ``external_effort``.
        """
        both = self._kernel.inverse_dynamics_derivatives(q, qd, qdd)
        by_q, by_qd = both[..., 0, :, :], both[..., 1, :, :]
        if wrench is not None:
            by_q = by_q - self.external_effort_derivatives(q, wrench, frame=frame)
        return by_q, by_qd + self._friction_slope(np.asarray(qd, dtype=float))

    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        wrench: ArrayLike | None = None,
        frame: WrenchFrame = "tip",
    ) -> tuple[Array, Array]:
        """d qdd / d q and d qdd / d qd at fixed tau, friction included; d qdd / d tau is M^-1.

        Each (n, n) or (N, n, n). A ``wrench`` on the tip is constant in the axes of ``frame``, see
        ``external_effort``.
        """
        effort: Any = tau
        if self._has_friction or wrench is not None:
            others = -self.friction(qd)
            if wrench is not None:
                others = others + self.external_effort(q, wrench, frame=frame)
            (effort,) = checked_arrays(len(self.joint_names), tau=tau)
            if effort.shape != others.shape:  # NumPy would stretch it
                raise BatchError("tau", effort.shape, others.shape)
            effort = effort + others
        all_three = self._kernel.forward_dynamics_derivatives(q, qd, effort)
        by_q, by_qd, inverse = (all_three[..., k, :, :] for k in range(3))
        if wrench is not None:
            by_q = by_q + inverse @ self.external_effort_derivatives(q, wrench, frame=frame)
        if self._has_friction:
            by_qd = by_qd - inverse @ self._friction_slope(np.asarray(qd, dtype=float))
        return by_q, by_qd

    def _of_frame(self, function: str, frame: str) -> Callable[..., Array]:
        """The kernel's function of a wrench in tip or root axes."""
        if frame not in WRENCH_FRAMES:
            raise ParameterError("frame", frame, " or ".join(WRENCH_FRAMES))
        chosen: Callable[..., Array] = getattr(self._kernel, function.format(WRENCH_FRAMES[frame]))
        return chosen

    def _in_tip_axes(self, q: ArrayLike, wrench: ArrayLike, frame: str) -> Array:
        """A wrench (6,) or (N, 6) given in the axes of ``frame``, in those of the tip."""
        self._of_frame("external_effort{}", frame)
        given: Array = np.asarray(wrench)
        if frame == "tip":
            return given
        pose = self.tip_pose(q)
        (given,) = checked_arrays(len(self.joint_names), wrench=given)
        if given.shape[:-1] != pose.shape[:-2]:
            raise BatchError("wrench", given.shape, (*pose.shape[:-2], 6))
        R_RT = pose[..., :3, :3]
        parts = given.reshape(
            *given.shape[:-1], 2, 3
        )  # force, torque: rows, so that R_RT^T acts from the right
        return np.asarray((parts @ R_RT).reshape(given.shape), dtype=np.float64)

    def _friction_slope(self, qd: Array) -> Array:
        """d friction / d qd, diagonal."""
        p = self.parameters
        smooth = 1.0 - np.tanh(qd / p.coulomb_velocity) ** 2
        slope = np.multiply(p.coulomb, smooth) / p.coulomb_velocity + p.viscous
        return np.asarray(slope[..., None] * np.eye(len(self.joint_names)), dtype=np.float64)

    def external_effort(self, q: ArrayLike, wrench: ArrayLike, *, frame: WrenchFrame = "tip") -> Array:
        """J^T w, (n,) or (N, n) [N m or N]: what a wrench on the tip adds to tau in M qdd + V = tau + J^T w.

        ``wrench`` (6,) or (N, 6) is the force [N], then the torque about the tip's origin [N m], that the
        environment exerts on the arm, in the axes of ``frame``: "tip" or "root".

        Raises:
            ShapeError, BatchError, NonFiniteError: naming the argument. ParameterError: another frame.
        """
        return self._of_frame("external_effort{}", frame)(q, wrench)

    def external_effort_derivatives(
        self, q: ArrayLike, wrench: ArrayLike, *, frame: WrenchFrame = "tip"
    ) -> Array:
        """d (J^T w) / d q, (n, n) or (N, n, n), of a wrench that is constant in the axes of ``frame``."""
        return self._of_frame("external_effort{}_derivatives", frame)(q, wrench)

    @property
    def c_addresses(self) -> tuple[int, int, int] | None:
        """See ``interface.DynamicsModel``."""
        if self.backend != "c":
            return None
        mass_matrix, bias, prepared = self._kernel.addresses()
        return int(mass_matrix), int(bias), int(prepared)

    @property
    def inertial_parameters(self) -> Array:
        """pi, (10 bodies,): tau = regressor @ pi, rotors and friction excluded; payload included.

        For each body m, h_x, h_y, h_z, J_xx, J_xy, J_xz, J_yy, J_yz, J_zz about its link frame's origin.
        """
        return self._metadata.inertial_parameters(self.parameters)

    def base_parameters(self) -> BaseParameters:
        """The combinations of inertial parameters that torques can tell apart, and the map to them."""
        return find_base_parameters(self.regressor, len(self.joint_names))


# The compiled functions that may stand for the methods of the same name, and when.
ALWAYS_DIRECT = (
    "mass_matrix",
    "inverse_mass_matrix",
    "gravity",
    "coriolis",
    "friction",
    "regressor",
    "reaction_wrenches",
    "tip_pose",
    "tip_jacobian",
    "tip_velocity",
    "momentum",
)
DIRECT_WITH_MASS = ("center_of_mass", "center_of_mass_jacobian", "center_of_mass_velocity")
DIRECT_WITHOUT_FRICTION = ("bias", "forward_dynamics")
SHOWN = {"inverse_dynamics_with": "inverse_dynamics"}  # compiled functions known by another name


def documents() -> dict[str, tuple[str, str]]:
    """For each compiled function the name and the docstring that ``help`` shows, with its signature."""
    found = {}
    direct = (*ALWAYS_DIRECT, *DIRECT_WITH_MASS, *DIRECT_WITHOUT_FRICTION, "inverse_dynamics")
    for name in (*direct, *SHOWN):
        shown = SHOWN.get(name, name)
        method = getattr(GeneratedModel, shown)
        bare = [p.replace(annotation=p.empty) for p in inspect.signature(method).parameters.values()]
        signature = str(inspect.Signature(bare)).replace("(self", "($self", 1)
        found[name] = (shown, f"{shown}{signature}\n--\n\n{inspect.getdoc(method)}")
    return found
