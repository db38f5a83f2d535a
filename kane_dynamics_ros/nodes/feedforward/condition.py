"""The node's condition, on /diagnostics and in the log; who else sends states or commands."""

import math
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.node import Node

from kane_dynamics_ros.control.law import DELAY, critical_gains, damping_ratio, feedback_gains
from kane_dynamics_ros.control.limits import far_outside, overloaded_by_gravity
from kane_dynamics_ros.control.observer import Collision
from kane_dynamics_ros.control.states import (
    MOST_RELAPSES,
    RELAPSE_TIME,
    Collided,
    Reacting,
    Reaction,
    State,
    Suspended,
    untracked,
)
from kane_dynamics_ros.nodes.feedforward.controller import Controller
from kane_dynamics_ros.nodes.messages import COMMAND_TOPIC, OUTPUT_QOS
from kane_dynamics_ros.text import named

PUBLISHER_TIMEOUT = 2.0  # [s] after which a publisher of states that is silent does not count
GRACE = 2.0  # [s] for the first states to come
REPEAT = 5.0  # [s] between two log lines of one kind
READINGS = 3  # of the rate, after which gains are held against it
LEAST_DAMPING = 0.25


class Diagnostics:
    """Publishes one status of the node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._clamped: Counter[str] = Counter()
        self._lost = 0
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", OUTPUT_QOS)

    def publish(self, controller: Controller | None, active: bool, conflicts: str) -> None:
        """The condition now; ``controller`` is None before configuration."""
        name = f"{self._node.get_fully_qualified_name()}: commands".lstrip("/")
        if controller is None:
            status = DiagnosticStatus(level=DiagnosticStatus.WARN, name=name, message="not configured")
        else:
            total = controller.loop.saturation.clamped
            clamped, self._clamped = total - self._clamped, total.copy()
            lost = controller.loop.counts["tracking_error"]
            since = SinceLastStatus(sorted(clamped), lost - self._lost, conflicts)
            self._lost = lost
            status = _status(name, controller, active, since)
        array = DiagnosticArray(status=[status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)


@dataclass(frozen=True)
class SinceLastStatus:
    """Since the last status: the joints that were clamped, and how often the arm did not follow.

    ``conflicts`` names other publishers of states or commands; empty without any.
    """

    clamped: list[str]
    lost: int
    conflicts: str


def _status(name: str, controller: Controller, active: bool, since: SinceLastStatus) -> DiagnosticStatus:
    """Level, summary and figures."""
    now = time.monotonic()
    loop, reader, reading = controller.loop, controller.reader, controller.meter.read(now)
    controller.rate = reading.rate
    level, message = _condition(controller, since) if active else (DiagnosticStatus.OK, "inactive")
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
        "skipped states": str(reader.skipped),
        **_contact_figures(controller),
        **{f"fault {fault}": str(count) for fault, count in sorted(loop.counts.items())},
        **{f"refused {kind}": str(count) for kind, count in sorted(reader.refusals.items())},
        **{f"clamped {joint}": str(count) for joint, count in sorted(loop.saturation.clamped.items())},
    }
    values = [KeyValue(key=key, value=value) for key, value in figures.items()]
    return DiagnosticStatus(
        level=level, name=name, message=message, hardware_id=controller.model.name, values=values
    )


def _contact_figures(controller: Controller) -> dict[str, str]:
    """The joint that collided, and what of the tip's wrench the posture does not determine."""
    collision, undetermined = controller.external.collision, controller.external.undetermined
    figures = {} if collision is None else {"collision joint": collision.joint}
    return figures | ({"undetermined wrench components": ", ".join(undetermined)} if undetermined else {})


