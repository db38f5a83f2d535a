"""Chains with several tips: whole robots against Pinocchio's whole models, and how they are asked for."""

import numpy as np
import pinocchio
import pytest
from example_robots import ROBOTS
from small_urdf import fixed, joint, link, robot

from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.description import (
    DescriptionError,
    check_origin,
    load_robot,
    parse_robot,
    serial_chain,
)
from kane_dynamics_ros.runtime import load_model

WHOLE = {  # robots that Pinocchio reads with all joints that move
    "baxter": "baxter_description/urdf/baxter.urdf",
    "talos": "talos_data/robots/talos_reduced.urdf",
    "g1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "icub": "icub_description/robots/icub.urdf",
    "allegro": "allegro_hand_description/urdf/allegro_left_hand.urdf",
    "solo": "solo_description/robots/solo12.urdf",
    "anymal": "anymal_b_simple_description/robots/anymal-kinova.urdf",
}
TOLERANCE = 1e-12  # relative to the largest entry: rounding of sums over a hundred joints


class PinocchioTree:
    """Pinocchio's model of the whole robot in the coordinates of a chain, followers included."""

    def __init__(self, urdf, chain) -> None:
        self.chain, self.model = chain, pinocchio.buildModelFromUrdf(str(urdf))
        self.data = self.model.createData()
        moving = {joint.name for joint in chain.joints}
        assert set(self.model.names[1:]) == moving
        self.G = np.zeros((self.model.nv, len(chain.coordinates)))  # the joints' speeds by the coordinates'
        for j in chain.joints:
            self.G[self.model.idx_vs[self.model.getJointId(j.name)], j.coordinate] = j.multiplier

    def configuration(self, q):
        found = pinocchio.neutral(self.model)
        for j in self.chain.joints:
            index = self.model.getJointId(j.name)
            value, place = j.multiplier * q[j.coordinate] + j.offset, self.model.idx_qs[index]
            if self.model.nqs[index] == 2:  # a continuous joint
                found[place : place + 2] = np.cos(value), np.sin(value)
            else:
                found[place] = value
        return found

    def inverse_dynamics(self, q, qd, qdd):
        tau = pinocchio.rnea(self.model, self.data, self.configuration(q), self.G @ qd, self.G @ qdd)
        return self.G.T @ tau

    def mass_matrix(self, q):
        M = pinocchio.crba(self.model, self.data, self.configuration(q))
        return self.G.T @ (np.triu(M) + np.triu(M, 1).T) @ self.G

    def derivatives(self, q, qd, qdd):
        state = self.configuration(q), self.G @ qd, self.G @ qdd
        by_q, by_qd, _ = pinocchio.computeRNEADerivatives(self.model, self.data, *state)
        return self.G.T @ by_q @ self.G, self.G.T @ by_qd @ self.G


def close_to(expected):
    return pytest.approx(expected, rel=0, abs=TOLERANCE * np.abs(expected).max())


@pytest.fixture(scope="module", params=WHOLE)
def tree(request, tmp_path_factory):
    """The generated module of a whole robot, its chain without rotors, and Pinocchio's."""
    urdf, folder = ROBOTS / WHOLE[request.param], tmp_path_factory.mktemp(request.param)
    chain = serial_chain(load_robot(urdf), "all")
    write_module(derive(chain), "tree", folder)
    model = load_model(folder / "tree.py", backend="python")
    n = len(chain.coordinates)
    return model.with_parameters(rotor_inertia=[0.0] * n), PinocchioTree(urdf, chain)


def test_torques_and_mass_matrix_are_pinocchios(tree):
    model, theirs = tree
    random = np.random.default_rng(0)
    for _ in range(3):
        q, qd, qdd = random.uniform(-1.5, 1.5, (3, len(model.joint_names)))
        assert model.inverse_dynamics(q, qd, qdd) == close_to(theirs.inverse_dynamics(q, qd, qdd))
        assert model.mass_matrix(q) == close_to(theirs.mass_matrix(q))


def test_derivatives_are_pinocchios(tree):
    model, theirs = tree
    q, qd, qdd = np.random.default_rng(1).uniform(-1.5, 1.5, (3, len(model.joint_names)))
    for found, expected in zip(
        model.inverse_dynamics_derivatives(q, qd, qdd), theirs.derivatives(q, qd, qdd), strict=True
    ):
        assert found == close_to(expected)


