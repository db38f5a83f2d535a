"""``feedforward_node``: joint states and a trajectory in, joint efforts out, one for every state.

A lifecycle node. Configure loads the model and checks it against ``robot_description``; activate starts
the output; deactivate leaves the arm with a last safe command.
"""

import gc
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from kane_dynamics_ros.control.goals import Ticket, TrajectoryOutcome, refusal
from kane_dynamics_ros.control.loop import Candidate
from kane_dynamics_ros.control.validation import TrajectoryError, TrajectoryRequest
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.nodes.feedforward.action import TrajectoryAction
from kane_dynamics_ros.nodes.feedforward.condition import Condition
from kane_dynamics_ros.nodes.feedforward.controller import Controller, NodeClock
from kane_dynamics_ros.nodes.feedforward.model import DescriptionCheck, ModelCheckError
from kane_dynamics_ros.nodes.feedforward.parameters import TABLE, build_settings, joint_table
from kane_dynamics_ros.nodes.feedforward.ros2_control import ControllerManagerFollower
from kane_dynamics_ros.nodes.feedforward.trajectories import (
    BackgroundAnnotation,
    TrajectoryIntake,
    TrajectoryStatus,
    log_fault,
)
from kane_dynamics_ros.nodes.messages import COMMAND_TOPIC, JOINT_STATES_QOS, LATCHED_QOS
from kane_dynamics_ros.nodes.parameters import declare, read
from kane_dynamics_ros.nodes.process import (
    StateFirstExecutor,
    run_node,
    steady_timer,
    stopping_at_once,
    take_all,
)
from kane_dynamics_ros.runtime import DynamicsModel
from kane_dynamics_ros.runtime.node_parameters import Declaration, wrong_parameter

WATCH_PERIOD = 0.05  # [s]
SWITCH_INTERVAL = 0.0002  # [s] after which work in the background lets a command through
DIAGNOSTICS_EVERY = 20  # watches
STATES_PERIOD = 0.0005  # [s] between looks for states while the arm is stopped
STOP_GRACE = 0.3  # [s] for the states of a stop, beyond its time
CLOCK_GRACE = 2.0  # [s] that the first /clock may take
BACK = JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=False)


