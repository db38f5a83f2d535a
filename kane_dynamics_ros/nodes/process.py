"""A node as a process: how it starts, spins, and ends with exit code 0 on Ctrl-C, SIGTERM or a shutdown.

Signals are handled here, not by rclpy, whose handler shuts the context down at once: the node could not
publish a last safe command then.

The nodes work under any executor of rclpy. Their own processes use the two below. ``GuardedExecutor``
outlives an exception in a callback, since the process controls an arm. ``StateFirstExecutor`` answers one
subscription before everything else, and cheaply: rclpy's executors gather every entity of a node and make a
wait set and a task for each message. Beside a bare rclpy node that echoes, at 1 kHz, SingleThreadedExecutor
made the round trip of a state 1.56 times as long, with the states on a node and an executor of their own 1.33
times, this one 0.88 times (medians; allowed is 1.15).
"""

import logging
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import rclpy
import rclpy.logging
from rclpy.callback_groups import CallbackGroup
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.context import Context
from rclpy.exceptions import InvalidHandle
from rclpy.executors import (
    Executor,
    ExternalShutdownException,
    ShutdownException,
    SingleThreadedExecutor,
    TimeoutException,
)
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.subscription import Subscription

from kane_dynamics_ros.control.validation import SECOND_NS
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.nodes.parameters import uniform_arguments
from kane_dynamics_ros.runtime.compilation import BuildInterruptedError

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
LAUNCHED_BY = "KANE_DYNAMICS_ROS_LAUNCHED_BY"  # environment: the id of the process with which a node ends
LAUNCH_PERIOD = 0.5  # [s] between looks for it
STOP_PERIOD = 0.1  # [s] between looks whether to stop, while nothing else happens
OTHERS_PERIOD = 0.01  # [s] between looks at trajectories, services and parameters
MOST_AT_ONCE = 100  # messages that are taken before they are answered


# Signals


class Stopped(BaseException):  # no Exception: nothing on the way may catch it and go on
    """A signal came while something ran that need not be finished."""


class StopRequest:
    """Becomes true at the first SIGINT or SIGTERM; within ``stopping_at_once`` they raise ``Stopped`` too."""

    at_once = False  # of the whole process, as its signals are

    def __init__(self) -> None:
        self.made = False
        for number in STOP_SIGNALS:
            signal.signal(number, self._make)

    def _make(self, number: int, frame: FrameType | None) -> None:
        self.made = True
        if StopRequest.at_once:
            raise Stopped


@contextmanager
def stopping_at_once() -> Iterator[None]:
    """Within, what takes long is left at a signal, as a compilation is.

    Without effect outside of the main thread, which alone can handle signals.
    """
    StopRequest.at_once = threading.current_thread() is threading.main_thread()
    try:
        yield
    finally:
        StopRequest.at_once = False


