"""``DynamicsModel``: what a robot's model is asked, what it takes and returns, and how it answers."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.errors import KaneDynamicsError, batch_error, singular_mass_matrix
from kane_dynamics_ros.runtime.parameters import (
    FRICTION,
    BaseParameters,
    Parameters,
    Payload,
    changed,
    find_base_parameters,
    known_tip,
    packed,
    wrong_parameter,
)
from kane_dynamics_ros.runtime.python_kernel import checked_arrays, copied_into

WrenchFrame = Literal["tip", "root"]  # whose axes a wrench at the tip's origin is given in
WRENCH_FRAMES = {"tip": "", "root": "_in_root"}  # and the suffix of the generated functions
Wrench = ArrayLike | Mapping[str, ArrayLike]  # at the first tip, or by tip


class JointInfo(NamedTuple):
    """What the URDF says of one joint; ``None`` where it says nothing.

    >>> from kane_dynamics_ros.runtime import load_model
    >>> elbow = load_model("manipulator_5dof").joints[1]
    >>> elbow.name, elbow.kind, elbow.upper, elbow.effort
    ('alpha_2', 'revolute', 3.9, 300.0)

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

    @property
    def unit(self) -> str:
        """Of its position: "rad" or "m"."""
        return "m" if self.kind == "prismatic" else "rad"

    @property
    def effort_unit(self) -> str:
        """Of its effort: "N m" or "N"."""
        return "N" if self.kind == "prismatic" else "N m"


def initial_positions(joints: Sequence[JointInfo]) -> Array:
    """Where the arm starts (n,) [rad or m]: where the URDF's ``<ros2_control>`` puts it.

    >>> from kane_dynamics_ros.runtime import load_model
    >>> print(initial_positions(load_model("manipulator_5dof").joints))
    [ 0. 0.9 -1.2 0.3 0.5]

    Where that says nothing, 0, or the limit that is nearest to it.
    """
    return np.array([_initial_position(joint) for joint in joints], dtype=float)


def _initial_position(joint: JointInfo) -> float:
    if joint.initial_position is not None:
        return joint.initial_position
    at_least = 0.0 if joint.lower is None else max(joint.lower, 0.0)
    return at_least if joint.upper is None else min(joint.upper, at_least)


class Terms(NamedTuple):
    """The parts of a joint torque; they add up to ``inverse_dynamics``. Each (n,) or (N, n).

    >>> from kane_dynamics_ros.runtime import load_model
    >>> model, ones = load_model("manipulator_5dof"), np.ones(5)
    >>> np.allclose(sum(model.terms(ones, ones, ones)), model.inverse_dynamics(ones, ones, ones))
    True
    """

    inertia: Array
    coriolis: Array
    gravity: Array
    friction: Array


class Energy(NamedTuple):
    """Kinetic and potential energy [J]; scalars, or (N,) for a batch."""

    kinetic: Any
    potential: Any


class ModelError(KaneDynamicsError):
    """A module that cannot be loaded, or a model that has no answer.

    >>> from kane_dynamics_ros.runtime import load_model
    >>> try:
    ...     load_model("no_such_robot")
    ... except ModelError as error:
    ...     print(error.code)
    not_found

    Codes: ``not_found``, ``xml`` (a URDF as a rule), ``not_generated``, ``changed``, ``other_version``,
    ``untrusted``, ``replaced`` (since the model was pickled), ``backend``, ``no_mass`` (a centre of mass of
    nothing).
    """


class Kernel(Protocol):
    """The generated functions with prepared parameters, compiled or in Python; friction is apart.

    Each takes its arrays in order and, last, the array for the result or ``None``.
    """

    def __getattr__(self, name: str) -> Callable[..., Array]: ...


class GeneratedModule(NamedTuple):
    """A generated NAME.py whose text fits its checksum."""

    path: Path
    text: str
    checksum: str
    facts: Mapping[str, Any]  # its ``MODEL``


class Source(NamedTuple):
    """What a model was loaded from and what evaluates it: the same at all parameters."""

    module: GeneratedModule
    backend: str  # "c" or "python"
    make_kernel: Callable[[Sequence[float]], Kernel]  # of packed parameters; the compiled type for "c"
    load: Callable[..., DynamicsModel]  # (path, backend, checksum, parameters), in another process
    address: Callable[[str], int] | None = None  # of a C function


