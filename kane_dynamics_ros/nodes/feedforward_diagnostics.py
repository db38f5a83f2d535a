"""The node's condition on /diagnostics."""

import time
from collections import Counter

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from kane_dynamics_ros.nodes.controller import Controller
from kane_dynamics_ros.nodes.qos import OUTPUT


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
