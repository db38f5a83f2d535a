"""Run-time parameters of a model: what they are, how they are checked, how generated code takes them.

And the base parameters, the combinations of inertial parameters that torques can tell apart.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.friction import wrong_coupling

Vector = tuple[float, float, float]

# Relative slack of the triangle inequality, for arithmetic's rounding only: a payload comes in full precision
# from a program or a message. A URDF's few digits get more (``description.geometry.TRIANGLE_TOLERANCE``).
TRIANGLE = 1e-9

STATES = 40  # random states for each joint; more than enough rows for 10 parameters a body
DEPENDENT = 1e-9  # diagonal entry of R, columns of unit length, below which one depends on others
ROUNDING = 1e-12  # length of a column, relative to the longest, below which it is only rounding

FRICTION = ("viscous", "coulomb", "follower_viscous", "follower_coulomb")


@dataclass(frozen=True)
class Payload:
    """A body fixed to the tip: mass [kg], centre of mass [m] and central inertia, in the tip frame.

    ``inertia`` is (ixx, ixy, ixz, iyy, iyz, izz) [kg m^2], the tensor's entries.

    >>> Payload(2.0, com=(0.0, 0.0, 0.1)).mass
    2.0
    """

    mass: float = 0.0
    com: Vector = (0.0, 0.0, 0.0)
    inertia: tuple[float, float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Parameters:
    """What may change at run time without generating again; per-joint tuples follow ``model.joint_names``.

    ``gravity`` is the free-fall acceleration in the root link's frame [m/s^2]. ``rotor_inertia`` is
    reflected to the joint side (gear ratio squared included) and adds to M's diagonal.
    Friction effort: viscous * qd + coulomb * tanh(qd / coulomb_velocity); ``follower_viscous`` and
    ``follower_coulomb`` are those of ``model.followers``. ``inertial`` holds, for each body, m, h_x, h_y,
    h_z, J_xx, J_xy, J_xz, J_yy, J_yz, J_zz about its link frame's origin. ``payload`` is that of the first
    tip, ``branch_payloads`` are those of the others, in the order of ``model.tips``. ``coupling``: the rows
    of C one after another, where drives turn at C qd (``kane_dynamics_ros.friction``): their friction and
    rotors then act as C^T f(C qd) and C^T J C; empty where each joint has a drive of its own.

    >>> from kane_dynamics_ros.runtime import load_model
    >>> moon = load_model("manipulator_5dof").with_parameters(gravity=(0.0, 0.0, -1.62))
    >>> moon.parameters.gravity
    (0.0, 0.0, -1.62)
    """

    gravity: Vector
    rotor_inertia: tuple[float, ...]
    viscous: tuple[float, ...]
    coulomb: tuple[float, ...]
    coulomb_velocity: float = 0.01  # [rad/s] or [m/s]
    payload: Payload = Payload()
    inertial: tuple[float, ...] | None = None  # of modules generated with --inertial runtime
    branch_payloads: tuple[Payload, ...] = ()
    follower_viscous: tuple[float, ...] = ()
    follower_coulomb: tuple[float, ...] = ()
    coupling: tuple[float, ...] = ()

    @property
    def rub(self) -> bool:
        """Whether any joint does."""
        return any(any(getattr(self, name)) for name in FRICTION)

    @property
    def payloads(self) -> tuple[Payload, ...]:
        """Of all tips."""
        return self.payload, *self.branch_payloads


class ParameterError(KaneDynamicsError):
    """A run-time parameter has a value that makes no sense; ``name``, ``found``, ``allowed``.

    >>> from kane_dynamics_ros.runtime import load_model
    >>> try:
    ...     load_model("manipulator_5dof").with_parameters(payload=Payload(-1.0))
    ... except ParameterError as error:
    ...     print(error.name, error.found)
    payload.mass [-1.0]
    """


def wrong_parameter(name: str, found: object, allowed: str) -> ParameterError:
    """A parameter's value that is not allowed."""
    message = f"parameter {name}: found {found!r}; allowed: {allowed}"
    return ParameterError(message, name=name, found=found, allowed=allowed)


def changed(
    parameters: Parameters,
    joints: Sequence[str],
    bodies: int,
    tips: Sequence[str],
    changes: Mapping[str, Any],
) -> Parameters:
    """``parameters`` of a model of ``joints`` and ``bodies`` bodies, some fields replaced; all is checked.

    ``payload`` may be a mapping from tips to payloads: the tips that it does not name keep theirs.

    Raises:
        ParameterError: an unknown name, or a value that makes no sense.
    """
    known = ("gravity", "rotor_inertia", *FRICTION, "coulomb_velocity", "payload", "inertial", "coupling")
    fields: dict[str, Any] = {}
    for name, value in changes.items():
        if name not in known or (name == "inertial" and parameters.inertial is None):
            allowed = [k for k in known if k != "inertial" or parameters.inertial is not None]
            raise wrong_parameter(name, value, f"the parameters are {', '.join(allowed)}")
        if name == "gravity":
            fields[name] = _numbers(name, value, 3)
        elif name in ("rotor_inertia", *FRICTION):
            fields[name] = _numbers(name, value, len(getattr(parameters, name)), least=0.0)
        elif name == "coulomb_velocity":
            fields[name] = _positive(name, value)
        elif name == "inertial":
            fields[name] = _numbers(name, value, 10 * bodies)
        elif name == "coupling":
            rows = np.ravel(value).tolist()
            if rows and (wrong := wrong_coupling(rows, joints)):
                raise wrong_parameter(name, *wrong)
            fields[name] = tuple(map(float, rows))
        elif isinstance(value, Mapping):
            payloads = dict(zip(tips, parameters.payloads, strict=True))
            for tip, payload in value.items():
                payloads[known_tip("payload", tip, tips)] = checked_payload(payload, f"payload[{tip!r}]")
            fields[name], *others = payloads.values()
            fields["branch_payloads"] = tuple(others)
        else:
            fields[name] = checked_payload(value)
    return replace(parameters, **fields)