class DynamicsModel:
    """A robot's dynamics with one set of parameters, from a generated module.

    >>> from kane_dynamics_ros.runtime import load_model
    >>> model = load_model("manipulator_5dof")
    >>> q, qd, qdd = [0.1, 0.5, 0.3, 0.2, 0.3], [0.2] * 5, [0.0] * 5
    >>> print(model.inverse_dynamics(q, qd, qdd)[:3].round(2))
    [-0.65 64.57 17.22]
    >>> model.mass_matrix(np.zeros((100, 5))).shape  # 100 states at once
    (100, 5, 5)
    >>> print(model.tip_pose(q)[:3, 3].round(3))
    [-0.157 1.566 1.197]
    >>> loaded = model.with_parameters(payload=Payload(2.0, (0.0, 0.0, 0.1)))
    >>> print((loaded.gravity(q) - model.gravity(q))[1:3].round(2))
    [29.51 12.29]

    Immutable: ``with_parameters`` returns another model.

    ``q``, ``qd``, ``qdd``, ``tau`` are float64 of shape (n,), or (N, n) for N states at once; results follow.
    Angles rad, lengths m, efforts N m (revolute) or N (prismatic), positive along the joint's axis, as the
    actuator must supply them; order as in ``joint_names``. Where a method has ``out``, the result is written
    there and nothing is allocated: a writable float64 array in C order, of the result's shape, that overlaps
    no input.

    Every evaluation raises ``ShapeError`` or ``NonFiniteError``, which name the argument, and ``TypeError``
    for what is no array of real numbers. A result that is not finite, because arguments or parameters are too
    large to compute with, raises ``NonFiniteError`` of the name "result".

    Attributes:
        name: the module's.
        joint_names: of the independent joints, root to tip.
        joints: what the URDF says of each; ``followers``: of the joints that follow by loops.
        bodies: the links that the joints move, each after the one that carries it.
        tip_body: the index of the body that the tip is fixed in.
        root, tip: links; ``tips``: all to which the chain leads, the tip first.
        locked: joints held at a position [rad or m] when the module was generated.
        backend: "c" or "python".
        parameters: see ``Parameters``; ``coupling``: of its drives, (n, n), or None.
        urdf_hash: physics hash of the chain that the module was generated from.
        source: the module that the model was loaded from, and what evaluates it.
    """

    def __init__(self, values: Sequence[float], parameters: Parameters, source: Source) -> None:
        """``values`` are the packed ``parameters``; ``model_at`` makes models."""
        facts = source.module.facts
        self.source, self._kernel = source, source.make_kernel(values)
        self.name: str = facts["name"]
        self.joint_names: tuple[str, ...] = tuple(facts["joint_names"])
        self.joints = tuple(JointInfo(*joint) for joint in facts["joints"])
        self.followers = tuple(JointInfo(*joint) for joint in facts.get("followers", ()))
        self.bodies: tuple[str, ...] = tuple(facts["bodies"])
        self.tip_body: int = facts["tip_body"]
        self.root: str = facts["root"]
        self.tips: tuple[str, ...] = tuple(facts["tips"])
        self.tip: str = self.tips[0]
        self.locked: Mapping[str, float] = dict(facts["locked"])
        self.urdf_hash: str = facts["urdf_hash"]
        self.backend = source.backend
        self.parameters = parameters
        self.coupling: Array | None = None
        self._has_friction = parameters.rub
        self._has_mass = has_mass(parameters, facts)

    def __repr__(self) -> str:
        return (
            f"<DynamicsModel {self.name!r}: joints {', '.join(self.joint_names)}; backend {self.backend!r}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Models travel as the path of their module, their backend and their parameters."""
        module, backend = self.source.module, self.source.backend
        return self.source.load, (module.path, backend, module.checksum, self.parameters)

    def with_parameters(self, **changes: Any) -> DynamicsModel:
        """A model of the robot with some fields of ``Parameters`` replaced.

        ``payload`` is a ``Payload`` at the first tip, or a mapping from tips to payloads; tips that it does
        not name keep theirs.

        Raises:
            ParameterError: an unknown field, or a value that makes no sense.
        """
        parameters = changed(self.parameters, self.joint_names, len(self.bodies), self.tips, changes)
        return model_at(parameters, self.source)

    def with_urdf_friction(self) -> DynamicsModel:
        """A model of the robot with the URDF's damping and friction switched on (off by default)."""
        return self.with_parameters(
            viscous=[joint.damping for joint in self.joints],
            coulomb=[joint.friction for joint in self.joints],
            follower_viscous=[joint.damping for joint in self.followers],
            follower_coulomb=[joint.friction for joint in self.followers],
        )

    def without_friction(self) -> DynamicsModel:
        """A model of the robot without joint friction."""
        return self.with_parameters(
            **{name: [0.0] * len(getattr(self.parameters, name)) for name in FRICTION}
        )

    # Inverse and forward dynamics, and their derivatives

    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        out: Array | None = None,
        *,
        wrench: Wrench | None = None,
        frame: WrenchFrame = "tip",
    ) -> Array:
        """tau = M(q) qdd + V(q, qd) - J^T w [N m or N], (n,) or (N, n): what causes the accelerations.

        Rotor inertia and payload are included, friction where its coefficients are not zero.
        [Malvezzi2017] eq. (4).

        Args:
            q, qd, qdd: position [rad or m], velocity and acceleration of each joint, (n,) or (N, n).
            out: array for the result.
            wrench, frame: what the environment exerts on the tips, as in ``external_effort``.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
            ParameterError: another frame than "tip" and "root".
        """
        effort = None if wrench is None else self.external_effort(q, wrench, frame=frame)
        tau = self._kernel.inverse_dynamics(q, qd, qdd, out)
        if self._has_friction:
            tau += self.friction(qd)
        if effort is not None:
            tau -= effort
        return tau

    def inverse_dynamics_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        wrench: Wrench | None = None,
        frame: WrenchFrame = "tip",
    ) -> tuple[Array, Array]:
        """d tau / d q and d tau / d qd, each (n, n) or (N, n, n), row i of effort i, friction included.

        d tau / d qdd is ``mass_matrix``.

        Args:
            q, qd, qdd: position [rad or m], velocity and acceleration of each joint, (n,) or (N, n).
            wrench, frame: as in ``external_effort``; the wrench is constant in the axes of ``frame``.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
            ParameterError: another frame than "tip" and "root".
        """
        both = self._kernel.inverse_dynamics_derivatives(q, qd, qdd)
        by_q, by_qd = both[..., 0, :, :], both[..., 1, :, :]
        if wrench is not None:
            by_q = by_q - self.external_effort_derivatives(q, wrench, frame=frame)
        return by_q, by_qd + self._friction_slope(np.asarray(qd, dtype=float))

    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        out: Array | None = None,
        *,
        wrench: Wrench | None = None,
        frame: WrenchFrame = "tip",
    ) -> Array:
        """qdd [rad/s^2 or m/s^2], (n,) or (N, n): the accelerations that the efforts cause.

        Args:
            q, qd, tau: position [rad or m], velocity and effort [N m or N] of each joint, (n,) or (N, n).
            out: array for the result.
            wrench, frame: what the environment exerts on the tips, as in ``external_effort``.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
            ParameterError: another frame than "tip" and "root".
            SingularMassMatrixError: naming the joints whose acceleration nothing resists.
        """
        return self._kernel.forward_dynamics(q, qd, self._rigid_effort(q, qd, tau, wrench, frame), out)

    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        wrench: Wrench | None = None,
        frame: WrenchFrame = "tip",
    ) -> tuple[Array, Array]:
        """d qdd / d q and d qdd / d qd at fixed tau, each (n, n) or (N, n, n), friction included.

        d qdd / d tau is ``inverse_mass_matrix``.

        Args:
            q, qd, tau: position [rad or m], velocity and effort [N m or N] of each joint, (n,) or (N, n).
            wrench, frame: as in ``external_effort``; the wrench is constant in the axes of ``frame``.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
            ParameterError: another frame than "tip" and "root".
            SingularMassMatrixError: naming the joints whose acceleration nothing resists.
        """
        effort = self._rigid_effort(q, qd, tau, wrench, frame)
        all_three = self._kernel.forward_dynamics_derivatives(q, qd, effort)
        by_q, by_qd, inverse = (all_three[..., k, :, :] for k in range(3))
        if wrench is not None:
            by_q = by_q + inverse @ self.external_effort_derivatives(q, wrench, frame=frame)
        if self._has_friction:
            by_qd = by_qd - inverse @ self._friction_slope(np.asarray(qd, dtype=float))
        return by_q, by_qd

    # Parts of the equations of motion

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
            ShapeError, NonFiniteError: naming the argument.
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
            ShapeError, NonFiniteError: naming the argument.
        """
        return self._kernel.coriolis(q, qd, out)

    def friction(self, qd: ArrayLike, out: Array | None = None) -> Array:
        """viscous * qd + coulomb * tanh(qd / coulomb_velocity) [N m or N], (n,) or (N, n).

        That of ``joints`` alone; joints that follow by loops rub too, see ``friction_at``.

        Args:
            qd: velocity of each joint [rad/s or m/s], (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
        """
        return self._kernel.friction(qd, out)

    def friction_at(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Friction efforts [N m or N], (n,) or (N, n), with what joints that follow by loops bring.

        By virtual power, J^T of their own friction with qd_follower = J(q) qd. Arguments and errors as of
        ``bias``.
        """
        own = self.friction(qd)
        p = self.parameters
        if not any((*p.follower_viscous, *p.follower_coulomb)):
            return own
        C_qd = np.einsum("...ij,...j->...i", self.coriolis(q, qd), np.asarray(qd, dtype=float))
        return np.asarray(own + self._kernel.bias(q, qd) - C_qd - self.gravity(q))

    def terms(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Terms:
        """``inverse_dynamics`` term by term; each (n,) or (N, n) [N m or N].

        Args:
            q, qd, qdd: position [rad or m], velocity and acceleration of each joint, (n,) or (N, n).

        Raises:
            ShapeError, NonFiniteError: naming the argument.
        """
        gravity = self.gravity(q)
        inertia = self._kernel.inverse_dynamics(q, np.zeros_like(gravity), qdd) - gravity
        friction = self.friction_at(q, qd)
        coriolis = self._kernel.bias(q, qd) - gravity - (friction - self.friction(qd))
        return Terms(inertia, coriolis, gravity, friction)

    def energy(self, q: ArrayLike, qd: ArrayLike) -> Energy:
        """Kinetic and potential energy [J], rotors included; potential is zero at the root link's origin.

        Args:
            q, qd: position [rad or m] and velocity of each joint, (n,) or (N, n).

        Raises:
            ShapeError, NonFiniteError: naming the argument.
        """
        both = self._kernel.energy(q, qd)
        rotors = np.square(np.asarray(qd, dtype=float)) @ np.array(self.parameters.rotor_inertia) / 2
        return Energy(both[..., 0] + rotors, both[..., 1])

    def momentum(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        """p = M qd, then C^T qd - g, (2, n) or (N, 2, n): p' = C^T qd - g + tau - friction + J^T w.

        What a momentum observer needs [DeLuca2005]; [N m s or N s], then [N m or N].

        Args:
            q, qd: position [rad or m] and velocity of each joint, (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
        """
        return self._kernel.momentum(q, qd, out)

    # Inertial parameters

    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, out: Array | None = None) -> Array:
        """Y, (n, 10 bodies) or (N, n, 10 bodies): tau = Y @ inertial_parameters, rotors and friction apart.

        Args:
            q, qd, qdd: position [rad or m], velocity and acceleration of each joint, (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
        """
        return self._kernel.regressor(q, qd, qdd, out)

    @property
    def inertial_parameters(self) -> Array:
        """pi, (10 bodies,): tau = regressor @ pi, rotors and friction excluded; payload included.

        For each body m [kg], h_x, h_y, h_z [kg m], J_xx, J_xy, J_xz, J_yy, J_yz, J_zz [kg m^2] about its link
        frame's origin.
        """
        facts, own = self.source.module.facts, self.parameters.inertial
        values = np.array(facts["inertial_parameters"] if own is None else own, dtype=float)
        for (body, *frame), payload in zip(facts["tip_frames"], self.parameters.payloads, strict=True):
            R, p = (np.array(part, dtype=float) for part in frame)
            xx, xy, xz, yy, yz, zz = payload.inertia
            c = p + R @ np.array(payload.com)
            J = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
            J += payload.mass * (c @ c * np.eye(3) - np.outer(c, c))
            if body >= 0:  # else the tip does not move
                own_ten = values[10 * body : 10 * body + 10]
                own_ten += [payload.mass, *(payload.mass * c), *J[np.triu_indices(3)]]
        return values

    def base_parameters(self) -> BaseParameters:
        """The combinations of inertial parameters that torques can tell apart, and the map to them."""
        return find_base_parameters(self.regressor, len(self.joint_names))

    # Joint reactions, and what the environment exerts on the tip

    def reaction_wrenches(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        out: Array | None = None,
        *,
        wrench: Wrench | None = None,
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
            ShapeError, NonFiniteError: naming the argument.
            ParameterError: another frame than "tip" and "root".
        """
        if wrench is None:
            return self._kernel.reaction_wrenches(q, qd, qdd, out)
        supplied = self._kernel.external_wrenches(q, self._in_tip_axes(q, wrench, frame))
        found = self._kernel.reaction_wrenches(q, qd, qdd, out)
        found -= supplied
        return found

    def external_effort(self, q: ArrayLike, wrench: Wrench, *, frame: WrenchFrame = "tip") -> Array:
        """J^T w, (n,) or (N, n) [N m or N]: what a wrench on the tip adds to tau in M qdd + V = tau + J^T w.

        E of [Hussain2016] eq. (6).

        Args:
            q: position of each joint [rad or m], (n,) or (N, n).
            wrench: the force [N], then the torque about the tip's origin [N m], that the environment exerts
                on the arm at the first tip, (6,) or (N, 6); a mapping from tips to such wrenches for others.
            frame: whose axes each wrench is given in, its "tip" or the "root".

        Raises:
            ShapeError, NonFiniteError: naming the argument.
            ParameterError: another frame than "tip" and "root", or an unknown tip.
        """
        return self._of_frame("external_effort{}", frame)(q, self._at_tips(q, wrench))

    def external_effort_derivatives(
        self, q: ArrayLike, wrench: Wrench, *, frame: WrenchFrame = "tip"
    ) -> Array:
        """d (J^T w) / d q, (n, n) or (N, n, n), of a wrench that is constant in the axes of ``frame``.

        Args:
            q, wrench, frame: as in ``external_effort``.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
            ParameterError: another frame than "tip" and "root".
        """
        return self._of_frame("external_effort{}_derivatives", frame)(q, self._at_tips(q, wrench))

    # Tip and centre of mass

    def tip_pose(self, q: ArrayLike, out: Array | None = None, *, tip: str | None = None) -> Array:
        """Homogeneous transform of the tip in the root link's frame [m], (4, 4) or (N, 4, 4).

        Args:
            q: position of each joint [rad or m], (n,) or (N, n).
            out: array for the result.
            tip: which of ``tips``; by default the first.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
            ParameterError: an unknown tip.
        """
        return self._of_tip("tip_pose", q, out, tip)

    def tip_jacobian(self, q: ArrayLike, out: Array | None = None, *, tip: str | None = None) -> Array:
        """J, (6, n) or (N, 6, n): J qd is the tip's angular, then linear velocity in the root link's axes.

        Args:
            q: position of each joint [rad or m], (n,) or (N, n).
            out: array for the result.
            tip: which of ``tips``; by default the first.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
            ParameterError: an unknown tip.
        """
        return self._of_tip("tip_jacobian", q, out, tip)

    def tip_velocity(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        """The tip's angular [rad/s], then linear velocity [m/s] in the root link's axes, (6,) or (N, 6).

        Args:
            q, qd: position [rad or m] and velocity of each joint, (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
        """
        return self._kernel.tip_velocity(q, qd, out)

    def center_of_mass(self, q: ArrayLike, out: Array | None = None) -> Array:
        """Centre of mass of all that moves, payload included, in the root link's frame [m], (3,) or (N, 3).

        Args:
            q: position of each joint [rad or m], (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
            ModelError: nothing that moves has mass.
        """
        return self._of_mass(self._kernel.center_of_mass)(q, out)

    def center_of_mass_jacobian(self, q: ArrayLike, out: Array | None = None) -> Array:
        """(3, n) or (N, 3, n): times qd, the velocity of the centre of mass in the root link's axes.

        Args:
            q: position of each joint [rad or m], (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
            ModelError: nothing that moves has mass.
        """
        return self._of_mass(self._kernel.center_of_mass_jacobian)(q, out)

    def center_of_mass_velocity(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        """Velocity of the centre of mass in the root link's axes [m/s], (3,) or (N, 3).

        Args:
            q, qd: position [rad or m] and velocity of each joint, (n,) or (N, n).
            out: array for the result.

        Raises:
            ShapeError, NonFiniteError: naming the argument.
            ModelError: nothing that moves has mass.
        """
        return self._of_mass(self._kernel.center_of_mass_velocity)(q, qd, out)

    @property
    def c_addresses(self) -> tuple[int, ...] | None:
        """Addresses of C's M, V, q'' and prepared parameters while this model lives; None in Python.

        mass_matrix(prepared, q, M), bias(prepared, q, qd, V) and forward_dynamics(prepared, q, qd, tau, qdd),
        without friction: see NAME.h.
        """
        address = self.source.address
        if address is None:
            return None
        functions = [address(f"{name}_with") for name in ("mass_matrix", "bias", "forward_dynamics")]
        return *functions, int(self._kernel.prepared())

    def _rigid_effort(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, wrench: Wrench | None, frame: WrenchFrame
    ) -> ArrayLike:
        """tau - friction + J^T w: what moves the rigid bodies."""
        if not self._has_friction and wrench is None:
            return tau
        others = -self.friction(qd)
        if wrench is not None:
            others = others + self.external_effort(q, wrench, frame=frame)
        (effort,) = checked_arrays(len(self.joint_names), tau=tau)
        if effort.shape != others.shape:  # NumPy would stretch it
            raise batch_error("tau", effort.shape, others.shape)
        return effort + others

    def _friction_slope(self, qd: Array) -> Array:
        """d friction / d qd, diagonal."""
        p = self.parameters
        smooth = 1.0 - np.tanh(qd / p.coulomb_velocity) ** 2
        slope = np.multiply(p.coulomb, smooth) / p.coulomb_velocity + p.viscous
        return np.asarray(slope[..., None] * np.eye(len(self.joint_names)), dtype=np.float64)

    def _of_frame(self, function: str, frame: str) -> Callable[..., Array]:
        """The kernel's function of a wrench in tip or root axes."""
        if frame not in WRENCH_FRAMES:
            raise wrong_parameter("frame", frame, " or ".join(WRENCH_FRAMES))
        chosen: Callable[..., Array] = getattr(self._kernel, function.format(WRENCH_FRAMES[frame]))
        return chosen

    def _at_tips(self, q: ArrayLike, wrench: Wrench) -> ArrayLike:
        """The wrenches as the kernel takes them: six numbers for each tip, 0 where none is given."""
        if not isinstance(wrench, Mapping):
            if len(self.tips) == 1:
                return wrench
            wrench = {self.tip: wrench}
        states = np.shape(q)[:-1]
        all_six = np.zeros((*states, len(self.tips), 6))
        for tip, value in wrench.items():
            index = self.tips.index(known_tip("wrench", tip, self.tips))
            (six,) = checked_arrays(len(self.joint_names), wrench=value)
            if six.shape[:-1] != states:
                raise batch_error("wrench", six.shape, (*states, 6))
            all_six[..., index, :] = six
        return all_six.reshape(*states, -1)

    def _in_tip_axes(self, q: ArrayLike, wrench: Wrench, frame: str) -> ArrayLike:
        """What ``_at_tips`` makes of wrenches in the axes of ``frame``, in those of the tips."""
        self._of_frame("external_effort{}", frame)
        given = self._at_tips(q, wrench)
        if frame == "tip":
            return given
        tips = len(self.tips)
        poses = self._kernel.tip_poses(q) if tips > 1 else self.tip_pose(q)[..., None, :, :]
        (given,) = checked_arrays(len(self.joint_names), tips, wrench=given)
        if given.shape[:-1] != poses.shape[:-3]:
            raise batch_error("wrench", given.shape, (*poses.shape[:-3], 6 * tips))
        rows = given.reshape(*given.shape[:-1], tips, 2, 3)  # force, torque: (R_RT^T f)^T = f^T R_RT
        return np.asarray((rows @ poses[..., :3, :3]).reshape(given.shape), dtype=np.float64)

    def _of_tip(self, one: str, q: ArrayLike, into: Array | None, tip: str | None) -> Array:
        """A kernel's function of the first tip, or another tip's part of the function of all."""
        if tip is None or known_tip("tip", tip, self.tips) == self.tip:
            found: Array = getattr(self._kernel, one)(q, into)
            return found
        everyone = self._kernel.tip_poses(q) if one == "tip_pose" else self._kernel.tip_jacobians(q)
        found = np.ascontiguousarray(everyone[..., self.tips.index(tip), :, :])
        return found if into is None else copied_into(into, found, checked_arrays(len(self.joint_names), q=q))

    def _of_mass(self, function: Callable[..., Array]) -> Callable[..., Array]:
        """The function, which divides by the mass. Raises ``ModelError``."""
        if not self._has_mass:
            message = (
                "there is no centre of mass: nothing that moves has mass; give a link or the payload some"
            )
            raise ModelError(message, "no_mass")
        return function


class CoupledModel(DynamicsModel):
    """A model whose ``Parameters.coupling`` is C: friction is C^T f(C qd), rotors add C^T J C to M.

    The generated functions have J on M's diagonal; what is missing, C^T J C - J, is constant.
    """

    def __init__(self, values: Sequence[float], parameters: Parameters, source: Source) -> None:
        super().__init__(values, parameters, source)
        n, J = len(self.joint_names), np.diag(parameters.rotor_inertia)
        self.coupling = self._C = np.reshape(parameters.coupling, (n, n))
        self._missing = self._C.T @ J @ self._C - J

    def inverse_dynamics(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: Any, **named: Any
    ) -> Array:
        tau = super().inverse_dynamics(q, qd, qdd, *more, **named)
        tau += np.asarray(qdd) @ self._missing
        return tau

    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        out: Array | None = None,
        *,
        wrench: Wrench | None = None,
        frame: WrenchFrame = "tip",
    ) -> Array:
        effort = self._rigid_effort(q, qd, tau, wrench, frame)
        q, qd, effort = checked_arrays(len(self.joint_names), q=q, qd=qd, tau=effort)
        load = effort - self._kernel.bias(q, qd)
        try:
            qdd: Array = np.linalg.solve(self.mass_matrix(q), load[..., None])[..., 0].astype(np.float64)
        except np.linalg.LinAlgError:
            raise singular_mass_matrix(self.joint_names) from None
        return qdd if out is None else copied_into(out, qdd, [q, qd, effort])

    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        wrench: Wrench | None = None,
        frame: WrenchFrame = "tip",
    ) -> tuple[Array, Array]:
        qdd = self.forward_dynamics(q, qd, tau, wrench=wrench, frame=frame)
        slopes = self.inverse_dynamics_derivatives(q, qd, qdd, wrench=wrench, frame=frame)
        M_inverse = self.inverse_mass_matrix(q)
        by_q, by_qd = (-M_inverse @ slope for slope in slopes)
        return by_q, by_qd

    def mass_matrix(self, q: ArrayLike, out: Array | None = None) -> Array:
        M = self._kernel.mass_matrix(q, out)
        M += self._missing
        return M

    def inverse_mass_matrix(self, q: ArrayLike, out: Array | None = None) -> Array:
        (q,) = checked_arrays(len(self.joint_names), q=q)
        try:
            inverse: Array = np.linalg.inv(self.mass_matrix(q)).astype(np.float64)
        except np.linalg.LinAlgError:
            raise singular_mass_matrix(self.joint_names) from None
        return inverse if out is None else copied_into(out, inverse, [q])

    def friction(self, qd: ArrayLike, out: Array | None = None) -> Array:
        (speeds,) = checked_arrays(len(self.joint_names), qd=qd)
        found = self._kernel.friction(speeds @ self._C.T) @ self._C
        return found if out is None else copied_into(out, found, [speeds])

    def terms(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Terms:
        terms = super().terms(q, qd, qdd)
        return terms._replace(inertia=terms.inertia + np.asarray(qdd) @ self._missing)

    def energy(self, q: ArrayLike, qd: ArrayLike) -> Energy:
        kinetic, potential = super().energy(q, qd)
        speeds = np.asarray(qd, dtype=float)
        return Energy(kinetic + (speeds @ self._missing * speeds).sum(axis=-1) / 2, potential)

    def momentum(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        both = self._kernel.momentum(q, qd, out)
        both[..., 0, :] += np.asarray(qd) @ self._missing
        return both

    def _friction_slope(self, qd: Array) -> Array:
        return np.asarray(self._C.T @ super()._friction_slope(qd @ self._C.T) @ self._C)


# A model at some parameters. Where Python has nothing to add to a compiled function, the function itself is
# the method of a compiled model: through Python, a call takes 1.8 times as long.

DIRECT = (
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
DIRECT_WITHOUT_FRICTION = ("inverse_dynamics", "forward_dynamics", "bias")


def model_at(parameters: Parameters, source: Source) -> DynamicsModel:
    """The model of a source at these parameters, which were checked."""
    kind = CoupledModel if parameters.coupling else DynamicsModel
    if source.backend == "c":
        kind = _compiled(source.make_kernel, kind, parameters.rub, has_mass(parameters, source.module.facts))
    return kind(packed(parameters), parameters, source)


@functools.cache
def _compiled(kernel: Any, kind: type[DynamicsModel], friction: bool, mass: bool) -> type[DynamicsModel]:
    """The class of compiled models with or without friction and mass: a ``kind`` of model and a ``kernel``.

    The kernel's methods have the signatures and docstrings of those in Python, see ``documents``, and call
    them where keywords are given.
    """
    names = [*DIRECT, *(DIRECT_WITH_MASS if mass else ()), *(() if friction else DIRECT_WITHOUT_FRICTION)]
    replaced = vars(CoupledModel) if kind is CoupledModel else {}
    methods = {name: vars(kernel)[name] for name in names if name not in replaced}
    return type("DynamicsModel", (kind, kernel), {"__doc__": DynamicsModel.__doc__, **methods})


def documents() -> dict[str, str]:
    """The signature and docstring of each compiled method, as C states them."""
    found = {}
    for name in (*DIRECT, *DIRECT_WITH_MASS, *DIRECT_WITHOUT_FRICTION):
        method = getattr(DynamicsModel, name)
        bare = [p.replace(annotation=p.empty) for p in inspect.signature(method).parameters.values()]
        signature = str(inspect.Signature(bare)).replace("(self", "($self", 1)
        found[name] = f"{name}{signature}\n--\n\n{inspect.getdoc(method)}"
    return found


def has_mass(parameters: Parameters, facts: Mapping[str, Any]) -> bool:
    """Whether anything that the joints move has mass, the payload included."""
    own = facts["inertial_parameters"] if parameters.inertial is None else parameters.inertial
    return bool(sum(own[::10]) + sum(payload.mass for payload in parameters.payloads))


def default_parameters(facts: Mapping[str, Any]) -> Parameters:
    """The parameters that a module was generated with."""
    values = facts["defaults"]
    part = {name: tuple(values[start:stop]) for name, (start, stop) in facts["parameters"].items()}
    gravity = part["gravity"]
    return Parameters(
        (gravity[0], gravity[1], gravity[2]),
        part["rotor_inertia"],
        part["viscous"],
        part["coulomb"],
        part["coulomb_velocity"][0],
        Payload(),
        part["inertial"] or None,
        (Payload(),) * (len(facts["tips"]) - 1),
        part.get("follower_viscous", ()),
        part.get("follower_coulomb", ()),
    )
