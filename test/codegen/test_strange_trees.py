"""Random trees with massless links, chains of followers and oblique axes, from text to module and C."""

import subprocess

import numpy as np
import pytest
from compilers import C_COMPILER
from small_urdf import INERTIA, LIMIT, joint, link, robot
from strange_trees import strange_tree

from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.description import DescriptionError, parse_robot, serial_chain
from kane_dynamics_ros.errors import SingularMassMatrixError
from kane_dynamics_ros.formulation.witnesses import lagrange
from kane_dynamics_ros.runtime import load_model

ROUNDING = 1e-10  # of some hundred operations on numbers of one size


def mimic(axis, leader, multiplier=1.0, offset=0.0):
    return f'<axis xyz="{axis}"/>{LIMIT}<mimic joint="{leader}" multiplier="{multiplier}" offset="{offset}"/>'


MASSLESS_SLIDE_ACROSS = robot(
    link("base", ""),
    link("arm"),
    link("slider", ""),
    joint("turn", "base", "arm"),
    joint("slide", "arm", "slider", "prismatic", f'<axis xyz="1 0 0"/>{LIMIT}'),
)
MASSLESS_FOLLOWER_OF_A_SLIDE_OFF_THE_PATH = robot(
    link("base", ""),
    *(link(name, INERTIA if name == "arm" else "") for name in ("s", "f", "arm", "tip")),
    joint("j1", "base", "s", "prismatic", xyz="0 0 0"),
    joint("j2", "base", "f", "revolute", mimic("0 0 1", "j1"), xyz="0 0 0"),
    joint("j3", "base", "arm", xyz="0 0 0"),
    joint("j4", "arm", "tip", "revolute", mimic("0 0 1", "j1", -2.3, -0.7), xyz="0 0 0"),
)


def check(text, tip, folder):
    """One tree: its module agrees with Lagrange, inverts itself or names a joint, and its C is C."""
    chain = serial_chain(parse_robot(text), tip)
    module, _, source = write_module(derive(chain), "tree", folder)
    model = load_model(module, backend="python")
    q, qd, qdd = np.random.default_rng(0).uniform(-1.0, 1.0, (3, len(chain.coordinates)))
    tau = model.inverse_dynamics(q, qd, qdd)
    expected = lagrange.inverse_dynamics(chain, q, qd, qdd, (0.0, 0.0, -9.81)) + chain.rotor_inertia * qdd
    assert tau == pytest.approx(expected, rel=ROUNDING, abs=ROUNDING)
    if np.linalg.cond(model.mass_matrix(q)) > 1e10:
        with pytest.raises(SingularMassMatrixError) as singular:
            model.forward_dynamics(q, qd, tau)
        assert set(singular.value.joints) <= set(chain.coordinates)
    else:
        found = model.forward_dynamics(q, qd, tau)
        assert model.inverse_dynamics(q, qd, found) == pytest.approx(tau, rel=1e-7, abs=1e-7)
    if C_COMPILER is not None:
        subprocess.run([C_COMPILER, "-std=c99", "-fsyntax-only", "-Wall", "-Werror", source], check=True)


@pytest.mark.parametrize(
    ("text", "tip"),
    [(MASSLESS_SLIDE_ACROSS, "slider"), (MASSLESS_FOLLOWER_OF_A_SLIDE_OFF_THE_PATH, "tip")],
    ids=["slide", "follower"],
)
def test_a_joint_that_moves_no_inertia_is_a_finding_and_the_module_is_written(text, tip, tmp_path):
    findings = serial_chain(parse_robot(text), tip).findings
    assert "KD404" in [finding.code for finding in findings]
    check(text, tip, tmp_path)


def test_strange_trees_become_modules(tmp_path):
    """Seeds whose tip has no inertia beyond any joint are refused by the description, and are few."""
    refused = 0
    for seed in range(40):
        text, tip = strange_tree(seed)
        try:
            check(text, tip, tmp_path)
        except DescriptionError:
            refused += 1
    assert refused < 10
