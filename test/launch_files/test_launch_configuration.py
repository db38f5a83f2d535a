"""What the launch files refer to, as far as it can be seen without ROS."""

import yaml

from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.share import share_directory

MODEL = load_model("manipulator_5dof")
CONFIG = share_directory() / "config"


def read(name):
    return yaml.safe_load((CONFIG / name).read_text())


def test_the_controllers_take_the_efforts_of_the_model_in_its_order():
    nodes = read("controllers.yaml")["/**"]
    controller = nodes["forward_effort_controller"]["ros__parameters"]
    assert controller == {"interface_name": "effort", "joints": list(MODEL.joint_names)}
    manager = nodes["controller_manager"]["ros__parameters"]
    kind = manager["forward_effort_controller"]["type"]
    assert kind == "forward_command_controller/ForwardCommandController"


def test_rviz_shows_the_described_robot_in_its_root_frame():
    view = read("manipulator_5dof.rviz")["Visualization Manager"]
    assert view["Global Options"]["Fixed Frame"] == MODEL.root
    robot = next(each for each in view["Displays"] if each["Name"] == "RobotModel")
    assert robot["Description Topic"]["Value"] == "robot_description"
    assert robot["Description Topic"]["Durability Policy"] == "Transient Local"


def test_parameter_files_keep_their_parameters_in_any_namespace():  # field report 132
    for name in (
        "feedforward.yaml",
        "simulated_hardware.yaml",
        "controllers.yaml",
        "joint_trajectory_controller.yaml",
    ):
        assert list(read(name)) == ["/**"]
