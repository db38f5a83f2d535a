"""The wind water pump of [WindPump] section 5 and appendix B: dimensions, kinematics, dynamics."""

import math
from dataclasses import dataclass, field, fields
from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.elastic.link import Material, Section, rectangle
from kane_dynamics_ros.errors import KaneDynamicsError

GRAVITY = 9.81  # [m/s^2], along -y
CRANK_SPEED = 140.0 * 2.0 * math.pi / 60.0  # [rad/s], 140 rpm as printed
LIAISON_FORCES = ("X_A", "Y_A", "X_B", "Y_B", "X_C", "Y_C", "X_D", "Y_D")
CRANK_ROW = 2  # the crank's moment equation, where the motor's torque stands


# Dimensions and masses: the paper prints none of them, all values are ours


class PaperError(KaneDynamicsError):
    """A paper's simulation cannot be run as asked.

    Codes: ``unreachable``, the mechanism's loop cannot be closed (``crank``, ``slider``, ``distance``);
    ``dimension``, a number that no mechanism has (``name``); ``no_assessment``, the paper has none.
    """


ABOVE_ZERO = ("l1", "l2", "f", "g", "mD", "v_Fr")
LEAST = dict.fromkeys((*ABOVE_ZERO, "m1", "J1", "m2", "J2", "m3", "J3", "k", "Fr"), 0.0)


@dataclass(frozen=True)
class Mechanism:
    """Crank AB (1), elastic lever BC' (2), pendulum DCC' (3), slide D at the height ``e``.

    The pendulum's sides are f = CC' and g = CD, at a right angle; the vector from C' to D is
    h (cos(phi_3 - psi), sin(phi_3 - psi)). Mass centres: at ``a1`` l1 and ``a2`` l2 of the bars, and at
    ``hg`` (cos(phi_3 - psi - xi), sin(phi_3 - psi - xi)) from C'. ``m3`` and ``J3`` include the adjustable
    weight. The slide bears a spring ``k`` about ``x0`` and the pump's resistance ``Fr``.
    """

    l1: float = 0.06  # [m]
    l2: float = 0.50
    f: float = 0.20
    g: float = 0.15
    psi: float = 0.10  # [rad]
    e: float = 0.25  # [m]
    a1: float = 0.0
    a2: float = 0.5
    hg: float = -0.05  # [m], below C', where the weight hangs
    xi: float = 0.30  # [rad]
    m1: float = 2.0  # [kg]
    J1: float = 0.02  # [kg m^2]
    m2: float = 0.314
    J2: float = 0.314 * 0.5**2 / 12
    m3: float = 6.0
    J3: float = 0.10
    mD: float = 3.0
    k: float = 3000.0  # [N/m]
    x0: float = 0.50  # [m]
    Fr: float = 10.0  # [N]
    v_Fr: float = 0.05  # [m/s], speed over which the resistance changes its sign

    def __post_init__(self) -> None:
        """Raise ``PaperError`` for a dimension that no mechanism has, and for a loop that does not turn."""
        for field_ in fields(self):
            value = getattr(self, field_.name)
            least = LEAST.get(field_.name, -math.inf)
            above = field_.name in ABOVE_ZERO
            if not math.isfinite(value) or value < least or (above and value == 0.0):
                allowed = "finite" if least == -math.inf else "finite, and " + ("> 0" if above else ">= 0")
                text = f"{field_.name}={value:g}: the dimension must be {allowed}"
                raise PaperError(text, "dimension", name=field_.name, found=value)
        for eighth in range(8):
            close_loop(self, eighth * math.pi / 4, self.x0)

    @property
    def h(self) -> float:
        """h = sqrt(f^2 + g^2), [WindPump] after eq. (A6)."""
        return math.hypot(self.f, self.g)


@dataclass(frozen=True)
class Lever:
    """The elastic lever BC': a steel strip, the thinner side in the plane of motion."""

    material: Material = field(default_factory=lambda: Material(E=2.1e11, G=8.1e10, density=7850.0))
    section: Section = field(default_factory=lambda: rectangle(0.004, 0.020))
    elements: int = 10


