"""Every chain of every robot in example-robot-data: torques as Pinocchio's, or refused for a known reason."""

from dataclasses import replace

import numpy as np
import pytest
from chain_torques import inverse_dynamics
from wild_chains import FILES, disagreement, robot_and_text, tried

from kane_dynamics_ros.description import DescriptionError, serial_chain
from kane_dynamics_ros.description.geometry import add_matrices

REFUSED_FILES = {
    "hector_description/robots/quadrotor_base.urdf": "KD207",  # no joints
    "iris_description/robots/iris_simple.urdf": "KD207",  # no moving joints
    "ur_description/urdf/ur3.urdf": "KD201",  # xacro's leavings: no links
}
REFUSED_CHAINS = {
    "alex_description/urdf/alex_psyonic_hands.urdf": {"KD213"},  # fingers follow joints that are not there
    "bolt_description/robots/bolt.urdf": {"KD402"},  # feet of mass 0 with an inertia
}
# Romeo's tensors are about the links' origins: where it gives products of inertia, they are those of its
# masses at their centres of mass, as of LElbowYawLink -0.000225 and -0.000220 kg m^2.
ABOUT_ORIGINS = ("romeo_description/urdf/romeo.urdf", "romeo_description/urdf/romeo_small.urdf")


@pytest.mark.parametrize("file", [file for file in FILES if file not in REFUSED_FILES])
def test_every_chain_agrees_with_pinocchio(file):
    robot, text = robot_and_text(file)
    refusals, suspicions = set(), set()
    for result in tried(robot):
        if result.chain is None:
            refusals.add(result.refusal.code)
        else:
            # The same sums in another order: a few hundred roundings of 1e-16, with cancellation.
            assert disagreement(text, robot, result.chain, inverse_dynamics, states=1) < 1e-11, result.tip
            suspicions |= {"KD415", "KD510"}.intersection(f.code for f in result.chain.findings)
    assert refusals == REFUSED_CHAINS.get(file, set())
    assert suspicions == ({"KD415"} if file in ABOUT_ORIGINS else set())


@pytest.mark.parametrize("file", REFUSED_FILES)
def test_robot_without_a_right_answer_is_refused(file):
    with pytest.raises(DescriptionError) as caught:
        robot_and_text(file)
    assert caught.value.code == REFUSED_FILES[file]


def test_the_set_has_what_the_wild_has():
    """Two to thirty joints, prismatic ones, followers, branches: lest the set shrink unseen."""
    chains = [
        result.chain
        for file in FILES
        if file.startswith(("tiago", "pr2", "human", "asr", "z1", "icub", "alex_description/urdf/alex_sake"))
        for result in tried(robot_and_text(file)[0])
        if result.chain is not None
    ]
    kinds = {joint.kind for chain in chains for joint in chain.joints}
    codes = {finding.code for chain in chains for finding in chain.findings}
    assert kinds == {"revolute", "continuous", "prismatic"}
    assert min(len(chain.joints) for chain in chains) <= 2
    assert max(len(chain.joints) for chain in chains) >= 14
    assert {"KD603", "KD604", "KD609"} <= codes


@pytest.mark.parametrize("file", ["ur_description/urdf/ur5_robot.urdf", "panda_description/urdf/panda.urdf"])
def test_the_tensors_of_a_real_arm_about_its_links_origins_are_noted(file):
    robot, _ = robot_and_text(file)
    moved = []
    for one in robot.links:
        m, c = (one.inertia.mass, np.array(one.inertia.com)) if one.inertia else (0.0, np.zeros(3))
        steiner = (m * (c @ c * np.eye(3) - np.outer(c, c))).tolist()
        about_origin = one.inertia and replace(one.inertia, tensor=add_matrices(one.inertia.tensor, steiner))
        moved.append(replace(one, inertia=about_origin))
    for links, expected in ((robot.links, False), (tuple(moved), True)):
        chain = serial_chain(replace(robot, links=links))
        assert ("KD415" in [finding.code for finding in chain.findings]) == expected
