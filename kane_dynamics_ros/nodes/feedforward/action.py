"""``~/follow_joint_trajectory``: the action of joint_trajectory_controller, where control_msgs is installed.

A goal is a trajectory like any other, with a number; what becomes of it is the outcome that
``~/trajectory_status`` reports.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from rclpy.action.server import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.serialization import serialize_message
from rclpy.task import Future

from kane_dynamics_ros.control.goals import TrajectoryOutcome
from kane_dynamics_ros.control.loop import ControlLoop
from kane_dynamics_ros.nodes.feedforward.trajectories import Preparation
from kane_dynamics_ros.nodes.messages import set_nanoseconds
from kane_dynamics_ros.nodes.serialized import request_from_bytes

try:
    from control_msgs.action import FollowJointTrajectory
except ImportError:
    FollowJointTrajectory = None

SUCCESSFUL, INVALID_GOAL = 0, -1
CODES = {  # the action's, of refusals and causes of a drop; any other is an invalid goal
    "duplicate_joint": -2,
    "unknown_joint": -2,
    "missing_joints": -2,
    "already_past": -3,
    "path_tolerance": -4,
    "goal_tolerance": -5,
}


class Ended(NamedTuple):
    """How a goal ends, with joint_trajectory_controller's error code."""

    ending: Literal["succeeded", "canceled", "aborted"]
    code: int
    text: str


def ended_by(outcome: TrajectoryOutcome, cancel_requested: bool) -> Ended | None:
    """How the goal ends with this outcome of its trajectory; None while it goes on."""
    if outcome.state == "accepted":
        return None
    if outcome.state == "finished":
        return Ended("succeeded", SUCCESSFUL, outcome.reason)
    if cancel_requested:
        return Ended("canceled", SUCCESSFUL, outcome.reason)
    return Ended("aborted", CODES.get(outcome.cause, INVALID_GOAL), outcome.reason)


@dataclass
class OpenGoal:
    """A goal whose trajectory was submitted; it has a ``handle`` from its acceptance on."""

    goal: Any
    ended: "Future[Ended]"
    handle: Any = None
    cancelling: bool = False


class TrajectoryAction:
    """The action's server.

    ``intake`` prepares the trajectories; ``take`` lets what is prepared be followed at once, so that
    ``on_outcome`` is told before the goal is answered. So a goal is rejected for everything for which a
    trajectory is refused; but one that takes too long to be prepared at once, as any does that is retimed, is
    accepted, and aborted if it is refused later.
    """

    def __init__(
        self,
        node: Node,
        intake: Preparation,
        take: Callable[[], None],
        action: Any = FollowJointTrajectory,
        server: Any = ActionServer,
    ) -> None:
        self._node, self._intake, self._take, self._action = node, intake, take, action
        self._open: dict[int, OpenGoal] = {}  # by the trajectory's number
        self._server: Any = None
        if action is not None:
            self._server = server(
                node,
                action,
                "~/follow_joint_trajectory",
                execute_callback=self._execute,
                goal_callback=self._judge,
                handle_accepted_callback=self._accept,
                cancel_callback=self._cancel,
            )

    def on_outcome(self, outcome: TrajectoryOutcome) -> None:
        """A trajectory's state changed; if it was a goal, that may end."""
        opened = self._open.get(outcome.ticket.number)
        if opened is None or opened.ended.done():
            return
        if (ended := ended_by(outcome, opened.cancelling)) is not None:
            opened.ended.set_result(ended)
            if self._node.executor is not None:
                self._node.executor.wake()  # it resumes the coroutine that waits

    def publish_feedback(self, loop: ControlLoop, now_ns: int) -> None:
        """Send the feedback of the loop's goals that are open here: where reference and arm are now."""
        step, names = loop.last, loop.settings.law.rigid.joint_names
        for goal in loop.goals.open:
            opened = self._open.get(goal.ticket.number)
            if step is None or opened is None or opened.handle is None or opened.ended.done():
                continue
            feedback = self._action.Feedback(joint_names=list(names))
            set_nanoseconds(feedback.header.stamp, now_ns)
            desired, actual = np.array(step.reference[:2]), np.array((step.q, step.qd))
            rows = {"desired": desired, "actual": actual, "error": desired - actual}
            for name, (q, qd) in rows.items():
                point = getattr(feedback, name)
                point.positions, point.velocities = q.tolist(), qd.tolist()
                set_nanoseconds(point.time_from_start, max(now_ns - loop.ahead_ns - goal.start_ns, 0))
            opened.handle.publish_feedback(feedback)

    def destroy(self) -> None:
        if self._server is not None:
            self._server.destroy()

    def _judge(self, goal: Any) -> GoalResponse:
        """Submit the goal's trajectory, and reject the goal if that is refused."""
        number = self._intake.submit(request_from_bytes(serialize_message(goal.trajectory)), goal)
        opened = self._open[number] = OpenGoal(goal, Future())
        self._take()
        ended = opened.ended.result() if opened.ended.done() else None
        if ended is not None and ended.ending == "aborted":
            del self._open[number]
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _accept(self, handle: Any) -> None:
        [opened] = [each for each in self._open.values() if each.goal is handle.request]
        opened.handle = handle
        handle.execute()

    def _cancel(self, handle: Any) -> CancelResponse:
        """Drop the goal's trajectory alone, if it is still followed or waits."""
        for number, opened in list(self._open.items()):
            if opened.handle is handle and not opened.ended.done():
                opened.cancelling = True
                self._intake.cancel(number)
                self._take()
        return CancelResponse.ACCEPT

    async def _execute(self, handle: Any) -> Any:
        [number] = [number for number, opened in self._open.items() if opened.handle is handle]
        try:
            ended: Any = await self._open[number].ended
        finally:
            del self._open[number]
        finish = {"succeeded": handle.succeed, "canceled": handle.canceled, "aborted": handle.abort}
        finish[ended.ending]()
        return self._action.Result(error_code=ended.code, error_string=ended.text)
