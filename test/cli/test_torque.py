"""``kane_dynamics torque``: numbers from the command line to torques."""

import json

import numpy as np
import pytest

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.description import load_robot, serial_chain
from kane_dynamics_ros.runtime import Payload, load_model
from kane_dynamics_ros.share import share_directory


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> dict:
    assert main(["torque", "manipulator_5dof", *words, "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_lists_may_begin_with_a_negative_number(capsys):
    found = printed(capsys, "--q", "-0.5,1,2,3,4", "--qd", "-.1,0,0,0,-1", "--gravity", "-1,2,-3")
    model = load_model("manipulator_5dof").with_parameters(gravity=(-1, 2, -3))
    expected = model.inverse_dynamics([-0.5, 1, 2, 3, 4], [-0.1, 0, 0, 0, -1], np.zeros(5))
    np.testing.assert_array_equal(found["torque"], expected)


@pytest.mark.parametrize("option", ["--urdf-friction", "--friction"])
def test_payload_and_friction_are_those_of_the_model(option, capsys):
    found = printed(capsys, "--qd", "1,1,1,1,1", "--payload-mass", "2", option)
    model = load_model("manipulator_5dof").with_parameters(payload=Payload(mass=2.0)).with_urdf_friction()
    np.testing.assert_array_equal(
        found["torque"], model.inverse_dynamics(np.zeros(5), np.ones(5), np.zeros(5))
    )
    np.testing.assert_array_equal(found["friction"], model.friction(np.ones(5)))


def test_a_tree_carries_a_payload_at_each_tip_that_is_named(capsys, tmp_path):
    chain = serial_chain(load_robot(share_directory() / "urdf/two_arms.urdf"), "all")
    module, *_ = write_module(derive(chain), "two_arms", tmp_path)
    model, still = load_model(module), np.zeros(len(chain.coordinates))
    words = ["--payload-mass", "2", "--payload-mass", "right_hand=1.5"]
    assert main(["torque", str(module), *words, "--json"]) == 0
    expected = model.with_parameters(payload={"left_hand": Payload(2.0), "right_hand": Payload(1.5)})
    found = json.loads(capsys.readouterr().out)["torque"]
    np.testing.assert_array_equal(found, expected.inverse_dynamics(still, still, still))
    assert main(["torque", str(module), "--payload-mass", "hand=1.5"]) == 2
    assert "'left_hand', 'right_hand'" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["heavy", "left=", "nan"])
def test_a_payload_that_is_no_mass_is_refused(text, capsys):
    assert main(["torque", "manipulator_5dof", "--payload-mass", text]) == 2
    assert f"--payload-mass {text!r}" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["1,2", "a,b,c,d,e", "1,2,3,4,5,6", "1 2 3 4 5"])
def test_other_than_one_number_a_joint_is_refused(text, capsys):
    assert main(["torque", "manipulator_5dof", "--q", text]) == 2
    assert capsys.readouterr().err == (
        f"error: --q {text!r}: 5 numbers separated by commas are needed, in the order "
        "gamma_1, alpha_2, alpha_3, beta_4, gamma_4\n"
    )


def test_a_table_has_a_row_a_joint_with_its_unit(capsys):
    assert main(["torque", "manipulator_5dof"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["torque", "inertia", "coriolis", "gravity", "friction", "unit"]
    assert [row.split()[0] for row in rows] == list(load_model("manipulator_5dof").joint_names)
    assert all(row.endswith("  N m") for row in rows)


def test_positions_far_outside_the_limits_are_warned_of_with_joint_value_and_limits(capsys):
    """Degrees for radians; the torque is that of the position as given, and JSON stays JSON."""
    found = printed(capsys, "--q", "0,76.8,197.2,0,0")
    model = load_model("manipulator_5dof")
    still = np.zeros(5)
    np.testing.assert_array_equal(
        found["torque"], model.inverse_dynamics([0, 76.8, 197.2, 0, 0], still, still)
    )
    main(["torque", "manipulator_5dof", "--q", "0,76.8,197.2,0,0"])
    warnings = capsys.readouterr().err.splitlines()
    assert len(warnings) == 2
    for name, value, line in zip(("alpha_2", "alpha_3"), ("76.8", "197.2"), warnings, strict=True):
        (joint,) = (joint for joint in model.joints if joint.name == name)
        assert all(part in line for part in (name, value, f"{joint.lower:g}", f"{joint.upper:g}"))


def test_positions_within_the_limits_are_not(capsys):
    main(["torque", "manipulator_5dof", "--q", "0.1,0.2,-0.3,0.4,0.5"])
    assert capsys.readouterr().err == ""
