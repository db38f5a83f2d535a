"""``~/follow_joint_trajectory``: the action of joint_trajectory_controller, where control_msgs is installed.

A goal is a trajectory like any other, with a number; what becomes of it is the outcome that
``~/trajectory_status`` reports. The functions here translate goals and outcomes; the server carries them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from rclpy.action.server import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.task import Future

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.control import rejections
from kane_dynamics_ros.control.goals import Tolerances, TrajectoryOutcome
from kane_dynamics_ros.control.loop import ControlStep
from kane_dynamics_ros.control.validation import SECOND_NS, TrajectoryRequest
from kane_dynamics_ros.nodes.messages import request_from

try:
    from control_msgs.action import FollowJointTrajectory
except ImportError:
    FollowJointTrajectory = None

SUCCESSFUL, INVALID_GOAL, INVALID_JOINTS, OLD_HEADER_TIMESTAMP = 0, -1, -2, -3
PATH_TOLERANCE_VIOLATED, GOAL_TOLERANCE_VIOLATED = -4, -5

Ending = Literal["succeeded", "canceled", "aborted"]


class UnknownToleranceJointError(rejections.TrajectoryError):
    """A goal gives a tolerance for a joint that the model does not have."""

    def __init__(self, joint: str, known: Sequence[str]) -> None:
        names = ", ".join(map(repr, known))
        super().__init__(f"a tolerance for the unknown joint {joint!r}; the model's joints are {names}")


class EmptyGoalError(rejections.TrajectoryError):
    """A goal without points: on the topic that means stop, as a goal it means nothing."""

    def __init__(self) -> None:
        super().__init__("the goal has no points; cancel a goal to stop")


@dataclass(frozen=True)
class Ended:
    """How a goal ends, with joint_trajectory_controller's error code."""

    ending: Ending
    code: int
    text: str


def tolerances_from(goal: Any, joint_names: Sequence[str], defaults: Tolerances) -> Tolerances:
    """A goal's tolerances; 0 means the default, a negative one none.

    Raises ``UnknownToleranceJointError``.
    """
    time = goal.goal_time_tolerance
    asked = time.sec + time.nanosec / SECOND_NS
    return replace(
        defaults,
        trajectory=_merged(goal.path_tolerance, joint_names, defaults.trajectory),
        goal=_merged(goal.goal_tolerance, joint_names, defaults.goal),
        goal_time=max(asked, 0.0) if asked else defaults.goal_time,
    )


def _merged(asked: Iterable[Any], joint_names: Sequence[str], defaults: Array) -> Array:
    merged: Array = defaults.copy()
    for each in asked:
        if each.name not in joint_names:
            raise UnknownToleranceJointError(each.name, joint_names)
        if each.position:
            merged[joint_names.index(each.name)] = max(each.position, 0.0)
    return merged


def ended_by(outcome: TrajectoryOutcome, cancel_requested: bool) -> Ended | None:
    """How the goal ends with this outcome of its trajectory; None while it goes on."""
    if outcome.state == "accepted":
        return None
    if outcome.state == "finished":
        return Ended("succeeded", SUCCESSFUL, outcome.reason)
    if cancel_requested:
        return Ended("canceled", SUCCESSFUL, outcome.reason)
    return Ended("aborted", _code(outcome), outcome.reason)


def _code(outcome: TrajectoryOutcome) -> int:
    error = outcome.error
    joints = (
        rejections.DuplicateJointError,
        rejections.UnknownTrajectoryJointError,
        rejections.MissingJointsError,
    )
    if isinstance(error, joints):
        return INVALID_JOINTS
    if isinstance(error, rejections.AlreadyPastError):
        return OLD_HEADER_TIMESTAMP
    codes = {"path_tolerance": PATH_TOLERANCE_VIOLATED, "goal_tolerance": GOAL_TOLERANCE_VIOLATED}
    return codes.get(outcome.cause, INVALID_GOAL)


def feedback_rows(step: ControlStep) -> Mapping[str, tuple[list[float], list[float]]]:
    """Positions and velocities of the feedback's points: desired, actual, and their difference."""
    q_d, qd_d = step.reference[:2]
    rows = {"desired": (q_d, qd_d), "actual": (step.q, step.qd), "error": (q_d - step.q, qd_d - step.qd)}
    return {name: (np.asarray(q).tolist(), np.asarray(qd).tolist()) for name, (q, qd) in rows.items()}


Submit = Callable[[TrajectoryRequest, Any], int]


class TrajectoryAction:
    """The action's server; ``submit`` takes a request with the goal that it came with, and numbers it."""

    def __init__(
        self,
        node: Node,
        active: Callable[[], bool],
        submit: Submit,
        action: Any = FollowJointTrajectory,
        server: Any = ActionServer,
    ) -> None:
        self._active, self._submit, self._action = active, submit, action
        self._goals: dict[int, tuple[Any, Future[Ended]]] = {}
        self._server: Any = None
        if action is not None:
            self._server = server(
                node,
                action,
                "~/follow_joint_trajectory",
                execute_callback=self._execute,
                goal_callback=self._judge,
                cancel_callback=self._cancel,
            )

    def on_outcome(self, outcome: TrajectoryOutcome) -> None:
        """A trajectory's state changed; if it was a goal, that may end."""
        goal, future = self._goals.get(outcome.ticket.number, (None, None))
        if goal is None or future is None or future.done():
            return
        ended = ended_by(outcome, goal.is_cancel_requested)
        if ended is not None:
            future.set_result(ended)

    def publish_feedback(self, step: ControlStep | None, joint_names: Sequence[str]) -> None:
        """Send the feedback of every open goal: where reference and arm are."""
        for goal, future in self._goals.values():
            if step is not None and not future.done():
                feedback = self._action.Feedback()
                feedback.joint_names = list(joint_names)
                for name, (q, qd) in feedback_rows(step).items():
                    point = getattr(feedback, name)
                    point.positions, point.velocities = q, qd
                goal.publish_feedback(feedback)

    def destroy(self) -> None:
        if self._server is not None:
            self._server.destroy()

    def _judge(self, goal: Any) -> GoalResponse:
        return GoalResponse.ACCEPT if self._active() else GoalResponse.REJECT

    def _cancel(self, goal: Any) -> CancelResponse:
        """Stop, if the goal's trajectory is the one that is followed."""
        if any(each is goal and not future.done() for each, future in self._goals.values()):
            self._submit(TrajectoryRequest((), ()), None)
        return CancelResponse.ACCEPT

    async def _execute(self, goal: Any) -> Any:
        future: Future[Ended] = Future()
        number = self._submit(request_from(goal.request.trajectory), goal.request)
        self._goals[number] = (goal, future)
        try:
            ended: Any = await future
        finally:
            del self._goals[number]
        finish = {"succeeded": goal.succeed, "canceled": goal.canceled, "aborted": goal.abort}
        finish[ended.ending]()
        result = self._action.Result()
        result.error_code, result.error_string = ended.code, ended.text
        return result
