"""Trajectories on their way in and out: taken and prepared beside the commands, reported, annotated.

A long trajectory takes longer than a command may wait. So one thread takes messages as bytes, another reads
and prepares them block by block, and the thread of the commands only joins what is ready to the running plan.
"""

import math
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics_ros.control.goals import Ticket, TrajectoryOutcome
from kane_dynamics_ros.control.loop import Candidate
from kane_dynamics_ros.control.validation import SECOND_NS, TrajectoryError, TrajectoryRequest
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.nodes.messages import OUTPUT_QOS, STATUS_QOS, TRAJECTORY_QOS, status_of
from kane_dynamics_ros.nodes.process import OwnThread, new_wait_set
from kane_dynamics_ros.nodes.serialized import bytes_from_request, request_from_bytes, take

SHORT = 50  # points, which take a millisecond: so long a command may wait while an action's goal is judged
MOST_POINTS = 400_000  # of trajectories that wait; a point of seven joints takes some 200 bytes
MOST_ANNOTATIONS = 4  # that wait
END_PERIOD_NS = 50_000_000  # [ns] between looks whether the node ends
REPEAT = 1.0  # [s] between two log lines of what a stream may cause at any rate
MOST_REFUSALS = 5  # in the log in that time
SAME = 5.0  # [s] within which a sender's next refusal for the same reason is no news

Prepare = Callable[[TrajectoryRequest, int, Any], Candidate]


class Waiting(NamedTuple):
    """A trajectory that waits to be prepared; ``goal`` is the action's, or None."""

    number: int
    request: TrajectoryRequest
    goal: Any


