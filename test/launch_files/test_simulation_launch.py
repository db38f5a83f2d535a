"""simulation.launch.py brings up both nodes, and the arm is held; needs an installation of ROS 2."""

import shutil
import tempfile
import time
import unittest
from pathlib import Path

import pytest

pytest.importorskip("launch_ros", reason="launch_ros is not installed: the launch files are not tried")
launch_testing = pytest.importorskip("launch_testing", reason="launch_testing is not installed")

import rclpy
from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing.actions import ReadyToTest
from rcl_interfaces.srv import GetParameters
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from kane_dynamics_ros.nodes.messages import JOINT_STATES_QOS
from launch import LaunchDescription

try:
    SHARE = get_package_share_directory("kane_dynamics_ros")
except PackageNotFoundError:
    pytest.skip("kane_dynamics_ros is not in an install space: source one", allow_module_level=True)

ARGUMENTS = {"namespace": "left", "controller": "effort_controller", "mode": "feedforward_pd"}
PATIENCE = 30.0  # [s]


@pytest.mark.launch_test
def generate_test_description():
    folder = Path(tempfile.mkdtemp(prefix="with space "))  # field report 129
    urdf = shutil.copy(f"{SHARE}/urdf/manipulator_5dof.urdf.xacro", folder)
    source = PythonLaunchDescriptionSource(f"{SHARE}/launch/simulation.launch.py")
    arguments = {**ARGUMENTS, "urdf": urdf}
    return LaunchDescription(
        [IncludeLaunchDescription(source, launch_arguments=arguments.items()), ReadyToTest()]
    )


class TestRunning(unittest.TestCase):
    def setUp(self):
        rclpy.init()
        self.node = rclpy.create_node("watcher", namespace="left")

    def tearDown(self):
        self.node.destroy_node()
        rclpy.shutdown()

    def test_states_and_commands_flow_in_the_namespace(self):
        states, commands = [], []
        self.node.create_subscription(JointState, "joint_states", states.append, JOINT_STATES_QOS)
        self.node.create_subscription(Float64MultiArray, "effort_controller/commands", commands.append, 10)
        end = time.monotonic() + PATIENCE
        while not (states and len(commands) > 100) and time.monotonic() < end:
            rclpy.spin_once(self.node, timeout_sec=0.1)
        assert len(commands) > 100
        for first, last in zip(states[0].position, states[-1].position, strict=True):
            assert abs(first - last) < 0.01  # [rad]: held

    def test_an_argument_wins_over_the_parameter_file(self):  # field report 132
        client = self.node.create_client(GetParameters, "feedforward_node/get_parameters")
        assert client.wait_for_service(PATIENCE)
        request = GetParameters.Request(names=["mode", "computed_torque.kp"])
        future = client.call_async(request)
        rclpy.spin_until_future_complete(self.node, future, timeout_sec=PATIENCE)
        mode, kp = future.result().values
        assert mode.string_value == "feedforward_pd"
        assert kp.double_value == 400.0  # from the file


@launch_testing.post_shutdown_test()
class TestEnded(unittest.TestCase):
    def test_both_end_with_code_0(self, proc_info):
        launch_testing.asserts.assertExitCodes(proc_info)
