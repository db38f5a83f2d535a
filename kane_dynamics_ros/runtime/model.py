"""A ``DynamicsModel`` from a generated module, whichever way its functions are evaluated."""

import inspect
import math
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics_ros.errors import BatchError, NonFiniteError, ShapeError
from kane_dynamics_ros.runtime.base_parameters import find_base_parameters
from kane_dynamics_ros.runtime.errors import NoMassError, ParameterError
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
from kane_dynamics_ros.runtime.metadata import ModelMetadata, Origin, packed

# Checks of run-time parameters and of arrays, in Python.


TRIANGLE = 1e-9  # relative slack of the triangle inequality, for rounded input


WIDTHS = {"wrench": 6}  # of the arguments that do not have one value a joint


def checked_arrays(n: int, **arrays: ArrayLike) -> list[Array]:
    """The arguments as float64 arrays, all (n,) or all (N, n), a wrench (6,) or (N, 6); all finite.

    Raises:
        ShapeError, BatchError, NonFiniteError: naming the argument. TypeError: no real numbers.
    """
    checked: list[Array] = []
    for name, value in arrays.items():
        array = np.asarray(value)
        if not np.can_cast(array.dtype, np.float64, "safe"):
            raise TypeError(f"{name}: cannot take dtype {array.dtype} as float64")
        array = array.astype(np.float64, copy=False)
        width = WIDTHS.get(name, n)
        if array.ndim not in (1, 2) or array.shape[-1] != width:
            raise ShapeError(name, array.shape, width)
        if checked and array.shape[:-1] != checked[0].shape[:-1]:
            raise BatchError(name, array.shape, (*checked[0].shape[:-1], width))
        if not np.isfinite(array).all():
            raise NonFiniteError(name)
        checked.append(array)
    return checked


def changed(parameters: Parameters, n: int, bodies: int, changes: dict[str, Any]) -> Parameters:
    """``parameters`` with some fields replaced, every value checked.

    Raises:
        ParameterError: an unknown name, or a value that makes no sense.
    """
    known = ("gravity", "rotor_inertia", "viscous", "coulomb", "coulomb_velocity", "payload", "inertial")
    fields: dict[str, Any] = {}
    for name, value in changes.items():
        if name not in known or (name == "inertial" and parameters.inertial is None):
            allowed = [k for k in known if k != "inertial" or parameters.inertial is not None]
            raise ParameterError(name, value, f"the parameters are {', '.join(allowed)}")
        if name == "gravity":
            fields[name] = _numbers(name, value, 3)
        elif name in ("rotor_inertia", "viscous", "coulomb"):
            fields[name] = _numbers(name, value, n, least=0.0)
        elif name == "coulomb_velocity":
            fields[name] = _positive(name, value)
        elif name == "inertial":
            fields[name] = _numbers(name, value, 10 * bodies)
        else:
            fields[name] = checked_payload(value)
    return replace(parameters, **fields)


def checked_payload(value: Any) -> Payload:
    """A payload whose numbers are finite and whose inertia a body can have.

    Raises:
        ParameterError: naming the part that is wrong.
    """
    if not isinstance(value, Payload):
        raise ParameterError("payload", value, "a Payload")
    mass = _numbers("payload.mass", [value.mass], 1, least=0.0)[0]
    com = _numbers("payload.com", value.com, 3)
    inertia = _numbers("payload.inertia", value.inertia, 6)
    xx, xy, xz, yy, yz, zz = inertia
    moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    slack = TRIANGLE * max(abs(moments))
    if moments[0] < -slack or moments[0] + moments[1] < moments[2] - slack:
        raise ParameterError(
            "payload.inertia",
            inertia,
            "principal moments that are not negative and of which no one exceeds the sum of the others",
        )
    if mass == 0.0 and any(inertia):
        raise ParameterError("payload.inertia", inertia, "zero when payload.mass is zero")
    return Payload(mass, (com[0], com[1], com[2]), (xx, xy, xz, yy, yz, zz))


def _numbers(name: str, value: Any, size: int, least: float = -math.inf) -> tuple[float, ...]:
    allowed = f"{size} finite number{'s' if size > 1 else ''}" + (
        f" >= {least:g}" if least > -math.inf else ""
    )
    try:
        array = np.asarray(value)
    except ValueError:  # rows of several lengths
        raise ParameterError(name, value, allowed) from None
    real = array.shape == (size,) and np.can_cast(array.dtype, np.float64, "safe")
    if not real or not all(math.isfinite(x) and x >= least for x in array):
        raise ParameterError(name, value, allowed)
    return tuple(float(x) for x in array)


def _positive(name: str, value: Any) -> float:
    number = _numbers(name, [value], 1)[0]
    if number <= 0.0:
        raise ParameterError(name, value, "a finite number > 0")
    return number


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
