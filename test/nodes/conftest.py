"""A feedforward node as a process with a lab beside it, on the domain of the file.

A lab is closed before the node is killed. Fast DDS guards the memory that two processes share by a lock; a
process killed within it leaves it locked, and the other dies of a segmentation fault when it closes then.
"""

import pytest


@pytest.fixture
def lab(ros_domain, start):
    """A lab on the file's domain, closed before the nodes of ``start`` are killed."""
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
    labs, nodes = [], []

    def make(*arguments, namespace="", urdf=None, lab=None):
        if lab is None:
            lab = Lab(ros_domain, namespace)
            labs.append(lab)
        if urdf is not None:
            lab.describe(urdf)
        log = tmp_path / f"log{len(nodes)}"
        nodes.append(FeedforwardProcess(log, ros_domain, *common, *arguments, namespace=namespace))
        return nodes[-1], lab

    yield make
    for each in labs:
        each.close()
    for each in nodes:
        each.kill()
