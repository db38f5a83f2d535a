"""A ``DynamicsModel`` from a generated module, whichever way its functions are evaluated."""

import inspect
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.errors import BatchError, KaneDynamicsError
from kane_dynamics_ros.runtime.interface import (
    BaseParameters,
    DynamicsModel,
    Energy,
    JointInfo,
    Parameters,
    Payload,
    Terms,
    WrenchFrame,
)
from kane_dynamics_ros.runtime.parameters import ParameterError, changed, find_base_parameters, packed
from kane_dynamics_ros.runtime.python_kernel import checked_arrays

WRENCH_FRAMES = {"tip": "", "root": "_in_root"}  # and the suffix of the generated functions

# The compiled functions that stand for the methods of the same name, and when
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


class NoMassError(KaneDynamicsError):
    """The centre of mass of nothing was asked for."""

    def __init__(self) -> None:
        super().__init__(
            "there is no centre of mass: nothing that moves has mass; give a link or the payload some"
        )


class Kernel(Protocol):
    """The generated functions with prepared parameters, compiled or in Python; friction is apart.

    Each takes its arrays in order and, last, the array for the result or ``None``.
    """

    def __getattr__(self, name: str) -> Callable[..., Array]: ...


MakeKernel = Callable[[Sequence[float]], Kernel]  # of packed parameters


class ModelSource(NamedTuple):
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
        """The mass of all that the joints move, payload included [kg]."""
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