def ignore_signals() -> None:
    """From now on: a second Ctrl-C would otherwise kill the process while it ends."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


# The process


def run_node(build: Callable[[], Node], executor_of: Callable[[Any], Executor] | None = None) -> int:
    """Build a node, spin it until it is asked to stop, destroy it; the process's exit code.

    ``executor_of`` makes its executor; a ``GuardedExecutor`` where it is None.
    """
    stop = StopRequest()
    with tempfile.TemporaryDirectory(prefix="kane_dynamics_ros_") as folder:
        arguments = uniform_arguments(sys.argv, Path(folder))
        try:
            rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
        except RuntimeError as error:  # rclpy's, of ROS arguments that cannot be read
            print(f"error: {error}", file=sys.stderr)
            return 2
    log_to_ros()
    try:
        node = build()
        try:
            executor = (executor_of or GuardedExecutor)(node)
            executor.add_node(node)
            end_with_launch(node, stop)
            while node.context.ok() and not stop.made:
                executor.spin_once(timeout_sec=STOP_PERIOD)
        finally:
            node.destroy_node()
    except (ExternalShutdownException, Stopped, BuildInterruptedError):
        return 0
    except KaneDynamicsError as error:
        if stop.made:  # what a signal interrupted, such as a compilation, is no fault
            return 0
        print(f"error: {error}", file=sys.stderr)
        return 2
    finally:
        ignore_signals()
        rclpy.try_shutdown()
    return 0


def end_with_launch(node: Node, stop: StopRequest) -> None:
    """Make ``stop`` when the launch that started this process is gone; nothing where no launch did.

    ``ros2 launch`` ends its nodes on Ctrl-C; on SIGTERM or SIGKILL it ends alone, and they would go on.
    """
    launch = os.environ.get(LAUNCHED_BY, "")

    def check() -> None:
        try:
            os.kill(int(launch), 0)  # sends nothing
        except ProcessLookupError:
            if not stop.made:
                node.get_logger().error("the launch that started this node is gone: ending too")
            stop.made = True
        except PermissionError:  # it is there, and another user's
            pass

    if launch.isdecimal():
        steady_timer(node, LAUNCH_PERIOD, check)


def steady_timer(node: Node, period: float, callback: Callable[[], None]) -> None:
    """Call back every ``period`` [s] of a clock that never steps, whatever time ROS has."""
    node.create_timer(period, callback, clock=Clock(clock_type=ClockType.STEADY_TIME))


def log_to_ros() -> None:
    """From now on, warnings and news of the package's other rooms go to the ROS log."""
    log = logging.getLogger(__name__.partition(".")[0])
    if not any(isinstance(each, RosLogHandler) for each in log.handlers):
        log.addHandler(RosLogHandler())
        log.setLevel(logging.INFO)
        log.propagate = False


class RosLogHandler(logging.Handler):
    """Hands what this package logs over to the ROS log: a compilation takes long, and says so."""

    def emit(self, record: logging.LogRecord) -> None:
        logger, text = rclpy.logging.get_logger(record.name), self.format(record)
        if record.levelno >= logging.ERROR:  # a line for each severity, which rclpy keeps by line
            logger.error(text)
        elif record.levelno >= logging.WARNING:
            logger.warning(text)
        else:
            logger.info(text)


# Executors


class GuardedExecutor(SingleThreadedExecutor):
    """rclpy's executor, which goes on after an exception in a callback.

    Exceptions are counted in ``failures`` by their kind; the first of a kind is logged with its traceback. A
    message on /clock with a negative time, for instance, raises a ``ValueError`` within rclpy.
    """

    def __init__(self, node: Node) -> None:
        super().__init__(context=node.context)
        self.failures: Counter[str] = Counter()
        self._logger = node.get_logger()

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """As rclpy's."""
        try:
            super().spin_once(timeout_sec)
        except ExternalShutdownException:
            raise
        except Exception as error:
            self._count_failure(error)

    def _count_failure(self, error: BaseException) -> None:
        place = traceback.extract_tb(error.__traceback__)[-1]
        kind = f"{type(error).__name__} in {place.name}"
        self.failures[kind] += 1
        if self.failures[kind] == 1:
            lines = "".join(traceback.format_exception(error))
            self._logger.error(f"a callback failed; the node goes on, and counts more of the kind: {lines}")


