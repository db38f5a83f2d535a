"""A feedforward node as a process with a lab beside it, on the domain of the file."""

import pytest


@pytest.fixture
def lab(ros_domain):
    """A lab on the file's domain."""
    from feedforward_lab import Lab

    lab = Lab(ros_domain)
    yield lab
    lab.close()


@pytest.fixture
def start(request, ros_domain, tmp_path):
    """Factory of a node with ROS arguments and its lab, a new one unless it is given; all ends with the test.

    The module's ``ARGUMENTS``, otherwise ``PATIENT``, come first. With ``urdf`` the lab publishes it as
    robot_description before the node starts.
    """
    from feedforward_lab import PATIENT, FeedforwardProcess, Lab

    common = getattr(request.module, "ARGUMENTS", PATIENT)
    ends = []

    def make(*arguments, namespace="", urdf=None, lab=None):
        if lab is None:
            lab = Lab(ros_domain, namespace)
            ends.append(lab.close)
        if urdf is not None:
            lab.describe(urdf)
        log = tmp_path / f"log{len(ends)}"
        node = FeedforwardProcess(log, ros_domain, *common, *arguments, namespace=namespace)
        ends.append(node.kill)
        return node, lab

    yield make
    for end in reversed(ends):
        end()