class GeneratedModel(DynamicsModel):
    """A ``DynamicsModel`` that evaluates a generated module's functions; what each does is said there."""

    def __init__(
        self, metadata: ModelMetadata, make_kernel: MakeKernel, source: ModelSource, parameters: Parameters
    ) -> None:
        self._metadata, self._make_kernel, self._source = metadata, make_kernel, source
        self.name: str = metadata.model["name"]
        self.joint_names = metadata.joint_names
        self.joints = metadata.joints
        self.bodies = metadata.bodies
        self.root: str = metadata.model["root"]
        self.tip: str = metadata.model["tip"]
        self.locked = dict(metadata.model["locked"])
        self.urdf_hash: str = metadata.model["urdf_hash"]
        self.backend = source.backend
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
        source = self._source
        return source.load, (source.path, source.backend, source.checksum, self.parameters)

    def with_parameters(self, **changes: Any) -> "GeneratedModel":
        parameters = changed(self.parameters, len(self.joint_names), len(self.bodies), changes)
        return GeneratedModel(self._metadata, self._make_kernel, self._source, parameters)

    def with_urdf_friction(self) -> "GeneratedModel":
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
        effort = None if wrench is None else self.external_effort(q, wrench, frame=frame)
        tau = self._rigid(q, qd, qdd, out)
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
        wrench: ArrayLike | None = None,
        frame: WrenchFrame = "tip",
    ) -> tuple[Array, Array]:
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
        wrench: ArrayLike | None = None,
        frame: WrenchFrame = "tip",
    ) -> Array:
        return self._kernel.forward_dynamics(q, qd, self._rigid_effort(q, qd, tau, wrench, frame), out)

    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        wrench: ArrayLike | None = None,
        frame: WrenchFrame = "tip",
    ) -> tuple[Array, Array]:
        effort = self._rigid_effort(q, qd, tau, wrench, frame)
        all_three = self._kernel.forward_dynamics_derivatives(q, qd, effort)
        by_q, by_qd, inverse = (all_three[..., k, :, :] for k in range(3))
        if wrench is not None:
            by_q = by_q + inverse @ self.external_effort_derivatives(q, wrench, frame=frame)
        if self._has_friction:
            by_qd = by_qd - inverse @ self._friction_slope(np.asarray(qd, dtype=float))
        return by_q, by_qd

    def _rigid_effort(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, wrench: ArrayLike | None, frame: WrenchFrame
    ) -> ArrayLike:
        """tau - friction + J^T w: what moves the rigid bodies."""
        if not self._has_friction and wrench is None:
            return tau
        others = -self.friction(qd)
        if wrench is not None:
            others = others + self.external_effort(q, wrench, frame=frame)
        (effort,) = checked_arrays(len(self.joint_names), tau=tau)
        if effort.shape != others.shape:  # NumPy would stretch it
            raise BatchError("tau", effort.shape, others.shape)
        return effort + others

    def _friction_slope(self, qd: Array) -> Array:
        """d friction / d qd, diagonal."""
        p = self.parameters
        smooth = 1.0 - np.tanh(qd / p.coulomb_velocity) ** 2
        slope = np.multiply(p.coulomb, smooth) / p.coulomb_velocity + p.viscous
        return np.asarray(slope[..., None] * np.eye(len(self.joint_names)), dtype=np.float64)

    def mass_matrix(self, q: ArrayLike, out: Array | None = None) -> Array:
        return self._kernel.mass_matrix(q, out)

    def inverse_mass_matrix(self, q: ArrayLike, out: Array | None = None) -> Array:
        return self._kernel.inverse_mass_matrix(q, out)

    def bias(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        bias = self._kernel.bias(q, qd, out)
        if self._has_friction:
            bias += self.friction(qd)
        return bias

    def gravity(self, q: ArrayLike, out: Array | None = None) -> Array:
        return self._kernel.gravity(q, out)

    def coriolis(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        return self._kernel.coriolis(q, qd, out)

    def friction(self, qd: ArrayLike, out: Array | None = None) -> Array:
        return self._kernel.friction(qd, out)

    def terms(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Terms:
        gravity = self.gravity(q)
        inertia = self._rigid(q, np.zeros_like(gravity), qdd) - gravity
        coriolis = self._kernel.bias(q, qd) - gravity
        return Terms(inertia, coriolis, gravity, self.friction(qd))

    def energy(self, q: ArrayLike, qd: ArrayLike) -> Energy:
        both = self._kernel.energy(q, qd)
        rotors = np.square(np.asarray(qd, dtype=float)) @ np.array(self.parameters.rotor_inertia) / 2
        return Energy(both[..., 0] + rotors, both[..., 1])

    def momentum(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        return self._kernel.momentum(q, qd, out)

    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, out: Array | None = None) -> Array:
        return self._kernel.regressor(q, qd, qdd, out)

    @property
    def inertial_parameters(self) -> Array:
        return self._metadata.inertial_parameters(self.parameters)

    def base_parameters(self) -> BaseParameters:
        return find_base_parameters(self.regressor, len(self.joint_names))

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
        if wrench is None:
            return self._kernel.reaction_wrenches(q, qd, qdd, out)
        supplied = self._kernel.external_wrenches(q, self._in_tip_axes(q, wrench, frame))
        found = self._kernel.reaction_wrenches(q, qd, qdd, out)
        found -= supplied
        return found

    def external_effort(self, q: ArrayLike, wrench: ArrayLike, *, frame: WrenchFrame = "tip") -> Array:
        return self._of_frame("external_effort{}", frame)(q, wrench)

    def external_effort_derivatives(
        self, q: ArrayLike, wrench: ArrayLike, *, frame: WrenchFrame = "tip"
    ) -> Array:
        return self._of_frame("external_effort{}_derivatives", frame)(q, wrench)

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
        rows = given.reshape(*given.shape[:-1], 2, 3)  # force, torque: (R_RT^T f)^T = f^T R_RT
        return np.asarray((rows @ pose[..., :3, :3]).reshape(given.shape), dtype=np.float64)

    def tip_pose(self, q: ArrayLike, out: Array | None = None) -> Array:
        return self._kernel.tip_pose(q, out)

    def tip_jacobian(self, q: ArrayLike, out: Array | None = None) -> Array:
        return self._kernel.tip_jacobian(q, out)

    def tip_velocity(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        return self._kernel.tip_velocity(q, qd, out)

    def center_of_mass(self, q: ArrayLike, out: Array | None = None) -> Array:
        return self._of_mass(self._kernel.center_of_mass)(q, out)

    def center_of_mass_jacobian(self, q: ArrayLike, out: Array | None = None) -> Array:
        return self._of_mass(self._kernel.center_of_mass_jacobian)(q, out)

    def center_of_mass_velocity(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        return self._of_mass(self._kernel.center_of_mass_velocity)(q, qd, out)

    def _of_mass(self, function: Callable[..., Array]) -> Callable[..., Array]:
        """The function, which divides by the mass. Raises ``NoMassError``."""
        if not self._has_mass:
            raise NoMassError
        return function

    @property
    def c_addresses(self) -> tuple[int, int, int] | None:
        if self.backend != "c":
            return None
        mass_matrix, bias, prepared = self._kernel.addresses()
        return int(mass_matrix), int(bias), int(prepared)


def documents() -> dict[str, tuple[str, str]]:
    """The name and the docstring of each compiled function that ``help`` shows, with its signature."""
    found = {}
    direct = (*ALWAYS_DIRECT, *DIRECT_WITH_MASS, *DIRECT_WITHOUT_FRICTION, "inverse_dynamics")
    for name in (*direct, *SHOWN):
        shown = SHOWN.get(name, name)
        method = getattr(GeneratedModel, shown)
        bare = [p.replace(annotation=p.empty) for p in inspect.signature(method).parameters.values()]
        signature = str(inspect.Signature(bare)).replace("(self", "($self", 1)
        found[name] = (shown, f"{shown}{signature}\n--\n\n{inspect.getdoc(method)}")
    return found


# What this room alone knows of a model: the rest of the package sees a ``DynamicsModel``.


def source_of(model: GeneratedModel) -> ModelSource:
    """Where the model was loaded from."""
    return model._source


def metadata_of(model: GeneratedModel) -> ModelMetadata:
    """What the model's module states."""
    return model._metadata
