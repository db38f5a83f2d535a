"""The equations of [Hussain2016] as they are printed, misprints included, but for ``DOUBLE_DOTS``.

Nothing here is derived; the tests compare it with what the engine derives. ``I_A`` stands for the
print's I_A*, the central inertia.
"""

import sympy
from sympy import Rational, cos, sin

q1, q2, q3, qd1, qd2, qd3, qdd1, qdd2, qdd3 = sympy.symbols("q_1:4 qd_1:4 qdd_1:4")
m_A, m_B, m_C, I_A, I_B, I_C, g = sympy.symbols("m_A m_B m_C I_A I_B I_C g", positive=True)
l_A, l_B, rho_A, rho_B, rho_C = sympy.symbols("l_A l_B rho_A rho_B rho_C", positive=True)
T_1, T_2, T_3 = sympy.symbols("T_1:4")

c1, c12, c123 = cos(q1), cos(q1 + q2), cos(q1 + q2 + q3)
s1, s12, s123 = sin(q1), sin(q1 + q2), sin(q1 + q2 + q3)
C2, C3, C23 = cos(q2), cos(q3), cos(q2 + q3)
S2, S3, S23 = sin(q2), sin(q3), sin(q2 + q3)


def _table(cosine, sine, minus_sine, cosine_below):
    return sympy.Matrix([[cosine, minus_sine, 0], [sine, cosine_below, 0], [0, 0, 1]])


TABLE_2 = {
    "N_R_A": _table(c1, s1, -s1, c1),
    "A_R_B": _table(C2, S2, -S2, C2),
    "B_R_C": _table(C3, S3, -S3, C3),
    "N_R_B": _table(c12, s12, -s12, c12),
    "N_R_C": _table(c123, s123, -s123, c12),
    "A_R_C": _table(C23, S23, -s12, c12),
}


def _axes(cosine, sine):
    return sympy.Matrix([cosine, sine, 0]), sympy.Matrix([-sine, cosine, 0]), sympy.Matrix([0, 0, 1])


# The unit vectors of the frames A, B, C, in N.
a_1, a_2, a_3 = _axes(c1, s1)
b_1, b_2, b_3 = _axes(c12, s12)
c_1, c_2, c_3 = _axes(c123, s123)
_none = sympy.zeros(3, 1)

ANGULAR_VELOCITY = (qd1 * a_3, (qd1 + qd2) * b_3, (qd1 + qd2 + qd3) * c_3)  # (7) to (9)
ANGULAR_ACCELERATION = (qd1 * a_3, (qdd1 + qdd2) * b_3, (qdd1 + qdd2 + qdd3) * b_3)  # (10) to (12)
VELOCITY = (  # (14) to (16)
    rho_A * qd1 * a_2,
    l_A * qd1 * a_2 + rho_B * (qd1 + qd2) * b_2,
    l_A * qd1 * a_2 + l_B * (qd1 + qd2) * b_2 + rho_C * (qd1 + qd2 + qd3) * c_2,
)
# (18) and (19); of (20) the machine-read copy keeps the terms below and loses the last one.
ACCELERATION = (
    -rho_A * qd1**2 * a_1 + qd1 * rho_A * a_2,
    -l_A * qd1**2 * a_1 + qdd1 * l_A * a_2 - rho_B * (qd1 + qd2) ** 2 * b_1 + rho_B * (qdd1 + qdd2) * b_2,
    -l_A * qd1**2 * a_1
    + qdd1 * l_A * a_2
    - l_B * (qd1 + qd2) ** 2 * b_1
    + l_B * (qdd1 + qdd2) * b_2
    - rho_C * (qd1 + qd2 + qd3) ** 2 * c_1,
)
# Rows: bodies A, B, C. Columns: the generalized speeds u_1, u_2, u_3.
PARTIAL_ANGULAR_VELOCITY = ((a_3, _none, _none), (b_3, b_3, _none), (c_3, c_3, c_3))  # (22) to (25)
PARTIAL_VELOCITY = (  # (26) to (32)
    (rho_A * a_2, _none, _none),
    (l_A * a_2 + rho_B * b_2, rho_B * b_2, _none),
    (l_A * a_2 + l_B * b_2 + rho_C * c_2, l_B * b_2 + rho_C * c_2, rho_C * c_2),
)

F_1 = -rho_A * m_A * g * c1 - m_B * g * (l_A * c1 + rho_B * c12)  # (34)
F_1 += -m_C * g * (l_A * c1 + l_B * c12 + rho_C * c123) + T_1
F_2 = -m_B * g * rho_B * c12 - m_C * g * l_B * c12 - m_C * g * rho_C * c123 + T_2  # (36)
F_3 = -m_C * g * rho_C * c123 + T_3  # (37)

