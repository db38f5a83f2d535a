"""The motion that ``kane_dynamics trajectory`` writes keeps every limit, and starts and ends at rest."""

import numpy as np
import pytest
from example_robots import ROBOTS
from scipy.interpolate import CubicSpline

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.control.smooth_motion import smooth_motion
from kane_dynamics_ros.control.trajectory_file import read_trajectory
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.share import share_directory

URDF = share_directory() / "urdf" / "manipulator_5dof.urdf"
MODEL = load_model("manipulator_5dof")


def written(tmp_path, *words, urdf=URDF):
    file = tmp_path / "trajectory.yaml"
    assert main(["trajectory", str(urdf), "-o", str(file), *words]) == 0
    return read_trajectory(file)


def columns(request):
    return [
        np.array([getattr(point, name) for point in request.points])
        for name in ("positions", "velocities", "accelerations")
    ]


def test_every_limit_is_kept_and_every_joint_moves(tmp_path):
    request = written(tmp_path)
    assert request.names == MODEL.joint_names
    q, qd, qdd = columns(request)
    tau = MODEL.with_urdf_friction().inverse_dynamics(q, qd, qdd)
    for i, joint in enumerate(MODEL.joints):
        assert joint.lower is None or q[:, i].min() > joint.lower
        assert joint.upper is None or q[:, i].max() < joint.upper
        assert not joint.velocity or np.abs(qd[:, i]).max() <= 0.8001 * joint.velocity
        assert not joint.effort or np.abs(tau[:, i]).max() < joint.effort
        assert np.ptp(q[:, i]) > 0.05


def test_velocities_and_accelerations_are_the_derivatives(tmp_path):
    motion = smooth_motion(
        MODEL, [True] * 5, 400.0, lambda q: np.ones(len(q)), None
    )  # slow: central differences err by h^2 q'''/6
    h = motion.times[1] - motion.times[0]
    np.testing.assert_allclose((motion.q[2:] - motion.q[:-2]) / (2 * h), motion.qd[1:-1], atol=1e-6)
    np.testing.assert_allclose((motion.qd[2:] - motion.qd[:-2]) / (2 * h), motion.qdd[1:-1], atol=1e-7)


def test_it_starts_and_ends_at_rest_after_a_way_from_anywhere(tmp_path):
    request = written(tmp_path, "--duration", "3")
    q, qd, qdd = columns(request)
    assert request.points[0].time_ns >= 2_000_000_000
    assert request.points[-1].time_ns - request.points[0].time_ns == 3_000_000_000
    for row in (0, -1):
        np.testing.assert_allclose(q[row], [joint.initial_position for joint in MODEL.joints], atol=1e-12)
        np.testing.assert_allclose(qd[row], 0.0, atol=1e-12)
        np.testing.assert_allclose(qdd[row], 0.0, atol=1e-12)


def test_a_joint_that_starts_at_its_limit_moves_away_from_it(tmp_path):
    text = URDF.read_text()
    lower = next(joint.lower for joint in MODEL.joints if joint.name == "alpha_2")
    at_limit = tmp_path / "at_limit.urdf"
    head, tail = text.split('<joint name="alpha_2"', 1)
    assert 'lower="' in tail
    own, rest = tail.split('lower="', 1)
    at_limit.write_text(
        f'{head}<joint name="alpha_2"{own}lower="0.9{rest[rest.index(chr(34)) :]}', encoding="utf-8"
    )
    assert lower is None or lower < 0.9
    q = columns(written(tmp_path, urdf=at_limit))[0][:, 1]
    assert q.min() >= 0.9 - 1e-12
    assert q.max() > 1.0


STRETCHED = """<robot name="low"><link name="base"/>
<link name="upper"><inertial><origin xyz="0.3 0 0"/><mass value="2"/>
  <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.05" iyz="0" izz="0.05"/></inertial></link>
<link name="fore"><inertial><origin xyz="0.3 0 0"/><mass value="1"/>
  <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial></link><link name="tip"/>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.1"/>
  <axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="200" velocity="3"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/><origin xyz="0.6 0 0"/>
  <axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="100" velocity="3"/></joint>
<joint name="flange" type="fixed"><parent link="fore"/><child link="tip"/><origin xyz="0.6 0 0"/></joint>
</robot>"""


def heights(q):
    """Of elbow and tip of the stretched arm, by hand; positive angles go down."""
    elbow = 0.1 - 0.6 * np.sin(q[:, 0])
    return np.minimum(elbow, elbow - 0.6 * np.sin(q[:, 0] + q[:, 1]))


def test_a_joint_without_a_start_keeps_away_from_its_limits(tmp_path):
    panda = ROBOTS / "panda_description/urdf/panda.urdf"  # panda_joint4: -3.0718 to -0.0698, never at zero
    words = ["--tip", "panda_link8", "--floor", "none"]
    request = written(tmp_path, *words, urdf=panda)
    q = columns(request)[0][:, request.names.index("panda_joint4")]
    assert q[0] == pytest.approx(-0.0698 - 0.1 * 3.002, abs=1e-3)
    assert q.max() <= q[0]  # ten hundredths of its range are left, and it swings to the other side
    assert q.min() < q[0] - 0.3
    held = written(tmp_path, *words, "--joints", "panda_joint1", urdf=panda)
    assert np.ptp(columns(held)[0][:, held.names.index("panda_joint4")]) == 0.0
    assert columns(held)[0][0, held.names.index("panda_joint4")] == pytest.approx(-0.0698, abs=1e-6)


