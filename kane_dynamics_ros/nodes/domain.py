"""The nodes of a ROS domain: find a domain without any, or guard one that should stay private.

``python -m kane_dynamics_ros.nodes.domain`` prints a domain on which there is no node. With
``--guard NAMESPACE ...`` it watches the domain of its environment and ends with exit code 2, naming the node,
as soon as one appears that is in none of these namespaces; Ctrl-C ends it with 0.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rclpy.context import Context
from rclpy.node import Node

from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.nodes.process import StopRequest
from kane_dynamics_ros.ros_domain import foreign_nodes_appeared, free_domain, private_variables

DISCOVERY_TIME = 1.5  # [s] in which every participant announces itself: DDS takes tenths of a second
PERIOD = 0.1  # [s] between two looks at the graph


def foreign_nodes(node: Node, namespaces: Sequence[str]) -> list[str]:
    """Full names of the nodes that are in none of the namespaces, hidden ones and ``node`` itself aside.

    Names with a leading underscore are hidden by convention: ``ros2 topic echo`` and its like only look.
    """
    own = (node.get_namespace(), node.get_name())
    others = (
        (space, name)
        for name, space in node.get_node_names_and_namespaces()
        if (space, name) != own and not name.startswith("_")
    )
    return sorted(
        f"{space.rstrip('/')}/{name}"
        for space, name in others
        if not any(f"{space.rstrip('/')}/".startswith(f"{ours.rstrip('/')}/") for ours in namespaces)
    )


def is_empty(domain: int, seconds: float = DISCOVERY_TIME) -> bool:
    """Whether no node of the ROS graph is heard on a domain for a while."""
    with watcher(domain) as node:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if foreign_nodes(node, ()):
                return False
            time.sleep(PERIOD)
    return True


def guard(namespaces: Sequence[str]) -> None:
    """Watch the environment's domain until a signal ends it.

    Raises ``DomainError`` when a node outside the namespaces has appeared.
    """
    stop = StopRequest()
    domain = int(os.environ.get("ROS_DOMAIN_ID", "0"))
    with watcher(domain) as node:
        while not stop.made:
            if found := foreign_nodes(node, namespaces):
                raise foreign_nodes_appeared(domain, found)
            time.sleep(PERIOD)


@contextmanager
def watcher(domain: int) -> Iterator[Node]:
    """A hidden node with a context of its own, which only looks."""
    os.environ.update(private_variables(domain))
    context = Context()
    context.init(domain_id=domain)
    try:
        node = Node(
            "_domain_watcher",
            context=context,
            enable_rosout=False,
            start_parameter_services=False,
            use_global_arguments=False,
        )
        yield node
        node.destroy_node()
    finally:
        context.shutdown()


def main(arguments: Sequence[str] | None = None) -> int:
    """The process; its exit code."""
    parser = argparse.ArgumentParser(prog="python -m kane_dynamics_ros.nodes.domain", description=__doc__)
    parser.add_argument("--guard", nargs="+", metavar="NAMESPACE", help="watch ROS_DOMAIN_ID")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.guard:
            guard(chosen.guard)
        else:
            with free_domain(empty=is_empty) as domain:
                print(domain)
    except KaneDynamicsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
