"""Lagrange's equations by SymPy, and the exact comparison of formulas."""

import sympy

from kane_dynamics_ros.formulation.symbolic.trigonometry import fourier_sums


def lagranges_efforts(L, q, qd, qdd) -> list:
    """d/dt (dL/dq_i') - dL/dq_i by SymPy's differentiation."""
    efforts = []
    for q_i, qd_i in zip(q, qd, strict=True):
        momentum = sympy.Matrix([sympy.diff(L, qd_i)])
        rate = momentum.jacobian(q) * sympy.Matrix(qd) + momentum.jacobian(qd) * sympy.Matrix(qdd)
        efforts.append(rate[0] - sympy.diff(L, q_i))
    return efforts


def same(found, expected, angles) -> bool:
    """Whether two formulas, or two matrices of them, are equal for all values: exact, by Fourier sums."""
    difference = sympy.Matrix([found]) - sympy.Matrix([expected])
    return all(fourier_sums(entry, angles) == {} for entry in difference)
