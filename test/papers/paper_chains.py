"""The papers' robots from their URDFs, with the papers' symbols; and the exact comparison of formulas."""

import sympy

from kane_dynamics_ros.description import Chain, Inertia, load_robot, serial_chain
from kane_dynamics_ros.formulation.symbolic.equations import symbolic_chain
from kane_dynamics_ros.formulation.symbolic.trigonometry import fourier_sums
from kane_dynamics_ros.papers import manipulator_maggi as malvezzi
from kane_dynamics_ros.papers.three_link_chain import chain_in_symbols, renamed
from kane_dynamics_ros.share import share_directory

_URDF = share_directory() / "urdf"
_NONE = (0, 0, 0)

MALVEZZI_SYMBOLS = {
    "l_y2": malvezzi.l_2,
    "r_y2": malvezzi.l_2 / 2,
    "l_y3": malvezzi.l_3,
    "r_y3": malvezzi.l_3 / 2,
    "g": malvezzi.g,
}


def three_link_chain() -> Chain:
    """[Hussain2016]'s chain from its URDF, with the paper's symbols."""
    return chain_in_symbols()


def manipulator() -> tuple[Chain, Inertia]:
    """[Malvezzi2017]'s chain with its wrist locked, and the end-effector m_4 as a point mass at O_4."""
    robot = load_robot(_URDF / "manipulator_5dof.urdf")
    chain = symbolic_chain(serial_chain(robot, lock={"beta_4": 0.0, "gamma_4": 0.0}))
    return renamed(chain, MALVEZZI_SYMBOLS), Inertia(malvezzi.m_4, _NONE, (_NONE, _NONE, _NONE))


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
