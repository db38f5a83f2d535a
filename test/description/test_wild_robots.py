"""Every chain of every robot in example-robot-data: torques as Pinocchio's, or refused for a known reason."""

import pytest
from chain_torques import inverse_dynamics
from wild_chains import FILES, disagreement, robot_and_text, tried

from kane_dynamics_ros.description import DescriptionError

REFUSED_FILES = {
    "hector_description/robots/quadrotor_base.urdf": "KD207",  # no joints
    "iris_description/robots/iris_simple.urdf": "KD207",  # no moving joints
    "ur_description/urdf/ur3.urdf": "KD201",  # xacro's leavings: no links
}
REFUSED_CHAINS = {
    "alex_description/urdf/alex_psyonic_hands.urdf": {"KD213"},  # fingers follow joints that are not there
    "bolt_description/robots/bolt.urdf": {"KD402"},  # feet of mass 0 with an inertia
}


@pytest.mark.parametrize("file", [file for file in FILES if file not in REFUSED_FILES])
def test_every_chain_agrees_with_pinocchio(file):
    robot, text = robot_and_text(file)
    refusals = set()
    for result in tried(robot):
        if result.chain is None:
            refusals.add(result.refusal.code)
        else:
            # The same sums in another order: a few hundred roundings of 1e-16, with cancellation.
            assert disagreement(text, robot, result.chain, inverse_dynamics, states=1) < 1e-11, result.tip
    assert refusals == REFUSED_CHAINS.get(file, set())


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