# Loop closure, speeds and accelerations: eqs. (A6) to (A31)


class Angles(NamedTuple):
    """Angles [rad] of crank, lever and pendulum."""

    phi_1: float
    phi_2: float
    phi_3: float


class Accelerations(NamedTuple):
    """{a} = A (epsilon_1, x_D'') + B (omega_1^2, omega_1 x_D', x_D'^2), eq. (A31); A (10, 2), B (10, 3).

    Rows: x and y of mass centre 1 and epsilon_1, the same of bodies 2 and 3, and x_D.
    """

    A: Array
    B: Array


def close_loop(pump: Mechanism, phi_1: float, x_D: float) -> Angles:
    """Angles of the lever and the pendulum by the triangles ABD and BC'D, eqs. (A7) to (A16).

    The angle at B is taken by atan2 where eq. (A12) prints atan: it exceeds a right angle on a part of the
    turn. Raises ``PaperError``.
    """
    AD, beta_AD = math.hypot(x_D, pump.e), math.atan2(pump.e, x_D)
    turn = phi_1 - beta_AD
    at_B = math.atan2(-AD * math.sin(turn), pump.l1 - AD * math.cos(turn))  # alpha, eq. (A12)
    at_D = math.asin(pump.l1 * math.sin(at_B) / AD)  # beta, after eq. (A12)
    BD = math.sqrt(pump.l1**2 + AD**2 - 2 * pump.l1 * AD * math.cos(turn))  # eq. (A13)
    l2, h = pump.l2, pump.h
    if not abs(l2 - h) < BD < l2 + h:
        text = (
            f"the loop does not close at crank angle {phi_1:.6g} rad and slide {x_D:.6g} m: B and D are "
            f"{BD:.6g} m apart; the lever and the pendulum reach from {abs(l2 - h):.6g} m to {l2 + h:.6g} m"
        )
        raise PaperError(text, "unreachable", crank=phi_1, slider=x_D, distance=BD)
    gamma = math.acos((l2**2 + BD**2 - h**2) / (2 * l2 * BD))  # eq. (A14)
    delta = math.acos((h**2 + BD**2 - l2**2) / (2 * h * BD))  # eq. (A15)
    return Angles(phi_1, at_D + beta_AD - gamma, at_D + beta_AD + delta + pump.psi)  # eq. (A16)


def speed_ratios(pump: Mechanism, angles: Angles) -> Array:
    """[a_11 a_12; a_21 a_22] with (l2 omega_2, h omega_3) = a (l1 omega_1, x_D'), eqs. (A19), (A20)."""
    c1, s1, c2, s2, c3, s3 = _cosines(pump, angles)
    return np.array([[-c3 * s1 + s3 * c1, -c3], [c2 * s1 - c1 * s2, c2]]) / (s2 * c3 - s3 * c2)


def acceleration_terms(pump: Mechanism, angles: Angles, a: Array) -> Array:
    """[b_11 .. b_23] of eq. (A24), eq. (A23) with h for l_2 under a_21^2 in b_11."""
    c1, s1, c2, s2, c3, s3 = _cosines(pump, angles)
    squares = np.array([a[:, 0] ** 2, 2 * a[:, 0] * a[:, 1], a[:, 1] ** 2]).T  # of l2 omega_2, h omega_3
    from_2, from_3 = squares[0] / pump.l2, squares[1] / pump.h
    from_1 = np.array([1 / pump.l1, 0.0, 0.0])
    first = -(c3 * c1 + s3 * s1) * from_1 - (c3 * c2 + s3 * s2) * from_2 - from_3
    second = (c2 * c1 + s2 * s1) * from_1 + from_2 + (c3 * c2 + s3 * s2) * from_3
    return np.stack([first, second]) / (s2 * c3 - s3 * c2)


