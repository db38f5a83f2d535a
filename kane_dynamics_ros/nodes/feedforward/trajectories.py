"""Trajectories on their way in and out: taken and prepared beside the commands, reported, annotated.

A long trajectory takes longer than a command may wait. So one thread takes messages as bytes, another reads
and prepares them block by block, and the thread of the commands only joins what is ready to the running plan.
"""

import threading
import traceback
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from rclpy.guard_condition import GuardCondition
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics_ros.control.goals import Ticket, TrajectoryOutcome
from kane_dynamics_ros.control.loop import Candidate
from kane_dynamics_ros.control.validation import BLOCK, SECOND_NS, TrajectoryError, TrajectoryRequest
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.nodes.messages import OUTPUT_QOS, STATUS_QOS, TRAJECTORY_QOS, subscription_events
from kane_dynamics_ros.nodes.process import OwnThread, new_wait_set
from kane_dynamics_ros.nodes.serialized import bytes_from_request, request_from_bytes, take

Prepare = Callable[[TrajectoryRequest, int, Any], Candidate]


class TrajectoryIntake:
    """Takes ``joint_trajectory``; what was prepared is in ``ready``, in the order in which it came.

    A trajectory without points, a request to stop, overtakes those that are still being prepared; they are
    refused. ``prepare`` is called in other threads, with the request, its number and the action's goal that
    it came with.
    """

    def __init__(self, node: Node, prepare: Prepare) -> None:
        self._begin(prepare, node.get_logger())
        self._subscription = node.create_subscription(
            JointTrajectory,
            "joint_trajectory",
            self._never_called,
            TRAJECTORY_QOS,
            callback_group=OwnThread(),
            raw=True,
            event_callbacks=subscription_events(node.get_logger(), "joint_trajectory"),
        )
        self._ended = False
        self._wake = GuardCondition(None, None, context=node.context)
        self._wait_set = new_wait_set(node.context, [1, 1, 0, 0, 0])
        self._thread = threading.Thread(target=self._take_all, name="trajectories", daemon=True)
        self._thread.start()

    def _begin(self, prepare: Prepare, logger: RcutilsLogger) -> None:
        self.ready: deque[Candidate] = deque()
        self._prepare = prepare
        self._logger = logger
        self._lock = threading.Lock()
        self._received = 0
        self._pending = 0
        self._stop: int | None = None  # the newest trajectory that asked to stop
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="prepare")

    def submit(self, request: TrajectoryRequest, goal: Any = None) -> int:
        """Prepare a request, at once if it is short; its number. ``goal`` is the action's, or None."""
        with self._lock:
            self._received += 1
            number = self._received
            stop = not request.points and goal is None
            if stop:
                self._stop = number
            at_once = stop or (not self._pending and len(request.points) <= BLOCK)
            if not at_once:
                self._pending += 1
        if at_once:
            self.ready.append(self._prepared(request, number, goal))
        else:
            self._worker.submit(self._prepare_later, request, number, goal)
        return number

    def finish(self) -> None:
        """End both threads; what they hold is dropped."""
        self._ended = True
        self._wake.trigger()
        self._thread.join()
        self._worker.shutdown(cancel_futures=True)
        self._wake.destroy()

    def _never_called(self, message: Any) -> None:
        """No executor serves this subscription: the thread does."""

    def _take_all(self) -> None:
        while not self._ended:
            self._wait_set.clear_entities()
            self._wait_set.add_subscription(self._subscription.handle)
            self._wait_set.add_guard_condition(self._wake.handle)
            self._wait_set.wait(-1)
            while not self._ended and (data := take(self._subscription)) is not None:
                self._take(data)

    def _take(self, data: Any) -> None:
        try:
            self.submit(request_from_bytes(data))
        except KaneDynamicsError as error:
            self._logger.warning(f"a message of joint_trajectory is dropped: {error}")
        except Exception as error:  # a fault here must not end the thread
            log_fault(self._logger, "joint_trajectory", error)

    def _prepare_later(self, request: TrajectoryRequest, number: int, goal: Any) -> None:
        candidate = self._prepared(request, number, goal)
        with self._lock:
            self._pending -= 1
            if self._stop is not None and self._stop > number:
                why = f"trajectory {self._stop} asked to stop before this one was ready"
                candidate = Candidate(candidate.ticket, TrajectoryError(why, "overtaken"))
            self.ready.append(candidate)

    def _prepared(self, request: TrajectoryRequest, number: int, goal: Any) -> Candidate:
        try:
            return self._prepare(request, number, goal)
        except Exception as error:
            log_fault(self._logger, "joint_trajectory", error)
            why = f"it could not be read: {type(error).__name__}: {error}; the log has more"
            return Candidate(Ticket(number, request.stamp_ns, request.label), TrajectoryError(why, "fault"))


