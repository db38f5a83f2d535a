"""The records behind a page: from a bag, and from a trajectory on a URDF."""

import json

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from view_samples import JOINTS, START, URDF

from kane_dynamics_ros.cli import demo_trajectory
from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.cli.view_bag import NoDescriptionError, record_of_bag
from kane_dynamics_ros.cli.view_meshes import load_meshes
from kane_dynamics_ros.cli.view_trajectory import record_of_trajectory

STORE = get_typestore(Stores.ROS2_JAZZY)
RATE = 100  # [Hz]


def joint_state(seconds, names, position, effort):
    time = STORE.types["builtin_interfaces/msg/Time"](int(seconds), round(1e9 * (seconds % 1.0)))
    header = STORE.types["std_msgs/msg/Header"](time, "")
    arrays = (np.array(list(position)), np.array([]), np.array(list(effort)))
    return STORE.types["sensor_msgs/msg/JointState"](header, list(names), *arrays)


def write_bag(path, with_description=True, with_reference=True):
    """Two seconds: joint i at i + t, its reference 0.1 above; efforts 10 i; joints in reverse order."""
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
        for t in np.arange(2 * RATE + 1) / RATE:
            state = joint_state(100.0 + t, JOINTS[::-1], (index + t)[::-1], 10.0 * index[::-1])
            add("/joint_states", "sensor_msgs/msg/JointState", 100.0 + t, state)
            if with_reference:
                wanted = joint_state(100.0 + t, JOINTS, index + t + 0.1, 10.0 * index + 1.0)
                add("/feedforward_node/feedforward", "sensor_msgs/msg/JointState", 100.0 + t, wanted)


def test_bag_becomes_positions_efforts_and_the_stated_reference_in_model_order(tmp_path):
    write_bag(tmp_path / "bag")
    record, missing = record_of_bag(tmp_path / "bag", None, None)
    index = np.arange(len(JOINTS))[:, None]
    assert (record.joints, record.tip, missing) == (JOINTS, "tool", [])
    assert record.times[-1] == pytest.approx(2.0)
    # the values are linear in time, so interpolation is exact; stamps round to 1 ns
    np.testing.assert_allclose(record.position, index + record.times, atol=1e-8)
    np.testing.assert_allclose(record.reference, index + record.times + 0.1, atol=1e-8)
    torque, _, error = record.quantities
    assert torque.units == ("N m",) * 5
    assert [series.label for series in torque.series] == ["measured", "commanded"]
    np.testing.assert_allclose(torque.series[0].values, np.broadcast_to(10.0 * index, record.position.shape))
    np.testing.assert_allclose(error.series[0].values, -0.1, atol=1e-8)


def test_bag_without_a_reference_shows_the_motion_alone(tmp_path):
    write_bag(tmp_path / "bag", with_reference=False)
    record, _ = record_of_bag(tmp_path / "bag", None, None)
    assert record.reference is None
    assert [quantity.label for quantity in record.quantities] == ["torque", "position"]


def test_bag_without_a_description_asks_for_a_urdf_and_takes_it(tmp_path):
    write_bag(tmp_path / "bag", with_description=False)
    with pytest.raises(NoDescriptionError) as caught:
        record_of_bag(tmp_path / "bag", None, None)
    assert str(caught.value) == (
        f"{tmp_path / 'bag'}: no robot_description was recorded; give the robot with --urdf FILE"
    )
    record, _ = record_of_bag(tmp_path / "bag", URDF, None)
    assert record.joints == JOINTS


def test_trajectory_on_a_urdf_shows_the_torques_that_pinocchio_computes(tmp_path):
    pin = pytest.importorskip("pinocchio", reason="the torques are compared with Pinocchio's (extra `test`)")
    path = tmp_path / "trajectory.yaml"
    path.write_text(json.dumps(demo_trajectory.message(JOINTS, START)))
    record, _ = record_of_trajectory(URDF, path, None)
    motion = demo_trajectory.reference(record.times, START)
    # quintics through points 0.1 s apart: their position is off by 1e-6 rad, their acceleration by 1e-2
    np.testing.assert_allclose(record.position.T, motion.q, atol=1e-5)
    model = pin.buildModelFromUrdf(str(URDF))
    data = model.createData()
    torque = [pin.rnea(model, data, *state) for state in zip(*motion, strict=True)]
    np.testing.assert_allclose(record.quantities[0].series[0].values.T, torque, atol=0.2)


def test_command_writes_a_page_and_warns_of_meshes_that_are_not_there(tmp_path, capsys):
    urdf = tmp_path / "robot.urdf"
    shape = '<geometry><mesh filename="package://some_robot/arm.stl"/></geometry>'
    urdf.write_text(URDF.read_text().replace("</visual>", f"</visual><visual>{shape}</visual>", 1))
    trajectory = tmp_path / "trajectory.yaml"
    trajectory.write_text(json.dumps(demo_trajectory.message(JOINTS, START)))
    output = tmp_path / "pages" / "view.html"
    assert main(["view", str(urdf), "--trajectory", str(trajectory), "-o", str(output)]) == 0
    assert output.read_text().startswith("<!DOCTYPE html>")
    assert capsys.readouterr() == (
        f"{output}\n",
        "warning: mesh 'package://some_robot/arm.stl' was not found and is not shown\n",
    )


@pytest.mark.parametrize("place", ["beside", "in a parent", "in the ament index"])
def test_meshes_are_found_where_ros_keeps_them(tmp_path, monkeypatch, place):
    root = {"beside": "ws/robot/urdf", "in a parent": "ws", "in the ament index": "prefix/share"}[place]
    mesh = tmp_path / root / "some_robot" / "arm.STL"
    mesh.parent.mkdir(parents=True)
    mesh.write_bytes(b"solid")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "prefix"))
    folder = tmp_path / "ws" / "robot" / "urdf"
    folder.mkdir(parents=True, exist_ok=True)
    geometry = '<geometry><mesh filename="package://some_robot/arm.STL"/></geometry>'
    found, missing = load_meshes(f"<robot><link><visual>{geometry}</visual></link></robot>", folder)
    assert missing == []
    assert [(name, mesh.format, mesh.base64) for name, mesh in found.items()] == [
        ("package://some_robot/arm.STL", "stl", "c29saWQ=")
    ]
