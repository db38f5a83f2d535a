"""The equations of [Malvezzi2017] as they are printed, letter by letter, misprints included.

Nothing here is derived; the tests compare it with what the engine and the witnesses derive. Symbols are
those of ``papers/manipulator_maggi.py``; dots are spelled d: ``gd1`` is the rate of gamma_1.
"""

import sympy
from sympy import Rational, cos, sin

from kane_dynamics_ros.papers.manipulator_maggi import (
    ACCELERATIONS,
    CENTRES,
    MASSES,
    RATES,
    T_1,
    T_2,
    T_3,
    THETA,
    J_x2,
    J_x3,
    J_y2,
    J_y3,
    J_z1,
    J_z2,
    J_z3,
    g,
    l_2,
    l_3,
    m_2,
    m_3,
    m_4,
)
from kane_dynamics_ros.papers.manipulator_maggi import chi_3 as chi3

gamma1, alpha2, alpha3 = THETA
gd1, ad2, ad3 = THETA_D = RATES[:3]
gdd1, add2, add3 = THETA_DD = ACCELERATIONS[:3]
chid3, chidd3 = RATES[3], ACCELERATIONS[3]
z = {j: CENTRES[j][2] for j in (2, 3, 4)}
xd, yd, zd = ({j: RATES[4 + 3 * (j - 2) + axis] for j in (2, 3, 4)} for axis in range(3))
xdd, ydd, zdd = ({j: ACCELERATIONS[4 + 3 * (j - 2) + axis] for j in (2, 3, 4)} for axis in range(3))
m = MASSES
e = {2: Rational(1, 2), 3: 1, 4: 1}
f = {2: 0, 3: Rational(1, 2), 4: 1}

_c2, _s2, _c3, _s3 = cos(alpha2), sin(alpha2), cos(alpha3), sin(alpha3)
_c23, _s23 = cos(alpha2 + alpha3), sin(alpha2 + alpha3)

M11 = J_z1 + m_2 * l_2**2 / 4 * _c2**2 + J_y2 * _s2**2 + J_z2 * _c2**2
M11 += m_3 * (l_2**2 * _c2**2 + l_3**2 / 4 * _c23**2 + l_2 * l_3 * _c23 * _c2)
M11 += J_y3 * _s23**2 + J_z3 * _c23**2
M11 += m_4 * (l_2**2 * _c2**2 + 2 * l_2 * l_3 * _c23 * _c2 + l_3**2 * _c23**2)
M22 = m_2 * l_2**2 / 4 + J_x2 + m_3 * (l_2**2 + l_3**2 / 4 + l_2 * l_3 * _c3) + J_x3
M22 += m_4 * (l_2**2 + l_3**2 + 2 * l_2 * l_3 * _c3)
M23 = m_3 * (l_3**2 / 4 + l_2 * l_3 / 2 * _c3) + J_x3 + m_4 * (l_3**2 + l_2 * l_3 * _c3)
M33 = m_3 * l_3**2 / 4 + J_x3 + m_4 * l_3**2
M = sympy.Matrix([[M11, 0, 0], [0, M22, M23], [0, M23, M33]])  # (6)

V1 = -m_2 * l_2**2 / 2 * _s2 * _c2 * gd1 * ad2 + 2 * (J_y2 - J_z2) * _s2 * _c2 * gd1 * ad2
V1 += 2 * J_y3 * _s23 * _c23 * (ad2 + ad3) * gd1 - 2 * J_z3 * _s23 * _c23 * (ad2 + ad3) * gd1
_in_m3 = -2 * l_2**2 * _s2 * _c2 * ad2 - l_3**2 / 2 * _s23 * _c23 * (ad2 + ad3)
_in_m3 += -l_2 * l_3 * _s23 * (ad2 + ad3) * _c2 - l_2 * l_3 * _c23 * (ad2 + ad3) * _s2 * ad2
V1 += m_3 * _in_m3 * gd1
_in_m4 = -2 * l_2**2 * _s2 * _c2 * ad2 - 2 * l_2**2 * _s23 * _c23 * (ad2 + ad3)
_in_m4 += -2 * l_2 * l_3 * _s23 * (ad2 + ad3) * _c2 - 2 * l_2 * l_3 * _c23 * _s2 * ad2
V1 += m_4 * _in_m4 * gd1

