"""Qualities of service of our topics, and a log line when a neighbour's are incompatible."""

from collections.abc import Callable
from typing import Any

from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.qos import DurabilityPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy

JOINT_STATES = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
COMMANDS = QoSProfile(depth=1)
TRAJECTORY = QoSProfile(depth=10)  # several may come at once, with stamps one after the other
OUTPUT = QoSProfile(depth=1)
ROBOT_DESCRIPTION = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def subscription_events(logger: RcutilsLogger, topic: str) -> SubscriptionEventCallbacks:
    """Say which policy keeps a publisher's messages from us."""
    callbacks = SubscriptionEventCallbacks(use_default_callbacks=False)
    callbacks.incompatible_qos = _reporter(logger, f"a publisher of {topic!r} offers", "no messages from it")
    return callbacks


def publisher_events(logger: RcutilsLogger, topic: str) -> PublisherEventCallbacks:
    """Say which policy keeps our messages from a subscriber."""
    callbacks = PublisherEventCallbacks(use_default_callbacks=False)
    callbacks.incompatible_qos = _reporter(logger, f"a subscriber of {topic!r} asks for", "no messages to it")
    return callbacks


def _reporter(logger: RcutilsLogger, who: str, effect: str) -> Callable[[Any], None]:
    def report(event: Any) -> None:
        policy = QoSPolicyKind(event.last_policy_kind).name.lower()
        logger.warning(f"{who} an incompatible quality of service: {effect}; policy: {policy}")

    return report
