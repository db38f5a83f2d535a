"""Poses and gravity efforts of the description's own checks, against Kane's equations at rest."""

import numpy as np
import pytest
from chain_torques import inverse_dynamics
from test_mimic import gripper

from kane_dynamics_ros.description import load_robot, parse_robot, serial_chain
from kane_dynamics_ros.description.judgement import gravity_efforts, position
from kane_dynamics_ros.share import share_directory

CHAINS = {
    "reference robot": lambda: serial_chain(load_robot(share_directory() / "urdf" / "manipulator_5dof.urdf")),
    "sliding follower": lambda: serial_chain(parse_robot(gripper("prismatic")), tip="pad_l"),
    "turning follower": lambda: serial_chain(parse_robot(gripper("revolute")), tip="pad_r"),
}


@pytest.mark.parametrize("name", CHAINS)
def test_gravity_efforts_are_those_of_kanes_equations_at_rest(name):
    chain = CHAINS[name]()
    rest = np.zeros(len(chain.coordinates))
    for q in np.random.default_rng(3).uniform(-2.0, 2.0, (10, len(rest))):
        gravity = (0.3, -4.0, -8.0)
        expected = inverse_dynamics(chain, q, rest, rest, gravity=gravity)
        ours = gravity_efforts(chain.joints, [q.tolist(), q.tolist()], gravity)
        np.testing.assert_allclose(
            ours, [expected, expected], rtol=1e-12, atol=1e-12
        )  # rounding of efforts near 10


@pytest.mark.parametrize("name", CHAINS)
def test_positions_span_the_limits(name):
    for joint in CHAINS[name]().joints:
        if joint.limits.lower is not None and joint.limits.upper is not None:
            assert position(joint, 0.0) == joint.limits.lower
            assert position(joint, 1.0) == pytest.approx(joint.limits.upper, rel=1e-15)