class Preparation:
    """Prepares trajectories in a thread of its own; ``ready`` has what is to be followed, in order.

    A number in ``ready`` is that of a trajectory before it that is to be cancelled. A trajectory without
    points, a request to stop, overtakes those that are still being prepared; one without a stamp those that
    wait, for it will replace them: they are refused. A newer one that turns out to be bad replaces nothing.
    ``prepare`` is called in other threads, with the request, its number and the action's goal that it came
    with; while ``slowly`` says so, it takes long for any request.
    """

    def __init__(self, prepare: Prepare, logger: RcutilsLogger, slowly: Callable[[], bool]) -> None:
        self.ready: deque[Candidate | int] = deque()
        self._prepare, self._logger, self._slowly = prepare, logger, slowly
        self._changed = threading.Condition()  # guards all that follows
        self._waiting: list[Waiting] = []
        self._current: int | None = None  # the number that is being prepared
        self._refused: TrajectoryError | None = None  # why the current one is not followed
        self._received = 0
        self._ended = False
        self._thread = threading.Thread(target=self._work, name="prepare", daemon=True)
        self._thread.start()

    def submit(self, request: TrajectoryRequest, goal: Any = None) -> int:
        """Prepare a request, at once if it is short; its number."""
        with self._changed:  # until a short one is ready: no other thread's may come before or between
            self._received += 1
            item = Waiting(self._received, request, goal)
            if not request.points and goal is None:
                why = f"trajectory {item.number} asked to stop before this one was ready"
                self._refuse_all(_overtaken(why))
            elif self._waiting or self._current or len(request.points) > SHORT or self._slowly():
                self._waiting.append(item)
                points = sum(len(each.request.points) for each in self._waiting)
                while len(self._waiting) > 1 and points > MOST_POINTS:
                    points -= len(self._waiting[0].request.points)
                    self._refuse_before(self._waiting[1].number, _overtaken("too many trajectories wait"))
                self._changed.notify()
                return item.number
            self.ready.append(self._prepared(item))
        return item.number

    def cancel(self, number: int) -> None:
        """Drop a trajectory, wherever it is."""
        with self._changed:
            for item in self._waiting:
                if item.number == number:
                    self._waiting.remove(item)
                    self.ready.append(_refused(item, _overtaken("cancelled before it was ready")))
                    return
            if self._current == number:
                self._refused = _overtaken("cancelled before it was ready")
            else:
                self.ready.append(number)

    def refuse(self, error: TrajectoryError) -> None:
        """Follow nothing of what waits or is being prepared."""
        with self._changed:
            self._refuse_all(error)

    def finish(self) -> None:
        """End the thread; what waits is dropped."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._ended)
                if self._ended:
                    return
                unstamped = [item for item in self._waiting if not item.request.stamp_ns]
                item = unstamped[-1] if unstamped else self._waiting[0]
                self._waiting.remove(item)
                self._current, self._refused = item.number, None
            candidate = self._prepared(item)
            with self._changed:
                if self._refused:
                    self.ready.append(_refused(item, self._refused))
                else:
                    if unstamped and not isinstance(candidate.prepared, TrajectoryError):
                        self._refuse_before(item.number, _overtaken(f"replaced by trajectory {item.number}"))
                    self.ready.append(candidate)
                self._current = None

    def _refuse_all(self, error: TrajectoryError) -> None:
        self._refuse_before(self._received + 1, error)
        self._refused = error

    def _refuse_before(self, number: int, error: TrajectoryError) -> None:
        older = [item for item in self._waiting if item.number < number]
        self._waiting = self._waiting[len(older) :]
        self.ready.extend(_refused(item, error) for item in older)

    def _prepared(self, item: Waiting) -> Candidate:
        try:
            return self._prepare(item.request, item.number, item.goal)
        except Exception as error:
            log_fault(self._logger, "joint_trajectory", error)
            why = f"it could not be read: {type(error).__name__}: {error}; the log has more"
            return _refused(item, TrajectoryError(why, "fault"))


def _overtaken(why: str) -> TrajectoryError:
    return TrajectoryError(why, "overtaken")


def _refused(item: Waiting, error: TrajectoryError) -> Candidate:
    return Candidate(Ticket(item.number, item.request.stamp_ns, item.request.label), error)


class TrajectoryIntake(Preparation):
    """Takes ``joint_trajectory`` in a thread of its own, and prepares it in another."""

    def __init__(self, node: Node, prepare: Prepare, slowly: Callable[[], bool]) -> None:
        super().__init__(prepare, node.get_logger(), slowly)
        self._subscription = node.create_subscription(
            JointTrajectory,
            "joint_trajectory",
            self._take,  # called by no executor: the thread takes the messages
            TRAJECTORY_QOS,
            callback_group=OwnThread(),
            raw=True,
        )
        self._wait_set = new_wait_set(node.context, [1, 0, 0, 0, 0])
        self._taker = threading.Thread(target=self._take_all, name="trajectories", daemon=True)
        self._taker.start()

    def finish(self) -> None:
        """End both threads; what they hold is dropped."""
        super().finish()
        self._taker.join()

    def _take_all(self) -> None:
        while not self._ended:
            self._wait_set.clear_entities()
            self._wait_set.add_subscription(self._subscription.handle)
            self._wait_set.wait(END_PERIOD_NS)
            while not self._ended and (data := take(self._subscription)) is not None:
                self._take(data)

    def _take(self, data: Any) -> None:
        try:
            self.submit(request_from_bytes(data))
        except KaneDynamicsError as error:
            self._logger.warning(
                f"a message of joint_trajectory is dropped: {error}", throttle_duration_sec=REPEAT
            )
        except Exception as error:  # a fault here must not end the thread
            log_fault(self._logger, "joint_trajectory", error)


def log_fault(logger: RcutilsLogger, where: str, error: BaseException) -> None:
    """Log an error that is not one of ours with its traceback."""
    lines = "".join(traceback.format_exception(error))
    logger.error(f"{where}: a fault of this package; please report it: {lines}", throttle_duration_sec=REPEAT)


class TrajectoryStatus:
    """Publishes each change of a trajectory's state on ``~/trajectory_status``, and logs it.

    The level is OK when accepted or finished, WARN when a sender asked for something else, ERROR for the
    rest. The log warns of the rest alone; of refusals, which a stream may cause at any rate, of at most
    ``MOST_REFUSALS`` in ``REPEAT``, and once where a sender tries again and again.
    """

    def __init__(self, node: Node) -> None:
        self._name = f"{node.get_fully_qualified_name().lstrip('/')}: trajectory"
        self._logger = node.get_logger()
        self._publisher = node.create_publisher(DiagnosticStatus, "~/trajectory_status", STATUS_QOS)
        self._refusals: deque[float] = deque([-math.inf] * MOST_REFUSALS, MOST_REFUSALS)  # [s] of log lines
        self._repeated = ("", "", -math.inf)  # label and reason of the last refusal, and when that was [s]

    def publish(self, outcome: TrajectoryOutcome) -> None:
        ticket, good = outcome.ticket, outcome.state in ("accepted", "finished")
        message = f"{outcome.state}: {outcome.reason}"
        if outcome.state == "refused":
            now, (label, reason, last) = time.monotonic(), self._repeated
            now_reason = "" if outcome.cause == "no_state" else outcome.reason  # that one tells an age
            self._repeated = (ticket.label, now_reason, now)
            again = (label, reason) == (ticket.label, now_reason) and now - last < SAME
            if not again and now - self._refusals[0] > REPEAT:
                self._refusals.append(now)
                self._logger.warning(f"trajectory rejected: {outcome.reason}")
        elif good or outcome.by_sender:
            self._logger.info(f"trajectory {ticket.number} {message}")
        else:
            self._logger.warning(f"trajectory {ticket.number} {message}")
        seconds, nanoseconds = divmod(ticket.stamp_ns, SECOND_NS)
        figures = {
            "state": outcome.state,
            "reason": outcome.reason,
            "code": outcome.cause,
            "id": str(ticket.number),
            "stamp": f"{seconds}.{nanoseconds:09d}",
            "frame_id": ticket.label,
        }
        bad = DiagnosticStatus.WARN if outcome.by_sender else DiagnosticStatus.ERROR
        level = DiagnosticStatus.OK if good else bad
        self._publisher.publish(status_of(level, self._name, message, figures))


Annotate = Callable[[TrajectoryRequest, Callable[[], bool]], TrajectoryRequest | None]


class BackgroundAnnotation:
    """Answers ``~/annotate`` on ``~/annotated``, or says why not, one after the other, in its own thread.

    ``annotate`` must not change what the thread of the commands uses; it returns None where nothing can be
    annotated yet, and gives up once the function that it is given returns true.
    """

    def __init__(self, node: Node, annotate: Annotate) -> None:
        self._logger = node.get_logger()
        self._annotate = annotate
        self._publisher = node.create_publisher(JointTrajectory, "~/annotated", OUTPUT_QOS)
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="annotate")
        self._waiting = threading.BoundedSemaphore(MOST_ANNOTATIONS)
        self.ended = False  # give up what is being annotated
        node.create_subscription(JointTrajectory, "~/annotate", self._begin, TRAJECTORY_QOS, raw=True)

    def finish(self) -> None:
        """Drop what waits, and give up what is being annotated."""
        self.ended = True
        self._worker.shutdown(cancel_futures=True)

    def _begin(self, data: bytes) -> None:
        if self._waiting.acquire(blocking=False):
            self._worker.submit(self._answer, data)
        else:
            self._logger.warning(
                f"trajectory not annotated: {MOST_ANNOTATIONS} wait already; send it again later",
                throttle_duration_sec=REPEAT,
            )

    def _answer(self, data: bytes) -> None:
        try:
            annotated = self._annotate(request_from_bytes(data), lambda: self.ended)
            if annotated is None:
                self._logger.warning("trajectory not annotated: the node is not configured")
            else:
                self._publisher.publish(bytes_from_request(annotated))
        except KaneDynamicsError as error:
            self._logger.warning(f"trajectory not annotated: {error}")
        except Exception as error:
            log_fault(self._logger, "~/annotate", error)
            self._logger.error("trajectory not annotated: it could not be read; the log has more")
        finally:
            self._waiting.release()
