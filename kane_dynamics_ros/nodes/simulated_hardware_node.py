"""The simulated arm as a ROS 2 node: joint commands in, joint states out."""

from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
from rcl_interfaces.msg import SetParametersResult
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.nodes.hardware.engine import build_hardware, build_reporter, faults, payload
from kane_dynamics_ros.nodes.hardware.parameters import TABLE
from kane_dynamics_ros.nodes.hardware.time import LockStepTime, Outcome, SimulationTime, WallTime
from kane_dynamics_ros.nodes.messages import subscription_events
from kane_dynamics_ros.nodes.parameters import declare, read
from kane_dynamics_ros.nodes.process import run_node
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.simulation.sensors import Report

_LONGEST_WAIT = 0.1  # [s] for anything to do, before looking whether to stop
_REPORT_PERIOD = 1.0  # [s] between two log messages of one kind


class SimulatedHardwareNode(Node):
    """Wires ``SimulatedHardware`` to topics. Raises ``KaneDynamicsError`` on a wrong parameter."""

    def __init__(self) -> None:
        super().__init__("simulated_hardware")
        declare(self, TABLE)
        self.values = read(self, TABLE)
        self.hardware = build_hardware(
            load_model(self.values["model"], backend=self.values["backend"]), self.values
        )
        self._reporter = build_reporter(self.hardware, self.values)
        self.dropped_commands = 0
        self._states = self.create_publisher(JointState, "joint_states", 10)
        self._message = JointState()
        self._time = self._build_time()
        self._command_topic = f"forward_{self.values['command.interface']}_controller/commands"
        events = subscription_events(self.get_logger(), self._command_topic)
        self.create_subscription(
            Float64MultiArray, self._command_topic, self._on_command, 10, event_callbacks=events
        )
        self.add_on_set_parameters_callback(self._on_parameters)
        self.get_logger().info(
            f"simulating {', '.join(self.hardware.joint_names)} at {self.values['update_rate']:g} Hz; "
            "the brakes hold the arm until the first command"
        )
        self._reporter.due(0)
        self._report()

    def spin(self, stopped: Callable[[], bool]) -> None:
        """Simulate until ``stopped`` is true."""
        executor = SingleThreadedExecutor()
        executor.add_node(self)
        while not stopped():
            executor.spin_once(timeout_sec=_LONGEST_WAIT)
        executor.shutdown()

    def finish(self) -> None:
        """Say what went wrong during the run, if anything did."""
        dropped = f"{self.dropped_commands} commands were dropped" if self.dropped_commands else ""
        words = "; ".join(filter(None, (dropped, self._time.lost())))
        if words:
            self.get_logger().warning(words)
        self.destroy_node()

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
        report = self._reporter.compose(hardware.read(), hardware.faults)
        if report is None:
            return "swallowed"
        self._fill(report)
        self._send()
        return "sent"

    def _fill(self, report: Report) -> None:
        if not report.stale or not self._message.name:  # the first message has no stamp to repeat
            self._message.header.stamp = self._time.stamp()
        self._message.name = report.names
        self._message.position = array("d", report.position.tobytes())
        self._message.velocity = array("d", report.velocity.tobytes())
        self._message.effort = array("d", report.effort.tobytes())

    def _send(self) -> None:
        self._time.announce()
        self._states.publish(self._message)

    def _on_parameters(self, parameters: "list[Parameter[Any]]") -> SetParametersResult:
        """Payload and faults may change while running; a wrong value is refused with the reason."""
        try:
            values = read(self, TABLE, {each.name: each.value for each in parameters})
            self._change(values, {each.name for each in parameters})
        except KaneDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        self.values = values
        return SetParametersResult(successful=True)

    def _change(self, values: dict[str, Any], changed: set[str]) -> None:
        if any(name.startswith("payload.") for name in changed):
            self.hardware.engine.set_payload(payload(values))
        if "faults.active" in changed:
            self.hardware.switch_faults(faults(values, "faults.active"))


def main() -> int:
    """Run the node until Ctrl-C or SIGTERM; 0 then, 2 when a parameter is wrong."""
    return run_node(SimulatedHardwareNode)


if __name__ == "__main__":
    raise SystemExit(main())