_M11 = I_A + I_B + I_C + m_A * rho_A**2 + m_B * l_A**2 + m_B * rho_B**2 + m_C * l_A**2 + m_C * l_B**2
_M11 += m_C * rho_C**2 + 2 * m_B * l_A * rho_B * C2 + 2 * m_C * l_A * l_B * C2
_M11 += 2 * m_C * l_B * rho_C * C3 + 2 * m_C * l_A * rho_C * C23
_M12 = I_B + I_C + m_B * rho_B**2 + m_C * l_B**2 + m_C * rho_C**2 + m_B * l_A * rho_B * C2
_M12 += m_C * l_A * l_B * C2 + 2 * m_C * l_B * rho_C * C3 + m_C * l_A * rho_C * C23
_M13 = I_C + m_C * rho_C**2 + m_C * l_B * rho_C * C3 + m_C * l_A * rho_C * C23
_M22 = I_B + I_C + m_B * rho_B**2 + m_C * l_B**2 + m_C * rho_C**2 + 2 * m_C * l_B * rho_C * C3
_M23 = I_C + m_C * rho_C**2 + m_C * l_B * rho_C * C3
_M33 = I_C + m_C * rho_C**2
_G1 = m_A * g * rho_A * c1 + m_B * g * (l_A * c1 + rho_B * c12)
_G1 += m_C * g * (l_A * c1 + l_B * c12 + rho_C * c123)
_G2 = m_B * g * rho_B * c12 + m_C * g * (l_B * c12 + rho_C * c123)
_G3 = m_C * g * rho_C * c123

_inertia_1 = qdd1 * _M11 + qdd2 * _M12 + qdd3 * _M13
_with_q3 = -2 * m_C * l_B * rho_C * S3 - 2 * m_C * l_A * rho_C * S23
_squares_1 = qd2**2 * (-m_B * l_A * rho_B * S2 - m_C * l_A * l_B * S2 - m_C * l_A * rho_C * S23)
_squares_1 += qd3**2 * (-m_C * l_B * rho_C * S3 - m_C * l_A * rho_C * S23)
_rates_1 = qd1 * qd3 * _with_q3 + qd2 * qd3 * _with_q3 + _squares_1
_q1_q2_of_39 = -2 * m_B * l_A * l_B * S2 - 2 * m_C * l_A * l_B * S2 - 2 * m_C * l_A * rho_C * S23
_q1_q2_of_46 = -2 * m_B * l_A * l_B * S2 - 2 * m_C * l_A * rho_C * S23

T1_KANE = _inertia_1 + qd1 * qd2 * _q1_q2_of_39 + _rates_1 + _G1  # (39)
T1_LAGRANGE = _inertia_1 + qd1 * qd2 * _q1_q2_of_46 + _rates_1 + _G1  # (46)

_rates_2 = qd1 * qd3 * (-2 * m_C * l_B * rho_C * S3) + qd2 * qd3 * (-2 * m_C * l_B * rho_C * S3)
_rates_2 += qd1**2 * (m_B * l_A * rho_B * S2 + m_C * l_A * l_B * S2 + m_C * l_A * rho_C * S23)
_rates_2 += qd3**2 * (-m_C * l_B * rho_C * S3)
T2 = qdd1 * _M12 + qdd2 * _M22 + qdd3 * _M23 + _rates_2 + _G2  # (40), (47)

_q1_q2_of_41 = 2 * m_C * l_B * rho_C * S3
_rates_3 = qd1 * qd2 * _q1_q2_of_41 + qd1 * qd2 * _q1_q2_of_41  # printed twice
_rates_3 += qd1**2 * (m_C * rho_C * l_B * S3 + m_C * l_A * rho_C * S23)
_rates_3 += qd2**2 * (m_C * l_B * rho_C * S3)
T3 = qdd1 * _M13 + qdd2 * _M23 + qdd3 * _M33 + _rates_3 + _G3  # (41), (48)

_half = Rational(1, 2)
_K11 = _half * (I_A + I_B + I_C + m_A * rho_A**2 + m_B * l_A**2 + m_B * rho_B**2 + m_C * l_A**2)
_K11 += _half * (m_C * l_B**2 + m_C * rho_C**2)
_K11 += m_B * l_A * rho_B * C2 + m_C * l_A * l_B * C2 + m_C * l_A * rho_C * C3
_K22 = _half * (I_B + I_C + m_B * rho_B**2 + m_C * rho_C**2) + m_C * l_B * rho_C * C3
_K33 = _half * (I_C + m_C * rho_C**2)
K = qd1**2 * _K11 + qd2**2 * _K22 + qd3**2 * _K33 + qd1 * qd2 * _M12 + qd1 * qd3 * _M13  # (44)
P = m_A * g * rho_A * s1 + m_B * g * (l_A * s1 + rho_B * s12)  # (45)
P += m_C * g * (l_A * s1 + l_B * s12 + rho_C * s123)

# Where the print (or our copy of it) has two dots over a coordinate of a velocity term: equation, and the
# factors as they are printed. The formulas above have one dot there, as the terms' dimension demands.
DOUBLE_DOTS = {
    "(39)": [qdd1 * qd2],
    "(41)": [qdd1 * qd2, qdd1 * qd2, qdd1**2],
    "(46)": [qdd1 * qd2, qdd1 * qd3, qdd2 * qd3, qdd2**2, qdd3**2],
    "(48)": [qdd1 * qd2, qdd1 * qd2],
}
