"""Goals of FollowJointTrajectory, with stand-ins for the action's types and server."""

import asyncio
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

from rclpy.action.server import CancelResponse, GoalResponse
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from kane_dynamics_ros.control.goals import Goal, Ticket, TrajectoryOutcome, refusal
from kane_dynamics_ros.control.loop import ControlStep
from kane_dynamics_ros.control.validation import TrajectoryError
from kane_dynamics_ros.nodes.feedforward.action import Ended, TrajectoryAction, ended_by

JOINTS = ("shoulder", "elbow")


def goal():
    return SimpleNamespace(trajectory=JointTrajectory(points=[JointTrajectoryPoint()]))


TICKET = Ticket(7)
# joint_trajectory_controller's codes, from control_msgs/action/FollowJointTrajectory
ENDINGS = {
    "accepted": (TrajectoryOutcome(TICKET, "accepted", ""), False, None),
    "finished": (TrajectoryOutcome(TICKET, "finished", "done"), False, Ended("succeeded", 0, "done")),
    "bad joints": (
        refusal(TICKET, TrajectoryError("no joint 'x'", "unknown_joint")),
        False,
        Ended("aborted", -2, "no joint 'x'"),
    ),
    "too late": (
        refusal(TICKET, TrajectoryError("too late", "already_past")),
        False,
        Ended("aborted", -3, "too late"),
    ),
    "bad points": (
        refusal(TICKET, TrajectoryError("bad", "acceleration_without_velocity")),
        False,
        Ended("aborted", -1, "bad"),
    ),
    "path": (
        TrajectoryOutcome(TICKET, "dropped", "far", "path_tolerance"),
        False,
        Ended("aborted", -4, "far"),
    ),
    "goal": (
        TrajectoryOutcome(TICKET, "dropped", "not there", "goal_tolerance"),
        False,
        Ended("aborted", -5, "not there"),
    ),
    "fault": (
        TrajectoryOutcome(TICKET, "dropped", "stale_state", "stale_state"),
        False,
        Ended("aborted", -1, "stale_state"),
    ),
    "cancelled": (
        TrajectoryOutcome(TICKET, "dropped", "stopped", "stopped"),
        True,
        Ended("canceled", 0, "stopped"),
    ),
}


@pytest.mark.parametrize(("outcome", "cancelling", "ended"), ENDINGS.values(), ids=ENDINGS)
def test_each_outcome_ends_a_goal_with_its_code(outcome, cancelling, ended):
    assert ended_by(outcome, cancelling) == ended


class Handle:
    """A goal handle that notes what is done with it."""

    def __init__(self, request):
        self.request, self.is_cancel_requested = request, False
        self.ending, self.feedback = None, []

    def succeed(self):
        self.ending = "succeeded"

    def canceled(self):
        self.ending = "canceled"

    def abort(self):
        self.ending = "aborted"

    def publish_feedback(self, feedback):
        self.feedback.append(feedback)

    def execute(self):
        """The server would run the execute callback as a task now."""


class Action:
    """The action's types."""

    Result = SimpleNamespace

    @staticmethod
    def Feedback(joint_names):
        points = {name: JointTrajectoryPoint() for name in ("desired", "actual", "error")}
        return SimpleNamespace(header=Header(), joint_names=joint_names, **points)


class Server:
    """The server's callbacks, as the middleware would call them."""

    def __init__(
        self,
        node,
        action,
        name,
        *,
        execute_callback,
        goal_callback,
        handle_accepted_callback,
        cancel_callback,
    ):
        self.execute, self.judge, self.accept, self.cancel = (
            execute_callback,
            goal_callback,
            handle_accepted_callback,
            cancel_callback,
        )


class Intake:
    """Numbers what is submitted; ``refused`` goals are refused when they are taken."""

    def __init__(self):
        self.submitted, self.cancelled, self.refused, self.action = [], [], (), None

    def cancel(self, number):
        self.cancelled.append(number)

    def submit(self, request, goal):
        self.submitted.append((request, goal))
        return len(self.submitted)

    def take(self):
        for number, (_, goal) in enumerate(self.submitted, 1):
            if any(goal is each for each in self.refused):
                self.action.on_outcome(refusal(Ticket(number), TrajectoryError("too late", "already_past")))


