"""A ROS domain of one's own: claimed by a lock, found empty, and foreign nodes on it are named.

Two runs on one machine must not hear each other's ``joint_states``. ``free_domain`` gives a domain that no
other run of this package holds (each holds one TCP port of its domain's range, which the system frees with
the process) and on which no DDS participant of this machine listens (the UDP ports that the RTPS standard,
9.6.1.1, derives from the domain's number are free). With ``ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST``, as in
``private_environment``, no other machine's nodes are on it. ``kane_dynamics_ros.nodes.domain`` watches it.
"""

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kane_dynamics_ros.errors import KaneDynamicsError

DOMAINS = range(20, 100)  # below 102: from there on the ports are those that Linux gives to clients
FIRST_PORT, PORTS_A_DOMAIN, FIRST_UNICAST = 7400, 250, 10  # RTPS 9.6.1.1: PB, DG, d1
PARTICIPANTS = 20  # of one domain, two ports each, whose ports are looked at


class DomainError(KaneDynamicsError):
    """A ROS domain cannot be had, or not be kept, for ourselves.

    Codes: ``none_free`` (``domains``); ``foreign`` (``domain``, ``names``: of the nodes that appeared on it).
    """


@contextmanager
def free_domain(domains: Sequence[int] = DOMAINS) -> Iterator[int]:
    """A domain that no other process uses, one of ``domains``, held until the context ends.

    Raises ``DomainError``.
    """
    for domain in domains:
        last = FIRST_PORT + PORTS_A_DOMAIN * (domain + 1) - 1  # of a participant that no machine has
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as lock:
            if _bound(lock, "127.0.0.1", last) and all(map(_is_free, ports(domain))):
                yield domain
                return
    raise DomainError(
        f"no ROS domain from {domains[0]} to {domains[-1]} is free: other nodes of this machine are on "
        "each; end those that are not needed",
        "none_free",
        domains=tuple(domains),
    )


def private_environment(domain: int) -> dict[str, str]:
    """This process's environment, on a domain that does not leave the machine."""
    return {**os.environ, **private_variables(domain)}


def private_variables(domain: int) -> dict[str, str]:
    """The variables alone that put a process on a domain that does not leave the machine."""
    return {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}


def ports(domain: int) -> list[int]:
    """The UDP ports of a domain: multicast discovery, and unicast discovery and data of each participant."""
    base = FIRST_PORT + PORTS_A_DOMAIN * domain
    return [base, *range(base + FIRST_UNICAST, base + FIRST_UNICAST + 2 * PARTICIPANTS)]


def _is_free(port: int) -> bool:
    """Whether no process of this machine listens on a UDP port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        return _bound(probe, "", port)


def _bound(own: socket.socket, address: str, port: int) -> bool:
    """Bind a socket; False where another one has the port."""
    try:
        own.bind((address, port))
    except OSError:
        return False
    return True
