"""A ``DynamicsModel`` from a generated module, whichever way its functions are evaluated."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics_ros.errors import BatchError, NonFiniteError, ShapeError
from kane_dynamics_ros.runtime.base_parameters import BaseParameters, find_base_parameters
from kane_dynamics_ros.runtime.errors import NoMassError, ParameterError
from kane_dynamics_ros.runtime.interface import (
    Array,
    Energy,
    JointInfo,
    Parameters,
    Payload,
    Terms,
    WrenchFrame,
)
from kane_dynamics_ros.runtime.metadata import Facts, packed

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


# A ``DynamicsModel`` from a generated module, whichever way its functions are evaluated.


Evaluator = Callable[..., Array]
WRENCH_FRAMES = {"tip": "", "root": "_in_root"}  # and the suffix of the generated functions
MakeKernel = Callable[[Sequence[float]], Any]


class GeneratedModel:
    """A robot's dynamics with one set of parameters; see ``interface.DynamicsModel``.

    Every evaluator takes, as a last argument at will, a float64 array for the result: then nothing is
    allocated. The kernel evaluates generated functions without friction; friction is added here where it
    is on. The functions that a control loop calls are the kernel's own methods, without a layer between.
    """

    def __init__(self, facts: Facts, make_kernel: MakeKernel, backend: str, parameters: Parameters) -> None:
        self._facts, self._make_kernel = facts, make_kernel
        self.name: str = facts.model["name"]
        self.joint_names = facts.joint_names
        self.joints: tuple[JointInfo, ...] = facts.joints
        self.bodies = facts.bodies
        self.root: str = facts.model["root"]
        self.tip: str = facts.model["tip"]
        self.locked: dict[str, float] = dict(facts.model["locked"])
        self.urdf_hash: str = facts.model["urdf_hash"]
        self.backend = backend
        self.parameters = parameters
        kernel = self._kernel = make_kernel(packed(parameters))
        plain = parameters == facts.default_parameters()
        rubs = any(parameters.viscous) or any(parameters.coulomb)
        self._rigid: Evaluator = kernel.inverse_dynamics if plain else kernel.inverse_dynamics_with
        self.inverse_dynamics: Evaluator = self._inverse_dynamics_rubbing if rubs else self._rigid
        self.bias: Evaluator = self._bias_rubbing if rubs else kernel.bias
        self.forward_dynamics: Evaluator = self._forward_dynamics_rubbing if rubs else kernel.forward_dynamics
        self.mass_matrix: Evaluator = kernel.mass_matrix
        self.gravity: Evaluator = kernel.gravity
        self.coriolis: Evaluator = kernel.coriolis
        self.friction: Evaluator = kernel.friction
        self.regressor: Evaluator = kernel.regressor
        self.reaction_wrenches: Evaluator = kernel.reaction_wrenches
        self.tip_pose: Evaluator = kernel.tip_pose
        self.tip_jacobian: Evaluator = kernel.tip_jacobian
        self.tip_velocity: Evaluator = kernel.tip_velocity
        self.momentum: Evaluator = kernel.momentum
        weighs = facts.total_mass(parameters) != 0.0
        self.center_of_mass: Evaluator = kernel.center_of_mass if weighs else _no_center
        self.center_of_mass_jacobian: Evaluator = kernel.center_of_mass_jacobian if weighs else _no_center
        self.center_of_mass_velocity: Evaluator = kernel.center_of_mass_velocity if weighs else _no_center

    def with_parameters(self, **changes: Any) -> "GeneratedModel":
        """The same robot with some fields of ``Parameters`` replaced.

        Raises:
            ParameterError: an unknown field, or a value that makes no sense.
        """
        parameters = changed(self.parameters, len(self.joint_names), len(self.bodies), changes)
        return GeneratedModel(self._facts, self._make_kernel, self.backend, parameters)

    def with_urdf_friction(self) -> "GeneratedModel":
        """The same robot with the URDF's damping and friction switched on."""
        return self.with_parameters(
            viscous=[joint.damping for joint in self.joints],
            coulomb=[joint.friction for joint in self.joints],
        )

    def _inverse_dynamics_rubbing(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *out: Array) -> Array:
        tau = self._rigid(q, qd, qdd, *out)
        tau += self.friction(qd)
        return tau

    def _bias_rubbing(self, q: ArrayLike, qd: ArrayLike, *out: Array) -> Array:
        bias: Array = self._kernel.bias(q, qd, *out)
        bias += self.friction(qd)
        return bias

    def _forward_dynamics_rubbing(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, *out: Array) -> Array:
        rub = self.friction(qd)
        (effort,) = checked_arrays(len(self.joint_names), tau=tau)
        if effort.shape != rub.shape:  # NumPy would stretch it
            raise BatchError("tau", effort.shape, rub.shape)
        qdd: Array = self._kernel.forward_dynamics(q, qd, effort - rub, *out)
        return qdd

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
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike
    ) -> tuple[Array, Array]:
        """d tau / d q and d tau / d qd, each (n, n) or (N, n, n), friction included."""
        both = self._kernel.inverse_dynamics_derivatives(q, qd, qdd)
        by_q, by_qd = both[..., 0, :, :], both[..., 1, :, :]
        return by_q, by_qd + self._friction_slope(np.asarray(qd, dtype=float))

    def forward_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike
    ) -> tuple[Array, Array]:
        """d qdd / d q and d qdd / d qd at fixed tau: -M^-1 times those of inverse dynamics."""
        qdd = self.forward_dynamics(q, qd, tau)
        M = self.mass_matrix(q)
        by_q, by_qd = self.inverse_dynamics_derivatives(q, qd, qdd)
        return _minus_solved(M, by_q), _minus_solved(M, by_qd)

    def _of_frame(self, function: str, frame: str) -> Evaluator:
        """The kernel's function of a wrench in tip or root axes."""
        if frame not in WRENCH_FRAMES:
            raise ParameterError("frame", frame, " or ".join(WRENCH_FRAMES))
        evaluator: Evaluator = getattr(self._kernel, function.format(WRENCH_FRAMES[frame]))
        return evaluator

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
        effort: Array = self._of_frame("external_effort{}", frame)(q, wrench)
        return effort

    def external_effort_derivatives(
        self, q: ArrayLike, wrench: ArrayLike, *, frame: WrenchFrame = "tip"
    ) -> Array:
        """d (J^T w) / d q, (n, n) or (N, n, n), of a wrench that is constant in the axes of ``frame``."""
        slope: Array = self._of_frame("external_effort{}_derivatives", frame)(q, wrench)
        return slope

    @property
    def c_addresses(self) -> tuple[int, int, int] | None:
        """See ``interface.DynamicsModel``."""
        addresses: tuple[int, int, int] | None = self._kernel.addresses() if self.backend == "c" else None
        return addresses

    @property
    def inertial_parameters(self) -> Array:
        """pi, (10 bodies,): tau = regressor @ pi, rotors and friction excluded; payload included.

        For each body m, h_x, h_y, h_z, J_xx, J_xy, J_xz, J_yy, J_yz, J_zz about its link frame's origin.
        """
        return self._facts.inertial_parameters(self.parameters)

    def base_parameters(self) -> BaseParameters:
        """The combinations of inertial parameters that torques can tell apart, and the map to them."""
        return find_base_parameters(self.regressor, len(self.joint_names))


def _no_center(*arguments: Any) -> Array:
    """In place of what a division by the mass would make NaN. Raises ``NoMassError``."""
    raise NoMassError


def _minus_solved(M: Array, columns: Array) -> Array:
    return np.asarray(-np.linalg.solve(M, columns), dtype=np.float64)
