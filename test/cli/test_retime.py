"""``kane_dynamics retime`` as its user runs it."""

import json

import numpy as np
import pytest
import yaml

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.control.trajectory_file import read_trajectory
from kane_dynamics_ros.runtime import load_model

MODEL = load_model("manipulator_5dof").with_urdf_friction()
WAYPOINTS = [[0.0, 0.9, -1.2, 0.3, 0.5], [0.8, 0.5, -1.0, 0.0, 0.0], [1.6, 1.0, -1.6, -0.5, 0.5]]


@pytest.fixture
def path(tmp_path):
    points = [{"time_from_start": 2.0 * i + 1.0, "positions": q} for i, q in enumerate(WAYPOINTS)]
    file = tmp_path / "path.yaml"
    file.write_text(yaml.safe_dump({"joint_names": list(MODEL.joint_names), "points": points}))
    return file


def retimed(path, *options, model=("--model", "manipulator_5dof")):
    """The exit code and the points of the result."""
    target = path.with_name("retimed.yaml")
    code = main(["retime", str(path), *model, "-o", str(target), "--points", "200", *map(str, options)])
    return code, read_trajectory(target).points if target.exists() else None


def largest_effort(points):
    return np.abs([point.effort for point in points]).max(axis=0)


def test_a_path_gets_times_velocities_efforts_and_a_figure(path, capsys):
    code, points = retimed(path)
    assert code == 0
    assert points[-1].time_ns < 1.5e9, "5 s as given"
    np.testing.assert_allclose(points[0].positions, WAYPOINTS[0])
    np.testing.assert_allclose(points[-1].positions, WAYPOINTS[-1])
    assert (largest_effort(points) <= 0.9 * np.array([j.effort for j in MODEL.joints]) * (1 + 1e-9)).all()
    assert path.with_name("retimed.png").read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "5.000 s as given" in printed
    assert "velocity of gamma_1" in printed


def test_the_urdf_alone_gives_the_same(path):
    of_model, of_urdf = retimed(path)[1], retimed(path, model=("--urdf", "urdf/manipulator_5dof.urdf"))[1]
    assert of_urdf[-1].time_ns == pytest.approx(of_model[-1].time_ns, rel=1e-4)


def test_the_limits_of_moveit_replace_those_of_the_urdf(path):
    limits = {
        "gamma_1": {"has_velocity_limits": True, "max_velocity": 1.0, "has_acceleration_limits": False},
        "alpha_2": {"max_acceleration": 2.0, "max_effort": 200.0},
    }
    file = path.with_name("joint_limits.yaml")
    file.write_text(yaml.safe_dump({"joint_limits": limits}))
    _, points = retimed(path, "--limits", file, "--scale", 1)
    assert np.abs([point.velocities[0] for point in points]).max() == pytest.approx(1.0, rel=1e-4)
    speeds = np.array([point.velocities[1] for point in points])
    times = 1e-9 * np.array([point.time_ns for point in points])
    assert np.abs(np.diff(speeds) / np.diff(times)).max() == pytest.approx(2.0, rel=1e-3)
    assert largest_effort(points)[1] <= 200.0


def test_a_margin_for_the_models_error_is_kept(path):
    joints = [{"name": name, "identified_rms": 10.0} for name in MODEL.joint_names[:3]]
    joints += [{"name": name, "identified_rms": 0.1} for name in MODEL.joint_names[3:]]
    file = path.with_name("identified.json")
    file.write_text(json.dumps({"residual": {"held_out": {"joints": joints}}}))
    _, points = retimed(path, "--identified", file, "--scale", 1)
    assert largest_effort(points)[0] == pytest.approx(250.0 - 3 * 10.0, rel=1e-3)


def test_an_unknown_payload_takes_longer_than_any_known_one(path, capsys):
    _, none = retimed(path)
    _, heavy = retimed(path, "--payload", "5,0,0,0.1")
    _, unknown = retimed(path, "--payload-mass", "0..5,0,0,0.1")
    assert none[-1].time_ns < heavy[-1].time_ns <= unknown[-1].time_ns * (1 + 1e-3)
    assert "payloads of 0 to 5 kg" in capsys.readouterr().out


REFUSED = {
    "two robots": (["--urdf", "urdf/manipulator_5dof.urdf"], "--model"),
    "above the limits": (["--scale", "1.1"], "--scale"),
    "no scale": (["--scale", "nan"], "--scale"),
    "a tolerance below 0": (["--tolerance", "-1"], "--tolerance"),
    "a payload upside down": (["--payload", "3..1"], "--payload"),
    "three masses": (["--payload", "1..2..3"], "--payload"),
    "a payload without a place": (["--payload", "1,0,0"], "--payload"),
    "no file of limits": (["--limits", "nowhere.yaml"], "nowhere.yaml"),
    "no identified.json": (["--identified", "urdf/manipulator_5dof.urdf"], "identified.json"),
}


@pytest.mark.parametrize(("options", "named"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_used_is_named(path, options, named, capsys):
    assert retimed(path, *options)[0] == 2
    assert named in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("[1, 2]", "joint_limits"),
        ("{joint_limits: {elbow: {max_velocity: 1.0}}}", "elbow"),
        ("{joint_limits: {gamma_1: {max_velocity: -1.0}}}", "max_velocity"),
        ("{joint_limits: {gamma_1: {max_effort: yes}}}", "max_effort"),
        ("{joint_limits: {gamma_1: {max_jerk: .nan}}}", "max_jerk"),
        ("{joint_limits: {gamma_1: 3}}", "joint_limits"),
        ("{", "YAML"),
    ],
)
def test_a_wrong_file_of_limits_is_named(path, content, named, capsys):
    file = path.with_name("joint_limits.yaml")
    file.write_text(content)
    code, _ = retimed(path, "--limits", file)
    error = capsys.readouterr().err
    assert code == 2
    assert named in error
    assert str(file) in error or named == "elbow"


def test_a_residual_that_leaves_no_effort_is_named(path, capsys):
    file = path.with_name("identified.json")
    joints = [{"name": name, "identified_rms": 10.0} for name in MODEL.joint_names]
    file.write_text(json.dumps({"residual": {"held_out": {"joints": joints}}}))
    assert retimed(path, "--identified", file)[0] == 2
    assert "beta_4" in capsys.readouterr().err


def test_a_result_with_coupled_drives_is_refused(path, capsys):
    """Its friction is the drives': each of them alone may not exceed its limit."""
    file = path.with_name("identified.json")
    joints = [{"name": name, "identified_rms": 0.1} for name in MODEL.joint_names]
    C = np.eye(5)
    C[4, 3] = 1.0
    file.write_text(json.dumps({"residual": {"held_out": {"joints": joints}}, "coupling": C.tolist()}))
    assert retimed(path, "--identified", file)[0] == 2
    assert "drives" in capsys.readouterr().err