def accelerations(pump: Mechanism, angles: Angles) -> Accelerations:
    """The matrices [A] and [B] of eq. (A31)."""
    a = speed_ratios(pump, angles)
    b = acceleration_terms(pump, angles, a)
    lengths = np.array([pump.l2, pump.h])
    omega = np.vstack([[1.0, 0.0], a * [pump.l1, 1.0] / lengths[:, None]])  # eq. (A29), rows 1, 2, 3
    scale = np.array([pump.l1**2, pump.l1, 1.0])
    rest = np.vstack([np.zeros(3), b * scale / lengths[:, None]])  # eq. (A30)
    squares = np.array([omega[:, 0] ** 2, 2 * omega[:, 0] * omega[:, 1], omega[:, 1] ** 2]).T
    A, B = np.zeros((10, 2)), np.zeros((10, 3))
    for body, arms in enumerate(_arms(pump, angles)):
        for turned, (dx, dy) in arms:  # an arm (dx, dy) that turns with a body
            A[3 * body : 3 * body + 2] += np.outer([-dy, dx], omega[turned])
            B[3 * body : 3 * body + 2] += np.outer([-dy, dx], rest[turned]) - np.outer(
                [dx, dy], squares[turned]
            )
        A[3 * body + 2], B[3 * body + 2] = omega[body], rest[body]
    A[9, 1] = 1.0
    return Accelerations(A, B)


def mass_centres(pump: Mechanism, angles: Angles) -> Array:
    """Positions (3, 2) of the bodies' mass centres, eqs. (A25) to (A27)."""
    return np.array([np.sum([arm for _, arm in arms], axis=0) for arms in _arms(pump, angles)])


def _arms(pump: Mechanism, angles: Angles) -> list[list[tuple[int, Array]]]:
    """Each mass centre as a chain of arms from A: (body that turns the arm, arm)."""
    crank, lever = direction(angles.phi_1), direction(angles.phi_2)
    centre = direction(angles.phi_3 - pump.psi - pump.xi)
    return [
        [(0, pump.a1 * pump.l1 * crank)],
        [(0, pump.l1 * crank), (1, pump.a2 * pump.l2 * lever)],
        [(0, pump.l1 * crank), (1, pump.l2 * lever), (2, pump.hg * centre)],
    ]


def direction(angle: float) -> Array:
    """(cos, sin) of an angle."""
    return np.array([math.cos(angle), math.sin(angle)])


def _cosines(pump: Mechanism, angles: Angles) -> tuple[float, float, float, float, float, float]:
    """c1, s1, c2, s2, c_(3-psi), s_(3-psi)."""
    values = [direction(angle) for angle in (angles.phi_1, angles.phi_2, angles.phi_3 - pump.psi)]
    (c1, s1), (c2, s2), (c3, s3) = (map(float, value) for value in values)
    return c1, s1, c2, s2, c3, s3


# Free bodies; the liaison forces eliminated by projection, and recovered: eqs. (A32) to (A46)


class MechanismState(NamedTuple):
    """State of the mechanism: crank angle and speed [rad, rad/s], slide position and speed [m, m/s]."""

    phi_1: float
    omega_1: float
    x_D: float
    v_D: float


class Loads(NamedTuple):
    """Accelerations of (phi_1, x_D), the motor's torque [N m], and the liaison forces (8,) [N]."""

    accelerations: Array
    torque: float
    liaison: Array


def mass_matrix(pump: Mechanism) -> Array:
    """[m] of eq. (A43), (10, 10)."""
    m1, m2, m3 = pump.m1, pump.m2, pump.m3
    return np.diag([m1, m1, pump.J1, m2, m2, pump.J2, m3, m3, pump.J3, pump.mD])


