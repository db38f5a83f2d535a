"""The node's condition, on /diagnostics and in the log; who else sends states or commands."""

import math
import time
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.control import states
from kane_dynamics_ros.control.law import DELAY, Law, critical_gains, too_stiff
from kane_dynamics_ros.control.limits import far_outside, overloaded_by_gravity
from kane_dynamics_ros.control.observer import Collision
from kane_dynamics_ros.nodes.feedforward.controller import Controller
from kane_dynamics_ros.nodes.feedforward.parameters import gain_arguments
from kane_dynamics_ros.nodes.messages import COMMAND_TOPIC, OUTPUT_QOS, status_of
from kane_dynamics_ros.text import named

PUBLISHER_TIMEOUT = 2.0  # [s] after which a publisher of states that is silent does not count
GRACE = 2.0  # [s] for the first states to come
REPEAT = 5.0  # [s] between two log lines of one kind
READINGS = 3  # of the rate, after which gains are held against it
LEAST_DAMPING = 0.25


class Condition:
    """Compares the controller's condition with what was said of it last. Not in the path of a state."""

    def __init__(self, node: Node) -> None:
        self._node, self._logger = node, node.get_logger()
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", OUTPUT_QOS)
        self._name = f"{node.get_fully_qualified_name()}: commands".lstrip("/")
        self._states = node.resolve_topic_name("joint_states")
        self._commands = node.resolve_topic_name(COMMAND_TOPIC)
        self._fault: states.Reacting | None = None
        self._collision: Collision | None = None
        self._told: Counter[str] = Counter()  # counts as they were in the log
        self._published: Counter[str] = Counter()  # counts as they were on /diagnostics
        self._judged: object = None  # the settings whose gains were held against the rate
        self._readings = 0

    # The log

    def log_limits(self, controller: Controller) -> None:
        """Say once which effort limits are not known, and which ones gravity alone exceeds."""
        settings, names = controller.loop.settings, controller.model.joint_names
        limits = zip(names, settings.effort_limits, strict=True)
        unknown = [name for name, limit in limits if limit == math.inf]
        if unknown:
            self._logger.warning(
                f"the URDF gives no effort limit, or 0, for {named('joint', unknown)}: not clamped"
            )
        for joint, found, limit in overloaded_by_gravity(settings.law.rigid, settings.effort_limits):
            self._logger.warning(
                f"joint {joint.name}: gravity alone needs up to {found:.3g} {joint.effort_unit}, the effort "
                f"limit is {limit:g}"
            )

    def watch(self, controller: Controller) -> None:
        """Say what is new."""
        loop, reader = controller.loop, controller.reader
        fault, self._fault = self._fault, loop.state if isinstance(loop.state, states.Reacting) else None
        if self._fault is not None:
            if fault is None or (fault.fault, fault.lasting) != (self._fault.fault, self._fault.lasting):
                self._logger.error(reaction_text(self._fault))
        elif fault is not None:
            holds = ": holding the measured position" * isinstance(loop.state, states.Tracking)
            self._logger.info(f"the reaction to {fault.fault} is over{holds}")
        collision, self._collision = self._collision, controller.external.collision
        if self._collision is not None and self._collision is not collision:
            self._logger.error(collision_text(self._collision, loop.state))
        elif self._collision is None and collision is not None:
            self._logger.info(f"the collision at joint {collision.joint} was reset")
        counts = Counter(lost=loop.counts["tracking_error"], refused=reader.refusals.total())
        told = self._fault is not None and self._fault.fault == "tracking_error"
        if counts["lost"] > self._told["lost"] and not told:
            reaction = loop.settings.safety.reactions["tracking_error"]
            self._logger.error(
                f"tracking_error: {loop.lost}; reaction is {reaction}", throttle_duration_sec=1.0
            )
        if counts["refused"] > self._told["refused"] and reader.last_refusal:
            refused = f"{reader.last_refusal} ({counts['refused']} messages refused so far)"
            self._logger.warning(f"joint_states: {refused}", throttle_duration_sec=1.0)
        self._told = counts
        missing = controller.missing() if time.monotonic() - controller.created > GRACE else []
        if missing and self._fault is None:
            self._logger.warning(missing_text(controller, missing), throttle_duration_sec=REPEAT)

    def log_seldom(self, controller: Controller) -> None:
        """Once a second: what takes longer to find out."""
        settings, rate, q = controller.loop.settings, controller.rate, controller.reader.q
        complete = not controller.missing()
        outside = far_outside(q, controller.model.joints)
        if outside and complete:
            self._logger.warning(
                f"far outside the limits: joint {'; joint '.join(outside)}", throttle_duration_sec=30.0
            )
        if complete and settings.law.switches.gravity:
            weak = "; ".join(
                f"joint {joint.name} needs {needed:.3g} {joint.effort_unit}, its effort limit is {limit:g}"
                for joint, needed, limit in overloaded_by_gravity(
                    settings.law.rigid, settings.effort_limits, q
                )
            )
            if weak:
                self._logger.warning(
                    f"gravity cannot be held where the arm is: {weak}", throttle_duration_sec=30.0
                )
        self._readings = self._readings + 1 if rate else 0
        if self._judged is settings or self._readings < READINGS:
            return
        self._judged = settings
        if text := weak_damping_text(settings.law, q, rate):
            self._logger.warning(text)

    # /diagnostics

    def publish(self, controller: Controller | None, active: bool) -> None:
        """The condition now; ``controller`` is None before configuration."""
        level, message, figures, hardware = DiagnosticStatus.WARN, "not configured", {}, ""
        if controller is not None:
            figures, hardware = _figures(controller), controller.model.name
            level, message = DiagnosticStatus.OK, "inactive"
            if active:
                conflicts = "; ".join((*self._rivals_of_states(controller), *self._rivals_of_commands()))
                if conflicts:
                    self._logger.warning(conflicts, throttle_duration_sec=REPEAT)
                level, message = self._summary(controller, conflicts)
        status = status_of(level, self._name, message, figures)
        status.hardware_id = hardware
        array = DiagnosticArray(status=[status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)

    def _summary(self, controller: Controller, conflicts: str) -> tuple[bytes, str]:
        """The worst there is now, or was since the last status."""
        loop, missing = controller.loop, controller.missing()
        counts = loop.saturation.clamped + Counter({"": loop.counts["tracking_error"]})
        new, self._published = counts - self._published, counts
        lost, clamped = new.pop("", 0), ", ".join(sorted(new))
        state, collision = loop.state, controller.external.collision
        errors = (
            reaction_text(state) if isinstance(state, states.Reacting) else "",
            "" if collision is None else collision_text(collision, state),
            f"commands have no effect: {state.reason}" if isinstance(state, states.Suspended) else "",
            f"tracking_error: {loop.lost}" if lost else "",
        )
        warnings = (
            missing_text(controller, missing) if missing else "",
            conflicts,
            f"efforts were clamped: {clamped}" if clamped else "",
        )
        if any(errors):
            return DiagnosticStatus.ERROR, next(filter(None, errors))
        if any(warnings):
            return DiagnosticStatus.WARN, next(filter(None, warnings))
        return DiagnosticStatus.OK, "commanding"

    def _rivals_of_states(self, controller: Controller) -> Iterator[str]:
        now, joints = time.monotonic(), frozenset(controller.model.joint_names)
        heard = {
            publisher: joints & frozenset(source.names)
            for publisher, source in controller.sources.items()
            if now - source.came < PUBLISHER_TIMEOUT
        }
        rivals = {publisher for a, b in combinations(heard, 2) for publisher in (a, b) if heard[a] & heard[b]}
        if rivals:
            infos = self._node.get_publishers_info_by_topic(self._states)
            names = [_name(info) for info in infos if bytes(info.endpoint_gid) in rivals]
            who = ", ".join(sorted(names)) or f"{len(rivals)} publishers"
            yield f"the same joints' states come from several publishers: {who}; only one may send them"

    def _rivals_of_commands(self) -> Iterator[str]:
        if self._node.count_publishers(self._commands) > 1:
            names = [_name(info) for info in self._node.get_publishers_info_by_topic(self._commands)]
            yield f"commands on {self._commands} come from {', '.join(sorted(names))}; only one may send them"


def weak_damping_text(law: Law, q: Array, rate: float) -> str:
    """The first joint whose gains damp too little at ``rate`` [Hz] and gains that do not; empty: none."""
    found = too_stiff(law, q, 1.0 / rate, LEAST_DAMPING)
    if found is None:
        return ""
    joint, kp, kd = law.rigid.joints[found.joint], law.kp[found.joint], law.kd[found.joint]
    unit = f"{joint.effort_unit}/{joint.unit}" if law.mode == "feedforward_pd" else "1/s^2"
    per_speed = f"{joint.effort_unit} s/{joint.unit}" if law.mode == "feedforward_pd" else "1/s"
    best_kp, best_kd = critical_gains(1.0 / rate, LEAST_DAMPING)
    wait = "raise the rate, or " if found.kp > best_kp or found.kd > best_kd else ""
    return (
        f"at the measured {rate:.0f} Hz, with {DELAY} periods of delay, the gains of joint {joint.name} "
        f"({kp:.3g} {unit} and {kd:.3g} {per_speed}) give a damping ratio of {found.damping:.2f}"
        f"{', which is unstable' if found.damping < 0.0 else ''}; {wait}set "
        f"{gain_arguments(law, q, 1.0 / rate, LEAST_DAMPING)}"
    )


def missing_text(controller: Controller, missing: list[str]) -> str:
    """The joints without a fresh state, and whose states come instead."""
    reader = controller.reader
    if reader.other_joints and len(missing) == len(controller.model.joint_names):
        return reader.no_state_reason()
    return f"no fresh state of {named('joint', missing)} on joint_states"


def _name(info: Any) -> str:
    """Full name of a publisher's node."""
    return f"{info.node_namespace.rstrip('/')}/{info.node_name}"


def _figures(controller: Controller) -> dict[str, str]:
    loop, reader, external = controller.loop, controller.reader, controller.external
    mean, largest = controller.meter.read(time.monotonic())
    figures = {
        "mode": loop.settings.law.mode,
        "rate [Hz]": f"{controller.meter.rate:.1f}",
        "mean latency [us]": f"{mean * 1e6:.0f}",
        "largest latency [us]": f"{largest * 1e6:.0f}",
        "commands": str(controller.meter.total),
        "age of the state [ms]": f"{reader.age_ns * 1e-6:.3f}",
        "model": controller.model.name,
        "model hash": controller.model.urdf_hash,
        "backend": controller.model.backend,
        "skipped states": str(reader.skipped),
        "states lost on the way": "unknown" if controller.lost is None else str(controller.lost),
    }
    if external.collision is not None:
        figures["collision joint"] = external.collision.joint
    if external.undetermined:
        figures["undetermined wrench components"] = ", ".join(external.undetermined)
    counters = {"fault": loop.counts, "refused": reader.refusals, "clamped": loop.saturation.clamped}
    for what, counts in counters.items():
        figures |= {f"{what} {kind}": str(count) for kind, count in sorted(counts.items())}
    return figures


def reaction_text(state: states.Reacting) -> str:
    """A fault that is reacted to, and how long."""
    text = f"{state.fault}: {state.why}; reaction is {state.reaction}"
    if state.lasting:
        text += (
            f", to stay: it came back {states.MOST_RELAPSES} times within {states.RELAPSE_TIME:g} s of a "
            "recovery; change a parameter, such as the gains, or deactivate and activate the node"
        )
    return text


def collision_text(collision: Collision, state: states.State) -> str:
    """A collision that was not reset yet, and what is done about it."""
    found = states.collision_in(state)
    reaction = "ignore" if found is None else found.reaction
    return (
        f"collision: joint {collision.joint}, external effort {collision.residual:.3g} {collision.unit}, "
        f"threshold {collision.threshold:.3g} {collision.unit}: "
        f"reaction is {reaction}, until ~/reset_collision"
    )