def known_tip(name: str, tip: Any, tips: Sequence[str]) -> str:
    """The tip as it is. Raises ``ParameterError`` where the model has none of that name."""
    if tip not in tips:
        raise wrong_parameter(name, tip, f"the model's tips, {', '.join(map(repr, tips))}")
    return str(tip)


def checked_payload(value: Any, name: str = "payload") -> Payload:
    """A payload whose numbers are finite and whose inertia a body can have.

    Raises:
        ParameterError: naming the part that is wrong.
    """
    if not isinstance(value, Payload):
        raise wrong_parameter(name, value, "a Payload, or a mapping from tips to Payloads")
    mass = _numbers(f"{name}.mass", [value.mass], 1, least=0.0)[0]
    com = _numbers(f"{name}.com", value.com, 3)
    inertia = _numbers(f"{name}.inertia", value.inertia, 6)
    xx, xy, xz, yy, yz, zz = inertia
    moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    slack = TRIANGLE * max(abs(moments))
    if moments[0] < -slack or moments[0] + moments[1] < moments[2] - slack:
        raise wrong_parameter(
            f"{name}.inertia",
            inertia,
            "principal moments that are not negative and of which no one exceeds the sum of the others",
        )
    if mass == 0.0 and any(inertia):
        raise wrong_parameter(f"{name}.inertia", inertia, f"zero when {name}.mass is zero")
    return Payload(mass, (com[0], com[1], com[2]), (xx, xy, xz, yy, yz, zz))


def _numbers(name: str, value: Any, size: int, least: float = -math.inf) -> tuple[float, ...]:
    allowed = f"{size} finite number{'s' if size > 1 else ''}" + (
        f" >= {least:g}" if least > -math.inf else ""
    )
    try:
        array = np.asarray(value)
    except ValueError:  # rows of several lengths
        raise wrong_parameter(name, value, allowed) from None
    real = (
        array.shape == (size,) and np.can_cast(array.dtype, np.float64, "safe") and not np.ma.is_masked(value)
    )
    if not real or not all(math.isfinite(x) and x >= least for x in array):
        raise wrong_parameter(name, value, allowed)
    return tuple(float(x) for x in array)


def _positive(name: str, value: Any) -> float:
    number = _numbers(name, [value], 1)[0]
    if number <= 0.0:
        raise wrong_parameter(name, value, "a finite number > 0")
    return number


def packed(parameters: Parameters) -> tuple[float, ...]:
    """The ``parameters`` array of the generated code, in its documented order."""
    payloads = parameters.payloads
    return (
        *parameters.gravity,
        *(payload.mass for payload in payloads),
        *(x for payload in payloads for x in payload.com),
        *(x for payload in payloads for x in payload.inertia),
        *parameters.rotor_inertia,
        *parameters.viscous,
        *parameters.coulomb,
        parameters.coulomb_velocity,
        *parameters.follower_viscous,
        *parameters.follower_coulomb,
        *(parameters.inertial or ()),
    )


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


def find_base_parameters(regressor: Callable[..., Array], n: int) -> BaseParameters:
    """QR decomposition of the regressor over random states, after Gautier (1991).

    A column that depends on those before it shows as a zero on R's diagonal. Y = Y_b [1 K]: the
    independent columns Y_b, and the others as combinations of them.
    """
    random = np.random.default_rng(0)
    q, qd, qdd = random.uniform(-np.pi, np.pi, (3, STATES * n, n))
    Y = regressor(q, qd, qdd)
    Y = Y.reshape(-1, Y.shape[-1])
    size = np.linalg.norm(Y, axis=0)
    felt = np.flatnonzero(size > ROUNDING * size.max(initial=0.0))
    R = np.asarray(np.linalg.qr(Y[:, felt] / size[felt], mode="r"))
    chosen = np.abs(np.diag(R)) > DEPENDENT
    columns, others = felt[chosen], felt[~chosen]
    K = np.linalg.lstsq(R[:, chosen], R[:, ~chosen], rcond=None)[0]
    K *= size[others] / size[columns, None]
    K[np.abs(K) < DEPENDENT] = 0.0
    combine = np.zeros((len(columns), Y.shape[1]))
    combine[np.arange(len(columns)), columns] = 1.0
    combine[:, others] = K
    return BaseParameters(columns, combine)
