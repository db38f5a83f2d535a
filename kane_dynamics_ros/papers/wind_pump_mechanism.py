"""The wind water pump of [WindPump] section 5 and appendix B: dimensions, system of bodies, liaison forces.

The bodies' motion is that of a ``systems.System`` whose loop the pendulum's pin at D closes; the closed forms
of its closure are the paper's. The free bodies and the liaison forces between them are eqs. (A32) to (A46).
"""

import functools
import math
from dataclasses import dataclass, field, fields
from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import Array, Vector, add, apply, cross
from kane_dynamics_ros.elastic.link import Material, Section, rectangle
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.systems import (
    Body,
    Coincident,
    Point,
    System,
    complete_speeds,
    equations,
    kinematics,
)
from kane_dynamics_ros.systems.model import GROUND, ZERO, X, Y

GRAVITY = 9.81  # [m/s^2], along -y
CRANK_SPEED = 140.0 * 2.0 * math.pi / 60.0  # [rad/s], 140 rpm as printed
LIAISON_FORCES = ("X_A", "Y_A", "X_B", "Y_B", "X_C", "Y_C", "X_D", "Y_D")
JOINTS = {  # the bodies on which a joint's force (X, Y) acts, and with which signs; 3 is the slide
    "A": {0: (1, 1)},
    "B": {0: (1, 1), 1: (-1, -1)},
    "C": {1: (1, -1), 2: (-1, 1)},
    "D": {2: (1, -1), 3: (-1, 1)},
}


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


# Posture: eqs. (A6) to (A16)


class Angles(NamedTuple):
    """Angles [rad] of crank, lever and pendulum."""

    phi_1: float
    phi_2: float
    phi_3: float


def close_loop(pump: Mechanism, phi_1: float, x_D: float) -> Angles:
    """The angles that close the loop, eqs. (A7) to (A16), of the branch that the paper draws.

    With atan2 in place of (A12)'s arctangent, which loses a right angle on a part of the
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


# The system of bodies, and its motion: eqs. (A17) to (A31)


@functools.lru_cache(maxsize=8)
def pump_system(pump: Mechanism) -> System:
    """Crank, lever, pendulum and slide, each joint's coordinate relative to the body before; u = q'.

    The pendulum's x axis points from C' to D. Independent are phi_1 and x_D, as in eq. (A46).
    """

    def turning(name: str, parent: str, at: float, mass: float, com: tuple[float, float], J: float) -> Body:
        return Body(name, parent, at=(at, 0, 0), mass=mass, com=(*com, 0), inertia=(0, 0, 0, 0, 0, J))

    weight = (pump.hg * math.cos(pump.xi), -pump.hg * math.sin(pump.xi))
    bodies = (
        turning("crank", GROUND, 0.0, pump.m1, (pump.a1 * pump.l1, 0), pump.J1),
        turning("lever", "crank", pump.l1, pump.m2, (pump.a2 * pump.l2, 0), pump.J2),
        turning("pendulum", "lever", pump.l2, pump.m3, weight, pump.J3),
        Body("slide", joint="prismatic", axis=X, at=(0, pump.e, 0), mass=pump.mD),
    )
    loop = Coincident(Point("pendulum", (pump.h, 0, 0)), Point("slide"), along=(X, Y))  # eq. (A6)
    return System("wind_pump", bodies, (loop,), gravity=(0, -GRAVITY, 0), independent=("crank", "slide"))


def coordinates(pump: Mechanism, phi_1: float, x_D: float) -> list[float]:
    """q (4,) of the system, its loop closed."""
    _, phi_2, phi_3 = close_loop(pump, phi_1, x_D)
    return [phi_1, phi_2 - phi_1, phi_3 - pump.psi - phi_2, x_D]


class MechanismState(NamedTuple):
    """State of the mechanism: crank angle and speed [rad, rad/s], slide position and speed [m, m/s]."""

    phi_1: float
    omega_1: float
    x_D: float
    v_D: float


class PumpMotion:
    """The system at a state, its dependent speeds from the independent ones, eqs. (A17) to (A20)."""

    def __init__(self, pump: Mechanism, state: MechanismState) -> None:
        self.pump, self.state, self.system = pump, state, pump_system(pump)
        self.q = coordinates(pump, state.phi_1, state.x_D)
        u = complete_speeds(self.system, self.q, [state.omega_1, 0.0, 0.0, state.v_D])
        self.terms = equations.state_terms(self.system, self.q, u)
        self.reduced = equations.reduction(self.system, self.terms)

    def bodies(self, independent: Array) -> dict[str, kinematics.Motion]:
        """How every body moves, in its own axes, at (epsilon_1, x_D''): eqs. (A24) and (A29), (A30)."""
        second = self.reduced.T @ independent + self.reduced.e
        return kinematics.motions(self.system, self.q, self.terms.qd.tolist(), second.tolist())

    def accelerations(self, independent: Array) -> Array:
        """{a} (10,) of eq. (A31) at (epsilon_1, x_D'').

        x and y of mass centre 1 and epsilon_1, the same of bodies 2 and 3, and x_D''.
        """
        moving, at = self.bodies(independent), kinematics.frames(self.system, self.q)
        rows = []
        for body in self.system.bodies[:3]:
            m = moving[body.name]
            own = add(m.a, cross(m.alpha, body.com), cross(m.omega, cross(m.omega, body.com)))
            rows += [*apply(at[body.name].R_NB, own)[:2], m.alpha[2]]
        return np.array([*rows, independent[1]], dtype=float)

    def equations(self, torque: float) -> tuple[Array, Array]:
        """Eq. (A46): (2, 2) matrix and (2,) right side for (epsilon_1, x_D''), without liaison forces."""
        effort = np.array([torque, 0.0, 0.0, slide_force(self.pump, self.state)])
        return equations.projected(self.terms, self.reduced, effort)

    def slide_acceleration(self) -> float:
        """x_D'' [m/s^2] while the crank turns steadily: the second row of eq. (A46)."""
        inertia, load = self.equations(0.0)
        return float(load[1] / inertia[1, 1])


class MechanismPoints(NamedTuple):
    """Joints, the pendulum's corner C and mass centres of one position, (2,) each [m]."""

    A: Array
    B: Array
    C: Array  # the pendulum's right angle
    C_prime: Array
    D: Array
    centres: Array  # (3, 2), of crank, lever and pendulum, eqs. (A25) to (A27)


