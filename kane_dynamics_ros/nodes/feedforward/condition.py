"""The node's condition: /diagnostics and the log."""

import math
import time
from collections import Counter

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.node import Node

from kane_dynamics_ros.control.limits import overloaded_by_gravity
from kane_dynamics_ros.control.loop import Alarm
from kane_dynamics_ros.nodes.feedforward.controller import Controller
from kane_dynamics_ros.nodes.messages import OUTPUT

# The node's condition on /diagnostics.


class Diagnostics:
    """Publishes one status of the node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._clamped: Counter[str] = Counter()
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", OUTPUT)

    def publish(self, controller: Controller | None, active: bool) -> None:
        """The condition now; ``controller`` is None before configuration."""
        name = f"{self._node.get_fully_qualified_name()}: commands".lstrip("/")
        if controller is None:
            status = DiagnosticStatus(level=DiagnosticStatus.WARN, name=name, message="not configured")
        else:
            clamped = controller.loop.clamped - self._clamped
            self._clamped = controller.loop.clamped.copy()
            status = _status(name, controller, active, sorted(clamped))
        array = DiagnosticArray(status=[status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)


def _status(name: str, controller: Controller, active: bool, clamped: list[str]) -> DiagnosticStatus:
    """Level, summary and figures; ``clamped`` are the joints clamped since the last one."""
    now = time.monotonic()
    loop, reader, reading = controller.loop, controller.reader, controller.meter.read(now)
    level, message = _condition(controller, now, clamped) if active else (DiagnosticStatus.OK, "inactive")
    figures = {
        "mode": loop.settings.law.mode,
        "rate [Hz]": f"{reading.rate:.1f}",
        "mean latency [us]": f"{reading.mean_latency * 1e6:.0f}",
        "largest latency [us]": f"{reading.largest_latency * 1e6:.0f}",
        "commands": str(controller.meter.total),
        "age of the state [ms]": f"{reader.age_ns * 1e-6:.3f}",
        "model": controller.model.name,
        "model hash": controller.model.urdf_hash,
        "backend": controller.model.backend,
        **{f"fault {fault}": str(count) for fault, count in sorted(loop.counts.items())},
        **{f"refused {kind}": str(count) for kind, count in sorted(reader.refusals.items())},
        **{f"clamped {joint}": str(count) for joint, count in sorted(loop.clamped.items())},
    }
    values = [KeyValue(key=key, value=value) for key, value in figures.items()]
    return DiagnosticStatus(
        level=level, name=name, message=message, hardware_id=controller.model.name, values=values
    )


def _condition(controller: Controller, now: float, clamped: list[str]) -> tuple[bytes, str]:
    loop, missing = controller.loop, controller.reader.missing(now)
    if loop.alarm is not None:
        return DiagnosticStatus.ERROR, f"{loop.alarm.fault}: reaction is {loop.alarm.reaction}"
    if missing:
        return DiagnosticStatus.WARN, f"no fresh state of joint {', '.join(missing)}"
    if clamped:
        return DiagnosticStatus.WARN, f"efforts were clamped: {', '.join(clamped)}"
    return DiagnosticStatus.OK, "commanding"


# Log lines about the controller's condition: changes at once, what goes on once in a while.


REPEAT = 5.0  # [s]
GRACE = 2.0  # [s] for the first states to come


class ConditionLog:
    """Compares the controller's condition with what was said last. Not in the path of a state."""

    def __init__(self, logger: RcutilsLogger) -> None:
        self._logger = logger
        self._alarm: Alarm | None = None
        self._refused = 0

    def tell_limits(self, controller: Controller) -> None:
        """Say once which effort limits are not known, and which ones gravity alone exceeds."""
        settings, names = controller.loop.settings, controller.model.joint_names
        limits = zip(names, settings.effort_limits, strict=True)
        unknown = [name for name, limit in limits if limit == math.inf]
        if unknown:
            self._logger.warning(
                f"the URDF gives no effort limit, or 0, for joint {', '.join(unknown)}: not clamped"
            )
        for name, found, limit in overloaded_by_gravity(settings.law.rigid, settings.effort_limits):
            self._logger.warning(
                f"joint {name}: gravity alone needs up to {found:.3g}, the effort limit is {limit:g}"
            )

    def look(self, controller: Controller, time: float) -> None:
        """Say what is new at ``time`` [s], a steady clock's."""
        self._log_alarm(controller.loop.alarm)
        self._log_refusals(controller)
        missing = controller.reader.missing(time) if time - controller.created > GRACE else []
        if missing and controller.loop.alarm is None:
            self._logger.warning(
                f"no fresh state of joint {', '.join(missing)} on joint_states", throttle_duration_sec=REPEAT
            )

    def _log_alarm(self, alarm: Alarm | None) -> None:
        before, self._alarm = self._alarm, alarm
        if alarm is not None and (before is None or before.fault != alarm.fault):
            self._logger.error(f"{alarm.fault}: reaction is {alarm.reaction}; the trajectory is dropped")
        elif alarm is None and before is not None:
            self._logger.info(f"states are good again after {before.fault}: holding the measured position")

    def _log_refusals(self, controller: Controller) -> None:
        refused = controller.reader.refusals.total()
        if refused > self._refused:
            self._logger.warning(
                f"joint_states: {controller.reader.refused_why} ({refused} messages refused so far)",
                throttle_duration_sec=1.0,
            )
        self._refused = refused
