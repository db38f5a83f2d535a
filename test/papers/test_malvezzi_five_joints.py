"""[Malvezzi2017]'s manipulator with all five joints free: four derivations, one robot."""

import numpy as np
import pytest
import sympy
from paper_chains import same

from kane_dynamics_ros.description import load_robot, serial_chain
from kane_dynamics_ros.formulation.kane import dynamics
from kane_dynamics_ros.formulation.symbolic.equations import coordinate_symbols, derive, symbolic_chain
from kane_dynamics_ros.formulation.witnesses import gibbs_appell, lagrange, maggi
from kane_dynamics_ros.runtime import Payload, load_model
from kane_dynamics_ros.share import share_directory

CHAIN = serial_chain(load_robot(share_directory() / "urdf" / "manipulator_5dof.urdf"))
WITNESSES = [lagrange, maggi, gibbs_appell]


def test_lagrange_and_kane_are_equal_in_symbols():
    """Exactly, with masses, lengths and inertias as symbols: the columns of M, and V along two rates."""
    chain = symbolic_chain(CHAIN)
    q, u, _ = coordinate_symbols(5)
    still = (0,) * 5
    states = [(still, tuple(unit)) for unit in sympy.eye(5).tolist()]
    states += [((0, 0, u[2], 0, u[4]), still)]
    for rates, accelerations in states:
        kane = dynamics.inverse_dynamics(chain, q, rates, accelerations, (0, 0, 0))
        by_lagrange = lagrange.inverse_dynamics(chain, q, rates, accelerations, (0, 0, 0))
        assert same(list(by_lagrange), kane, q)


@pytest.mark.parametrize("witness", WITNESSES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_the_generated_module_agrees_with(witness):
    model = load_model("manipulator_5dof")
    rng = np.random.default_rng(5)
    for _ in range(5):
        q, qd, qdd = rng.uniform(-3, 3, (3, 5))
        expected = witness.inverse_dynamics(CHAIN, q, qd, qdd, (0.0, 0.0, -9.81))
        # rounding of torques of some 100 N m
        assert model.inverse_dynamics(q, qd, qdd) == pytest.approx(expected, abs=1e-12)


def test_locking_the_wrist_leaves_the_papers_structure():
    """M_12 = M_13 = 0 hold with the wrist locked straight, and not with a load beside a wrist that turned."""
    locked = serial_chain(
        load_robot(share_directory() / "urdf" / "manipulator_5dof.urdf"), lock={"beta_4": 0.0, "gamma_4": 0.0}
    )
    M = derive(locked, dynamics.inverse_dynamics).M
    assert (M[0, 1], M[0, 2]) == (0, 0)
    loaded = load_model("manipulator_5dof").with_parameters(payload=Payload(1.0, (0.1, 0.0, 0.0)))
    assert abs(loaded.mass_matrix([0.1, 0.4, 0.3, 0.5, 0.6])[0, 1]) > 1e-3  # [kg m^2], of about 0.1