def external_forces(pump: Mechanism, motion: MechanismState, torque: float) -> Array:
    """{Q_ext} of eq. (A42), (10,).

    The mass centre of body 3 is that of pendulum and weight together, so that gravity has no moment about it.
    """
    Q = np.zeros(10)
    Q[[1, 4, 7]] = -GRAVITY * np.array([pump.m1, pump.m2, pump.m3])
    Q[CRANK_ROW] = torque
    Q[9] = -pump.Fr * np.tanh(motion.v_D / pump.v_Fr) - pump.k * (motion.x_D - pump.x0)
    return Q


def liaison_matrix(pump: Mechanism, angles: Angles) -> Array:
    """{Q_liaison} = L (X_A .. Y_D), eqs. (A32) to (A41) with the signs of the moments corrected; (10, 8).

    Body 2 bears (-X_B, -Y_B) and (X_C, -Y_C), body 3 (-X_C, Y_C) and (X_D, -Y_D), the slide -X_D.
    """
    crank, lever = pump.l1 * direction(angles.phi_1), pump.l2 * direction(angles.phi_2)
    C = -pump.hg * direction(angles.phi_3 - pump.psi - pump.xi)  # from mass centre 3, eqs. (A39), (A40)
    D = C + pump.h * direction(angles.phi_3 - pump.psi)  # eqs. (A37), (A38)
    L = np.zeros((10, 8))
    _apply(L, 0, 0, -pump.a1 * crank, (1, 1))
    _apply(L, 0, 2, (1 - pump.a1) * crank, (1, 1))
    _apply(L, 1, 2, -pump.a2 * lever, (-1, -1))
    _apply(L, 1, 4, (1 - pump.a2) * lever, (1, -1))
    _apply(L, 2, 4, C, (-1, 1))
    _apply(L, 2, 6, D, (1, -1))
    L[9, 6] = -1.0
    return L


def _apply(L: Array, body: int, column: int, at: Array, signs: tuple[int, int]) -> None:
    """The force (signs[0] X, signs[1] Y) on a body, ``at`` from its mass centre."""
    row = 3 * body
    L[row, column] += signs[0]
    L[row + 1, column + 1] += signs[1]
    L[row + 2, column] -= at[1] * signs[0]
    L[row + 2, column + 1] += at[0] * signs[1]


def equations_of_motion(pump: Mechanism, motion: MechanismState, torque: float) -> tuple[Array, Array]:
    """Eq. (A46): (2, 2) matrix and (2,) right side for (epsilon_1, x_D''), without liaison forces."""
    angles = close_loop(pump, motion.phi_1, motion.x_D)
    A, B = accelerations(pump, angles)
    m = mass_matrix(pump)
    products = np.array([motion.omega_1**2, motion.omega_1 * motion.v_D, motion.v_D**2])
    return A.T @ m @ A, A.T @ (external_forces(pump, motion, torque) - m @ B @ products)


def slide_acceleration(pump: Mechanism, motion: MechanismState) -> float:
    """x_D'' [m/s^2] while the crank turns steadily: the second row of eq. (A46)."""
    inertia, load = equations_of_motion(pump, motion, 0.0)
    return float(load[1] / inertia[1, 1])


def driven(pump: Mechanism, motion: MechanismState) -> Loads:
    """What a crank that turns steadily needs and bears.

    Eq. (A46) for x_D'' and the torque, then eq. (A43) for the liaison forces.
    """
    angles = close_loop(pump, motion.phi_1, motion.x_D)
    A, B = accelerations(pump, angles)
    m = mass_matrix(pump)
    products = np.array([motion.omega_1**2, motion.omega_1 * motion.v_D, motion.v_D**2])
    inertia, load = equations_of_motion(pump, motion, 0.0)
    slide = slide_acceleration(pump, motion)
    torque = float(inertia[0, 1] * slide - load[0])
    second = np.array([0.0, slide])
    left = m @ (A @ second + B @ products) - external_forces(pump, motion, torque)
    L = liaison_matrix(pump, angles)
    liaison, *_ = np.linalg.lstsq(L, left, rcond=None)  # 10 equations, 8 unknowns, consistent by eq. (A45)
    return Loads(second, torque, liaison)
