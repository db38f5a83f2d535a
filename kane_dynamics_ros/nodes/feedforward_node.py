"""``feedforward_node``: joint states and a trajectory in, joint efforts out, one for every state.

A lifecycle node. Configure loads the model and checks it against ``robot_description``; activate starts
the output; deactivate leaves the arm with a last safe command.
"""

import gc
import sys
import time
from collections.abc import Callable
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.callback_groups import CallbackGroup
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from kane_dynamics_ros.control.loop import Candidate
from kane_dynamics_ros.control.outcomes import Ticket, refusal
from kane_dynamics_ros.control.rejections import NotActiveError, TrajectoryError
from kane_dynamics_ros.control.validation import TrajectoryRequest
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.nodes.clocks import NodeClock, on_jump_back
from kane_dynamics_ros.nodes.feedforward.condition import ConditionLog, Diagnostics
from kane_dynamics_ros.nodes.feedforward.controller import Controller
from kane_dynamics_ros.nodes.feedforward.model import DescriptionCheck
from kane_dynamics_ros.nodes.feedforward.parameters import TABLE
from kane_dynamics_ros.nodes.feedforward.trajectories import (
    BackgroundAnnotation,
    TrajectoryIntake,
    TrajectoryStatus,
)
from kane_dynamics_ros.nodes.messages import (
    JOINT_STATES,
    ROBOT_DESCRIPTION,
    subscription_events,
)
from kane_dynamics_ros.nodes.parameters import declare, read
from kane_dynamics_ros.nodes.process import OwnSpin, StateFirstSpin, run_node

WATCH_PERIOD = 0.05  # [s]
SWITCH_INTERVAL = 0.0002  # [s] after which work in the background lets a command through
DIAGNOSTICS_EVERY = 20  # watches


