"""Equations in symbols: the numbers they give, and how they read."""

import numpy as np
import pytest
import sympy
from random_chains import random_chain, random_state

from kane_dynamics_ros.description.model import IDENTITY, ZERO, Chain, ChainJoint, Inertia
from kane_dynamics_ros.formulation.kane import dynamics
from kane_dynamics_ros.formulation.symbolic.equations import (
    as_latex,
    as_text,
    coordinate_symbols,
    derive,
    partial_velocity_table,
    symbolic_chain,
)
from kane_dynamics_ros.formulation.symbolic.procedure import kane_procedure, procedure_text
from kane_dynamics_ros.formulation.symbolic.trigonometry import parallel_groups
from kane_dynamics_ros.formulation.witnesses import lagrange

THIN = ((0.0, 0.0, 0.0), (0.0, 0.1, 0.0), (0.0, 0.0, 0.1))


def double_pendulum() -> Chain:
    """Two thin rods along x that turn about z; names that would break a careless printer."""
    rod = Inertia(1.0, (0.5, 0.0, 0.0), THIN)
    upper = ChainJoint("a_1\n", "revolute", IDENTITY, ZERO, (0.0, 0.0, 1.0), "up%per", rod, 0, -1)
    lower = ChainJoint("$b", "revolute", IDENTITY, (1.0, 0.0, 0.0), (0.0, 0.0, 1.0), "lower", rod, 1, 0)
    return Chain("double", "base", "lower", (upper, lower), ("a_1\n", "$b"), 1)


def test_text_of_a_double_pendulum():
    chain = double_pendulum()
    gravity = (0, -sympy.Symbol("g"), 0)
    equations = derive(chain, dynamics.inverse_dynamics, gravity)
    steps = kane_procedure(symbolic_chain(chain), gravity=gravity, groups=parallel_groups(chain))
    assert as_text(equations, procedure_text(steps[5:6])).splitlines() == [
        "q_1: joint 'a_1\\n'",
        "q_2: joint '$b'",
        "body 1: 'up%per'",
        "body 2: 'lower'",
        "",
        "Symbols: m mass, r centre of mass, J central moment of inertia, l place of the next joint; "
        "the letter says along which axis of the body, the number which body, from the root.",
        "",
        "Kane's method, vectors of body k in its axes, k* its centre of mass:",
        "",
        "1. Partial velocities, those that are not zero",
        "",
        "   omega_1^1 = (0, 0, 1)",
        "   v_1^1* = (0, r_x1, 0)",
        "   omega_1^2 = (0, 0, 1)",
        "   v_1^2* = (l_x1*s_2, c_2*l_x1 + r_x2, 0)",
        "   omega_2^2 = (0, 0, 1)",
        "   v_2^2* = (0, r_x2, 0)",
        "",
        "Equations of motion, tau = M du/dt + V + G with u_i = dq_i/dt:",
        "",
        "M_11 = J_z1 + J_z2 + 2*c_2*l_x1*m_2*r_x2 + l_x1**2*m_2 + m_1*r_x1**2 + m_2*r_x2**2",
        "M_12 = J_z2 + c_2*l_x1*m_2*r_x2 + m_2*r_x2**2",
        "M_22 = J_z2 + m_2*r_x2**2",
        "V_1 = -2*l_x1*m_2*r_x2*s_2*u_1*u_2 - l_x1*m_2*r_x2*s_2*u_2**2",
        "V_2 = l_x1*m_2*r_x2*s_2*u_1**2",
        "G_1 = c_1*(g*l_x1*m_2 + g*m_1*r_x1) + c_12*g*m_2*r_x2",
        "G_2 = c_12*g*m_2*r_x2",
        "",
        "c_1 = cos(q_1)",
        "c_12 = cos(q_1 + q_2)",
        "c_2 = cos(q_2)",
        "s_2 = sin(q_2)",
    ]


def test_latex_of_a_double_pendulum():
    chain = double_pendulum()
    latex = as_latex(derive(chain, dynamics.inverse_dynamics), partial_velocity_table(chain)[:1])
    lines = latex.splitlines()
    assert lines[0] == r"\begin{align*}"
    assert lines[1] == r"\omega_{1}^{1} &= \left[\begin{matrix}0 & 0 & 1\end{matrix}\right] \\"
    assert r"M_{22} &= J_{z2} + m_{2} r_{x2}^{2} \\" in lines
    assert lines[-2:] == [r"s_{2} &= \sin{\left(q_{2} \right)}", r"\end{align*}"]


def test_lagrange_prints_the_same_equations_as_kane():
    chain = double_pendulum()
    assert as_text(derive(chain, lagrange.inverse_dynamics)) == as_text(
        derive(chain, dynamics.inverse_dynamics)
    )


def test_symbols_give_the_numbers_of_a_general_chain():
    """A turn and a slide with random frames and axes: every entry of M, V and G is exercised."""
    rng = np.random.default_rng(0)
    chain = random_chain(rng, 2)
    state = random_state(rng, 2)
    equations = derive(chain, dynamics.inverse_dynamics)
    values = {sympy.Symbol("g"): 9.81} | numbers(chain)
    for symbols, numeric in zip(coordinate_symbols(2), state, strict=True):
        values |= dict(zip(symbols, map(float, numeric), strict=True))
    found = [float(effort.subs(values)) for effort in equations.efforts]
    expected = lagrange.inverse_dynamics(chain, *state, (0.0, 0.0, -9.81))
    assert found == pytest.approx(expected, rel=1e-9)  # direction cosines are kept to 12 decimals


def numbers(chain: Chain) -> dict:
    """What the symbols of ``symbolic_chain`` stand for."""
    values = {}
    for symbolic, joint in zip(symbolic_chain(chain).joints, chain.joints, strict=True):
        values |= dict(zip(symbolic.p_PoJo_P, joint.p_PoJo_P, strict=True))
        values |= dict(zip(symbolic.inertia.com, joint.inertia.com, strict=True))
        for row, numeric in zip(symbolic.inertia.tensor, joint.inertia.tensor, strict=True):
            values |= dict(zip(row, numeric, strict=True))
        values[symbolic.inertia.mass] = joint.inertia.mass
    return values
