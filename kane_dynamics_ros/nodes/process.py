"""A node as a process: how it starts, spins, and ends with exit code 0 on Ctrl-C, SIGTERM or a shutdown.

Signals are handled here, not by rclpy, whose handler shuts the context down at once: the node could not
publish a last safe command then.

``StateFirstSpin`` answers one subscription before everything else, and cheaply. ``SingleThreadedExecutor``
gathers every entity of the node and makes a wait set and a task for each message: at 1 kHz that is most of
the time between a state and its command, and it grows with each service that a lifecycle node has. Here a
wait set of the one subscription is kept and its messages are handed over directly; everything else is looked
at a hundred times a second, after a state was answered, and run by an executor. The wait set is rclpy's own
class, which it does not document: the same in Jazzy and Kilted, tested with both.
"""

import logging
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

import rclpy
import rclpy.logging
from rclpy.callback_groups import CallbackGroup
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.subscription import Subscription

from kane_dynamics_ros.control.validation import SECOND_NS
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.nodes.parameters import uniform_arguments
from kane_dynamics_ros.runtime.compilation import BuildInterruptedError

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
OTHERS_PERIOD = 0.01  # [s] between looks at trajectories, services and parameters
NEXT_PERIOD = 0.001  # [s] until the next look when there was something: one by one, states in between
EVENTS_PERIOD = 1.0  # [s] between looks at what wait sets of rclpy do not show: quality of service events
MOST_AT_ONCE = 100  # messages that are taken before they are answered
READY_KINDS = ("subscription", "guard_condition", "timer", "client", "service")


# Signals


class StopRequest:
    """Becomes true at the first SIGINT or SIGTERM."""

    def __init__(self) -> None:
        self.made = False
        for number in STOP_SIGNALS:
            signal.signal(number, self._make)

    def _make(self, number: int, frame: FrameType | None) -> None:
        self.made = True


class Stopped(BaseException):  # no Exception: nothing on the way may catch it and go on
    """A signal came while something ran that need not be finished."""


@contextmanager
def stopping_at_once() -> Iterator[None]:
    """Within, SIGINT and SIGTERM raise ``Stopped`` too: what takes long is left, as a compilation is."""
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}

    def stop(number: int, frame: FrameType | None) -> None:
        handler = before[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)
        raise Stopped

    for number in STOP_SIGNALS:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ignore_signals() -> None:
    """From now on: a second Ctrl-C would otherwise kill the process while it ends."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


# The process


class Spinning(Protocol):
    """A node that spins itself, and has something to do before its process ends."""

    def spin(self, stopped: Callable[[], bool]) -> None: ...

    def finish(self) -> None: ...


def run_node(build: Callable[[], Spinning]) -> int:
    """Build a node, spin it until it is asked to stop, let it finish; the process's exit code."""
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
            node.spin(lambda: stop.made)
        finally:
            node.finish()
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
        elif record.levelno >= logging.INFO:
            logger.info(text)
        else:
            logger.debug(text)


# The spin


class OwnSpin(CallbackGroup):
    """The callback group of a subscription that is served by ``StateFirstSpin`` or a thread of its own.

    No executor may serve it, but for its quality of service events.
    """

    def can_execute(self, entity: Any) -> bool:
        return not isinstance(entity, Subscription)

    def beginning_execution(self, entity: Any) -> bool:
        return not isinstance(entity, Subscription)

    def ending_execution(self, entity: Any) -> None: ...


