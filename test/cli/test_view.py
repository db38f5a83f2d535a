"""The command ``view`` with a trajectory on a URDF."""

import json
from pathlib import Path

import numpy as np
import pytest

from kane_dynamics_ros.cli import demo_tracking as tracking
from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.cli.view import playback_of_trajectory
from kane_dynamics_ros.control.trajectory_file import trajectory_text
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.viewing.page import ViewOptions

URDF = Path(__file__).parents[2] / "urdf" / "manipulator_5dof.urdf"
JOINTS = ("gamma_1", "alpha_2", "alpha_3", "beta_4", "gamma_4")
START = np.array([0.0, 0.9, -1.2, 0.3, 0.5])


def test_trajectory_on_a_urdf_shows_the_torques_that_pinocchio_computes(tmp_path):
    pin = pytest.importorskip("pinocchio", reason="the torques are compared with Pinocchio's (extra `test`)")
    path = tmp_path / "trajectory.yaml"
    path.write_text(trajectory_text(tracking.request(JOINTS, START), as_json=True))
    playback, _ = playback_of_trajectory(URDF, path)
    motion = tracking.reference(playback.times, START)
    # quintics through points 0.1 s apart: their position is off by 1e-6 rad, their acceleration by 1e-2
    np.testing.assert_allclose(playback.position.T, motion.q, atol=1e-5)
    model = pin.buildModelFromUrdf(str(URDF))
    data = model.createData()
    torque = np.array([pin.rnea(model, data, *state) for state in zip(*motion[1:], strict=True)])
    joints = load_model("manipulator_5dof").joints
    damping, dry = (np.array([getattr(joint, name) for joint in joints]) for name in ("damping", "friction"))
    torque += damping * motion.qd + dry * np.tanh(motion.qd / 0.01)  # the default coulomb_velocity [rad/s]
    assert np.abs(damping * motion.qd).max() > 0.5  # more than the tolerance
    np.testing.assert_allclose(playback.quantities[0].curves[0].values.T, torque, atol=0.2)


def test_command_writes_a_page_and_warns_of_meshes_that_are_not_there(tmp_path, capsys):
    urdf = tmp_path / "robot.urdf"
    shape = '<geometry><mesh filename="package://some_robot/arm.stl"/></geometry>'
    urdf.write_text(URDF.read_text().replace("</visual>", f"</visual><visual>{shape}</visual>", 1))
    trajectory = tmp_path / "trajectory.yaml"
    trajectory.write_text(trajectory_text(tracking.request(JOINTS, START), as_json=True))
    output = tmp_path / "pages" / "view.html"
    assert main(["view", str(urdf), "--trajectory", str(trajectory), "-o", str(output)]) == 0
    assert output.read_text().startswith("<!DOCTYPE html>")
    printed = capsys.readouterr()
    assert printed.out == f"{output}\n"
    warning, places = printed.err.splitlines()
    assert warning == "warning: mesh not shown: 'package://some_robot/arm.stl': not found"
    assert str(tmp_path) in places


def test_positions_far_outside_the_limits_are_told(tmp_path, capsys):
    """Degrees for radians: 76.8 where the limit is a few radians."""
    trajectory = tmp_path / "trajectory.json"
    point = {"positions": [0.0, 76.8, 0.0, 0.0, 0.0], "time_from_start": {"sec": 2, "nanosec": 0}}
    trajectory.write_text(json.dumps({"joint_names": JOINTS, "points": [point]}))
    output = tmp_path / "view.html"
    assert main(["view", str(URDF), "--trajectory", str(trajectory), "-o", str(output)]) == 0
    (warning,) = [line for line in capsys.readouterr().err.splitlines() if "alpha_2" in line]
    assert warning.startswith("warning: alpha_2 is at 76.8 rad, its limits are ")


def test_robot_without_a_trajectory_is_told_what_is_missing(capsys):
    assert main(["view", str(URDF)]) == 2
    assert capsys.readouterr() == (
        "",
        f"error: {URDF}: a robot alone has no motion to play; give one with --trajectory FILE\n",
    )


def test_joint_off_the_chain_stands_where_the_equations_hold_it(tmp_path):
    """At the limit nearest to 0, here 0.2 rad, not at 0."""
    finger = (
        '<link name="finger"/><joint name="open" type="revolute"><parent link="tool"/><child link="finger"/>'
        '<limit lower="0.2" upper="1" effort="1" velocity="1"/></joint>'
    )
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(URDF.read_text().replace("</robot>", f"{finger}</robot>"))
    path = tmp_path / "trajectory.yaml"
    path.write_text(trajectory_text(tracking.request(JOINTS, START), as_json=True))
    playback, _ = playback_of_trajectory(urdf, path, ViewOptions(tip="tool"))
    assert (playback.joints, playback.held) == (JOINTS, {"open": 0.2})


def test_joint_that_the_trajectory_does_not_name_stays_at_its_initial_position(tmp_path):
    path = tmp_path / "trajectory.yaml"
    point = {"positions": [0.1, 0.8, -1.0, 0.4], "time_from_start": {"sec": 1}}
    path.write_text(json.dumps({"joint_names": JOINTS[:4], "points": [point]}))
    playback, _ = playback_of_trajectory(URDF, path)
    np.testing.assert_allclose(playback.position[:4, -1], point["positions"], atol=1e-12)  # rounding
    assert set(playback.position[4]) == {START[4]}
