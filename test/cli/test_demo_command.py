"""The demonstration end to end: processes, DDS, bags, and the figures it must reach."""

import csv

import numpy as np
import pytest
from rosbags.highlevel import AnyReader

JOINTS = ("gamma_1", "alpha_2", "alpha_3", "beta_4", "gamma_4")
pytestmark = pytest.mark.timeout(300)  # the first of these waits for the whole demonstration
STAMPED = ("/joint_states", "/feedforward_node/feedforward", "/joint_trajectory")
MOTION_NS, PERIOD_NS = 8_000_000_000, 2_000_000  # of the demo's trajectory, and of its states at 500 Hz
CONTROLLERS = ("pd_alone", "pd_with_feedforward", "computed_torque")


@pytest.fixture(scope="module")
def rms(demo_output):
    """RMS errors [rad] by controller and joint."""
    with (demo_output / "errors.csv").open(newline="") as file:
        return {(row["controller"], row["joint"]): float(row["rms_rad"]) for row in csv.DictReader(file)}


def test_computed_torque_tracks_every_joint_to_2_mrad(rms):
    assert max(rms["computed torque", joint] for joint in JOINTS) < 2e-3


@pytest.mark.parametrize("joint", ["alpha_2", "alpha_3"])
def test_feedforward_beats_pd_alone_tenfold_on_the_loaded_joints(rms, joint):
    assert rms["PD alone", joint] > 10.0 * rms["PD with feedforward", joint]


@pytest.mark.parametrize("name", ["position.png", "error.png", "torque.png"])
def test_picture_is_a_png_of_legible_size(demo_output, name):
    data = (demo_output / name).read_bytes()
    width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    assert data.startswith(b"\x89PNG")
    assert width > 1000
    assert height > 1000


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_bag_holds_states_commands_reference_trajectory_and_description(demo_output, controller):
    with AnyReader([demo_output / controller / "bag"]) as reader:
        counts = {topic: info.msgcount for topic, info in reader.topics.items()}
        stamps = {topic: stamps_of(reader, topic) for topic in STAMPED}
    assert counts["/joint_trajectory"] == 1
    assert counts["/robot_description"] == 1
    start = stamps["/joint_trajectory"][0]
    for topic in ("/joint_states", "/feedforward_node/feedforward"):
        during = stamps[topic][(stamps[topic] >= start) & (stamps[topic] <= start + MOTION_NS)]
        each = np.unique(during)  # lock step repeats a state that a busy machine did not answer for a second
        np.testing.assert_array_equal(each, np.arange(start, start + MOTION_NS + 1, PERIOD_NS))
    assert counts["/forward_effort_controller/commands"] > MOTION_NS // PERIOD_NS


def stamps_of(reader, topic):
    """Header stamps of a topic [ns], in the order of recording."""
    connections = [each for each in reader.connections if each.topic == topic]
    messages = (reader.deserialize(data, each.msgtype) for each, _, data in reader.messages(connections))
    return np.array([each.header.stamp.sec * 10**9 + each.header.stamp.nanosec for each in messages])