@pytest.fixture
def intake():
    intake = Intake()
    node = SimpleNamespace(executor=SimpleNamespace(wake=lambda: None))
    intake.action = TrajectoryAction(node, intake, intake.take, Action, Server)
    return intake


@pytest.fixture
def action(intake):
    return intake.action


def accepted(action, handle):
    assert action._server.judge(handle.request) == GoalResponse.ACCEPT
    action._server.accept(handle)
    return handle


async def run(action, handle, *events):
    """Execute the goal while events happen, and give its result."""
    task = asyncio.ensure_future(asyncio.wait_for(as_coroutine(action._server.execute(handle)), 20.0))
    for event in events:
        await asyncio.sleep(0)
        event()
    return await task


async def as_coroutine(awaitable):
    """rclpy's futures yield until they are done; an event loop wants a plain yield."""
    steps = awaitable.__await__()
    try:
        while True:
            next(steps)
            await asyncio.sleep(0)
    except StopIteration as stop:
        return stop.value


def test_a_goal_is_a_trajectory_and_succeeds_with_it(action, intake):
    handle = accepted(action, Handle(goal()))
    reference, none = np.array([[1.0, 2.0], [0.1, 0.2], [0.0, 0.0]]), np.zeros(2)
    step = ControlStep(reference, None, None, np.array([0.9, 2.0]), none, none)
    goals = [Goal(Ticket(1), 1_000_000_000, 4_000_000_000), Goal(Ticket(2), 0, 1)]
    settings = SimpleNamespace(law=SimpleNamespace(rigid=SimpleNamespace(joint_names=JOINTS)))
    followed = SimpleNamespace(open=goals)
    loop = SimpleNamespace(last=step, goals=followed, settings=settings, ahead_ns=1_000_000_000)
    result = asyncio.run(
        run(
            action,
            handle,
            lambda: action.on_outcome(TrajectoryOutcome(Ticket(1), "accepted", "")),
            lambda: action.publish_feedback(loop, 3_250_000_000),
            lambda: action.on_outcome(TrajectoryOutcome(Ticket(2), "refused", "another's")),
            lambda: action.on_outcome(TrajectoryOutcome(Ticket(1), "finished", "there")),
        )
    )
    assert intake.submitted[0][1] is handle.request
    assert (handle.ending, result.error_code, result.error_string) == ("succeeded", 0, "there")
    (feedback,) = handle.feedback
    assert feedback.joint_names == ["shoulder", "elbow"]
    assert (feedback.header.stamp.sec, feedback.header.stamp.nanosec) == (3, 250_000_000)
    for point in (feedback.desired, feedback.actual, feedback.error):
        assert (point.time_from_start.sec, point.time_from_start.nanosec) == (1, 250_000_000)
    np.testing.assert_allclose(feedback.error.positions, [0.1, 0.0])
    np.testing.assert_allclose(feedback.error.velocities, [0.1, 0.2])


def test_cancelling_a_goal_drops_its_trajectory_and_no_other(action, intake):
    handle = accepted(action, Handle(goal()))

    def cancel():
        assert action._server.cancel(handle) == CancelResponse.ACCEPT
        action.on_outcome(TrajectoryOutcome(Ticket(1), "dropped", "cancelled", "cancelled"))

    result = asyncio.run(run(action, handle, lambda: None, cancel))
    assert (len(intake.submitted), intake.cancelled) == (1, [1])
    assert (handle.ending, result.error_code) == ("canceled", 0)


def test_a_goal_whose_trajectory_is_refused_is_rejected(action, intake):
    wrong = goal()
    intake.refused = (wrong,)
    assert action._server.judge(wrong) == GoalResponse.REJECT
    assert action._server.judge(goal()) == GoalResponse.ACCEPT


def test_without_control_msgs_there_is_no_server():
    assert TrajectoryAction(None, lambda request, goal: 1, lambda: None, None, Server)._server is None
