"""The path of one state: message in, effort out."""

import time
from array import array
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from kane_dynamics_ros.control.annotation import Accuracy, annotate
from kane_dynamics_ros.control.law import Efforts, Law, efforts_by_term
from kane_dynamics_ros.control.loop import Candidate, ControlLoop, Reaction, Settings, Step
from kane_dynamics_ros.control.rejections import TrajectoryError
from kane_dynamics_ros.control.splines import Array
from kane_dynamics_ros.control.validation import TrajectoryRequest
from kane_dynamics_ros.nodes.clocks import NANOSECONDS, Meter, NodeClock
from kane_dynamics_ros.nodes.feedforward.parameters import Values, build_settings
from kane_dynamics_ros.nodes.joint_states import JointStateReader
from kane_dynamics_ros.nodes.messages import COMMANDS, OUTPUT, publisher_events
from kane_dynamics_ros.runtime.model import GeneratedModel

# What the node publishes for every state, with messages that are made once and filled again.


COMMAND_TOPIC = "forward_effort_controller/commands"
TERM_NAMES = (*Efforts._fields, "limits")
FLUSH_TIME = Duration(nanoseconds=200_000_000)


class CommandOutput:
    """Efforts (n,) in model order on the controller's command topic."""

    def __init__(self, node: Node, joints: int) -> None:
        events = publisher_events(node.get_logger(), COMMAND_TOPIC)
        self.publisher = node.create_publisher(
            Float64MultiArray, COMMAND_TOPIC, COMMANDS, event_callbacks=events
        )
        self._message = Float64MultiArray(data=array("d", bytes(8 * joints)))
        self._values = np.frombuffer(self._message.data)  # shares the message's memory

    def publish(self, tau: Array) -> None:
        self._values[:] = tau
        self.publisher.publish(self._message)

    def flush(self) -> None:
        """Wait until what was published has arrived where somebody listens."""
        self.publisher.wait_for_all_acked(FLUSH_TIME)


class StepOutput:
    """The reference with its effort, and each term when asked, while somebody listens."""

    def __init__(self, node: Node, joint_names: Sequence[str]) -> None:
        self._names = list(joint_names)
        self._feedforward = node.create_publisher(JointState, "~/feedforward", OUTPUT)
        self._terms: dict[str, Publisher[JointState]] = {
            name: node.create_publisher(JointState, f"~/terms/{name}", OUTPUT) for name in TERM_NAMES
        }
        self.heard = False
        self._feedforward_heard = False
        self._terms_heard = False

    @property
    def publishers(self) -> "list[Publisher[JointState]]":
        return [self._feedforward, *self._terms.values()]

    def look_for_listeners(self, publish_terms: bool) -> None:
        """Ask the middleware who listens; too slow to ask for every state."""
        self._feedforward_heard = self._feedforward.get_subscription_count() > 0
        self._terms_heard = publish_terms and any(
            publisher.get_subscription_count() for publisher in self._terms.values()
        )
        self.heard = self._feedforward_heard or self._terms_heard

    def publish(self, step: Step, law: Law, now_ns: int) -> None:
        if self._feedforward_heard:
            self._feedforward.publish(self._message(now_ns, step.tau, step.reference))
        if self._terms_heard:
            terms = efforts_by_term(law, step.reference, step.q, step.qd)
            for name, tau in zip(TERM_NAMES, (*terms, step.tau - terms.total), strict=True):
                self._terms[name].publish(self._message(now_ns, tau))

    def _message(self, now_ns: int, effort: Array, reference: Array | None = None) -> JointState:
        message = JointState(name=self._names, effort=array("d", effort.tobytes()))
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(now_ns, NANOSECONDS)
        if reference is not None:
            message.position, message.velocity = (array("d", row.tobytes()) for row in reference[:2])
        return message


# The path of one state: message in, effort out. Lean, since it runs a thousand times a second.


class Controller:
    """A loaded model with its reader, control loop and publishers.

    ``values`` are the checked parameters, ``model`` the module as it was loaded.
    """

    def __init__(self, node: Node, clock: NodeClock, model: GeneratedModel, values: Values) -> None:
        self.model = model
        self.values = values
        self.loop = ControlLoop(build_settings(values, model))
        self.reader = JointStateReader(model.joint_names)
        self._configure_reader(values)
        self.created = time.monotonic()
        self.meter = Meter(self.created)
        self._clock = clock
        self._commands = CommandOutput(node, len(model.joint_names))
        self._steps = StepOutput(node, model.joint_names)

    def prepare(self, values: Values) -> Settings:
        """Settings for other parameter values. Raises ``KaneDynamicsError``."""
        return build_settings(values, self.model)

    def apply(self, values: Values, settings: Settings) -> None:
        """Use other parameter values from the next state on."""
        self.values, self.loop.settings = values, settings
        self._configure_reader(values)

    def on_state(self, message: Any) -> None:
        """Answer one joint state message with one command, if the state is complete and fresh."""
        arrival = time.monotonic()
        now_ns = self._clock.now_ns()
        reader, loop = self.reader, self.loop
        if not reader.take(message, now_ns, arrival):
            return
        now_ns = max(now_ns, now_ns - reader.age_ns)  # /clock may be heard after the state of its time
        tau = loop.step(reader.q, reader.qd, now_ns, arrival)
        if tau is None:
            return
        self._commands.publish(tau)
        self.meter.count(time.monotonic() - arrival)
        if self._steps.heard and loop.last is not None:
            self._steps.publish(loop.last, loop.settings.law, now_ns)

    def prepare_trajectory(self, request: TrajectoryRequest, number: int) -> Candidate:
        """All that takes long about a trajectory, in any thread."""
        return self.loop.prepare(request, self._clock.now_ns(), number)

    def follow(self, candidate: Candidate) -> None:
        """Take a prepared trajectory; the loop's goals tell what becomes of it."""
        with suppress(TrajectoryError):
            self.loop.accept(candidate, self._clock.now_ns())

    def watch(self) -> None:
        """Between states: react to missing ones, and look who listens."""
        self._publish(self.loop.watch(time.monotonic()))
        self._steps.look_for_listeners(self.values["terms.publish"])

    def annotate(self, request: TrajectoryRequest) -> TrajectoryRequest:
        """The trajectory with efforts. Raises ``TrajectoryError``."""
        settings = self.loop.settings
        accuracy = Accuracy(self.values["annotate.error"], int(self.values["annotate.max_points"]))
        return annotate(request, settings.law, settings.effort_limits, accuracy)

    def shift_clock(self, step_ns: int) -> bool:
        """After a step of the system clock; whether the motion was dropped."""
        self.reader.forget()
        return self.loop.shift_clock(step_ns, self._clock.now_ns())

    def forget(self, reason: str) -> None:
        """Drop the motion and the states; the next complete state is held."""
        self.loop.forget(reason)
        self.reader.forget()

    def leave_safe(self) -> None:
        """Send the last command, and wait until it has arrived where somebody listens."""
        reaction: Reaction = self.values["safety.on_deactivate"]
        self._publish(self.loop.safe_effort(reaction, time.monotonic()))
        self._commands.flush()

    def destroy(self, node: Node) -> None:
        for publisher in (self._commands.publisher, *self._steps.publishers):
            node.destroy_publisher(publisher)

    def _publish(self, tau: Array | None) -> None:
        if tau is not None:
            self._commands.publish(tau)

    def _configure_reader(self, values: Values) -> None:
        self.reader.timeout = values["safety.state_timeout"]
        self.reader.missing_velocity = values["velocity.missing"]
        self.reader.cutoff = values["velocity.cutoff"]
