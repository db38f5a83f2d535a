"""Record topics of a node, as they come over the wire, into a rosbag2 bag with MCAP storage."""

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from rclpy.node import Node
from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy
from rosbags.interfaces import (
    Connection,
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from kane_dynamics_ros.errors import KaneDynamicsError

ROOM = 10_000  # messages that may wait to be written
UNSET = QosTime(0, 0)
LATCHED = Qos(
    QosHistory.KEEP_LAST,
    1,
    QosReliability.RELIABLE,
    QosDurability.TRANSIENT_LOCAL,
    UNSET,
    UNSET,
    QosLiveliness.SYSTEM_DEFAULT,
    UNSET,
    False,
)


class BagExistsError(KaneDynamicsError):
    """There is something where the bag should go."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(
            f"{path}: exists already, and is not overwritten; name another directory for the bag"
        )


class Topic(NamedTuple):
    """A topic to record; ``latched`` ones are subscribed transient local, so that one sent before is got."""

    name: str
    message: Any  # a message class
    latched: bool = False


class BagRecorder:
    """Subscribes to topics as raw bytes and writes each message with the time of its reception.

    Use it as a context manager: the bag is complete when it closes. Raises ``BagExistsError``.
    """

    def __init__(self, node: Node, path: Path, topics: tuple[Topic, ...]) -> None:
        self._node = node
        if path.exists():
            raise BagExistsError(path)
        self._writer = Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)
        self._topics = topics
        self._last: dict[str, bytes] = {}

    def __enter__(self) -> "BagRecorder":
        self._writer.open()
        for topic in self._topics:
            self._node.create_subscription(
                topic.message, topic.name, self._receiver(topic), subscription_qos(topic), raw=True
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()

    def heard(self, name: str) -> bool:
        """Whether anything has come from a topic."""
        return name in self._last

    def last(self, name: str) -> bytes:
        """The newest message of a topic as it came over the wire; ``KeyError`` when none has come."""
        return self._last[name]

    def _receiver(self, topic: Topic) -> Callable[[bytes], None]:
        connection = self._connection(topic)

        def receive(data: bytes) -> None:
            self._last[topic.name] = data
            self._writer.write(connection, self._node.get_clock().now().nanoseconds, data)

        return receive

    def _connection(self, topic: Topic) -> Connection:
        package, kind = topic.message.__module__.partition(".")[0], topic.message.__name__
        return self._writer.add_connection(
            self._node.resolve_topic_name(topic.name),
            f"{package}/msg/{kind}",
            typestore=get_typestore(Stores.ROS2_JAZZY),
            offered_qos_profiles=[LATCHED] if topic.latched else [],
        )


def subscription_qos(topic: Topic) -> QoSProfile:
    """Best effort, which every publisher satisfies, with room for bursts; or latched."""
    if topic.latched:
        durability, reliability = QoSDurabilityPolicy.TRANSIENT_LOCAL, QoSReliabilityPolicy.RELIABLE
    else:
        durability, reliability = QoSDurabilityPolicy.VOLATILE, QoSReliabilityPolicy.BEST_EFFORT
    return QoSProfile(depth=ROOM, durability=durability, reliability=reliability)
