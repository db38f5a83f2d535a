"""The simulated arm as a ROS 2 node: joint commands in, joint states out."""

import sys
from array import array
from typing import Any

import numpy as np
import rclpy
from rcl_interfaces.msg import SetParametersResult
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.nodes.parameter_table import declare
from kane_dynamics_ros.nodes.simulated_hardware_parameters import PARAMETERS
from kane_dynamics_ros.nodes.simulated_hardware_setup import build_hardware, build_reporter, faults, payload
from kane_dynamics_ros.nodes.simulation_time import LockStepTime, Outcome, SimulationTime, WallTime
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.simulation.reporting import Report

_LOGGER = rclpy.logging.get_logger("simulated_hardware_node")  # outlives the node and its context
_REPORT_PERIOD = 1.0  # [s] between two log messages of one kind


class SimulatedHardwareNode(Node):
    """Wires ``SimulatedHardware`` to topics. Raises ``KaneDynamicsError`` on a wrong parameter."""

    def __init__(self) -> None:
        super().__init__("simulated_hardware")
        self.values = declare(self, PARAMETERS)
        self.hardware = build_hardware(load_model(self.values["model"]), self.values)
        self._reporter = build_reporter(self.hardware, self.values)
        self.dropped_commands = 0
        self._states = self.create_publisher(JointState, "joint_states", 10)
        self._message = JointState()
        self._time = self._build_time()
        interface = self.values["command.interface"]
        self._command_topic = self.create_subscription(
            Float64MultiArray, f"forward_{interface}_controller/commands", self._on_command, 10
        ).topic_name
        self.add_on_set_parameters_callback(self._on_parameters)
        self.get_logger().info(
            f"simulating {', '.join(self.hardware.joint_names)} at {self.values['update_rate']:g} Hz; "
            "the brakes hold the arm until the first command"
        )
        self._report()

    def last_words(self) -> str:
        """What went wrong during the run, empty when nothing did."""
        dropped = f"{self.dropped_commands} commands were dropped" if self.dropped_commands else ""
        return "; ".join(words for words in (dropped, self._time.lost()) if words)

    def _build_time(self) -> SimulationTime:
        if self.values["time.mode"] == "wall":
            return WallTime(self, self.hardware.engine.time_step, self._advance)
        start = self.values["time.start"]
        return LockStepTime(
            self, lambda: start + self.hardware.time, self._advance, self._send, self.values["time.timeout"]
        )

    def _on_command(self, message: Float64MultiArray) -> None:
        try:
            self.hardware.write(np.array(message.data))
        except KaneDynamicsError as error:
            self.dropped_commands += 1
            self.get_logger().warning(
                f"{self._command_topic}: dropped a message ({self.dropped_commands} so far): {error}",
                throttle_duration_sec=_REPORT_PERIOD,
            )
            return
        self._time.commanded()

    def _advance(self) -> Outcome:
        try:
            self.hardware.step()
        except KaneDynamicsError as error:
            self.hardware.stop()
            self.get_logger().error(
                f"{error}; the brakes hold the arm where it last was", throttle_duration_sec=_REPORT_PERIOD
            )
        return self._report() if self._reporter.due(self.hardware.steps) else "stepped"

    def _report(self) -> Outcome:
        hardware = self.hardware
        report = self._reporter.compose(hardware.read(), hardware.time, hardware.faults)
        if report is None:
            return "swallowed"
        self._fill(report)
        self._send()
        return "sent"

    def _fill(self, report: Report) -> None:
        self._message.header.stamp = self._time.stamp(report.age)
        self._message.name = report.names
        self._message.position = array("d", report.position.tobytes())
        self._message.velocity = array("d", report.velocity.tobytes())
        self._message.effort = array("d", report.effort.tobytes())

    def _send(self) -> None:
        self._time.announce()
        self._states.publish(self._message)

    def _on_parameters(self, parameters: list[Parameter[Any]]) -> SetParametersResult:
        """Payload and faults may change while running; a wrong value is refused with the reason."""
        entries = {entry.name: entry for entry in PARAMETERS}
        try:
            changed = {p.name: entries[p.name].read(p.value) for p in parameters if p.name in entries}
            self._change(self.values | changed, set(changed))
        except KaneDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        self.values |= changed
        return SetParametersResult(successful=True)

    def _change(self, values: dict[str, Any], changed: set[str]) -> None:
        if any(name.startswith("payload.") for name in changed):
            self.hardware.engine.set_payload(payload(values))
        if "faults.active" in changed:
            self.hardware.switch_faults(faults(values, "faults.active"))


def main(args: list[str] | None = None) -> int:
    """Run the node until Ctrl-C or SIGTERM; 0 then, 2 when a parameter is wrong."""
    rclpy.init(args=args)
    try:
        node = SimulatedHardwareNode()
        _spin(node)
    except KaneDynamicsError as error:
        _LOGGER.fatal(str(error))
        return 2
    finally:
        rclpy.try_shutdown()
    return 0


def _spin(node: SimulatedHardwareNode) -> None:
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        words = node.last_words()
        if words:
            _LOGGER.warning(words)


if __name__ == "__main__":
    sys.exit(main())
