"""Trajectories to record: gradients by differences, limits by Pinocchio, the condition by another base
regressor.
"""

import argparse
import shlex
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pinocchio
import pytest
import yaml

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.control.trajectory_file import read_trajectory
from kane_dynamics_ros.description import load_robot, serial_chain
from kane_dynamics_ros.identification import excitation
from kane_dynamics_ros.identification.excitation import (
    Arm,
    GuardedPoints,
    body_points,
    excite,
    fourier,
    heights,
    limits_of,
)
from kane_dynamics_ros.identification.link_boxes import link_boxes
from kane_dynamics_ros.identification.recordings import IdentificationError
from kane_dynamics_ros.runtime import load_model

URDF = Path(__file__).parents[2] / "urdf" / "manipulator_5dof.urdf"
MODEL = load_model("manipulator_5dof")
CHAIN = serial_chain(load_robot(str(URDF)))
UP = np.array([0.0, 0.0, 1.0])
FLOOR, CLEARANCE = -0.8, 0.05  # [m] the underside of its pedestal


@cache
def found():
    """One search, short: the tests need a good trajectory, not the best."""
    limits = limits_of(MODEL, 2.0, None, 0.9)
    points = body_points(CHAIN, link_boxes(URDF.read_bytes(), URDF.parent), CLEARANCE, FLOOR, UP)
    return excite(Arm(MODEL, CHAIN, limits, points), 10.0, 5, iterations=6), limits


def states(count=40, seed=0):
    return np.random.default_rng(seed).normal(size=(3, count, len(MODEL.joint_names)))


@pytest.mark.parametrize("k", range(3))
def test_gradients_are_those_of_finite_differences(k):
    limits = limits_of(MODEL, 0.5, 1.0, 0.3)  # tight: every penalty is active
    arm = Arm(MODEL, CHAIN, limits, body_points(CHAIN, {}, 0.5, 0.0, UP))
    x = states()
    for cost in (arm.information, arm.penalty):
        step = 1e-6 * states(seed=1)[0]
        ends = []
        for sign in (1, -1):
            moved = x.copy()
            moved[k] += sign * step
            ends.append(cost(*moved).value)
        slope = cost(*x)[1 + k]
        assert (ends[0] - ends[1]) / 2 == pytest.approx((slope * step).sum(), rel=1e-4)


def test_velocity_and_acceleration_are_derivatives_and_vanish_at_the_ends():
    series = found()[0].series
    ends = series.at(np.array([0.0, series.period]))
    assert ends[1] == pytest.approx(0, abs=1e-9)
    assert ends[2] == pytest.approx(0, abs=1e-8)
    time, h = np.linspace(0, series.period, 50), 1e-5
    _, qd, qdd = series.at(time)
    before, after = series.at(time - h), series.at(time + h)
    np.testing.assert_allclose(qd, (after[0] - before[0]) / (2 * h), atol=1e-7)
    np.testing.assert_allclose(qdd, (after[1] - before[1]) / (2 * h), atol=1e-7)


def test_the_basis_is_fouriers():
    position, _, _ = fourier(np.array([0.7]), 2, 4.0)
    w = np.pi / 2
    expected = [np.sin(0.7 * w), np.sin(1.4 * w), -np.cos(0.7 * w), -np.cos(1.4 * w)]
    np.testing.assert_allclose(position[0], expected)


def test_every_limit_is_kept_by_pinocchios_account():
    result, limits = found()
    arm = pinocchio.buildModelFromUrdf(str(URDF))
    data = arm.createData()
    q, qd, qdd = result.series.at(np.linspace(0, result.series.period, 997))  # not the grid of the search
    slack = 1.002  # between the samples of the check
    assert (q > arm.lowerPositionLimit - 1e-9).all()
    assert (q < arm.upperPositionLimit + 1e-9).all()
    assert (np.abs(qd) < slack * limits.velocity).all()
    assert (np.abs(qdd) < slack * limits.acceleration).all()
    efforts = np.array([pinocchio.rnea(arm, data, *row) for row in zip(q, qd, qdd, strict=True)])
    assert (np.abs(efforts) < slack * limits.effort).all()
    names = [frame.name for frame in arm.frames if frame.type == pinocchio.FrameType.BODY][2:]
    for row in q:
        pinocchio.framesForwardKinematics(arm, data, row)
        heights = [data.oMf[arm.getFrameId(name)].translation[2] for name in names]
        assert min(heights) > FLOOR + CLEARANCE - 1e-3