class FeedforwardNode(LifecycleNode):
    """Wires topics, parameters and transitions to a ``Controller``."""

    def __init__(self) -> None:
        super().__init__("feedforward_node")
        declare(self, TABLE)
        self._controller: Controller | None = None
        self._active = False
        self._description = DescriptionCheck()
        self._start_wanted = self.get_parameter("autostart").value is not False
        self._clock_of_node = NodeClock(self.get_clock())
        self._jump = on_jump_back(self.get_clock(), self._on_clock_jump)
        self._diagnostics = Diagnostics(self)
        self._log = ConditionLog(self.get_logger())
        self._watches = 0
        self._status = TrajectoryStatus(self)
        states = self._subscribe(JointState, "joint_states", self._on_state, JOINT_STATES, OwnSpin())
        self._intake = TrajectoryIntake(self, self._prepare)
        self._annotation = BackgroundAnnotation(self, self._annotate)
        self._subscribe(String, "robot_description", self._on_description, ROBOT_DESCRIPTION)
        self._spin = StateFirstSpin(self, states, self._watch, WATCH_PERIOD)
        self.add_on_set_parameters_callback(self._check_parameters)
        self.add_post_set_parameters_callback(self._apply_parameters)

    def _subscribe(
        self,
        kind: Any,
        topic: str,
        callback: Callable[[Any], None],
        qos: QoSProfile,
        group: CallbackGroup | None = None,
    ) -> Any:
        events = subscription_events(self.get_logger(), topic)
        return self.create_subscription(
            kind, topic, callback, qos, callback_group=group, event_callbacks=events
        )

    def spin(self, stopped: Callable[[], bool]) -> None:
        """Serve topics, services and parameters until ``stopped`` is true."""
        self._spin.spin(stopped)

    def finish(self) -> None:
        """Leave the arm safe before the process ends."""
        if self._active and self.context.ok():
            self.trigger_deactivate()
        self._intake.finish()
        self._annotation.finish()
        self._spin.shutdown()
        self.destroy_node()

    # Transitions

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        try:
            values = read(self, TABLE)
            model = self._description.load_model(values)
            self._controller = Controller(self, self._clock_of_node, model, values)
        except KaneDynamicsError as error:
            self.get_logger().error(f"cannot configure: {error}")
            return TransitionCallbackReturn.FAILURE
        self._log.tell_limits(self._controller)
        self.get_logger().info(
            f"model {model.name!r} ({model.backend}), mode {values['mode']}, "
            f"joints {', '.join(model.joint_names)}"
        )
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        if self._controller is not None:
            self._controller.forget("the node was activated again")
        gc.collect()
        gc.freeze()
        gc.disable()  # a collection would hold up commands; it runs with the diagnostics
        self._active = True
        return TransitionCallbackReturn.SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._active = False
        gc.enable()
        gc.unfreeze()
        if self._controller is not None:
            self._controller.leave_safe()
            self._controller.loop.goals.drop("the node was deactivated")
            self._tell_outcomes()
        return TransitionCallbackReturn.SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        if self._controller is not None:
            self._controller.destroy(self)
            self._controller = None
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        if self._active:
            self.on_deactivate(state)
        return self.on_cleanup(state)

    # Topics

    def _on_state(self, message: JointState) -> None:
        if self._active and self._controller is not None:
            if self._intake.ready:
                self._take_trajectories()
            self._controller.on_state(message)
            if self._controller.loop.goals.news:
                self._tell_outcomes()

    def _prepare(self, request: TrajectoryRequest, number: int) -> Candidate:
        """In a thread of the intake's."""
        controller = self._controller
        if controller is None or not self._active:
            return Candidate(Ticket(number, request.stamp_ns, request.label), NotActiveError())
        return controller.prepare_trajectory(request, number)

    def _take_trajectories(self) -> None:
        """Follow what is ready, if it was prepared for this controller."""
        while self._intake.ready:
            candidate = self._intake.ready.popleft()
            if self._active and self._controller is not None:
                self._controller.follow(candidate)
                self._tell_outcomes()
            else:
                why = (
                    candidate.outcome if isinstance(candidate.outcome, TrajectoryError) else NotActiveError()
                )
                self._status.tell(refusal(candidate.ticket, why))

    def _annotate(self, request: TrajectoryRequest) -> TrajectoryRequest | None:
        """In the thread of annotations."""
        return None if self._controller is None else self._controller.annotate(request)

    def _tell_outcomes(self) -> None:
        """Publish and log what has become of trajectories."""
        if self._controller is not None:
            for outcome in self._controller.loop.goals.taken():
                self._status.tell(outcome)

    def _on_description(self, message: String) -> None:
        """Remember the robot; one that comes after configuration is compared with the model in use."""
        if message.data == self._description.text:
            return
        self._description.text = message.data
        if self._controller is not None:
            self._description.begin(self._controller.values)
        elif self.get_parameter("autostart").value:
            self._start_wanted = True

    def _heed_description(self, controller: Controller) -> None:
        """Stop when the model in use turned out to be stale, and go on with a fresh one if there is one."""
        found = self._description.outcome()
        if isinstance(found, KaneDynamicsError):
            self.get_logger().error(f"robot_description changed, so the output stops: {found}")
            self._unconfigure()
        elif found is not None and found.urdf_hash != controller.model.urdf_hash:
            self.get_logger().warning("robot_description changed: starting again with a fresh model")
            self._unconfigure()
            self._start_wanted = True

    def _unconfigure(self) -> None:
        if self._active:
            self.trigger_deactivate()
        self.trigger_cleanup()

    # Parameters

    def _check_parameters(self, changes: "list[Parameter[Any]]") -> SetParametersResult:
        try:
            values = read(self, TABLE, {each.name: each.value for each in changes})
            if self._controller is not None:
                self._controller.prepare(values)
        except KaneDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _apply_parameters(self, changes: "list[Parameter[Any]]") -> None:
        if self._controller is not None:
            values = read(self, TABLE)
            self._controller.apply(values, self._controller.prepare(values))

    # Time

    def _watch(self) -> None:
        """Twenty times a second on the steady clock: everything that need not be done for each state."""
        if self._start_wanted:
            self._try_to_start()
        step_ns = self._clock_of_node.check()
        if step_ns:
            self._on_clock_step(step_ns)
        if self._clock_of_node.simulated and not self._clock_of_node.now_ns():
            self.get_logger().warning("use_sim_time is true and no /clock comes", throttle_duration_sec=2.0)
        if self._controller is not None:
            self._heed_description(self._controller)
        self._take_trajectories()
        if self._active and self._controller is not None:
            self._controller.watch()
            self._log.look(self._controller, time.monotonic())
            self._tell_outcomes()
        self._watches += 1
        if self._watches % DIAGNOSTICS_EVERY == 0:
            self._diagnostics.publish(self._controller, self._active)
            gc.collect()  # of what came since activation: little

    def _try_to_start(self) -> None:
        """Configure and activate, once robot_description is there if it is required."""
        if self._description.text is None and self.get_parameter("description_check").value == "required":
            self.get_logger().info("waiting for robot_description", throttle_duration_sec=5.0)
            return
        self._start_wanted = False
        if self.trigger_configure() == TransitionCallbackReturn.SUCCESS:
            self.trigger_activate()

    def _on_clock_step(self, step_ns: int) -> None:
        dropped = self._controller is not None and self._controller.shift_clock(step_ns)
        effect = "the trajectory, which had a stamp, is dropped" if dropped else "the motion goes on"
        self.get_logger().warning(f"the system clock was stepped by {step_ns * 1e-9:.3f} s: {effect}")

    def _on_clock_jump(self, seconds: float) -> None:
        self.get_logger().warning(f"time jumped back by {-seconds:.3f} s: the trajectory is dropped")
        if self._controller is not None:
            self._controller.forget("time jumped back")
            self._tell_outcomes()


def main() -> int:
    """The process: see ``run_node``."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    return run_node(FeedforwardNode)


if __name__ == "__main__":
    raise SystemExit(main())
