"""Chains of real robots against Pinocchio: masses, placements, lumping, branches, mimics."""

import numpy as np
import pytest
from chain_newton_euler import inverse_dynamics
from example_robots import ROBOTS
from pinocchio_chain import PinocchioChain

from kane_dynamics_ros.description import load_robot, serial_chain


@pytest.mark.parametrize(
    "file",
    [
        "panda_description/urdf/panda.urdf",
        "ur_description/urdf/ur5_robot.urdf",
        "so_arm_description/urdf/so101.urdf",
        "tiago_description/robots/tiago.urdf",
        "kinova_description/robots/kinova.urdf",
    ],
)
def test_torques_of_the_chain_agree_with_pinocchio(file):
    path = ROBOTS / file
    robot = load_robot(path)
    chain = serial_chain(robot)
    witness = PinocchioChain(path.read_text(), robot, chain)
    random = np.random.default_rng(0)
    for _ in range(20):
        state = random.uniform(-2.0, 2.0, (3, len(chain.coordinates)))
        expected = witness.inverse_dynamics(*state)
        # Both sum the same terms in another order: a few hundred roundings of 1e-16, with cancellation.
        np.testing.assert_allclose(
            inverse_dynamics(chain, *state), expected, rtol=0, atol=1e-11 * np.abs(expected).max()
        )
