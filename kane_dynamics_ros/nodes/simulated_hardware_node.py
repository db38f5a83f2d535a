"""The simulated arm as a ROS 2 node: joint commands in, joint states out."""

import math
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, PoseStamped, Quaternion
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.errors import KaneDynamicsError, non_finite
from kane_dynamics_ros.nodes.hardware.clocks import (
    LockStepTime,
    ScaledTime,
    SimulationTime,
    StepResult,
    WallTime,
)
from kane_dynamics_ros.nodes.hardware.parameters import TABLE, build_hardware, build_reporter, faults
from kane_dynamics_ros.nodes.messages import BURST_QOS
from kane_dynamics_ros.nodes.parameters import declare, read
from kane_dynamics_ros.nodes.process import run_node, steady_timer
from kane_dynamics_ros.runtime import CONTROL, load_model
from kane_dynamics_ros.runtime.node_parameters import payload, wrong_parameter
from kane_dynamics_ros.runtime.parameters import checked_payload
from kane_dynamics_ros.simulation.faults import Faults
from kane_dynamics_ros.text import counted

if TYPE_CHECKING:  # they bring SciPy, which takes a second to import that rigid arms need not wait for
    from kane_dynamics_ros.elastic.posture import FrameInRoot
    from kane_dynamics_ros.simulation.elastic_plant import ElasticPlant

UNANSWERED = ("nan", "stale", "lost", "freeze")  # faults whose joint states a controller may refuse
CLOCK_CHECK_PERIOD = 1.0  # [s] of the wall between looks for /clock
CLOCK_WARNING_PERIOD = 5.0  # [s] between two warnings that there is none
LOG_PERIOD = 1.0  # [s] between two log messages of one kind


class MergedCommand:
    """Commands as sensor_msgs/JointState, as ros2_control's JointStateTopicSystem sends them.

    Joints come by name, in any order; those that the arm lacks are not ours. NaN and joints that are not
    named leave a joint's command as it was; before its first command a joint is asked to stay where it is
    (its position, no velocity, or no effort, by the interface). The last command holds: the sender is silent
    while its command equals the state.
    """

    def __init__(self, joint_names: Sequence[str], interface: str) -> None:
        self._interface = interface
        self._places = {name: i for i, name in enumerate(joint_names)}
        self._values = np.full(len(joint_names), np.nan)

    def take(self, message: JointState, position: Array) -> Array | None:
        """The commands (n,) now; ``position`` (n,) is where the arm stands. None when nothing is commanded.

        Raises ``KaneDynamicsError``; the command before then stays.
        """
        values = getattr(message, self._interface)
        if not values:
            return None
        if len(values) != len(message.name):
            found = f"found {len(values)} values for {len(message.name)} names"
            raise KaneDynamicsError(
                f"{self._interface}: {found}; as many are needed, or none", "wrong_length"
            )
        merged, ours = self._values.copy(), False
        for name, value in zip(message.name, values, strict=True):
            if name in self._places and not math.isnan(value):
                merged[self._places[name]], ours = value, True
        if not ours:
            return None
        if np.isinf(merged).any():
            raise non_finite("command")
        self._values = merged
        return np.where(np.isnan(merged), position if self._interface == "position" else 0.0, merged)


class TipPoses:
    """Publishes ``~/tip_pose`` and ``~/rigid_tip_pose`` of an elastic arm, in the root link's frame."""

    def __init__(self, node: Node, engine: "ElasticPlant", root: str) -> None:
        from scipy.spatial.transform import Rotation  # an elastic arm has imported SciPy already

        self._engine, self._root, self._rotation = engine, root, Rotation
        self._true = node.create_publisher(PoseStamped, "~/tip_pose", 10)
        self._rigid = node.create_publisher(PoseStamped, "~/rigid_tip_pose", 10)

    def publish(self, stamp: Time) -> None:
        """Both poses at ``stamp``, that of the joint states beside them."""
        self._true.publish(self._message(self._engine.tip, stamp))
        self._rigid.publish(self._message(self._engine.rigid_tip, stamp))

    def _message(self, pose: "FrameInRoot", stamp: Time) -> PoseStamped:
        """A frame's pose [m, quaternion]."""
        message = PoseStamped()
        message.header.stamp, message.header.frame_id = stamp, self._root
        message.pose.position = Point(**dict(zip("xyz", map(float, pose.p), strict=True)))
        quaternion = self._rotation.from_matrix(np.asarray(pose.R)).as_quat()
        message.pose.orientation = Quaternion(**dict(zip("xyzw", map(float, quaternion), strict=True)))
        return message