def points(pump: Mechanism, phi_1: float, x_D: float) -> MechanismPoints:
    """Where joints and mass centres are."""
    system = pump_system(pump)
    at = kinematics.frames(system, coordinates(pump, phi_1, x_D))

    def place(body: str, at_body: Vector = ZERO) -> Array:
        return np.array(kinematics.position_of(Point(body, at_body), at)[:2], dtype=float)

    # C'C = f and CD = g at a right angle: C'C turns from C'D by the angle whose tangent is g / f
    corner = place("pendulum", (pump.f**2 / pump.h, -pump.f * pump.g / pump.h, 0.0))
    centres = np.array([place(body.name, body.com) for body in system.bodies[:3]])
    return MechanismPoints(place("crank"), place("lever"), corner, place("pendulum"), place("slide"), centres)


# Free bodies; the liaison forces eliminated by projection, and recovered: eqs. (A32) to (A46)


class Loads(NamedTuple):
    """Accelerations of (phi_1, x_D), the motor's torque [N m], and the liaison forces (8,) [N]."""

    accelerations: Array
    torque: float
    liaison: Array


def mass_matrix(pump: Mechanism) -> Array:
    """[m] of eq. (A43), (10, 10)."""
    m1, m2, m3 = pump.m1, pump.m2, pump.m3
    return np.diag([m1, m1, pump.J1, m2, m2, pump.J2, m3, m3, pump.J3, pump.mD])


def slide_force(pump: Mechanism, state: MechanismState) -> float:
    """What the pump and the spring exert on the slide [N]."""
    return -pump.Fr * math.tanh(state.v_D / pump.v_Fr) - pump.k * (state.x_D - pump.x0)


def external_forces(pump: Mechanism, state: MechanismState, torque: float) -> Array:
    """{Q_ext} of eq. (A42), (10,).

    The mass centre of body 3 is that of pendulum and weight together, so that gravity has no moment about it.
    """
    weights = -GRAVITY * np.array([pump.m1, pump.m2, pump.m3])
    return np.array(
        [0.0, weights[0], torque, 0.0, weights[1], 0.0, 0.0, weights[2], 0.0, slide_force(pump, state)]
    )


def liaison_matrix(pump: Mechanism, phi_1: float, x_D: float) -> Array:
    """{Q_liaison} = L (X_A .. Y_D), eqs. (A32) to (A41) with the signs of the moments corrected; (10, 8).

    Body 2 bears (-X_B, -Y_B) and (X_C, -Y_C), body 3 (-X_C, Y_C) and (X_D, -Y_D), the slide -X_D.
    """
    at = points(pump, phi_1, x_D)
    L = np.zeros((10, 8))
    places = (at.A, at.B, at.C_prime, at.D)
    for joint, (place, bodies) in enumerate(zip(places, JOINTS.values(), strict=True)):
        for body, (sign_x, sign_y) in bodies.items():
            if body == 3:
                L[9, 2 * joint] = sign_x
                continue
            x, y = place - at.centres[body]  # eqs. (A37) to (A40) for body 3
            L[3 * body : 3 * body + 3, 2 * joint] = sign_x, 0.0, -y * sign_x
            L[3 * body : 3 * body + 3, 2 * joint + 1] = 0.0, sign_y, x * sign_y
    return L


def driven(pump: Mechanism, state: MechanismState) -> Loads:
    """What a crank that turns steadily needs and bears.

    Eq. (A46) for x_D'' and the torque, then eq. (A43) for the liaison forces.
    """
    motion = PumpMotion(pump, state)
    inertia, load = motion.equations(0.0)
    second = np.array([0.0, load[1] / inertia[1, 1]])
    torque = float(inertia[0, 1] * second[1] - load[0])
    left = mass_matrix(pump) @ motion.accelerations(second) - external_forces(pump, state, torque)
    L = liaison_matrix(pump, state.phi_1, state.x_D)
    liaison, *_ = np.linalg.lstsq(L, left, rcond=None)  # 10 equations, 8 unknowns, consistent by eq. (A45)
    return Loads(second, torque, np.asarray(liaison, dtype=float))