def test_heights_are_pinocchios():
    arm = pinocchio.buildModelFromUrdf(str(URDF))
    data = arm.createData()
    points = GuardedPoints(np.array([2, 4]), np.array([[0.1, 0.2, 0.3], [0.0, 0.1, 0.0]]), UP, 0.0)
    q = states(10)[0]
    ours, slopes = heights(CHAIN, points, q)
    for i, row in enumerate(q):
        pinocchio.forwardKinematics(arm, data, row)
        theirs = [data.oMi[int(b) + 1].act(p)[2] for b, p in zip(points.body, points.place, strict=True)]
        np.testing.assert_allclose(ours[i], theirs, atol=1e-12)
    shift = 1e-6 * states(10, 1)[0]
    change = heights(CHAIN, points, q + shift)[0] - heights(CHAIN, points, q - shift)[0]
    np.testing.assert_allclose(change / 2, np.einsum("tpj,tj->tp", slopes, shift), atol=1e-11)


def test_the_condition_is_that_of_pinocchios_regressor():
    """Its columns that independent rows of a QR decomposition choose, brought to unit length."""
    result, _ = found()
    arm = pinocchio.buildModelFromUrdf(str(URDF))
    data = arm.createData()

    def regressor(*motion):
        rows = [pinocchio.computeJointTorqueRegressor(arm, data, *row) for row in zip(*motion, strict=True)]
        return np.concatenate(rows)

    everywhere = regressor(*states(200, 5))
    size = np.linalg.norm(everywhere, axis=0)
    felt = np.flatnonzero(size > 1e-12 * size.max())
    R = np.linalg.qr(everywhere[:, felt] / size[felt], mode="r")
    columns = felt[np.abs(np.diag(R)) > 1e-9]
    assert len(columns) == len(result.singular)
    W = regressor(*result.series.at(np.arange(200) * result.series.period / 200))[:, columns]
    condition = np.linalg.cond(W / np.linalg.norm(W, axis=0))
    # other columns stand for the same groups, so that the number is not the same, but of its kind
    assert condition < 4 * result.condition
    assert result.condition < 10
    assert result.condition < 0.5 * result.start_condition


def test_an_arm_without_room_is_told_what_lacks_it():
    """A ceiling that the tip cannot reach; and no strength to hold any pose, even below one that it can."""
    limits = limits_of(MODEL, 2.0, None, 0.9)
    weak = limits._replace(effort=limits.effort * 1e-6)
    points = body_points(CHAIN, {}, 0.0, 5.0, UP)
    tip = replace(points, body=points.body[-1:], place=points.place[-1:])
    for height, kept, named in ((5.0, limits, CHAIN.joints[-1].body), (1.9, weak, "alpha_2")):
        with pytest.raises(IdentificationError) as raised:
            Arm(MODEL, CHAIN, kept, replace(tip, height=height)).safe_pose(np.random.default_rng(0))
        names = (*MODEL.joint_names, *(joint.body for joint in CHAIN.joints))
        assert [name for name in names if repr(name) in str(raised.value)] == [named]


LOW_SHOULDER = """<robot name="low_shoulder"><link name="base"/>
  <link name="table"><visual><origin xyz="0 0 0.025"/>
    <geometry><cylinder radius="0.03" length="0.05"/></geometry></visual></link>
  <joint name="yaw" type="revolute"><parent link="base"/><child link="table"/><axis xyz="0 0 1"/>
    <limit lower="-1.5" upper="1.5" effort="1" velocity="4"/></joint>
  <link name="arm"><visual><origin xyz="0 0 0.055"/>
    <geometry><cylinder radius="0.015" length="0.11"/></geometry></visual>
    <inertial><mass value="0.14"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/>
    </inertial></link>
  <joint name="pitch" type="revolute"><parent link="table"/><child link="arm"/><axis xyz="0 1 0"/>
    <origin xyz="0 0 0.05"/><limit lower="-1.4" upper="1.4" effort="1" velocity="4"/></joint>
</robot>"""


