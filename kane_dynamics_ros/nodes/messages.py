"""What the nodes share of their topics: qualities of service, statuses, times."""

from collections.abc import Mapping
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from kane_dynamics_ros.control.validation import SECOND_NS

COMMAND_TOPIC = "forward_effort_controller/commands"

JOINT_STATES_QOS = QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT)  # of several publishers
COMMANDS_QOS = QoSProfile(depth=1)
TRAJECTORY_QOS = QoSProfile(depth=10)  # several may come at once, with stamps one after the other
OUTPUT_QOS = QoSProfile(depth=1)
BURST_QOS = QoSProfile(depth=1000)  # one for each state: a recorder on a busy machine can still get them
STATUS_QOS = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)  # for senders that join late
LATCHED_QOS = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)  # the newest, for late ones


def type_name(message: Any) -> str:
    """``std_msgs/msg/String`` for the class of that message."""
    return f"{message.__module__.partition('.')[0]}/msg/{message.__name__}"


def values_of(status: DiagnosticStatus) -> dict[str, str]:
    """The values of a status by their keys."""
    return {each.key: each.value for each in status.values}


def status_of(level: bytes, name: str, message: str, values: Mapping[str, str]) -> DiagnosticStatus:
    """A status with these values; the opposite of ``values_of``."""
    pairs = [KeyValue(key=key, value=value) for key, value in values.items()]
    return DiagnosticStatus(level=level, name=name, message=message, values=pairs)


# Times


def nanoseconds_of(time: Any) -> int:
    """A ``Time`` or ``Duration`` message in nanoseconds."""
    return int(time.sec * SECOND_NS + time.nanosec)


def set_nanoseconds(time: Any, nanoseconds: int) -> None:
    """Write nanoseconds into a ``Time`` or ``Duration`` message."""
    time.sec, time.nanosec = divmod(nanoseconds, SECOND_NS)
