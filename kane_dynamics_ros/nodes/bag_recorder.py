"""Record topics of a node, as they come over the wire, into a rosbag2 bag with MCAP storage."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy
from rclpy.subscription import Subscription
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
LOOK_PERIOD = 0.1  # [s] between looks for publishers
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


class BagWriteError(KaneDynamicsError):
    """The system does not take what belongs into the bag: a full disk, a folder that is not ours."""

    def __init__(self, path: Path, error: OSError, messages: int) -> None:
        self.path = path
        super().__init__(
            f"{path}: cannot be written: {error.strerror or error}; it is not complete after {messages} "
            "messages; make room, or name another directory for the bag"
        )


class Topic(NamedTuple):
    """A topic to record; ``latched`` ones are subscribed transient local, so that one sent before is got."""

    name: str
    message: Any  # a message class
    latched: bool = False


class Heard(NamedTuple):
    """The newest message of a topic, as it came over the wire."""

    data: bytes
    clock_ns: int  # when, by the node's clock
    steady: float  # [s] when, by a clock that never steps


class BagRecorder:
    """Subscribes to topics as raw bytes and, once ``open`` was called, writes each message as it comes.

    Nothing is written before ``open``, so that a start that is refused leaves no bag; latched messages that
    came before are then written first. ``look`` is to be called while spinning: it subscribes to topics as
    their publishers offer them, reliably where all of them do. A context manager: the bag is complete, with
    its metadata, when it closes. ``without_namespace`` leaves the node's namespace out of the names in the
    bag. Raises ``BagExistsError``, ``BagWriteError``.
    """

    def __init__(
        self, node: Node, path: Path, topics: tuple[Topic, ...], without_namespace: bool = False
    ) -> None:
        if path.exists():
            raise BagExistsError(path)
        self.path = path
        self._node = node
        self._topics = {topic.name: topic for topic in topics}
        self._prefix = node.get_namespace().rstrip("/") if without_namespace else ""
        self._writer: Writer | None = None
        self._connections: dict[str, Connection] = {}
        self._subscriptions: dict[str, Subscription[Any]] = {}
        self._unreliable: set[str] = set()  # topics with a publisher that offers best effort
        self._heard: dict[str, Heard] = {}
        self._written = 0
        self._next_look = 0.0

    def __enter__(self) -> "BagRecorder":
        self.look()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        writer, self._writer = self._writer, None
        if writer is None:
            return
        try:
            writer.close()
        except OSError as failure:
            with suppress(Exception):
                writer.abort()
            if error is None:
                raise BagWriteError(self.path, failure, self._written) from None

    def open(self) -> None:
        """Create the bag, and write what is latched."""
        writer = Writer(self.path, version=9, storage_plugin=StoragePlugin.MCAP)
        try:
            writer.open()
            self._writer = writer
            for topic in self._topics.values():
                self._connections[topic.name] = self._connection(writer, topic)
        except OSError as error:
            raise BagWriteError(self.path, error, 0) from None
        now = self._node.get_clock().now().nanoseconds
        for name, heard in self._heard.items():
            if self._topics[name].latched:
                self._write(name, now, heard.data)

    def look(self) -> None:
        """Subscribe to topics that have publishers by now, and again where a less reliable one joined."""
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + LOOK_PERIOD
        for name, topic in self._topics.items():
            best_effort = name in self._unreliable
            current = self._subscriptions.get(name)
            if current is not None and best_effort and is_reliable(current.qos_profile):
                self._node.destroy_subscription(current)
            elif current is not None:
                continue
            elif not topic.latched:
                offers = self._node.get_publishers_info_by_topic(self._node.resolve_topic_name(name))
                if not offers:
                    continue
                best_effort = not all(is_reliable(each.qos_profile) for each in offers)
            self._subscriptions[name] = self._subscribe(topic, reliable=not best_effort)

    def heard(self, name: str) -> bool:
        """Whether anything has come from a topic."""
        return name in self._heard

    def last(self, name: str) -> Heard:
        """The newest message of a topic; ``KeyError`` when none has come."""
        return self._heard[name]

    def _subscribe(self, topic: Topic, reliable: bool) -> "Subscription[Any]":
        callbacks = SubscriptionEventCallbacks(use_default_callbacks=False)
        callbacks.incompatible_qos = lambda _: self._unreliable.add(topic.name)
        return self._node.create_subscription(
            topic.message,
            topic.name,
            self._receiver(topic.name),
            QoSProfile(
                depth=ROOM,
                durability=QoSDurabilityPolicy.TRANSIENT_LOCAL
                if topic.latched
                else QoSDurabilityPolicy.VOLATILE,
                reliability=QoSReliabilityPolicy.RELIABLE if reliable else QoSReliabilityPolicy.BEST_EFFORT,
            ),
            raw=True,
            event_callbacks=callbacks,
        )

    def _receiver(self, name: str) -> Callable[[bytes], None]:
        def receive(data: bytes) -> None:
            now = self._node.get_clock().now().nanoseconds
            self._heard[name] = Heard(data, now, time.monotonic())
            if self._writer is not None:
                self._write(name, now, data)

        return receive

    def _write(self, name: str, now_ns: int, data: bytes) -> None:
        if self._writer is None:
            return
        try:
            self._writer.write(self._connections[name], now_ns, data)
        except OSError as error:
            raise BagWriteError(self.path, error, self._written) from None
        self._written += 1

    def _connection(self, writer: Writer, topic: Topic) -> Connection:
        package, kind = topic.message.__module__.partition(".")[0], topic.message.__name__
        return writer.add_connection(
            self._node.resolve_topic_name(topic.name).removeprefix(self._prefix),
            f"{package}/msg/{kind}",
            typestore=get_typestore(Stores.ROS2_JAZZY),
            offered_qos_profiles=[LATCHED] if topic.latched else [],
        )


def is_reliable(qos: QoSProfile) -> bool:
    """Whether a quality of service promises that every message arrives."""
    return bool(qos.reliability == QoSReliabilityPolicy.RELIABLE)