class SimulatedHardwareNode(Node):
    """Wires ``SimulatedHardware`` to topics. Raises ``KaneDynamicsError`` on a wrong parameter."""

    _running = False  # from the end of its construction on

    def __init__(self) -> None:
        super().__init__("simulated_hardware")
        declare(self, TABLE, but=("friction.at_rest",))  # a resting joint holds anything within its stiction
        self.values = read(self, TABLE)
        model = load_model(self.values["model"], backend=self.values["backend"], ready=CONTROL)
        self.hardware = build_hardware(model, self.values)
        self._tip: TipPoses | None = None
        if self.values["elastic"]:
            self._tip = TipPoses(self, self.hardware.engine, model.root)  # type: ignore[arg-type]
        self._reporter = build_reporter(self.hardware, self.values)
        self.dropped_commands = 0
        self._states = self.create_publisher(JointState, "joint_states", BURST_QOS)
        self._message = JointState()
        self._time = self._build_time()
        self._time.pause(self.values["time.paused"])
        self._subscribe()
        self.add_on_set_parameters_callback(self._check_parameters)
        self.add_post_set_parameters_callback(self._apply_parameters)
        self.get_logger().info(
            f"simulating {', '.join(self.hardware.joint_names)} at {self.values['update_rate']:g} Hz; "
            "the brakes hold the arm until the first command"
        )
        self._reporter.due(0)
        self._report()
        self._running = True

    def destroy_node(self) -> None:
        """End the node; what went wrong during the run, if anything did, is logged.

        rclpy calls it for nodes half made, and more than once.
        """
        if self._running:
            self._running = False
            count = self.dropped_commands
            dropped = f"{counted(count, 'command')} dropped" if count else ""
            problems = "; ".join(filter(None, (dropped, self._time.lost())))
            if problems:
                self.get_logger().warning(problems)
        super().destroy_node()

    def _build_time(self) -> SimulationTime:
        values, hardware, mode = self.values, self.hardware, self.values["time.mode"]
        step = hardware.engine.time_step

        def now() -> float:
            return float(values["time.start"] + hardware.time)

        def faulty() -> bool:
            return any(fault.kind in UNANSWERED for fault in hardware.faults.active)

        if mode == "clock":
            return ScaledTime(self, now, step, self._advance, values["time.rate"])
        if mode == "wall":
            if self.get_parameter("use_sim_time").value:
                steady_timer(self, CLOCK_CHECK_PERIOD, self._check_clock)
            return WallTime(self, step, self._advance)
        if values["command.type"] == "joint_state":
            allowed = (
                "wall or clock with command.type joint_state: controller_manager waits for /clock, and the "
                "arm would wait for its command"
            )
            raise wrong_parameter("time.mode", mode, allowed)
        return LockStepTime(self, now, self._advance, self._send, faulty, values["time.timeout"])

    def _check_clock(self) -> None:
        """Stamps come from the clock that ``use_sim_time`` asks for: say that there is none."""
        if not self.get_clock().now().nanoseconds:
            self.get_logger().warning(
                "use_sim_time is true and no /clock comes: joint states are stamped 0; leave it out, or set "
                "time.mode to clock or lock_step for a clock of the arm's own",
                throttle_duration_sec=CLOCK_WARNING_PERIOD,
            )

    def _subscribe(self) -> None:
        interface, hardware = self.values["command.interface"], self.hardware
        if self.values["command.type"] == "array":
            topic, kind = f"forward_{interface}_controller/commands", Float64MultiArray

            def read_message(message: Any) -> Array | None:
                return np.array(message.data)
        else:
            topic, kind = "joint_commands", JointState
            merged = MergedCommand(hardware.joint_names, interface)

            def read_message(message: Any) -> Array | None:
                return merged.take(message, hardware.engine.q)

        def take(message: Any) -> None:
            try:
                command = read_message(message)
                if command is None:
                    return
                hardware.write(command)
            except KaneDynamicsError as error:
                self.dropped_commands += 1
                self.get_logger().warning(
                    f"{topic}: dropped a message ({self.dropped_commands} so far): {error}",
                    throttle_duration_sec=LOG_PERIOD,
                )
            else:
                self._time.commanded()

        self.create_subscription(kind, topic, take, 10)

    def _advance(self) -> StepResult:
        try:
            self.hardware.step()
        except KaneDynamicsError as error:
            self.hardware.stop()
            self.get_logger().error(
                f"{error}; the brakes hold the arm where it last was", throttle_duration_sec=LOG_PERIOD
            )
        return self._report() if self._reporter.due(self.hardware.steps) else "stepped"

    def _report(self) -> StepResult:
        hardware = self.hardware
        report = self._reporter.compose(hardware.read(), hardware.faults)
        if report is None:
            return "suppressed"
        message = self._message
        if not report.stale or not message.name:  # the first message has no stamp to repeat
            message.header.stamp = self._time.stamp()
        message.name = report.names
        for name in ("position", "velocity", "effort"):
            setattr(message, name, array("d", getattr(report, name).tobytes()))
        self._send()
        return "sent"

    def _send(self) -> None:
        self._time.announce()
        self._states.publish(self._message)
        if self._tip is not None:
            self._tip.publish(self._message.header.stamp)

    def _check_parameters(self, changes: "list[Parameter[Any]]") -> SetParametersResult:
        """Payload, faults and a pause may change while running; a wrong value is refused with the reason."""
        try:
            values = read(self, TABLE, {each.name: each.value for each in changes})
            checked_payload(payload(values))
            Faults(self.hardware.joint_names, faults(values, "faults.active"))
            if values["time.mode"] != "lock_step":
                self._time.pause(values["time.paused"])  # which is refused where it is wanted
        except KaneDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _apply_parameters(self, changes: "list[Parameter[Any]]") -> None:
        """Use what was checked."""
        changed, self.values = {each.name for each in changes}, read(self, TABLE)
        if any(name.startswith("payload.") for name in changed):
            self.hardware.engine.set_payload(payload(self.values))
        if "time.paused" in changed:
            self._time.pause(self.values["time.paused"])
        if "faults.active" in changed:
            self.hardware.switch_faults(faults(self.values, "faults.active"))


def main() -> int:
    """Run the node until Ctrl-C or SIGTERM; 0 then, 2 when a parameter is wrong."""
    return run_node(SimulatedHardwareNode)


if __name__ == "__main__":
    raise SystemExit(main())
