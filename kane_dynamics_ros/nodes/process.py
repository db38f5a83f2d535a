"""A node as a process: start, spin, and end with exit code 0 on Ctrl-C, SIGTERM or a shutdown.

Signals are handled here, not by rclpy, whose handler shuts the context down at once: the node could not
publish a last safe command then.
"""

import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

import rclpy
from rclpy.callback_groups import CallbackGroup
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.subscription import Subscription

from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.nodes.clocks import NANOSECONDS
from kane_dynamics_ros.nodes.parameters import uniform_arguments


class Spinning(Protocol):
    """A node that spins itself, and has something to do before its process ends."""

    def spin(self, stopped: Callable[[], bool]) -> None: ...

    def finish(self) -> None: ...


class StopRequest:
    """Becomes true at the first SIGINT or SIGTERM."""

    def __init__(self) -> None:
        self.made = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._make)

    def _make(self, number: int, frame: FrameType | None) -> None:
        self.made = True


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
    try:
        node = build()
        try:
            node.spin(lambda: stop.made)
        finally:
            node.finish()
    except ExternalShutdownException:
        return 0
    except KaneDynamicsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    finally:
        rclpy.try_shutdown()
    return 0


# A spin that answers one subscription before everything else, and cheaply.
#
# ``SingleThreadedExecutor`` gathers every entity of the node, makes a wait set and a task for each message:
# at 1 kHz that is most of the time between a state and its command, and it grows with each service that a
# lifecycle node has. Here a wait set of the one subscription is kept and its message handed over directly;
# everything else is looked at a hundred times a second, after a state was answered, and run by an executor.
# The wait set is rclpy's own class, which it keeps to itself: the same in Jazzy and Kilted, tested with both.


OTHERS_PERIOD = 0.01  # [s] between looks at trajectories, services and parameters
NEXT_PERIOD = 0.001  # [s] until the next look when there was something: one by one, states in between
EVENTS_PERIOD = 1.0  # [s] between looks at what wait sets of rclpy do not show: quality of service events
READY_KINDS = ("subscription", "guard_condition", "timer", "client", "service")


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

    def __init__(self, node: Node, subscription: Any, watch: Callable[[], None], period: float) -> None:
        self._node, self._subscription = node, subscription
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

    def shutdown(self) -> None:
        self._rest.shutdown()

    def _serve_states(self, until: float) -> None:
        """Hand over the newest message as soon as it comes, or return at ``until`` [s]."""
        handle = self._subscription.handle
        self._wait_set.clear_entities()
        self._wait_set.add_subscription(handle)
        self._wait_set.wait(max(int((until - time.monotonic()) * NANOSECONDS), 0))
        if self._wait_set.get_ready_entities("subscription"):
            taken = handle.take_message(self._subscription.msg_type, False)
            if taken is not None:
                self._subscription.callback(taken[0])

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
        self._others_wait_set = new_wait_set(node.context, [len(entities) for entities in kinds.values()])

    def _others_ready(self) -> bool:
        """Look, without waiting, whether there is anything to do besides states."""
        wait_set = self._others_wait_set
        wait_set.clear_entities()
        for kind, handle in self._others:
            getattr(wait_set, kind)(handle)
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