def test_a_low_shoulder_does_not_count_against_the_clearance_but_all_that_reaches_the_floor_does(tmp_path):
    """Corners about the pitch axis go up on one side as they go down on the other, always over the floor."""
    file = tmp_path / "low_shoulder.urdf"
    file.write_text(LOW_SHOULDER)
    chain = serial_chain(load_robot(str(file)))
    boxes = link_boxes(file.read_bytes(), tmp_path)
    random = np.random.default_rng(1)
    limits = excitation.TrajectoryLimits(np.zeros(2), np.array([1.5, 1.4]), *np.ones((3, 2)))
    poses = limits.poses(400, random)
    whole = body_points(chain, boxes, 0.05, 0.0, UP)
    points = Arm(None, chain, limits, whole).clearable(random)
    height = heights(chain, points, poses)[0].min(axis=1, initial=np.inf)
    assert (height[np.abs(poses[:, 1]) < 0.5] > points.height).all()  # to either side
    left_out = ~(whole.place[:, None] == points.place).all(axis=2).any(axis=1)
    left_out &= whole.body > 0
    over = heights(chain, replace(whole, body=whole.body[left_out], place=whole.place[left_out]), poses)[0]
    assert over.size
    assert (over > 0.0).all()
    assert (points.place[:, 2] > 0.1).sum() == 4  # all corners of the arm's far end
    for clearance, floor in ((5.0, 0.0), (0.05, 0.7)):  # a table that none of it reaches is not left out
        arm = Arm(None, chain, limits, body_points(chain, boxes, clearance, floor, UP))
        with pytest.raises(
            excitation.IdentificationError, match=r"link 'arm', lifted highest, \d\.\d+ m below"
        ):
            arm.clearable(random)


def test_a_gripper_is_left_out_and_an_arm_is_not():
    from example_robots import ROBOTS

    from kane_dynamics_ros.cli.arguments import gripper_lines, without_gripper

    robot = load_robot(str(ROBOTS / "panda_description/urdf/panda.urdf"))
    chain, notes = without_gripper(robot, serial_chain(robot))
    assert chain.coordinates == tuple(f"panda_joint{k}" for k in range(1, 8))
    assert len(notes) == 1
    told = [f"the chain ends in a gripper, which --tip {chain.tip} leaves out, as excite does"]
    assert gripper_lines(argparse.Namespace(tip=None), robot, serial_chain(robot)) == told
    assert gripper_lines(argparse.Namespace(tip=[chain.tip]), robot, chain) == []
    for urdf in ("ur_description/urdf/ur5_robot.urdf", "xarm_description/urdf/xarm7.urdf"):
        robot = load_robot(str(ROBOTS / urdf))
        whole = serial_chain(robot)
        assert without_gripper(robot, whole) == (whole, [])


def test_the_command_writes_what_the_other_commands_take(tmp_path, capsys, monkeypatch):
    from kane_dynamics_ros.cli import excite as command

    monkeypatch.setattr(command, "excite", lambda *a, **k: found()[0])
    monkeypatch.setattr(command, "nominal_model", lambda *a: MODEL)
    file = tmp_path / "trajectory.yaml"
    assert main(["excite", str(URDF), "-o", str(file), "--repeat", "2"]) == 0
    request = read_trajectory(file)
    assert tuple(request.names) == MODEL.joint_names
    assert set(yaml.safe_load(file.read_text())) == {"header", "joint_names", "points"}
    first, last = request.points[0], request.points[-1]
    assert first.time_ns >= 2e9  # the way to the start takes its time
    assert last.time_ns - first.time_ns == pytest.approx(2 * 10.0 * 1e9)
    assert first.velocities == pytest.approx([0.0] * 5, abs=1e-9)
    assert last.accelerations == pytest.approx([0.0] * 5, abs=1e-7)
    assert (tmp_path / "trajectory.svg").read_text().startswith("<svg")
    output = capsys.readouterr().out
    assert "largest use of the allowed 90 % of the limits: position" in output
    assert "condition" in output
    assert shlex.split(output.splitlines()[-1].partition(": ")[2]) == [
        *("kane_dynamics", "view", str(URDF), "--trajectory", str(file))
    ]
    annotated = tmp_path / "annotated.yaml"
    assert main(["annotate", "manipulator_5dof", str(file), "-o", str(annotated), "--error", "1"]) == 0
    assert len(read_trajectory(annotated).points[0].effort) == 5


