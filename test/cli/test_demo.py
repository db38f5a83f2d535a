"""The demonstration end to end: processes, DDS, bags, and the figures it must reach."""

import csv

import numpy as np
import pytest
from rosbags.highlevel import AnyReader

JOINTS = ("gamma_1", "alpha_2", "alpha_3", "beta_4", "gamma_4")
pytestmark = pytest.mark.timeout(300)  # the first of these waits for the whole demonstration
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
    assert counts["/joint_trajectory"] == 1
    assert counts["/robot_description"] == 1
    # 8 s of motion at 500 Hz, with what comes before and after it
    for topic in ("/joint_states", "/forward_effort_controller/commands", "/feedforward_node/feedforward"):
        assert 4000 < counts[topic] < 6000


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_page_that_plays_the_run_is_beside_its_bag(demo_output, controller):
    assert (
        f"<h1>manipulator_5dof: {controller}/bag</h1>" in (demo_output / controller / "view.html").read_text()
    )


def test_figures_follow_from_the_bag_and_the_reference_that_the_controller_stated(demo_output, rms):
    """Not from the demo's own reading: states against the reference of the same stamp."""
    states, references = {}, {}
    with AnyReader([demo_output / "computed_torque" / "bag"]) as reader:
        start = None
        for connection, _, data in reader.messages():
            message = reader.deserialize(data, connection.msgtype)
            stamp = message.header.stamp if hasattr(message, "header") else None
            if connection.topic == "/joint_states":
                states[stamp.sec, stamp.nanosec] = message.position
            elif connection.topic == "/feedforward_node/feedforward":
                references[stamp.sec, stamp.nanosec] = message.position
            elif connection.topic == "/joint_trajectory":
                start = stamp.sec + 1e-9 * stamp.nanosec
    common = [s for s in states if s in references and 0.0 <= s[0] + 1e-9 * s[1] - start <= 8.0]
    assert len(common) > 3900
    errors = np.array([states[stamp] - references[stamp] for stamp in common])
    found = np.sqrt(np.mean(errors**2, axis=0))
    # the points lie 0.1 s apart, so the quintics between them are off the motion by some 1e-6 rad
    np.testing.assert_allclose(found, [rms["computed torque", joint] for joint in JOINTS], atol=1e-5)