def test_the_arm_stays_above_the_floor_unless_there_is_none(tmp_path):
    urdf = tmp_path / "low.urdf"
    urdf.write_text(STRETCHED)
    for words, least in (([], 0.0), (["--floor", "0.05"], 0.05), (["--floor", "-0.2"], -0.2)):
        q = columns(written(tmp_path, *words, urdf=urdf))[0]
        assert heights(q).min() >= least - 1e-6
        assert np.ptp(q, axis=0).min() > 0.01
    q = columns(written(tmp_path, "--floor", "none", urdf=urdf))[0]
    assert heights(q).min() < -0.2  # it went through the table before
    assert main(["trajectory", str(urdf), "-o", str(tmp_path / "t.yaml"), "--floor", "0.5"]) == 2


def test_an_arm_that_starts_at_the_floor_lifts_each_joint_off_it(tmp_path):
    """As a UR5 does at its zero position: on the lower side, no amplitude was small enough."""
    urdf = tmp_path / "at_the_floor.urdf"
    urdf.write_text(STRETCHED.replace('<origin xyz="0 0 0.1"/>', ""))
    q = columns(written(tmp_path, urdf=urdf))[0]
    assert (heights(q) - 0.1).min() >= -1e-6
    assert np.ptp(q, axis=0).min() > 0.01


def test_only_the_joints_that_are_named_move(tmp_path):
    q = columns(written(tmp_path, "--joints", "beta_4", "gamma_1"))[0]
    assert [bool(span > 0.05) for span in np.ptp(q, axis=0)] == [True, False, False, True, False]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--joints", "elbow"], "'elbow'"),
        (["--duration", "0"], "--duration"),
        (["--tip", "nowhere"], "'nowhere'"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, capsys, words, named):
    assert main(["trajectory", str(URDF), "-o", str(tmp_path / "t.yaml"), *words]) == 2
    assert named in capsys.readouterr().err
    assert not (tmp_path / "t.yaml").exists()


def test_an_arm_that_cannot_hold_itself_is_told(tmp_path, capsys):
    weak = tmp_path / "weak.urdf"
    weak.write_text(URDF.read_text().replace('effort="', 'effort="0.001'), encoding="utf-8")
    assert main(["trajectory", str(weak), "-o", str(tmp_path / "t.yaml")]) == 2
    assert "effort limit" in capsys.readouterr().err
    assert not (tmp_path / "t.yaml").exists()


def test_the_file_has_a_line_for_each_list(tmp_path):
    written(tmp_path)
    lines = (tmp_path / "trajectory.yaml").read_text().splitlines()
    points = sum("time_from_start" in line for line in lines)
    assert points > 100
    assert sum("positions: [" in line for line in lines) == points
    assert max(map(len, lines)) < 300


def test_an_arm_that_hardly_holds_itself_still_moves_within_its_limits(tmp_path):
    held = np.abs(MODEL.gravity([joint.initial_position for joint in MODEL.joints]))
    text = URDF.read_text()
    limit = next(joint.effort for joint in MODEL.joints if joint.name == "alpha_2")
    weak = tmp_path / "weak.urdf"
    weak.write_text(text.replace(f'effort="{limit:g}', f'effort="{1.15 * held[1]:.6f}'), encoding="utf-8")
    assert weak.read_text() != text
    q, qd, qdd = columns(written(tmp_path, urdf=weak))
    tau = MODEL.with_urdf_friction().inverse_dynamics(q, qd, qdd)
    assert np.abs(tau[:, 1]).max() < 1.15 * held[1]
    assert np.ptp(q[:, 1]) > 0.01


def test_what_it_proposes_to_run_takes_the_same_chain(tmp_path, capsys):
    written(tmp_path, "--tip", "hand", "--lock", "beta_4=0.1")
    assert "--tip hand --lock beta_4=0.1 --trajectory" in capsys.readouterr().out


def test_the_fastest_takes_the_same_path_in_less_time(tmp_path):
    slow, fast = written(tmp_path).points, written(tmp_path, "--fastest").points
    lead = slow[0].time_ns
    assert fast[0].time_ns == lead
    assert fast[-1].time_ns - lead < 0.6 * (slow[-1].time_ns - lead)
    curve = CubicSpline([point.time_ns for point in slow], [point.positions for point in slow])
    path = curve(np.linspace(lead, slow[-1].time_ns, 20_000))
    away = [np.abs(path - point.positions).max(axis=1).min() for point in fast[::10]]
    assert max(away) < 1e-3  # the spacing of the path's samples
    speeds = np.abs([point.velocities for point in fast]).max(axis=0)
    assert (speeds <= 0.8 * np.array([joint.velocity for joint in MODEL.joints]) * (1 + 1e-6)).all()