class StateFirstSpin:
    """Spins a node; ``subscription`` belongs to an ``OwnSpin`` group, ``watch`` runs every ``period`` [s].

    ``watch`` runs on the steady clock, whatever system and simulated time do.
    """

    def __init__(
        self,
        node: Node,
        subscription: Any,
        serve: Callable[[list[tuple[Any, Any]]], None],
        watch: Callable[[], None],
        period: float,
    ) -> None:
        """``serve`` gets the messages that wait, oldest first, each with what the middleware says of it."""
        self._node, self._subscription, self._serve = node, subscription, serve
        self._watch, self._period = watch, period
        self._rest = SingleThreadedExecutor(context=node.context)
        self._rest.add_node(node)
        self._wait_set = new_wait_set(self._node.context, [1, 0, 0, 0, 0])
        self._gather_others()

    def spin(self, stopped: Callable[[], bool]) -> None:
        """Until ``stopped`` is true or the context is shut down."""
        next_watch = next_look = next_events = time.monotonic()
        while not stopped() and self._node.context.ok():
            self._serve_states(next_look)
            now = time.monotonic()
            if now >= next_look:
                busy = self._others_ready()
                if busy:
                    self._serve_others()
                next_look = now + (NEXT_PERIOD if busy else OTHERS_PERIOD)
            if now >= next_watch:
                next_watch = now + self._period
                self._watch()
                self._gather_others()  # it may have added or removed entities
            if now >= next_events:
                next_events = now + EVENTS_PERIOD
                self._serve_others()

    def spin_states(self, done: Callable[[], bool], longest: float) -> None:
        """Serve states alone until ``done``, for ``longest`` [s] at most; also from within a callback."""
        end = time.monotonic() + longest
        while not done() and time.monotonic() < end and self._node.context.ok():
            self._serve_states(min(end, time.monotonic() + OTHERS_PERIOD))

    def shutdown(self) -> None:
        self._rest.shutdown()

    def _serve_states(self, until: float) -> None:
        """Hand over the messages that have come as soon as there is one, or return at ``until`` [s]."""
        handle = self._subscription.handle
        self._wait_set.clear_entities()
        self._wait_set.add_subscription(handle)
        self._wait_set.wait(max(int((until - time.monotonic()) * SECOND_NS), 0))
        if self._wait_set.get_ready_entities("subscription"):
            kind = self._subscription.msg_type
            taken: list[tuple[Any, Any]] = []
            while len(taken) < MOST_AT_ONCE and (message := handle.take_message(kind, False)) is not None:
                taken.append(message)
            if taken:
                self._serve(taken)

    def _gather_others(self) -> None:
        """A wait set for everything else that the node has now."""
        node = self._node
        kinds: dict[str, list[Any]] = {
            "add_subscription": [
                each for each in node.subscriptions if not isinstance(each.callback_group, OwnSpin)
            ],
            "add_guard_condition": list(node.guards),
            "add_timer": list(node.timers),
            "add_client": list(node.clients),
            "add_service": list(node.services),
        }
        self._others = [(kind, each.handle) for kind, entities in kinds.items() for each in entities]
        counts = [len(entities) for entities in kinds.values()]
        self._waitables = []  # actions; quality of service events are served now and then
        for waitable in node.waitables:
            needed = waitable.get_num_entities()
            if not needed.num_events:
                self._waitables.append(waitable)
                more = [needed.num_subscriptions, needed.num_guard_conditions, needed.num_timers]
                more += [needed.num_clients, needed.num_services]
                counts = [count + extra for count, extra in zip(counts, more, strict=True)]
        self._others_wait_set = new_wait_set(node.context, counts)

    def _others_ready(self) -> bool:
        """Look, without waiting, whether there is anything to do besides states."""
        wait_set = self._others_wait_set
        wait_set.clear_entities()
        for kind, handle in self._others:
            getattr(wait_set, kind)(handle)
        for waitable in self._waitables:
            waitable.add_to_wait_set(wait_set)
        wait_set.wait(0)
        return any(wait_set.get_ready_entities(kind) for kind in READY_KINDS)

    def _serve_others(self) -> None:
        """Run what is ready besides, which may add or remove entities."""
        self._rest.spin_once(timeout_sec=0.0)
        self._gather_others()


def new_wait_set(context: Context, counts: Sequence[int]) -> Any:
    """A wait set for so many subscriptions, guard conditions, timers, clients and services."""
    handle = context.handle
    if handle is None:
        raise ExternalShutdownException
    wait_set: Any = rclpy_implementation.WaitSet
    with handle:
        return wait_set(*counts, 0, handle)
