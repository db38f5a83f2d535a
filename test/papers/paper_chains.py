"""The papers' robots from their URDFs, with the papers' symbols; and the exact comparison of formulas."""

from dataclasses import replace

import hussain_print as hussain
import sympy

from kane_dynamics_ros.description import Chain, Inertia, load_robot, serial_chain
from kane_dynamics_ros.formulation.symbolic.equations import symbolic_chain
from kane_dynamics_ros.formulation.symbolic.trigonometry import fourier_sums
from kane_dynamics_ros.papers import manipulator_maggi as malvezzi
from kane_dynamics_ros.share import share_directory

_URDF = share_directory() / "urdf"
_NONE = (0, 0, 0)

HUSSAIN_SYMBOLS = {
    **{"m_1": hussain.m_A, "r_x1": hussain.rho_A, "l_x1": hussain.l_A, "J_z1": hussain.I_A},
    **{"m_2": hussain.m_B, "r_x2": hussain.rho_B, "l_x2": hussain.l_B, "J_z2": hussain.I_B},
    **{"m_3": hussain.m_C, "r_x3": hussain.rho_C, "J_z3": hussain.I_C},
}
MALVEZZI_SYMBOLS = {
    "l_y2": malvezzi.l_2,
    "r_y2": malvezzi.l_2 / 2,
    "l_y3": malvezzi.l_3,
    "r_y3": malvezzi.l_3 / 2,
    "g": malvezzi.g,
}


def three_link_chain() -> Chain:
    """[Hussain2016]'s chain from its URDF, with the paper's symbols."""
    chain = serial_chain(load_robot(_URDF / "three_link_chain.urdf"))
    return renamed(symbolic_chain(chain), HUSSAIN_SYMBOLS)


def manipulator() -> tuple[Chain, Inertia]:
    """[Malvezzi2017]'s chain with its wrist locked, and the end-effector m_4 as a point mass at O_4."""
    robot = load_robot(_URDF / "manipulator_5dof.urdf")
    chain = symbolic_chain(serial_chain(robot, lock={"beta_4": 0.0, "gamma_4": 0.0}))
    return renamed(chain, MALVEZZI_SYMBOLS), Inertia(malvezzi.m_4, _NONE, (_NONE, _NONE, _NONE))


def renamed(chain: Chain, names: dict) -> Chain:
    """The chain with symbols replaced by the paper's."""
    symbols = {sympy.Symbol(name): symbol for name, symbol in names.items()}

    def vector(values):
        return tuple(sympy.sympify(value).subs(symbols) for value in values)

    def inertia(body):
        mass = sympy.sympify(body.mass).subs(symbols)
        return Inertia(mass, vector(body.com), tuple(vector(row) for row in body.tensor))

    joints = tuple(
        replace(joint, p_PoJo_P=vector(joint.p_PoJo_P), inertia=inertia(joint.inertia))
        for joint in chain.joints
    )
    return replace(chain, joints=joints, p_BoTo_B=vector(chain.p_BoTo_B))


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
