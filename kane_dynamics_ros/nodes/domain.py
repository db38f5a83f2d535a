"""Guard a ROS domain that should stay private.

``python -m kane_dynamics_ros.nodes.domain --guard NAMESPACE ...`` watches the domain of its environment. It
names a node that appears in none of these namespaces and ends with exit code 2; Ctrl-C ends it with 0.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence

from rclpy.context import Context
from rclpy.node import Node

from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.nodes.process import StopRequest
from kane_dynamics_ros.ros_domain import DomainError, private_variables

PERIOD = 0.1  # [s] between two looks at the graph


def foreign_nodes(node: Node, namespaces: Sequence[str]) -> list[str]:
    """Full names of the nodes that are in none of the namespaces, hidden ones and ``node`` itself aside.

    Names with a leading underscore are hidden by convention: ``ros2 topic echo`` and its like only look.
    """
    own = (node.get_namespace(), node.get_name())
    others = (
        f"{space.rstrip('/')}/{name}"
        for name, space in node.get_node_names_and_namespaces()
        if (space, name) != own and not name.startswith("_")
    )
    ours = tuple(f"{space.rstrip('/')}/" for space in namespaces)
    return sorted(name for name in others if not name.startswith(ours))


def guard(namespaces: Sequence[str]) -> None:
    """Watch the environment's domain until a signal ends it.

    Raises ``DomainError`` when a node outside the namespaces has appeared.
    """
    stop = StopRequest()
    domain = int(os.environ.get("ROS_DOMAIN_ID", "0"))
    os.environ.update(private_variables(domain))
    context = Context()
    context.init(domain_id=domain)
    node = Node(
        "_domain_watcher",
        context=context,
        enable_rosout=False,
        start_parameter_services=False,
        use_global_arguments=False,
    )
    try:
        while not stop.made:
            if found := foreign_nodes(node, namespaces):
                raise DomainError(
                    f"ROS domain {domain} is not ours alone: {', '.join(found)} appeared on it; nothing "
                    "more is commanded; end it, or give it another ROS_DOMAIN_ID",
                    "foreign",
                    domain=domain,
                    names=tuple(found),
                )
            time.sleep(PERIOD)
    finally:
        node.destroy_node()
        context.shutdown()


def main(arguments: Sequence[str] | None = None) -> int:
    """The process; its exit code."""
    parser = argparse.ArgumentParser(prog="python -m kane_dynamics_ros.nodes.domain", description=__doc__)
    parser.add_argument("--guard", nargs="+", metavar="NAMESPACE", required=True, help="of the nodes known")
    try:
        guard(parser.parse_args(arguments).guard)
    except KaneDynamicsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
