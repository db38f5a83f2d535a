"""The playback of a bag and of a verdict, and the meshes that go with it."""

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from view_samples import JOINTS, URDF, embedded

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.replay.errors import BagError
from kane_dynamics_ros.replay.jobs import Job, run_job
from kane_dynamics_ros.replay.playback import playback_of_bag
from kane_dynamics_ros.viewing.meshes import load_meshes

STORE = get_typestore(Stores.ROS2_JAZZY)
RATE = 100  # [Hz]
TRIANGLE = b"solid\nfacet\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendsolid\n"


def joint_state(seconds, names, position, effort):
    time = STORE.types["builtin_interfaces/msg/Time"](int(seconds), round(1e9 * (seconds % 1.0)))
    header = STORE.types["std_msgs/msg/Header"](time, "")
    arrays = (np.array(list(position)), np.array([]), np.array(list(effort)))
    return STORE.types["sensor_msgs/msg/JointState"](header, list(names), *arrays)


def write_bag(path, with_description=True, with_reference=True, seconds=2, speed=1.0, recorded=JOINTS):
    """Joint i at i + speed t, its reference 0.1 above; efforts 10 i; joints in reverse order."""
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:

        def add(topic, kind, seconds, message):
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, kind, typestore=STORE)
            writer.write(connections[topic], round(1e9 * seconds), STORE.serialize_cdr(message, kind))

        connections = {}
        if with_description:
            text = STORE.types["std_msgs/msg/String"](URDF.read_text())
            add("/robot_description", "std_msgs/msg/String", 100.0, text)
        index = np.arange(len(JOINTS))
        for t in np.arange(seconds * RATE + 1) / RATE:
            chosen = [k for k in index[::-1] if JOINTS[k] in recorded]
            names = [JOINTS[k] for k in chosen]
            state = joint_state(100.0 + t, names, (index + speed * t)[chosen], 10.0 * index[chosen])
            add("/joint_states", "sensor_msgs/msg/JointState", 100.0 + t, state)
            if with_reference:
                wanted = joint_state(100.0 + t, JOINTS, index + speed * t + 0.1, 10.0 * index + 1.0)
                add("/feedforward_node/feedforward", "sensor_msgs/msg/JointState", 100.0 + t, wanted)


def test_bag_becomes_positions_efforts_and_the_stated_reference_in_model_order(tmp_path):
    write_bag(tmp_path / "bag")
    playback, missing = playback_of_bag(tmp_path / "bag", None)
    index = np.arange(len(JOINTS))[:, None]
    assert (playback.joints, playback.tip, missing) == (JOINTS, "tool", [])
    assert playback.times[-1] == pytest.approx(2.0)
    # the values are linear in time, so interpolation is exact; stamps round to 1 ns
    np.testing.assert_allclose(playback.position, index + playback.times, atol=1e-8)
    np.testing.assert_allclose(playback.reference, index + playback.times + 0.1, atol=1e-8)
    torque, _, error = playback.quantities
    assert torque.units == ("N m",) * 5
    assert [curve.label for curve in torque.curves] == ["measured", "commanded"]
    np.testing.assert_allclose(
        torque.curves[0].values, np.broadcast_to(10.0 * index, playback.position.shape)
    )
    np.testing.assert_allclose(error.curves[0].values, -0.1, atol=1e-8)


def test_bag_without_a_reference_shows_the_motion_alone(tmp_path):
    write_bag(tmp_path / "bag", with_reference=False)
    playback, _ = playback_of_bag(tmp_path / "bag", None)
    assert playback.reference is None
    assert [quantity.label for quantity in playback.quantities] == ["torque", "position"]


def test_joints_that_a_bag_does_not_hold_are_named(tmp_path):
    write_bag(tmp_path / "bag", recorded=JOINTS[:-2])
    playback, warnings = playback_of_bag(tmp_path / "bag", None)
    assert np.isfinite(playback.position[:-2]).all()
    assert len(warnings) == 1
    assert all(repr(name) in warnings[0] for name in JOINTS[-2:])