def log_fault(logger: RcutilsLogger, where: str, error: BaseException) -> None:
    """Log an error that is not one of ours with its traceback."""
    lines = "".join(traceback.format_exception(error))
    logger.error(f"{where}: a fault of this package; please report it: {lines}")


class TrajectoryStatus:
    """Publishes each change of a trajectory's state on ``~/trajectory_status``, and logs it."""

    def __init__(self, node: Node) -> None:
        self._name = node.get_fully_qualified_name().lstrip("/")
        self._logger = node.get_logger()
        self._publisher = node.create_publisher(DiagnosticStatus, "~/trajectory_status", STATUS_QOS)

    def publish(self, outcome: TrajectoryOutcome) -> None:
        level = level_of(outcome)
        message = f"{outcome.state}: {outcome.reason}"
        text = f"trajectory {outcome.ticket.number} {message}"
        if level == DiagnosticStatus.OK:
            self._logger.info(text)
        elif outcome.state == "refused":
            self._logger.warning(f"trajectory rejected: {outcome.reason}")
        else:
            self._logger.warning(text)
        seconds, nanoseconds = divmod(outcome.ticket.stamp_ns, SECOND_NS)
        figures = {
            "state": outcome.state,
            "reason": outcome.reason,
            "id": str(outcome.ticket.number),
            "stamp": f"{seconds}.{nanoseconds:09d}",
            "frame_id": outcome.ticket.label,
        }
        values = [KeyValue(key=key, value=value) for key, value in figures.items()]
        name = f"{self._name}: trajectory"
        self._publisher.publish(DiagnosticStatus(level=level, name=name, message=message, values=values))


def level_of(outcome: TrajectoryOutcome) -> bytes:
    """OK when accepted or finished, WARN when a sender asked for something else, ERROR for the rest."""
    if outcome.state in ("accepted", "finished"):
        level: bytes = DiagnosticStatus.OK
    elif outcome.by_sender:
        level = DiagnosticStatus.WARN
    else:
        level = DiagnosticStatus.ERROR
    return level


class BackgroundAnnotation:
    """Answers ``~/annotate`` on ``~/annotated``, or says why not, one after the other, in its own thread.

    ``annotate`` must not change what the thread of the commands uses; it returns None where nothing can be
    annotated yet.
    """

    def __init__(self, node: Node, annotate: Callable[[TrajectoryRequest], TrajectoryRequest | None]) -> None:
        self._logger = node.get_logger()
        self._annotate = annotate
        self._publisher = node.create_publisher(JointTrajectory, "~/annotated", OUTPUT_QOS)
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="annotate")
        node.create_subscription(
            JointTrajectory,
            "~/annotate",
            self._begin,
            TRAJECTORY_QOS,
            raw=True,
            event_callbacks=subscription_events(node.get_logger(), "~/annotate"),
        )

    def finish(self) -> None:
        """Drop what waits, and wait for what is being annotated."""
        self._worker.shutdown(cancel_futures=True)

    def _begin(self, data: bytes) -> None:
        self._worker.submit(self._answer, data)

    def _answer(self, data: bytes) -> None:
        try:
            annotated = self._annotate(request_from_bytes(data))
            if annotated is None:
                self._logger.warning("trajectory not annotated: the node is not configured")
            else:
                self._publisher.publish(bytes_from_request(annotated))
        except KaneDynamicsError as error:
            self._logger.warning(f"trajectory not annotated: {error}")
        except Exception as error:
            log_fault(self._logger, "~/annotate", error)
            self._logger.error("trajectory not annotated: it could not be read; the log has more")
