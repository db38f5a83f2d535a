"""The mechanism's formulas of [WindPump], section 5 and appendix B, as our copy prints them.

Angles and the slide are functions of the time; ``omega_i`` and ``epsilon_i`` are their derivatives. h_g,
which the paper prints as "hg", is ``hg``.
"""

import sympy as sp

t = sp.Symbol("t")
phi_1, phi_2, phi_3, x_D = (sp.Function(name)(t) for name in ("phi_1", "phi_2", "phi_3", "x_D"))
l1, l2, h, hg, e, psi, xi, a1, a2 = sp.symbols("l_1 l_2 h h_g e psi xi a_1 a_2", positive=True)
L, G, G1, G2, G3, Fr, k, x0, Mm = sp.symbols("L G G_1 G_2 G_3 F_r k x_0 M_m")
FORCES = XA, YA, XB, YB, XC, YC, XD, YD = sp.symbols("X_A Y_A X_B Y_B X_C Y_C X_D Y_D")

omega_1, omega_2, omega_3 = (phi.diff(t) for phi in (phi_1, phi_2, phi_3))
epsilon_1, epsilon_2, epsilon_3 = (phi.diff(t, 2) for phi in (phi_1, phi_2, phi_3))
v_D, a_D = x_D.diff(t), x_D.diff(t, 2)
c1, s1, c2, s2 = sp.cos(phi_1), sp.sin(phi_1), sp.cos(phi_2), sp.sin(phi_2)
c3, s3 = sp.cos(phi_3 - psi), sp.sin(phi_3 - psi)  # c_(3-psi), s_(3-psi)
cg, sg = sp.cos(phi_3 - psi - xi), sp.sin(phi_3 - psi - xi)
det = s2 * c3 - s3 * c2

A6 = sp.Matrix([l1 * c1 + l2 * c2 + h * c3 - x_D, l1 * s1 + l2 * s2 + h * s3 - e])
A17 = sp.Matrix(
    [
        -l1 * omega_1 * s1 - l2 * omega_2 * s2 - h * omega_3 * s3 - v_D,
        l1 * omega_1 * c1 + l2 * omega_2 * c2 + h * omega_3 * c3,
    ]
)
A18_LEFT, A18_RIGHT = sp.Matrix([[s2, s3], [c2, c3]]), sp.Matrix([[-s1, -1], [-c1, 0]])
A19 = sp.Matrix([[-c3 * s1 + s3 * c1, -c3], [c2 * s1 - c1 * s2, c2]]) / det
A21 = sp.Matrix(
    [
        -l1 * epsilon_1 * s1
        - l2 * epsilon_2 * s2
        - h * epsilon_3 * s3
        - l1 * omega_1**2 * c1
        - l2 * omega_2**2 * c2
        - h * omega_3**2 * c3
        - a_D,
        l1 * epsilon_1 * c1
        + l2 * epsilon_2 * c2
        + h * epsilon_3 * c3
        - l1 * omega_1**2 * s1
        - l2 * omega_2**2 * s2
        - h * omega_3**2 * s3,
    ]
)
a11, a12, a21, a22 = A_SYMBOLS = sp.symbols("a_11 a_12 a_21 a_22")
_23 = c3 * c2 + s3 * s2
A23 = (
    sp.Matrix(
        [
            [
                (-c3 * c1 - s3 * s1) / l1 - a11**2 * _23 / l2 - a21**2 / l2,
                -2 * a11 * a12 * _23 / l2 - 2 * a21 * a22 / h,
                -(a12**2) * _23 / l2 - a22**2 / h,
            ],
            [
                (c2 * c1 + s2 * s1) / l1 + a11**2 / l2 + a21**2 * _23 / h,
                2 * a11 * a12 / l2 + 2 * a21 * a22 * _23 / h,
                a12**2 / l2 + a22**2 * _23 / h,
            ],
        ]
    )
    / det
)
A26_POSITION = sp.Matrix([l1 * c1 + a2 * l2 * c2, l1 * s1 + a2 * l2 * s2])
A26_SPEED = sp.Matrix(
    [-l1 * omega_1 * s1 - a2 * l2 * omega_2 * s2, l1 * omega_1 * c1 + a2 * l2 * omega_2 * c2]
)
A26_ACCELERATION = sp.Matrix(
    [
        -l1 * epsilon_1 * s1 - a2 * l2 * epsilon_2 * s2 - l1 * omega_1**2 * c1 - a2 * l2 * omega_2**2 * c2,
        l1 * epsilon_1 * c1 + a2 * l2 * epsilon_2 * c2 - l1 * omega_1**2 * s1 - a2 * l2 * omega_2**2 * s2,
    ]
)
A27_POSITION = sp.Matrix([l1 * c1 + l2 * c2 + hg * cg, l1 * s1 + l2 * s2 + hg * sg])
A27_SPEED = sp.Matrix(
    [
        -l1 * omega_1 * s1 - l2 * omega_2 * s2 - hg * omega_3 * sg,
        l1 * omega_1 * c1 + l2 * omega_2 * c2 + hg * omega_3 * cg,
    ]
)
A28 = sp.Matrix(
    [
        -l1 * epsilon_1 * s1
        - l2 * epsilon_2 * s2
        - hg * epsilon_3 * sg
        - l1 * omega_1**2 * c1
        - l2 * omega_2**2 * c2
        - hg * omega_3**2 * cg,
        l1 * epsilon_1 * c1
        + l2 * epsilon_2 * c2
        + hg * epsilon_3 * cg
        - l1 * omega_1**2 * s1
        - l2 * omega_2**2 * s2
        - hg * omega_3**2 * sg,
    ]
)
A29 = sp.Matrix([[a11 * l1 / l2, a12 / l2], [a21 * l1 / h, a22 / h]])

