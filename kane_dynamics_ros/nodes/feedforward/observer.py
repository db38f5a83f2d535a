"""What the environment does to the arm: external efforts, the tip's wrench, and collisions, on topics."""

import math
import re
from array import array
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from kane_dynamics_ros.algebra import Array, Mask, finite
from kane_dynamics_ros.control import states
from kane_dynamics_ros.control.loop import ControlLoop
from kane_dynamics_ros.control.observer import (
    BrakeRelease,
    Collision,
    MomentumObserver,
    TipWrench,
    tip_wrenches,
)
from kane_dynamics_ros.control.validation import SECOND_NS
from kane_dynamics_ros.low_pass import low_pass_step
from kane_dynamics_ros.nodes.feedforward.parameters import build_observer
from kane_dynamics_ros.nodes.messages import LATCHED_QOS, OUTPUT_QOS, set_nanoseconds
from kane_dynamics_ros.runtime.node_parameters import OF_THE_MODEL, Values

OF_THE_RESIDUAL = (*OF_THE_MODEL, "terms", "observer")  # groups of parameters
SMALLEST = 1e-6  # effort limit that a joint weighs by in the wrench, of the largest
COMPONENTS = ("force.x", "force.y", "force.z", "torque.x", "torque.y", "torque.z")


class ObserverOutput:
    """The momentum observer with its topics and its service, fed after each command.

    It runs while there are subscribers, and where a collision has consequences. ``collision`` is latched.
    """

    def __init__(self, node: Node, loop: ControlLoop, values: Values) -> None:
        self._node, self._loop = node, loop
        self._torque = node.create_publisher(JointState, "~/external_torque", OUTPUT_QOS)
        self._wrenches = [
            node.create_publisher(WrenchStamped, topic, OUTPUT_QOS)
            for topic in wrench_topics(loop.settings.law.rigid.tips)
        ]
        self._collision = node.create_publisher(Bool, "~/collision", LATCHED_QOS)
        self._service = node.create_service(Trigger, "~/reset_collision", self._reset)
        self._torque_heard = self._wrench_heard = self._collision_heard = False
        self._undetermined: tuple[str, ...] = ()
        self.running = self._blind = False
        self._values = values
        self.observer = MomentumObserver(build_observer(values, loop.settings))
        self._brakes = BrakeRelease()
        self.begin()
        self.configure(values)
        self._collision.publish(Bool(data=False))

    def begin(self) -> None:
        """Start anew, as after an activation: brakes may hold the arm."""
        self.forget()
        self._brakes.forget()
        self._commanded: Array | None = None  # before the next state
        self._taken = -math.inf  # [s], the last state's time
        self.takes = True  # states: while it runs, and until no brake holds the arm

    def configure(self, values: Values) -> None:
        """Use other parameter values. A collision that is reacted to stays latched.

        The residual starts anew where they change what it is made of.
        """
        changed = {name for name in values if values[name] != self._values[name]}
        self._values = values
        self.observer.settings = build_observer(values, self._loop.settings)
        if any(name.partition(".")[0] in OF_THE_RESIDUAL for name in changed):
            self.forget()
        if "safety.on_collision" in changed and states.collision_in(self._loop.state) is None:
            self.reset()  # one that was ignored must not hide the next
        self.measured = values["observer.effort"] == "measured"
        limits = self._loop.settings.effort_limits
        known = (limits > 0.0) & np.isfinite(limits)  # a joint without weighs as the one with the largest
        largest = limits[known].max() if known.any() else 1.0
        self._weights = 1.0 / np.clip(np.where(known, limits / largest, 1.0), SMALLEST, 1.0)
        self.look_for_subscribers()

    @property
    def collision(self) -> Collision | None:
        """The collision that has not been reset."""
        return self.observer.collision

    @property
    def undetermined(self) -> tuple[str, ...]:
        """The wrench's components that the arm's posture did not determine when one was published last."""
        return self._undetermined if self._wrench_heard else ()

    def look_for_subscribers(self) -> None:
        """Ask the middleware for subscribers; too slow to ask for every state."""
        self._torque_heard = self._torque.get_subscription_count() > 0
        self._wrench_heard = any(each.get_subscription_count() > 0 for each in self._wrenches)
        self._collision_heard = self._collision.get_subscription_count() > 0
        heard = self._torque_heard or self._wrench_heard or self._collision_heard
        run = self._values["observer.run"]
        needed = heard or self._values["safety.on_collision"] != "ignore"
        was_running, self.running = self.running, run == "always" or (run == "when_needed" and needed)
        if self.running and not was_running:
            self.forget()
        if self.running and self.measured and self._blind:
            self._node.get_logger().warning(
                "joint_states have no measured efforts, so that no contact is seen; publish them, or set "
                "observer.effort to commanded",
                throttle_duration_sec=5.0,
            )
        if not self.takes:
            self._taken = math.inf  # nobody looked meanwhile: that is no pause
        self.takes = self.running or (run != "never" and self.measured and not self._brakes.all)
        settings = self.observer.settings
        if settings.wrench != self._wrench_heard:  # the tip's Jacobian costs time
            self.observer.settings = replace(settings, wrench=self._wrench_heard)

    def forget(self) -> None:
        """Start the residual anew, as after a jump of the clock; a collision stays latched."""
        self.observer.forget()
        self._smooth: Array | None = None

    def reset(self) -> None:
        """End a collision and the reaction to it."""
        self.observer.reset()
        self._loop.reset_collision()
        self._collision.publish(Bool(data=False))

    def take(self, q: Array, qd: Array, measured: Array, commanded: Array | None, stamp_ns: int) -> None:
        """Take a state, its measured effort and the command that answers it.

        An effort that is not known is NaN; where nothing is commanded, None.
        """
        effort = measured if self.measured else commanded
        time = stamp_ns / SECOND_NS
        released = self._released_at(q, measured, time) if self.measured else True
        if commanded is None and self._commanded is not None:
            self._brakes.forget()
        self._commanded, self._taken = commanded, time
        self._blind = effort is None or not finite(effort)
        if not self.running:
            return
        if effort is None or self._blind:
            self.forget()
            return
        observer, latched = self.observer, self.observer.collision
        before = observer.seen
        if not observer.update(q, qd, effort, time, released):
            if observer.seen > before:  # after a gap
                self._smooth = None
            return
        if observer.collision is not None and latched is None:
            self._loop.collide(observer.collision.joint)
            self._collision.publish(Bool(data=True))
        if self._torque_heard or self._wrench_heard:
            self._publish(q, stamp_ns, time - before)
        else:
            self._smooth = None  # what it was when somebody listened is of the past

    def _released_at(self, q: Array, measured: Array, time: float) -> Mask:
        """The joints that no brake holds; to a command without gravity the robot adds it."""
        settings, commanded = self.observer.settings, self._commanded
        if time - self._taken > settings.longest_gap:
            self._brakes.forget()
        if commanded is not None and not self._loop.settings.law.switches.gravity:
            commanded = commanded + settings.rigid.gravity(q)
        slack = settings.thresholds.constant + settings.thresholds.rest
        return self._brakes.after(q, measured, commanded, slack)

    def _publish(self, q: Array, stamp_ns: int, dt: float) -> None:
        cutoff = self._values["observer.cutoff"]
        effort = self.observer.contact
        if cutoff:
            if self._smooth is not None:
                effort = low_pass_step(self._smooth, effort, cutoff, dt)
            self._smooth = effort
        if self._torque_heard:
            names = list(self.observer.settings.rigid.joint_names)
            message = JointState(name=names, effort=array("d", effort.tobytes()))
            set_nanoseconds(message.header.stamp, stamp_ns)
            self._torque.publish(message)
        if self._wrench_heard and self.observer.jacobian is not None:
            rigid = self.observer.settings.rigid
            R_RT = np.stack([rigid.tip_pose(q, tip=tip)[:3, :3] for tip in rigid.tips])
            assume = self._values["observer.wrench"]
            found = tip_wrenches(self.observer.jacobian, effort, R_RT, self._weights, assume=assume)
            self._undetermined = tuple(
                name if len(found) == 1 else f"{name} at {tip!r}"
                for tip, each in zip(rigid.tips, found, strict=True)
                for name, known in zip(COMPONENTS, each.determined, strict=True)
                if not known
            )
            for publisher, tip, each in zip(self._wrenches, rigid.tips, found, strict=True):
                publisher.publish(self._message(tip, each, stamp_ns))

    def _message(self, tip: str, found: TipWrench, stamp_ns: int) -> WrenchStamped:
        """What the posture does not determine is NaN, unless the least wrench is asked for."""
        value = found.value
        if self._values["observer.undetermined"] == "nan":
            value = np.where(found.determined, value, math.nan)
        message = WrenchStamped()
        set_nanoseconds(message.header.stamp, stamp_ns)
        message.header.frame_id = tip
        force, torque = message.wrench.force, message.wrench.torque
        force.x, force.y, force.z, torque.x, torque.y, torque.z = value.tolist()
        return message

    def _reset(self, request: Any, response: Any) -> Any:
        """Serve ~/reset_collision."""
        found = self.collision
        response.success = found is not None
        response.message = "there was no collision" if found is None else f"collision at {found.joint} reset"
        self.reset()
        return response

    def destroy(self) -> None:
        for publisher in (self._torque, *self._wrenches, self._collision):
            self._node.destroy_publisher(publisher)
        self._node.destroy_service(self._service)


def wrench_topics(tips: Sequence[str]) -> list[str]:
    """``~/external_wrench`` of one tip, ``~/external_wrench/TIP`` of each of several.

    >>> wrench_topics(["left_hand", "3-finger gripper"])
    ['~/external_wrench/left_hand', '~/external_wrench/_3_finger_gripper']

    What a topic's name cannot hold becomes an underscore; names that are then the same are numbered.
    """
    if len(tips) == 1:
        return ["~/external_wrench"]
    names: list[str] = []
    for tip in tips:
        name = re.sub(r"^(?=\d)|\W", "_", tip, flags=re.ASCII)
        names.append(name if name not in names else f"{name}_{len(names)}")
    return [f"~/external_wrench/{name}" for name in names]
