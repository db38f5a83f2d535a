"""ROS domains for this run of the tests alone: no other run on this machine is given them."""

import os
from contextlib import ExitStack

from kane_dynamics_ros.ros_domain import free_domain, private_variables

_claims = ExitStack()  # until the process ends, which releases every lock


def own_domain() -> int:
    """A domain that nobody else uses; another one at each call."""
    return _claims.enter_context(free_domain())


def own_environment() -> dict[str, str]:
    """This process's environment, on a domain of ``own_domain``."""
    return {**os.environ, **private_variables(own_domain())}
