"""Dimensions and masses of the pump's mechanism. The paper prints none of them: all values are ours."""

import math
from dataclasses import dataclass, field

from kane_dynamics_ros.elastic.section import Material, Section, rectangle

GRAVITY = 9.81  # [m/s^2], along -y


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


CRANK_SPEED = 140.0 * 2.0 * math.pi / 60.0  # [rad/s], 140 rpm as printed
