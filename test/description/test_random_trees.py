"""Random URDF trees against Pinocchio: up to 30 joints in a row, every kind of joint, branches, followers."""

from random import Random

import numpy as np
import pytest
from chain_torques import inverse_dynamics
from small_urdf import INERTIA, joint, link, robot
from whole_robot_witness import PinocchioChain

from kane_dynamics_ros.description import parse_robot, serial_chain

KINDS = ["revolute", "continuous", "prismatic"]


def three(random, largest):
    return " ".join(repr(random.uniform(-largest, largest)) for _ in range(3))


def random_link(random, name, scale):
    """A link with a physical inertia: principal moments a + b, b + c, c + a, in a turned frame."""
    if random.random() < 0.1:
        return link(name, "")
    a, b, c = (scale * random.uniform(0.001, 0.1) for _ in range(3))
    mass = scale * random.uniform(0.1, 5)
    return link(
        name,
        f'<inertial><origin xyz="{three(random, 0.2)}" rpy="{three(random, 3)}"/><mass value="{mass!r}"/>'
        f'<inertia ixx="{a + b!r}" iyy="{b + c!r}" izz="{c + a!r}" ixy="0" ixz="0" iyz="0"/></inertial>',
    )


def random_joint(random, name, parent, child, kind, leader=None):
    multiplier = random.uniform(-2, 2)
    follow = f'<mimic joint="{leader}" multiplier="{multiplier!r}" offset="0.1"/>' if leader else ""
    limit = '<limit lower="0.1" upper="9" velocity="1" effort="1"/>'
    inside = "" if kind == "fixed" else f'<axis xyz="{three(random, 1)}"/>{limit}{follow}'
    return joint(name, parent, child, kind, inside, three(random, 0.5), three(random, 3))


def random_robot(seed):
    """A trunk of 2 to 30 independent joints with followers and fixed ones among them, and branches on it.

    The elements come in any order, and masses are of any size.
    """
    random = Random(seed)
    scale, n = 10.0 ** random.randint(-6, 6), random.randint(2, 30)
    parts, parent, movers = [random_link(random, "base", scale)], "base", []
    while len(movers) < n:
        name = str(len(parts))
        kind = random.choice([*KINDS, "fixed"])
        leader = random.choice(movers) if movers and kind != "fixed" and random.random() < 0.15 else None
        parts.append(random_link(random, f"l{name}", scale))
        parts.append(random_joint(random, f"j{name}", parent, f"l{name}", kind, leader))
        parent = f"l{name}"
        if kind != "fixed" and leader is None:
            movers.append(f"j{name}")
        if random.random() < 0.3:
            parts.append(random_link(random, f"b{name}", scale))
            kind = random.choice([*KINDS, "fixed"])
            parts.append(random_joint(random, f"c{name}", parent, f"b{name}", kind))
    parts += [link("tip", INERTIA), joint("last", parent, "tip", "fixed", "")]
    random.shuffle(parts)
    return robot(*parts), n


@pytest.mark.parametrize("seed", range(25))
def test_random_tree_agrees_with_pinocchio(seed):
    text, n = random_robot(seed)
    tree = parse_robot(text)
    chain = serial_chain(tree, "tip")
    assert len(chain.coordinates) == n
    witness = PinocchioChain(text, tree, chain)
    for state in np.random.default_rng(seed).uniform(-1, 1, (3, 3, n)):
        expected = witness.inverse_dynamics(*state)
        # Up to 30 joints whose speeds add up: hundreds of roundings of 1e-16 each.
        atol = 1e-12 * np.abs(expected).max()
        np.testing.assert_allclose(inverse_dynamics(chain, *state), expected, rtol=0, atol=atol)