def test_the_command_to_see_a_trajectory_carries_what_chose_its_chain(tmp_path, capsys, monkeypatch):
    """Of another root, tip and a locked joint; a gripper that was left out gives a tip, too."""
    from example_robots import ROBOTS

    from kane_dynamics_ros.cli import excite as command

    monkeypatch.setattr(command, "excite", lambda *a, **k: found()[0])
    monkeypatch.setattr(command, "nominal_model", lambda *a: MODEL)
    monkeypatch.setattr(command, "lines", lambda *a: [])
    file = tmp_path / "of an arm.yaml"
    panda = str(ROBOTS / "panda_description/urdf/panda.urdf")
    options = ["--root", CHAIN.root, "--tip", CHAIN.tip, "--lock", f"{CHAIN.coordinates[-1]}=0.1"]
    for urdf, given, shown in (
        (str(URDF), options, options),
        (panda, ["--floor", "none"], ["--tip", "panda_hand"]),
    ):
        assert main(["excite", urdf, *given, "-o", str(file)]) == 0
        seen = shlex.split(capsys.readouterr().out.splitlines()[-1].partition(": ")[2])
        assert seen == ["kane_dynamics", "view", urdf, *shown, "--trajectory", str(file)]


def test_a_search_that_ends_badly_starts_again(monkeypatch):
    """The first result shows nothing: what is delivered is no worse than its random motion."""
    limits = limits_of(MODEL, 2.0, None, 0.9)
    points = body_points(CHAIN, {}, 0.05, 0.0, UP)
    starts = []
    real = excitation.started

    def started(*arguments):
        x = real(*arguments)
        starts.append(x)
        return 1e-9 * x if len(starts) == 1 else x  # a motion that shows nothing

    monkeypatch.setattr(excitation, "started", started)
    monkeypatch.setattr(excitation, "minimize", lambda cost, x, **_: type("Found", (), {"x": x}))
    result = excite(Arm(MODEL, CHAIN, limits, points), 10.0, 5)
    assert len(starts) > 1
    assert result.condition <= 1.0001 * result.start_condition


def test_a_condition_above_the_bound_is_told_with_exit_code_1(tmp_path, capsys, monkeypatch):
    from kane_dynamics_ros.cli import excite as command

    poor = found()[0]._replace(condition=117.0)
    monkeypatch.setattr(command, "excite", lambda *a, **k: poor)
    monkeypatch.setattr(command, "nominal_model", lambda *a: MODEL)
    assert main(["excite", str(URDF), "-o", str(tmp_path / "trajectory.yaml")]) == 1
    assert "above 60" in capsys.readouterr().out


@pytest.mark.parametrize("seed", [0, 1])
def test_a_ur10_without_meshes_gets_a_good_motion(tmp_path, seed):
    """It reaches the floor all around: motions that end in it were once shrunk to nothing."""
    from example_robots import ROBOTS

    from kane_dynamics_ros.cli.identify import nominal_model

    chain = serial_chain(load_robot(str(ROBOTS / "ur_description/urdf/ur10_robot.urdf")))
    model = nominal_model(chain, None, tmp_path)
    limits, points = limits_of(model, 2.0, None, 0.9), body_points(chain, {}, 0.05, 0.0, UP)
    result = excite(Arm(model, chain, limits, points), 20.0, 6, iterations=8, seed=seed)
    assert result.condition < min(60.0, result.start_condition)
    assert result.lowest >= 0.0
