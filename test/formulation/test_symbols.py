"""A chain with symbols for its numbers."""

import math

import numpy as np
import pytest
import sympy
from random_chains import random_chain

from kane_dynamics_ros.description.model import IDENTITY, ZERO, Chain, ChainJoint, Inertia
from kane_dynamics_ros.formulation.symbolic.equations import exact, symbolic_chain


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (0.0, 0),
        (1.0, 1),
        (-1.0, -1),
        (6.1e-17, 0),
        (0.5, sympy.Rational(1, 2)),
        (-math.sqrt(0.5), -sympy.sqrt(2) / 2),
        (math.sqrt(0.75), sympy.sqrt(3) / 2),
        (0.3, sympy.Rational(3, 10)),
        (2e-5, sympy.Rational(2, 100000)),
    ],
)
def test_simple_numbers_become_exact(value, number):
    assert exact(value) == number


def test_physical_numbers_become_symbols_and_zeros_stay():
    tensor = ((0.1, 0.01, 0.0), (0.01, 0.2, 0.0), (0.0, 0.0, 0.3))
    first = ChainJoint(
        "a", "revolute", IDENTITY, (0, 0, 0.4), (0.0, 0.0, 1.0), "A", Inertia(2.0, ZERO, tensor), 0, -1
    )
    second = ChainJoint(
        "b",
        "revolute",
        IDENTITY,
        (0.5, 0, 0),
        (0.0, 1.0, 0.0),
        "B",
        Inertia(1.0, (0.2, 0, 0), (ZERO,) * 3),
        1,
        0,
    )
    chain = symbolic_chain(Chain("r", "base", "B", (first, second), ("a", "b"), 1, p_BoTo_B=(0.3, 0.0, 0.0)))
    names = [joint.inertia.mass.name for joint in chain.joints]
    assert names == ["m_1", "m_2"]
    assert [str(v) for joint in chain.joints for v in joint.p_PoJo_P] == ["0", "0", "l_z0", "l_x1", "0", "0"]
    assert [str(v) for v in chain.joints[1].inertia.com] == ["r_x2", "0", "0"]
    assert [str(v) for row in chain.joints[0].inertia.tensor for v in row] == [
        *("J_x1", "J_xy1", "0"),
        *("J_xy1", "J_y1", "0"),
        *("0", "0", "J_z1"),
    ]
    assert [str(v) for v in chain.p_BoTo_B] == ["l_x2", "0", "0"]


def test_every_number_of_a_general_chain_is_exact():
    chain = symbolic_chain(random_chain(np.random.default_rng(4), 3))
    for joint in chain.joints:
        assert all(isinstance(v, sympy.Basic) for row in joint.R_PJ for v in row)
        assert all(not v.is_Float for v in joint.axis)
