"""A spin that answers one subscription before everything else, and cheaply.

``SingleThreadedExecutor`` gathers every entity of the node, makes a wait set and a task for each message:
at 1 kHz that is most of the time between a state and its command, and it grows with each service that a
lifecycle node has. Here the wait set is kept, the one message is taken and handed over directly, and only
when something else is ready does the executor run, for that. The wait set is rclpy's own class, which
rclpy keeps to itself: the same in Jazzy and Kilted, and tested with both.
"""

import time
from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node

NANOSECONDS = 1_000_000_000


class OwnSpin(CallbackGroup):
    """The callback group of the subscription that ``spin`` serves itself: no executor may."""

    def can_execute(self, entity: Any) -> bool:
        return False

    def beginning_execution(self, entity: Any) -> bool:
        return False

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
        self._gather()

    def spin(self, stopped: Callable[[], bool]) -> None:
        """Until ``stopped`` is true or the context is shut down."""
        next_watch = time.monotonic()
        while not stopped() and self._node.context.ok():
            if self._wait(next_watch - time.monotonic()):
                self._serve_rest()
            if time.monotonic() >= next_watch:
                self._watch()
                self._serve_rest()  # events and whatever else the wait set does not hold
                next_watch = time.monotonic() + self._period

    def shutdown(self) -> None:
        self._rest.shutdown()

    def _gather(self) -> None:
        """A wait set for all that the node has now."""
        node = self._node
        subscriptions = [each for each in node.subscriptions if each is not self._subscription]
        kinds: dict[str, list[Any]] = {
            "add_subscription": subscriptions,
            "add_guard_condition": list(node.guards),
            "add_timer": list(node.timers),
            "add_client": list(node.clients),
            "add_service": list(node.services),
        }
        self._others = [
            (kind, [each.handle for each in entities]) for kind, entities in kinds.items() if entities
        ]
        counts = [len(entities) for entities in kinds.values()]
        counts[0] += 1
        context = node.context.handle
        if context is not None:  # shut down: there is nothing to wait for
            with context:
                new_wait_set: Any = rclpy_implementation.WaitSet
                self._wait_set = new_wait_set(*counts, 0, context)

    def _wait(self, timeout: float) -> bool:
        """Wait, serve the subscription if it is ready; whether anything else is."""
        wait_set: Any = self._wait_set
        mine = self._subscription.handle
        wait_set.clear_entities()
        wait_set.add_subscription(mine)
        for kind, handles in self._others:
            add = getattr(wait_set, kind)
            for handle in handles:
                add(handle)
        wait_set.wait(max(int(timeout * NANOSECONDS), 0))
        ready = wait_set.get_ready_entities("subscription")
        if mine.pointer in ready:
            self._serve()
            ready.remove(mine.pointer)
        return bool(ready) or any(
            map(wait_set.get_ready_entities, ("service", "client", "timer", "guard_condition"))
        )

    def _serve(self) -> None:
        """Take the newest message and hand it over."""
        subscription = self._subscription
        taken = subscription.handle.take_message(subscription.msg_type, False)
        if taken is not None:
            subscription.callback(taken[0])

    def _serve_rest(self) -> None:
        """Run what is ready besides, which may add or remove entities."""
        self._rest.spin_once(timeout_sec=0.0)
        self._gather()