def _condition(controller: Controller, since: SinceLastStatus) -> tuple[bytes, str]:
    loop, missing = controller.loop, controller.missing()
    if isinstance(loop.state, Reacting):
        return DiagnosticStatus.ERROR, reaction_text(loop.state)
    collision = controller.external.collision
    if collision is not None:
        return DiagnosticStatus.ERROR, collision_text(collision, loop.state)
    if isinstance(loop.state, Suspended):
        return DiagnosticStatus.ERROR, f"commands have no effect: {loop.state.reason}"
    if since.lost:
        return DiagnosticStatus.ERROR, f"tracking_error: {loop.lost}"
    if missing:
        return DiagnosticStatus.WARN, f"no fresh state of {named('joint', missing)}"
    if since.conflicts:
        return DiagnosticStatus.WARN, since.conflicts
    if since.clamped:
        return DiagnosticStatus.WARN, f"efforts were clamped: {', '.join(since.clamped)}"
    return DiagnosticStatus.OK, "commanding"


def reaction_text(state: Reacting) -> str:
    """A fault that is reacted to, and how long."""
    text = f"{state.fault}: reaction is {state.reaction}"
    if state.lasting:
        text += (
            f", to stay: it came back {MOST_RELAPSES} times within {RELAPSE_TIME:g} s of a recovery; change "
            "a parameter, such as the gains, or deactivate and activate the node"
        )
    return text


def collision_text(collision: Collision, state: State) -> str:
    """A collision that was not reset yet, and what is done about it."""
    below = untracked(state)
    pause = below.then if isinstance(below, Suspended) else below
    reaction: Reaction = pause.reaction if isinstance(pause, Collided) else "ignore"
    return (
        f"collision: joint {collision.joint}, external effort {collision.residual:.3g}, "
        f"threshold {collision.threshold:.3g}: reaction is {reaction}, until ~/reset_collision"
    )


class PublisherConflicts:
    """Looks for a second publisher of the same states, and of commands."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._states = node.resolve_topic_name("joint_states")
        self._commands = node.resolve_topic_name(COMMAND_TOPIC)

    def find(self, controller: Controller) -> str:
        """The conflicts there are now, with the publishers' names; empty when there is none."""
        found = [*self._of_states(controller), *self._of_commands()]
        return "; ".join(found)

    def _of_states(self, controller: Controller) -> Iterator[str]:
        now, reader = time.monotonic(), controller.reader
        heard = {
            publisher: reader.joints_of(names)
            for publisher, (names, came) in controller.sources.items()
            if now - came < PUBLISHER_TIMEOUT
        }
        rivals = {publisher for a, b in combinations(heard, 2) for publisher in (a, b) if heard[a] & heard[b]}
        if rivals:
            infos = self._node.get_publishers_info_by_topic(self._states)
            names = [_name(info) for info in infos if bytes(info.endpoint_gid) in rivals]
            who = ", ".join(sorted(names)) or f"{len(rivals)} publishers"
            yield f"the same joints' states come from several publishers: {who}; only one may send them"

    def _of_commands(self) -> Iterator[str]:
        if self._node.count_publishers(self._commands) > 1:
            names = [_name(info) for info in self._node.get_publishers_info_by_topic(self._commands)]
            yield f"commands on {self._commands} come from {', '.join(sorted(names))}; only one may send them"


def _name(info: Any) -> str:
    """Full name of a publisher's node."""
    return f"{info.node_namespace.rstrip('/')}/{info.node_name}"


