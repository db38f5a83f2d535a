"""What the launch files start, and what keeps them from starting anything."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

from kane_dynamics_ros.description import parse_robot, physics_hash, serial_chain

pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

from launch_stand_in import SHARE, install, node, of_kind, settings, started
from replay_bags import JOINT_STATE, STORE, joint_state, record, write_messages

from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.replay.jobs import robot_note
from kane_dynamics_ros.runtime import initial_positions, load_model
from kane_dynamics_ros.runtime.node_parameters import file_parameters
from kane_dynamics_ros.simulation.friction import Friction
from kane_dynamics_ros.simulation.plant import Plant, PlantOptions

BAG = Path(__file__).parents[1] / "replay" / "data" / "regression.mcap"
STRING = "std_msgs/msg/String"
MODEL = load_model("manipulator_5dof")
URDF = SHARE / "urdf" / "manipulator_5dof.urdf"


ROS2_CONTROL = (
    "robot_state_publisher",
    "controller_manager",
    "joint_state_topic_hardware_interface",
    "joint_state_broadcaster",
    "joint_trajectory_controller",
    "ros2_control_node",
    "spawner",
)


@pytest.fixture(autouse=True)
def ros_is_installed(monkeypatch, tmp_path_factory):
    """As far as the launch files look."""
    folder = tmp_path_factory.mktemp("ros")
    install(monkeypatch, folder, installed=ROS2_CONTROL)
    for name in ("ros2_control_node", "spawner"):
        (folder / "lib" / "controller_manager" / name).touch()


@pytest.fixture(scope="module")
def other_robot(tmp_path_factory):
    """A URDF and a module of a robot that is not the shipped one: its upper arm is heavier."""
    from kane_dynamics_ros.cli.main import main

    folder = tmp_path_factory.mktemp("other robot")
    urdf = folder / "other.urdf"
    urdf.write_text(URDF.read_text().replace('mass value="', 'mass value="1'), encoding="utf-8")
    assert main(["generate", str(urdf), "--name", "other", "-o", str(folder), "--no-compile"]) == 0
    return {"urdf": str(urdf), "model": str(folder / "other.py")}


def test_the_shipped_gains_are_for_the_shipped_model_alone(other_robot):
    shipped = node(started("simulation"), "feedforward_node")
    assert str(SHARE / "config" / "feedforward.yaml") in shipped.parameters
    path = str(SHARE / "kane_dynamics_ros" / "generated" / "manipulator_5dof.py")
    by_path = node(started("simulation", model=path), "feedforward_node")
    assert by_path.parameters[:-1] == shipped.parameters[:-1]
    other = node(started("simulation", **other_robot), "feedforward_node")
    assert [each for each in other.parameters if isinstance(each, str)] == []


def test_arguments_win_over_the_file_only_when_they_are_given(tmp_path):  # field report 132
    file = tmp_path / "own.yaml"
    file.write_text("/**: {ros__parameters: {mode: gravity_compensation}}", encoding="utf-8")
    from_file = started("feedforward", params_file=str(file))
    assert "mode" not in settings(from_file, "feedforward_node")
    given = started("feedforward", params_file=str(file), mode="feedforward")
    assert settings(given, "feedforward_node")["mode"] == "feedforward"


def test_lock_step_follows_use_sim_time():
    for use_sim_time, mode in (("true", "lock_step"), ("False", "wall")):
        plan = started("simulation", use_sim_time=use_sim_time)
        assert settings(plan, "simulated_hardware_node")["time.mode"] == mode
        assert settings(plan, "feedforward_node")["use_sim_time"] is (mode == "lock_step")


def test_the_description_is_published_as_expanded():
    plan = started("feedforward")
    text = settings(plan, "robot_state_publisher")["robot_description"]
    assert "<robot" in text
    assert "xacro:" not in text


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"urdf": "nope.urdf"}, "nope.urdf"),
        ({"model": "nope.py"}, "nope.py"),
        ({"xacro_arguments": "length"}, "xacro_arguments"),
        ({"xacro_arguments": "length:='"}, "xacro_arguments"),
        ({"urdf": str(URDF), "xacro_arguments": "length:=1"}, "'length'"),
        ({"xacro_arguments": "lenght:=1"}, "'lenght'"),
        ({"mode": "fast"}, "'mode'"),
        ({"use_sim_time": "maybe"}, "use_sim_time"),
        ({"publish_description": "1"}, "publish_description"),
        ({"namespace": "left arm"}, "namespace"),
        ({"controller": ""}, "controller"),
        ({"params_file": "nope.yaml"}, "params_file"),
        ({"hardware_params_file": "nope.yaml"}, "hardware_params_file"),
        ({"rviz": "true", "rviz_config": "nope.rviz"}, "rviz_config"),
    ],
)
def test_what_is_wrong_is_named_before_anything_starts(given, named):
    with pytest.raises(KaneDynamicsError) as caught:
        started("simulation", **given)
    assert named in str(caught.value)


@pytest.mark.parametrize("name", ["feedforward_pd.kp", "collision.constant", "observer.gain"])
def test_values_for_other_joints_are_refused_before_anything_starts(tmp_path, name):
    file = tmp_path / "six.yaml"
    parameters = {name: [1.0] * 6, "mode": "feedforward_pd"}
    file.write_text(json.dumps({"/**": {"ros__parameters": parameters}}), encoding="utf-8")
    with pytest.raises(KaneDynamicsError, match=re.escape(f"'{name}'")):
        started("feedforward", params_file=str(file))


def test_a_plant_that_cannot_move_is_refused_before_anything_starts(tmp_path):
    file = tmp_path / "plant.yaml"
    file.write_text("/**: {ros__parameters: {plant: {locked: [elbow]}}}", encoding="utf-8")
    with pytest.raises(KaneDynamicsError, match="'elbow'"):
        started("simulation", hardware_params_file=str(file))


def test_a_model_of_another_robot_is_refused(other_robot):
    with pytest.raises(KaneDynamicsError, match="was not generated from this robot_description"):
        started("feedforward", model=other_robot["model"])
    with pytest.raises(
        KaneDynamicsError, match=r"model:=''; allowed is the module generated from .*other\.urdf"
    ):
        started("feedforward", urdf=other_robot["urdf"])


@pytest.mark.parametrize(
    ("key", "namespace", "applies"),
    [
        ("/**", "left", True),
        ("/**/feedforward_node", "left", True),
        ("feedforward_node", "", True),
        ("/left/feedforward_node", "left", True),
        ("/*/feedforward_node", "/left", True),
        ("feedforward_node", "left", False),
        ("/left/feedforward_node", "right", False),
    ],
)
def test_a_parameter_file_applies_as_ros_applies_it(tmp_path, key, namespace, applies):
    file = tmp_path / "own.yaml"
    file.write_text(yaml.safe_dump({key: {"ros__parameters": {"payload": {"mass": 2.0}}}}), encoding="utf-8")
    expected = {"payload.mass": 2.0} if applies else {}
    assert file_parameters(file, "feedforward_node", namespace) == expected


@pytest.mark.parametrize(
    "text",
    ["[1, 2]", "a: [", "\x00", "payload.mass: 2.0", "/**: {payload: {mass: 2.0}}", "/**: {a: {b: {c: 1}}}"],
)
def test_a_file_that_holds_no_parameters_is_named(tmp_path, text):
    file = tmp_path / "own.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(KaneDynamicsError) as caught:
        file_parameters(file, "feedforward_node", "")
    assert str(file) in str(caught.value)


def test_replay_needs_a_bag_that_exists(tmp_path):
    with pytest.raises(KaneDynamicsError, match="bag"):
        started("replay", bag=str(tmp_path / "nope"))
    with pytest.raises(KaneDynamicsError, match="rate"):
        started("replay", bag=str(BAG), rate="fast")
    [player] = of_kind("ExecuteProcess", started("replay", bag=str(BAG), rate="2"))
    assert tuple(player.cmd[-4:]) == ("manipulator_5dof", "--live", "--rate", "2")


def test_replay_refuses_a_bag_of_other_joints_and_one_that_cannot_be_read(tmp_path):
    broken = tmp_path / "broken.mcap"
    broken.write_bytes(BAG.read_bytes()[:40])
    renamed = tmp_path / "renamed.mcap"
    renamed.write_bytes(BAG.read_bytes().replace(b"gamma_1", b"delta_1"))
    for bag, named in ((broken, "broken.mcap"), (renamed, "gamma_1"), (tmp_path, str(tmp_path))):
        with pytest.raises(KaneDynamicsError, match=named):
            started("replay", bag=str(bag))


def test_replay_refuses_a_bag_that_describes_another_robot(tmp_path, other_robot):
    joints = load_model("manipulator_5dof").joint_names
    q = np.zeros((3, len(joints)))
    states = [(i, joint_state(record(q, q, q, 100.0, joints), i)) for i in range(3)]
    for name, urdf, refused in (("same", URDF, False), ("other", Path(other_robot["urdf"]), True)):
        message = bytes(STORE.serialize_cdr(STORE.types[STRING](urdf.read_text()), STRING))
        topics = {("/joint_states", JOINT_STATE): states, ("/robot_description", STRING): [(0, message)]}
        bag = write_messages(tmp_path / name, topics)
        if refused:
            with pytest.raises(KaneDynamicsError, match="was not generated from this robot_description"):
                started("replay", bag=str(bag))
        else:
            assert of_kind("ExecuteProcess", started("replay", bag=str(bag)))


def test_ros2_control_gets_the_simulated_arm_as_its_hardware():
    plan = started("ros2_control")
    arm = settings(plan, "simulated_hardware_node")
    described = settings(plan, "robot_state_publisher")["robot_description"]
    control = ElementTree.fromstring(described).findall("ros2_control")
    assert len(control) == 1
    hardware = {each.get("name"): each.text for each in control[0].find("hardware").findall("param")}
    topics = {own: f"/{other}" for own, other in node(plan, "simulated_hardware_node").remappings}
    assert topics == {name: hardware[f"{name}_topic"] for name in ("joint_commands", "joint_states")}
    joints = control[0].findall("joint")
    assert tuple(each.get("name") for each in joints) == MODEL.joint_names
    assert {each.find("command_interface").get("name") for each in joints} == {arm["command.interface"]}
    chain = serial_chain(parse_robot(described, "described"), MODEL.tip)
    assert physics_hash(chain) == MODEL.urdf_hash  # nothing else of the robot has changed


def test_the_clock_of_the_arm_is_everybodys_clock_or_nobodys():
    for rate, simulated in (("", False), ("0.2", True)):
        plan = started("ros2_control", rate=rate)
        assert settings(plan, "simulated_hardware_node")["time.mode"] == ("clock" if simulated else "wall")
        assert settings(plan, "ros2_control_node")["use_sim_time"] is simulated


@pytest.mark.parametrize(
    ("name", "value"), [("interface", "torque"), ("rate", "0"), ("controllers_file", "nope.yaml")]
)
def test_ros2_control_arguments_that_are_wrong_are_named(name, value):
    with pytest.raises(KaneDynamicsError, match=name):
        started("ros2_control", **{name: value})


@pytest.mark.parametrize(
    "file",
    ["simulation", "ros2_control"],
)
def test_a_missing_xacro_argument_is_named_as_a_possible_cause(tmp_path, file):
    xacro = tmp_path / "arm.urdf.xacro"
    text = URDF.read_text().replace('<mass value="3"/>', '<mass value="$(arg mass)"/>', 1)
    head, _, tail = text.partition("<robot ")
    name, _, body = tail.partition(">")
    declared = '<xacro:arg name="mass" default="4"/>'
    xmlns = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
    xacro.write_text(f"{head}<robot {xmlns} {name}>{declared}{body}", encoding="utf-8")
    given = {"urdf": str(xacro), "model": "manipulator_5dof"}
    with pytest.raises(KaneDynamicsError, match="xacro_arguments:="):
        started(file, **given)
    assert of_kind("Node", started(file, **given, xacro_arguments="mass:=3"))
    note = robot_note(None, xacro, MODEL)
    assert "NOT generated" in note
    assert "--xacro" in note
    assert robot_note(None, xacro, MODEL, {"mass": "3"}).startswith("the model was generated from")
    with pytest.raises(KaneDynamicsError) as caught:
        started(file, urdf=str(URDF), model=str(URDF))
    assert "xacro_arguments" not in str(caught.value)


def test_the_shipped_controllers_are_for_the_shipped_model_alone(tmp_path, other_robot):
    shipped = node(started("ros2_control"), "spawner").arguments[-1]
    with pytest.raises(KaneDynamicsError, match="controllers_file"):
        started("ros2_control", **other_robot)
    given = started("ros2_control", **other_robot, controllers_file=shipped)
    assert node(given, "spawner").arguments[-1] == shipped
    own = tmp_path / "own.yaml"
    own.write_text(Path(shipped).read_text().replace("alpha_3", "elbow"), encoding="utf-8")
    with pytest.raises(KaneDynamicsError, match="'elbow'"):
        started("ros2_control", controllers_file=str(own))


def test_the_shipped_trajectory_controller_holds_the_shipped_arm():
    content = yaml.safe_load((SHARE / "config" / "joint_trajectory_controller.yaml").read_text())["/**"]
    controller = content["joint_trajectory_controller"]["ros__parameters"]
    assert tuple(controller["joints"]) == MODEL.joint_names
    start = initial_positions(MODEL.joints)
    inertia = MODEL.mass_matrix(start).diagonal()
    gains = [controller["gains"][name] for name in MODEL.joint_names]
    p, d = (np.array([each[key] for each in gains]) for key in ("p", "d"))
    np.testing.assert_allclose(p[:3], 10.0**2 * inertia[:3], rtol=5e-3)
    np.testing.assert_allclose(d, 2.0 * np.sqrt(p * inertia), rtol=0.03)  # critically damped
    # the loop itself, a period of delay in it: a motion of 1 s with its efforts (~/annotate), then at rest
    plant = Plant(MODEL, PlantOptions(time_step=1e-3, friction=Friction.from_urdf(MODEL.joints)))
    plant.reset(start, np.zeros(5))
    tau, way = MODEL.gravity(start), np.array([0.3, 0.2, -0.3, 0.4, 0.4])
    for k in range(3000):
        s = min(1e-3 * k, 1.0)  # a polynomial of degree 5 from rest to rest
        q, qd, qdd = (
            start + way * (10 * s**3 - 15 * s**4 + 6 * s**5),
            way * (30 * s**2 - 60 * s**3 + 30 * s**4),
            way * (60 * s - 180 * s**2 + 120 * s**3),
        )
        plant.step(tau)
        tau = p * (q - plant.q) + d * (qd - plant.qd) + MODEL.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(plant.qd, 0.0, atol=1e-6)
    # what friction holds: its effort over p, 0.0015 to 0.005 rad, and gravity's change over that
    assert (np.abs(start + way - plant.q) < 1.1 * np.array([j.friction for j in MODEL.joints]) / p).all()
    assert np.abs(start + way - plant.q).max() < 0.006


@pytest.mark.parametrize(
    "file",
    ["simulation", "ros2_control"],
)
def test_elastic_links_go_to_the_hardware_and_a_file_that_is_not_there_is_refused(file):
    links = str(SHARE / "examples" / "elastic_forearm" / "forearm.yaml")
    elastic = started(file, elastic=links)
    assert settings(elastic, "simulated_hardware_node")["elastic"] == links
    assert "elastic" not in settings(started(file), "simulated_hardware_node")
    with pytest.raises(KaneDynamicsError, match=r"elastic:='none\.yaml'"):
        started(file, elastic="none.yaml")
