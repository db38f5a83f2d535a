"""ROS domains for this run of the tests alone: no other run on this machine is given them."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from kane_dynamics_ros.ros_domain import free_domain, private_variables

_claims = [ExitStack()]  # the innermost last; the first ends with the process, which releases every lock


def own_domain() -> int:
    """A domain that nobody else uses, another one at each call, until the test ends that asked for it.

    What a file, or a fixture of several tests, asks for is kept until the process ends.
    """
    return _claims[-1].enter_context(free_domain())


@contextmanager
def claims_of_one_test() -> Iterator[None]:
    """Gives back at the end what is asked for within: all runs on this machine share 80 domains."""
    with ExitStack() as claims:
        _claims.append(claims)
        try:
            yield
        finally:
            _claims.remove(claims)


def own_environment() -> dict[str, str]:
    """This process's environment, on a domain of ``own_domain``."""
    return {**os.environ, **private_variables(own_domain())}
