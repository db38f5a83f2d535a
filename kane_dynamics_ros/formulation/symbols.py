"""A chain whose masses, lengths and inertias are symbols, and whose other numbers are exact.

Numbers carry the body's index, root to tip from 1 (0 is the root link). ``m_2``: mass. ``r_y2``: the centre
of mass of body 2 along its y. ``l_y2``: the next joint's (or the tip's) place on body 2 along y. ``J_y2``:
its central moment of inertia about y; ``J_xy2``: the entry off the diagonal. Zeros stay zeros, so that
the chain keeps its structure.
"""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import sympy

from kane_dynamics_ros.description.model import Chain, ChainJoint, Inertia

_AXES = "xyz"
_NEGLIGIBLE = 1e-9  # what a URDF's decimals of pi leave where a zero is meant; m, kg m^2 or 1


def symbolic_chain(chain: Chain) -> Chain:
    """The same chain with symbols for its physical numbers; angles are kept, exact where simple."""
    n = len(chain.joints)
    joints = tuple(_symbolic_joint(joint, index + 1) for index, joint in enumerate(chain.joints))
    return replace(
        chain, joints=joints, R_BT=_exact_matrix(chain.R_BT), p_BoTo_B=_symbols("l", chain.p_BoTo_B, n)
    )


def coordinate_symbols(n: int) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
    """Symbols for positions q_i, speeds u_i = dq_i/dt and accelerations du_i/dt of ``n`` coordinates."""
    q, u, du = (tuple(sympy.Symbol(f"{name}_{i + 1}") for i in range(n)) for name in ("q", "u", "du"))
    return q, u, du


def exact(value: float) -> Any:
    """``value`` as an exact number when it is a simple one (0, 1/2, sqrt(2)/2, ...), else as a decimal."""
    square = Fraction(value * value).limit_denominator(16)
    if abs(math.sqrt(square) - abs(value)) > _NEGLIGIBLE:
        return sympy.Rational(str(round(value, 12)))
    return (-1 if value < 0 else 1) * sympy.sqrt(sympy.Rational(square.numerator, square.denominator))


def _symbolic_joint(joint: ChainJoint, body: int) -> ChainJoint:
    inertia = joint.inertia
    return replace(
        joint,
        R_PJ=_exact_matrix(joint.R_PJ),
        p_PoJo_P=_symbols("l", joint.p_PoJo_P, body - 1),
        axis=tuple(exact(value) for value in joint.axis),
        inertia=Inertia(
            _symbol("m", inertia.mass, body),
            _symbols("r", inertia.com, body),
            _symbolic_tensor(inertia.tensor, body),
        ),
        multiplier=exact(joint.multiplier),
        offset=_exact_angle(joint.offset),
    )


def _symbolic_tensor(tensor: Any, body: int) -> Any:
    def entry(i: int, j: int) -> Any:
        axes = _AXES[i] if i == j else _AXES[min(i, j)] + _AXES[max(i, j)]
        return _symbol(f"J_{axes}", tensor[i][j], body, separator="")

    return tuple(tuple(entry(i, j) for j in range(3)) for i in range(3))


def _symbols(name: str, vector: Any, body: int) -> Any:
    return tuple(
        _symbol(f"{name}_{axis}", value, body, separator="")
        for axis, value in zip(_AXES, vector, strict=True)
    )


def _symbol(name: str, value: float, body: int, separator: str = "_") -> Any:
    return sympy.Symbol(f"{name}{separator}{body}") if abs(value) > _NEGLIGIBLE else 0


def _exact_matrix(matrix: Any) -> Any:
    return tuple(tuple(exact(value) for value in row) for row in matrix)


def _exact_angle(angle: float) -> Any:
    return exact(angle / float(sympy.pi)) * sympy.pi