TO_1, TO_2 = 3 * sp.pi / 2 - phi_1, 2 * sp.pi - phi_2
A32_MOMENT = (
    Mm
    - XA * a1 * l1 * sp.cos(TO_1)
    + YA * a1 * l1 * sp.sin(TO_1)
    + XB * (1 - a1) * l1 * sp.cos(TO_1)
    - YB * (1 - a1) * l1 * sp.sin(TO_1)
)
A33 = Mm + XA * a1 * l1 * s1 - YA * a1 * l1 * c1 - XB * (1 - a1) * l1 * s1 + YB * (1 - a1) * c1
A34_MOMENT = (
    XB * a2 * l2 * sp.sin(TO_2)
    + YB * a2 * l2 * sp.cos(TO_2)
    + XC * (1 - a2) * l2 * sp.sin(TO_2)
    + YC * (1 - a2) * l2 * sp.cos(TO_2)
)
A35 = -XB * a2 * l2 * s2 + YB * a2 * l2 * c2 - XC * (1 - a2) * l2 * s2 - YC * (1 - a2) * l2 * c2
A42_ROW_6 = -YB * a2 * l2 * s2 + YB * a2 * l2 * c2 - XC * (1 - a2) * l2 * s2 - YC * (1 - a2) * l2 * c2
TO_3 = xi - phi_3 + psi
A37 = -hg * sp.cos(TO_3) + h * sp.cos(phi_3 - psi)  # x_D from mass centre 3
A38 = hg * sp.sin(TO_3) + h * sp.sin(phi_3 - psi)
A39, A40 = -hg * sp.cos(TO_3), hg * sp.sin(TO_3)  # x_C, y_C
A36_MOMENT = -XD * A38 - YD * A37 + XC * A40 - YC * A39 + G * (-A37 + L * sp.cos(phi_3))
A36_FORCES = sp.Matrix([XD - XC, -YD + YC - G3 - G])
A41 = -XD - Fr * sp.sign(v_D)
A42_ROW_10 = -XD - Fr * sp.sign(v_D) - k * (x_D - x0)