class ConditionLog:
    """Compares the controller's condition with what was said last. Not in the path of a state."""

    def __init__(self, logger: RcutilsLogger) -> None:
        self._logger = logger
        self._fault: Reacting | None = None
        self._collision: Collision | None = None
        self._refused = 0
        self._lost = 0
        self._judged: object = None  # the settings whose gains were held against the rate
        self._readings = 0

    def log_limits(self, controller: Controller) -> None:
        """Say once which effort limits are not known, and which ones gravity alone exceeds."""
        settings, names = controller.loop.settings, controller.model.joint_names
        limits = zip(names, settings.effort_limits, strict=True)
        unknown = [name for name, limit in limits if limit == math.inf]
        if unknown:
            self._logger.warning(
                f"the URDF gives no effort limit, or 0, for {named('joint', unknown)}: not clamped"
            )
        for name, found, limit in overloaded_by_gravity(settings.law.rigid, settings.effort_limits):
            self._logger.warning(
                f"joint {name}: gravity alone needs up to {found:.3g}, the effort limit is {limit:g}"
            )

    def check(self, controller: Controller, time: float) -> None:
        """Say what is new at ``time`` [s], a steady clock's."""
        self._log_fault(controller.loop.state)
        self._log_collision(controller)
        self._log_lost(controller)
        self._log_refusals(controller)
        missing = controller.missing() if time - controller.created > GRACE else []
        if missing and self._fault is None:
            self._logger.warning(
                f"no fresh state of {named('joint', missing)} on joint_states", throttle_duration_sec=REPEAT
            )

    def _log_collision(self, controller: Controller) -> None:
        before, self._collision = self._collision, controller.external.collision
        if self._collision is not None and self._collision is not before:
            self._logger.error(collision_text(self._collision, controller.loop.state))
        elif self._collision is None and before is not None:
            self._logger.info(f"the collision at joint {before.joint} was reset")

    def _log_fault(self, state: State) -> None:
        before, self._fault = self._fault, state if isinstance(state, Reacting) else None
        if self._fault is not None:
            if before is None or (before.fault, before.lasting) != (self._fault.fault, self._fault.lasting):
                self._logger.error(reaction_text(self._fault))
        elif before is not None:
            self._logger.info(f"states are good again after {before.fault}: holding the measured position")

    def check_periodically(self, controller: Controller, conflicts: str) -> None:
        """Once a second: what takes longer to find out, and the publishers' ``conflicts``."""
        if conflicts:
            self._logger.warning(conflicts, throttle_duration_sec=REPEAT)
        outside = far_outside(controller.reader.q, controller.model.joints)
        if outside and not controller.missing():
            self._logger.warning(
                f"far outside the limits: joint {'; joint '.join(outside)}; are the states in radians?",
                throttle_duration_sec=30.0,
            )
        self._judge_gains(controller)

    def _judge_gains(self, controller: Controller) -> None:
        """Warn once where the measured rate is too low for the gains."""
        settings, rate = controller.loop.settings, controller.rate
        self._readings = self._readings + 1 if rate else 0
        if self._judged is settings or self._readings < READINGS:
            return
        self._judged = settings
        gains = feedback_gains(settings.law, controller.reader.q)
        if gains is None:
            return
        for name, kp, kd in zip(controller.model.joint_names, *gains, strict=True):
            damping = damping_ratio(float(kp), float(kd), 1.0 / rate) if kp else 1.0
            if damping < LEAST_DAMPING:
                best_kp, best_kd = critical_gains(1.0 / rate, LEAST_DAMPING)
                self._logger.warning(
                    f"at the measured {rate:.0f} Hz, with {DELAY} periods of delay, the gains of joint "
                    f"{name} ({kp:.3g} 1/s^2 and {kd:.3g} 1/s) give a damping ratio of {damping:.2f}"
                    f"{', which is unstable' if damping < 0.0 else ''}; raise the rate, or lower them to "
                    f"{best_kp:.3g} and {best_kd:.3g}"
                )
                return

    def _log_lost(self, controller: Controller) -> None:
        lost = controller.loop.counts["tracking_error"]
        if lost > self._lost:
            reaction = controller.loop.settings.safety.reactions["tracking_error"]
            self._logger.error(
                f"tracking_error: {controller.loop.lost}; reaction is {reaction}", throttle_duration_sec=1.0
            )
        self._lost = lost

    def _log_refusals(self, controller: Controller) -> None:
        refused = controller.reader.refusals.total()
        if refused > self._refused:
            self._logger.warning(
                f"joint_states: {controller.reader.last_refusal} ({refused} messages refused so far)",
                throttle_duration_sec=1.0,
            )
        self._refused = refused
