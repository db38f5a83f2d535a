"""The path of one state: message in, effort out. Lean, since it runs a thousand times a second."""

import time
from typing import Any

from rclpy.node import Node

from kane_dynamics_ros.control.annotation import Accuracy, annotate
from kane_dynamics_ros.control.loop import ControlLoop, Settings
from kane_dynamics_ros.control.request import TrajectoryRequest
from kane_dynamics_ros.control.splines import Array
from kane_dynamics_ros.control.supervision import Reaction
from kane_dynamics_ros.nodes.clocks import NodeClock
from kane_dynamics_ros.nodes.feedforward_settings import Values, build_settings
from kane_dynamics_ros.nodes.joint_state_reader import JointStateReader
from kane_dynamics_ros.nodes.meter import Meter
from kane_dynamics_ros.nodes.outputs import CommandOutput, StepOutput
from kane_dynamics_ros.runtime.generated_model import GeneratedModel


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

    def follow(self, request: TrajectoryRequest) -> None:
        """Take a trajectory. Raises ``TrajectoryError``."""
        self.loop.follow(request, self._clock.now_ns())

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

    def forget(self) -> None:
        """Drop the motion and the states; the next complete state is held."""
        self.loop.forget()
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