V2 = -m_3 * (l_2 * l_3 * _s3 * (ad2 + ad3 / 2) * ad3) - m_4 * (l_2 * l_3 * _s3 * (2 * ad2 + ad3) * ad3)
_braces_2 = -m_2 * l_2**2 / 4 * _s2 * _c2 * gd1**2 + (J_y2 - J_z2) * _s2 * _c2 * gd1**2
_in_m3 = l_2**2 * _s2 * _c2 + l_3**2 / 4 * _s23 * _c23 + l_2 * l_3 * sin(2 * alpha2 + alpha3)
_braces_2 += -m_3 * _in_m3 * gd1**2 + (J_y3 - J_z3) * _s23 * _c23 * gd1**2
_in_m4 = -(l_2**2) * _s2 * _c2 - l_2 * l_3 * sin(2 * alpha2 + alpha3) - l_3**2 * _s23 * _c23
_braces_2 += -m_4 * _in_m4 * gd1**2
V2 += -_braces_2 + m_2 * g * l_2 / 2 * _c2 + m_3 * g * (l_2 * _c2 + l_3 / 2 * _c23)
V2 += m_4 * g * (l_2 * _c2 + l_3 * _c23)

V3 = -m_3 * l_2 * l_3 / 2 * _s3 * ad2 * ad3 - m_4 * l_2 * l_3 * _s3 * ad2 * ad3
_in_m3 = l_3**2 / 4 * _s23 * _c23 * gd1**2 + l_2 * l_3 / 2 * _s23 * _c2 * gd1**2
_in_m3 += l_2 * l_3 * _s3 * (ad2 + ad3) * ad2
V3 += -(-m_3 * _in_m3 + (J_y3 - J_z3) * _s23 * _c23 * gd1**2)
# The print closes one bracket more than it opens here; the only reading with right units opens it after m_4.
_in_m4 = (-l_2 * l_3 * _s23 * _c2 - l_3**2 * _s23 * _c23) * gd1**2 - l_2 * l_3 * _s3 * (ad2 + ad3) * ad2
V3 += -m_4 * _in_m4 + m_3 * g * l_3 / 2 * _c23 + m_4 * g * l_3 * _c23
V = sympy.Matrix([V1, V2, V3])  # (7)


def position(j):  # (19)
    """x_j, y_j, z_j of the centre of mass of body j."""
    reach = e[j] * l_2 * cos(alpha2) + f[j] * l_3 * cos(alpha2 + alpha3)
    return (
        -e[j] * l_2 * sin(gamma1) * cos(alpha2) - f[j] * l_3 * sin(gamma1) * cos(alpha2 + alpha3),
        cos(gamma1) * reach,
        e[j] * l_2 * sin(alpha2) + f[j] * l_3 * sin(alpha2 + alpha3),
    )


def complement_rows(j):  # (20)
    """The rows of C for x_j, y_j, z_j."""
    reach = e[j] * l_2 * cos(alpha2) + f[j] * l_3 * cos(chi3)
    rise = e[j] * l_2 * sin(alpha2) + f[j] * l_3 * sin(chi3)
    return sympy.Matrix(
        [
            [-cos(gamma1) * reach, -sin(gamma1) * rise, -f[j] * l_3 * sin(gamma1) * sin(chi3)],
            [-sin(gamma1) * reach, -cos(gamma1) * rise, -f[j] * l_3 * cos(gamma1) * sin(chi3)],
            [0, e[j] * l_2 * cos(alpha2) + f[j] * l_2 * cos(chi3), f[j] * l_3 * cos(chi3)],
        ]
    )


COMPLEMENT_HEAD = sympy.Matrix([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1]])  # (20)

L = J_z1 * gd1**2 / 2 + J_x2 * ad2**2 / 2 + J_y2 * (sin(alpha2) * gd1) ** 2 / 2  # (21)
L += J_z2 * (cos(alpha2) * gd1) ** 2 / 2 + J_x3 * chid3**2 / 2
L += J_y3 * (sin(chi3) * gd1) ** 2 / 2 + J_z3 * (cos(chi3) * gd1) ** 2 / 2
L += sum(m[j] * (xd[j] ** 2 + yd[j] ** 2 + zd[j] ** 2) / 2 + m[j] * g * z[j] for j in (2, 3, 4))

PHI = {  # (22)
    "gamma_1": ((J_y2 + J_z2) * sin(alpha2) ** 2 + (J_y3 + J_z3) * sin(chi3) ** 2 + J_z1) * gdd1
    + (J_y2 + J_z2) * sin(2 * alpha2) * gd1 * ad2
    + (J_y3 + J_z3) * sin(2 * chi3) * gd1 * chid3
    - T_1,
    "alpha_2": J_x2 * add2 - (J_y2 + J_z2) * sin(alpha2) * cos(alpha2) * gd1**2 - T_2,
    "alpha_3": -T_3,
    "chi_3": J_x3 * chidd3 - (J_y3 + J_z3) * gd1**2 * sin(chi3) * cos(chi3),
    **{f"x_{j}": m[j] * xdd[j] for j in (2, 3, 4)},
    **{f"y_{j}": m[j] * ydd[j] for j in (2, 3, 4)},
    **{f"z_{j}": m[j] * (zdd[j] - g) for j in (2, 3, 4)},
}