def test_bag_without_a_description_asks_for_a_urdf_and_takes_it(tmp_path):
    write_bag(tmp_path / "bag", with_description=False)
    with pytest.raises(BagError) as caught:
        playback_of_bag(tmp_path / "bag", None)
    assert (caught.value.code, caught.value.bag) == ("no_description", tmp_path / "bag")
    playback, _ = playback_of_bag(tmp_path / "bag", URDF)
    assert playback.joints == JOINTS


def test_report_plays_the_motion_where_the_bag_has_a_description(tmp_path):
    for with_description in (True, False):
        bag, report = tmp_path / f"bag_{with_description}", tmp_path / f"report_{with_description}"
        write_bag(bag, with_description=with_description, seconds=8, speed=0.1)
        outcome = run_job(Job(bag, "manipulator_5dof", report=report))
        assert outcome.error is None
        assert (report / "view.html").exists() == with_description
        assert ('href="view.html"' in (report / "report.html").read_text()) == with_description
    playback = embedded((tmp_path / "report_True" / "view.html").read_text())
    measured, predicted = playback["quantities"][0]["curves"]
    assert (measured["label"], predicted["label"]) == ("measured", "predicted")
    middle = len(playback["times"]) // 2
    # the efforts are constant, so the low-pass leaves them; joint i stands at i + 0.1 t
    np.testing.assert_allclose([line[middle] for line in measured["values"]], 10.0 * np.arange(5), atol=1e-3)
    shown = np.array([line[middle] for line in playback["position"]])
    np.testing.assert_allclose(np.diff(shown), 1.0, atol=1e-3)
    # the motion is shown at the times of the efforts, without the ends that the filters distort
    assert {len(line) for line in playback["position"]} == {len(playback["times"])}


def test_report_plays_the_chain_of_the_model_that_was_judged(tmp_path, capsys):
    """The URDF alone would give the tip "tool", with nothing held."""
    write_bag(tmp_path / "bag", seconds=8, speed=0.1)
    chain = ["--tip", "hand", "--lock", "beta_4=0.5"]
    assert main(["generate", str(URDF), *chain, "--name", "part", "-o", str(tmp_path), "--no-compile"]) == 0
    outcome = run_job(Job(tmp_path / "bag", str(tmp_path / "part.py"), report=tmp_path / "report"))
    assert outcome.error is None
    playback = embedded((tmp_path / "report" / "view.html").read_text())
    assert (playback["tip"], playback["held"]) == ("hand", {"beta_4": 0.5})
    assert playback["joints"] == [*JOINTS[:3], "gamma_4"]


def test_report_says_why_there_is_no_motion_to_play_of_another_robot(tmp_path, capsys):
    write_bag(tmp_path / "bag", seconds=8, speed=0.1)
    other = tmp_path / "other.urdf"
    other.write_text(URDF.read_text().replace('"hand"', '"palm"'))
    words = [str(other), "--tip", "palm", "--lock", "beta_4=0.5", "--name", "other", "-o", str(tmp_path)]
    assert main(["generate", *words, "--no-compile"]) == 0
    outcome = run_job(Job(tmp_path / "bag", str(tmp_path / "other.py"), report=tmp_path / "report"))
    assert outcome.error is None
    [warning] = outcome.warnings
    assert "view.html" in warning
    assert "'palm'" in warning
    assert not (tmp_path / "report" / "view.html").exists()


@pytest.mark.parametrize("place", ["beside", "in a parent", "in the ament index"])
def test_meshes_are_found_where_ros_keeps_them(tmp_path, monkeypatch, place):
    root = {"beside": "ws/robot/urdf", "in a parent": "ws", "in the ament index": "prefix/share"}[place]
    mesh = tmp_path / root / "some_robot" / "arm.STL"
    mesh.parent.mkdir(parents=True)
    mesh.write_bytes(TRIANGLE)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "prefix"))
    folder = tmp_path / "ws" / "robot" / "urdf"
    folder.mkdir(parents=True, exist_ok=True)
    geometry = '<geometry><mesh filename="package://some_robot/arm.STL"/></geometry>'
    found = load_meshes(f"<robot><link><visual>{geometry}</visual></link></robot>", folder)
    assert found.warnings == []
    [(name, found_mesh)] = found.by_name.items()
    assert (name, [part.triangles for part in found_mesh.parts]) == ("package://some_robot/arm.STL", [1])