class StateFirstExecutor(GuardedExecutor):
    """Serves one subscription of a node before everything else.

    A wait set of that subscription is kept, and its messages are handed over directly, after those that wait
    on /clock. Everything else is looked at a hundred times a second, after a state was answered, and whenever
    a task is ready: rclpy wakes its executors then. The wait set is rclpy's own class, which it does not
    document: the same in Jazzy and Kilted, tested with both. More nodes may be added, as to any executor.
    """

    def __init__(
        self,
        node: Node,
        subscription: "Subscription[Any]",
        serve: Callable[[list[tuple[Any, Any]]], None],
    ) -> None:
        """``serve`` gets the messages that wait, oldest first, each with what the middleware says of it."""
        super().__init__(node)
        self._node, self._first, self._serve = node, subscription, serve
        self._clocks: list[Subscription[Any]] = []  # those of use_sim_time
        self._wait_set = new_wait_set(node.context, [1, 1, 0, 0, 0])
        self._next_look = 0.0

    def can_execute(self, entity: Any) -> bool:
        """As rclpy's, but for the subscription that is served here."""
        return entity is not self._first and super().can_execute(entity)

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Serve what comes until it is time for a look at everything else, or for ``timeout_sec``."""
        until = self._next_look
        if timeout_sec is not None and timeout_sec >= 0.0:
            until = min(until, time.monotonic() + timeout_sec)
        if self._serve_first(until) or time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + OTHERS_PERIOD
            self._serve_others()

    def _serve_first(self, until: float) -> bool:
        """Hand over the messages that have come, at ``until`` [s] at the latest; whether a task is ready."""
        wait_set, guard = self._wait_set, self._guard
        if guard is None or self._is_shutdown:
            return False
        try:
            with self._first.handle, guard.handle:  # which a shutdown in another thread would destroy
                wait_set.clear_entities()
                wait_set.add_subscription(self._first.handle)
                wait_set.add_guard_condition(guard.handle)
                wait_set.wait(max(int((until - time.monotonic()) * SECOND_NS), 0))
                came = bool(wait_set.get_ready_entities("subscription"))
                woken = bool(wait_set.get_ready_entities("guard_condition"))
        except InvalidHandle:  # destroyed
            return False
        if came:
            for clock in self._clocks:  # what was published before the states tells their time
                for message, _ in take_all(clock):
                    self._guarded(clock.callback, message)
            if taken := take_all(self._first):
                self._guarded(self._serve, taken)
        return woken

    def _guarded(self, callback: Callable[..., Any], argument: Any) -> None:
        try:
            callback(argument)
        except Exception as error:
            self._count_failure(error)

    def _serve_others(self) -> None:
        """Run whatever else is ready, with the states that come meanwhile in between."""
        topic = self._node.resolve_topic_name("/clock")
        self._clocks = [each for each in self._node.subscriptions if each.topic_name == topic]
        try:
            while True:
                handler, _, _ = self.wait_for_ready_callbacks(timeout_sec=0.0)
                handler()
                if (error := handler.exception()) is not None:
                    self._count_failure(error)
                if self._serve_first(0.0):
                    self._next_look = 0.0
        except (TimeoutException, ShutdownException):  # nothing more is ready
            pass
        except ExternalShutdownException:
            raise
        except Exception as error:
            self._count_failure(error)


def take_all(subscription: "Subscription[Any]") -> list[tuple[Any, Any]]:
    """The messages that wait, oldest first, each with what the middleware says of it.

    None of a subscription that is destroyed, as that of /clock is when ``use_sim_time`` is switched off.
    """
    taken: list[tuple[Any, Any]] = []
    handle, kind = subscription.handle, subscription.msg_type
    with suppress(InvalidHandle), handle:  # which keeps another thread from destroying it meanwhile
        while len(taken) < MOST_AT_ONCE and (message := handle.take_message(kind, False)) is not None:
            taken.append(message)
    return taken


class OwnThread(CallbackGroup):
    """The callback group of a subscription that is served by a thread of its own, not by an executor.

    An executor serves its quality of service events.
    """

    def can_execute(self, entity: Any) -> bool:
        return not isinstance(entity, Subscription)

    def beginning_execution(self, entity: Any) -> bool:
        return not isinstance(entity, Subscription)

    def ending_execution(self, entity: Any) -> None: ...


def new_wait_set(context: Context, counts: Sequence[int]) -> Any:
    """A wait set for so many subscriptions, guard conditions, timers, clients and services."""
    handle = context.handle
    if handle is None:
        raise ExternalShutdownException
    wait_set: Any = rclpy_implementation.WaitSet
    with handle:
        return wait_set(*counts, 0, handle)