class FeedforwardNode(LifecycleNode):
    """Wires topics, parameters and transitions to a ``Controller``."""

    _running = False  # from the end of its construction on

    def __init__(self) -> None:
        super().__init__("feedforward_node")
        settable = [replace(each, read_only=False) for each in TABLE]  # until the node is configured
        declare(self, settable, but=("constraints.",))
        self._table: tuple[Declaration, ...] = TABLE  # and what each joint has, when the model is known
        self._controller: Controller | None = None
        self._last_model: tuple[str, DynamicsModel] | None = None  # by its parameter; checks values later
        self._active = False
        self._inactive_because = "it was not activated yet"
        self._description = DescriptionCheck()
        self._start_wanted = self.get_parameter("autostart").value is not False
        self._left_unconfigured = False  # an operator cleaned up: only an operator configures again
        self._follower: ControllerManagerFollower | None = None
        self._clock_of_node = NodeClock(self.get_clock())
        self._jump = self.get_clock().create_jump_callback(BACK, post_callback=self._on_clock_jump)
        self._condition = Condition(self)
        self._watches = 0
        self._status = TrajectoryStatus(self)
        self._states = self.create_subscription(JointState, "joint_states", self._on_state, JOINT_STATES_QOS)
        self._intake = TrajectoryIntake(self, self._prepare, self._retimes)
        self._action = TrajectoryAction(self, self._intake, self._take_trajectories)
        self._annotation = BackgroundAnnotation(self, self._annotate)
        self.create_subscription(String, "robot_description", self._on_description, LATCHED_QOS)
        steady_timer(self, WATCH_PERIOD, self._watch)
        self.add_on_set_parameters_callback(self._check_parameters)
        self.add_post_set_parameters_callback(self._apply_parameters)
        self._running = True

    def make_executor(self) -> StateFirstExecutor:
        """An executor that answers states before everything else; the node works under any other one too."""
        return StateFirstExecutor(self, self._states, self._on_states)

    def destroy_node(self) -> None:
        """Leave the arm safe, then end the node; rclpy calls it for nodes half made, and more than once."""
        if self._running:
            self._running = False
            self._annotation.ended = True  # at once: its thread must not slow down the arm's stop
            if self._active and self.context.ok():
                self.trigger_deactivate()
            self._intake.finish()
            self._action.destroy()
            self._annotation.finish()
        super().destroy_node()

    @property
    def _commanding(self) -> Controller | None:
        """The controller, while the node is active."""
        return self._controller if self._active else None

    # Transitions

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        try:
            values = read(self, TABLE)
            with stopping_at_once():  # it may compile
                model = self._description.load_model(values)
            own = joint_table(model.joint_names)
            declare(self, own, only="constraints.")
            self._table = TABLE + own
            self._controller = Controller(self, self._clock_of_node, model, read(self, self._table))
        except KaneDynamicsError as error:
            self._inactive_because = f"it cannot configure: {error}"
            self.get_logger().error(f"cannot configure: {error}")
            return TransitionCallbackReturn.FAILURE
        except Exception as error:  # rclpy would end the node without a word
            self._inactive_because = f"configuration failed: {error}; see its log"
            log_fault(self.get_logger(), "configuration", error)
            return TransitionCallbackReturn.FAILURE
        self._left_unconfigured = False
        self._last_model = values["model"], model
        self._follower = ControllerManagerFollower(
            self,
            values["controller_manager"],
            self.resolve_topic_name(COMMAND_TOPIC),
            model.joint_names,
            self._on_obstacle,
        )
        self._condition.log_limits(self._controller)
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
        controller = self._controller
        if controller is not None:
            controller.loop.goals.drop("the node was deactivated", "not_active")
            if seconds := controller.begin_stop():
                self.get_logger().info(f"stopping along the reference, within {seconds:.2f} s")
                self._serve_states(controller, seconds + STOP_GRACE)
        self._active = False
        self._inactive_because = "it was deactivated; activate it (ros2 lifecycle set)"
        gc.enable()
        gc.unfreeze()
        if controller is not None:
            controller.leave_safe()
            self._publish_outcomes()
        self._intake.refuse(self._not_active())  # those that came while it stopped, or were not ready before
        self._take_trajectories()
        return TransitionCallbackReturn.SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._left_unconfigured = True
        if self._follower is not None:
            self._follower.destroy()
            self._follower = None
        if self._controller is not None:
            self._controller.destroy(self)
            self._controller = None
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        if self._active:
            self.on_deactivate(state)
        return self.on_cleanup(state)

    # Topics

    def _on_state(self, message: JointState, about: Any) -> None:
        """One state, from an executor that gives them one by one."""
        self._on_states([(message, about)])

    def _serve_states(self, controller: Controller, longest: float) -> None:
        """Within a callback, answer states until the arm has stopped, for ``longest`` [s] at most.

        Trajectories that come meanwhile would move it again: they wait, and are refused afterwards.
        """
        end = time.monotonic() + longest
        while not controller.loop.stopped and time.monotonic() < end and self.context.ok():
            if taken := take_all(self._states):
                controller.on_states(taken)
            else:
                time.sleep(STATES_PERIOD)

    def _on_states(self, taken: list[tuple[Any, Any]]) -> None:
        controller = self._commanding
        if controller is not None:
            if self._intake.ready:
                self._take_trajectories()
            controller.on_states(taken)
            self._publish_outcomes()

    def _on_obstacle(self, obstacle: str | None) -> None:
        """ros2_control's controller or hardware stopped or came back."""
        led = self.get_parameter("mode").value == "gravity_compensation"
        does = "compensating gravity" if led else "holding the measured position"
        if obstacle is None:
            self.get_logger().info(f"commands reach the arm: {does}")
        elif self._follower is not None and not self._follower.has_been_clear:
            self.get_logger().info(f"commands have no effect yet: {obstacle}; {does}")
        else:
            self.get_logger().error(f"commands have no effect: {obstacle}; {does}")
        if self._controller is not None:
            self._controller.loop.suspend(obstacle)
            self._publish_outcomes()

    def _prepare(self, request: TrajectoryRequest, number: int, goal: Any) -> Candidate:
        """In a thread of the intake's."""
        controller = self._commanding
        if controller is None:
            return Candidate(Ticket(number, request.stamp_ns, request.label), self._not_active())
        return controller.prepare_trajectory(request, number, goal)

    def _retimes(self) -> bool:
        """Whether a short trajectory, too, takes long to prepare."""
        controller = self._controller
        return controller is not None and controller.loop.settings.reference_limits == "retime"

    def _not_active(self) -> TrajectoryError:
        return TrajectoryError(f"the node is not active: {self._inactive_because}", "not_active")

    def _take_trajectories(self) -> None:
        """Follow or cancel what is ready, if the controller is active."""
        while self._intake.ready:
            item, controller = self._intake.ready.popleft(), self._commanding
            if controller is not None:
                if isinstance(item, Candidate):
                    controller.follow(item)
                else:
                    controller.cancel(item)
                self._publish_outcomes()
            elif isinstance(item, Candidate):
                error = item.prepared if isinstance(item.prepared, TrajectoryError) else self._not_active()
                self._publish_outcome(refusal(item.ticket, error))

    def _annotate(
        self, request: TrajectoryRequest, abandoned: Callable[[], bool]
    ) -> TrajectoryRequest | None:
        """In the thread of annotations."""
        return None if self._controller is None else self._controller.annotate(request, abandoned)

    def _publish_outcomes(self) -> None:
        """Publish and log what has become of trajectories."""
        if self._controller is not None:
            for outcome in self._controller.loop.goals.pop_outcomes():
                self._publish_outcome(outcome)

    def _publish_outcome(self, outcome: TrajectoryOutcome) -> None:
        self._status.publish(outcome)
        self._action.on_outcome(outcome)

    def _on_description(self, message: String) -> None:
        """Remember the robot; one that comes after configuration is compared with the model in use."""
        if message.data == self._description.text:
            return
        self._description.text = message.data
        if self._controller is not None:
            self._description.begin(self._controller.values)
        elif self.get_parameter("autostart").value and not self._left_unconfigured:
            self._start_wanted = True

    def _react_to_description(self, controller: Controller) -> None:
        """Stop when the model in use turned out to be stale, and go on with a fresh one if there is one."""
        found = self._description.outcome()
        if isinstance(found, KaneDynamicsError):
            if isinstance(found, ModelCheckError) and found.code == "fault":
                self.get_logger().error(found.details)
            self.get_logger().error(f"robot_description changed, so the output stops: {found}")
            self._unconfigure()
            self._inactive_because = (
                f"robot_description changed: {found}; publish the robot's own description again, or "
                "configure and activate the node (ros2 lifecycle set)"
            )
        elif found is not None and found.urdf_hash != controller.model.urdf_hash:
            self.get_logger().warning("robot_description changed: starting again with a fresh model")
            self._unconfigure()
            self._start_wanted = True

    def _unconfigure(self) -> None:
        if self._active:
            self.trigger_deactivate()
        self.trigger_cleanup()
        self._left_unconfigured = False  # no operator did

    # Parameters

    def _check_parameters(self, changes: "list[Parameter[Any]]") -> SetParametersResult:
        try:
            values = read(self, self._table, {each.name: each.value for each in changes})
            if self._controller is not None:
                self._refuse_fixed(changes)
                self._controller.prepare(values)
            elif self._last_model is not None and values["model"] == self._last_model[0]:
                build_settings(values, self._last_model[1])
        except KaneDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _refuse_fixed(self, changes: "list[Parameter[Any]]") -> None:
        """Raise ``RosParameterError`` for another value of a parameter that configuring has used."""
        fixed = {each.name: self.get_parameter(each.name).value for each in TABLE if each.read_only}
        for each in changes:
            if each.name in fixed and each.value != fixed[each.name]:
                way = f"ros2 lifecycle set {self.get_fully_qualified_name()} deactivate, then cleanup"
                allowed = f"{fixed[each.name]!r} until the node is not configured: {way}"
                raise wrong_parameter(each.name, each.value, allowed)

    def _apply_parameters(self, changes: "list[Parameter[Any]]") -> None:
        if self._controller is not None:
            self._controller.apply(read(self, self._table))

    # Time

    def _watch(self) -> None:
        """Twenty times a second on the steady clock: everything that need not be done for each state."""
        if self._start_wanted:
            self._try_to_start()
        self._clock_of_node.read_source()
        timeless = self._clock_of_node.simulated and not self._clock_of_node.now_ns()
        if timeless and self._watches * WATCH_PERIOD > CLOCK_GRACE:
            self.get_logger().warning("use_sim_time is true and no /clock comes", throttle_duration_sec=2.0)
        if self._controller is not None:
            self._controller.follow_clock()
            self._react_to_description(self._controller)
        self._take_trajectories()
        if (controller := self._commanding) is not None:
            controller.watch()
            self._action.publish_feedback(controller.loop, self._clock_of_node.now_ns())
            self._condition.watch(controller)
            self._publish_outcomes()
        self._watches += 1
        if self._watches % DIAGNOSTICS_EVERY == 0:
            if self._commanding is not None:
                self._condition.log_seldom(self._commanding)
            self._condition.publish(self._controller, self._active)
            gc.collect()  # of what came since activation: little

    def _try_to_start(self) -> None:
        """Configure and activate, once robot_description is there if it is required."""
        if self._description.text is None and self.get_parameter("description_check").value == "required":
            self.get_logger().info("waiting for robot_description", throttle_duration_sec=5.0)
            return
        self._start_wanted = False
        if self.trigger_configure() == TransitionCallbackReturn.SUCCESS:
            self.trigger_activate()
        else:
            name = self.get_fully_qualified_name()
            self.get_logger().info(
                "waiting for the right robot_description; or correct the parameters, then configure and "
                f"activate the node (ros2 lifecycle set {name} configure, then activate)"
            )

    def _on_clock_jump(self, jump: TimeJump) -> None:
        """Simulated time jumped back."""
        controller, back_ns = self._controller, -jump.delta.nanoseconds
        if controller is None or back_ns < controller.reader.period_ns:
            return  # less than a state's period: a clock that jitters
        self.get_logger().warning(f"time jumped back by {back_ns * 1e-9:.3f} s: the trajectory is dropped")
        controller.forget("time jumped back")
        self._publish_outcomes()


def main() -> int:
    """The process: see ``run_node``."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    return run_node(FeedforwardNode, FeedforwardNode.make_executor)


if __name__ == "__main__":
    raise SystemExit(main())