def test_branches_do_not_feel_one_another(tree):
    """M and the derivatives are exactly zero between joints of which neither carries the other."""
    model, theirs = tree
    above = {k: {k} for k in range(len(theirs.chain.joints))}
    for k, j in enumerate(theirs.chain.joints):
        if j.parent >= 0:
            above[k] |= above[j.parent]
    related = np.zeros((len(model.joint_names),) * 2, dtype=bool)
    for k, a in enumerate(theirs.chain.joints):
        for i in above[k]:
            b = theirs.chain.joints[i].coordinate
            related[a.coordinate, b] = related[b, a.coordinate] = True
    q, qd, qdd = np.random.default_rng(2).uniform(-1, 1, (3, len(model.joint_names)))
    assert np.count_nonzero(model.mass_matrix(q)[~related]) == 0
    for table in model.inverse_dynamics_derivatives(q, qd, qdd):
        assert np.count_nonzero(table[~related]) == 0
    assert not related.all()


# How a tree is asked for


def torso_with_two_arms() -> str:
    """base - waist - torso, which carries two arms of two joints, each with a tool, and a fixed head."""
    parts = [link("base", ""), link("torso"), joint("waist", "base", "torso")]
    for side, y in (("left", "0.2"), ("right", "-0.2")):
        parts += [link(f"{side}_upper"), link(f"{side}_lower"), link(f"{side}_tool", "")]
        parts += [
            joint(f"{side}_shoulder", "torso", f"{side}_upper", xyz=f"0 {y} 0.3"),
            joint(f"{side}_elbow", f"{side}_upper", f"{side}_lower"),
            fixed(f"{side}_mount", f"{side}_lower", f"{side}_tool"),
        ]
    parts += [link("head"), fixed("neck", "torso", "head")]
    return robot(*parts)


@pytest.mark.parametrize(
    "tips", ["all", ["left_tool", "right_tool"], ["left_tool", "right_tool", "left_tool"]]
)
def test_several_tips_make_a_tree_whose_joints_are_in_the_trees_order(tips):
    chain = serial_chain(parse_robot(torso_with_two_arms()), tips)
    assert chain.tips == ("left_tool", "right_tool")
    names = [j.name for j in chain.joints]
    assert [names[j.parent] if j.parent >= 0 else "" for j in chain.joints].count("waist") == 2
    order = ("waist", "left_shoulder", "left_elbow", "right_shoulder", "right_elbow")
    assert chain.coordinates == tuple(names) == order


def test_one_tip_in_a_list_is_that_tip():
    given = parse_robot(torso_with_two_arms())
    assert serial_chain(given, ["left_tool"]) == serial_chain(given, "left_tool")


def test_a_link_that_is_called_all_is_meant_by_its_name():
    text = torso_with_two_arms().replace("left_tool", "all")
    assert serial_chain(parse_robot(text), "all").tips == ("all",)


def test_an_unknown_tip_among_several_is_refused():
    with pytest.raises(DescriptionError) as caught:
        serial_chain(parse_robot(torso_with_two_arms()), ["left_tool", "nobody"])
    assert caught.value.code == "KD601"


def test_a_module_of_a_tree_knows_its_robot_again(tmp_path):
    given = parse_robot(torso_with_two_arms())
    write_module(derive(serial_chain(given, "all")), "twoarms", tmp_path)
    model = load_model(tmp_path / "twoarms.py", backend="python")
    assert model.tips == ("left_tool", "right_tool")
    assert check_origin(model, given).matches
    other = parse_robot(torso_with_two_arms().replace('xyz="0 -0.2 0.3"', 'xyz="0 -0.21 0.3"'))
    assert not check_origin(model, other).matches


def test_two_arms_cost_little_more_than_twice_one():
    """Operations of inverse dynamics: at most 2.05 arms and the torso."""
    given = load_robot(ROBOTS / WHOLE["baxter"])

    def total(*tips):
        chain = serial_chain(given, list(tips), root="torso")
        return derive(chain).operations()["inverse_dynamics"].total

    left, right = total("left_hand_range_link"), total("right_hand_range_link")
    assert total("left_hand_range_link", "right_hand_range_link") <= 1.025 * (left + right)
