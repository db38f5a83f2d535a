"""A feedforward node as a process with a lab beside it, for the modules that name a ``DOMAIN``."""

import pytest


@pytest.fixture
def lab(request):
    """A lab on the module's domain."""
    from feedforward_lab import Lab

    lab = Lab(request.module.DOMAIN)
    yield lab
    lab.close()


@pytest.fixture
def start(request, tmp_path):
    """Factory of a node with ROS arguments and its lab, a new one unless it is given; all ends with the test.

    The module's ``ARGUMENTS``, otherwise ``PATIENT``, come first. With ``urdf`` the lab publishes it as
    robot_description before the node starts.
    """
    from feedforward_lab import PATIENT, FeedforwardProcess, Lab

    domain, common = request.module.DOMAIN, getattr(request.module, "ARGUMENTS", PATIENT)
    ends = []

    def make(*arguments, namespace="", urdf=None, lab=None):
        if lab is None:
            lab = Lab(domain, namespace)
            ends.append(lab.close)
        if urdf is not None:
            lab.describe(urdf)
        log = tmp_path / f"log{len(ends)}"
        node = FeedforwardProcess(log, domain, *common, *arguments, namespace=namespace)
        ends.append(node.kill)
        return node, lab

    yield make
    for end in reversed(ends):
        end()
