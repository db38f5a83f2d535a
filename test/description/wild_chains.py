"""Every chain of every example robot, against Pinocchio."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from example_robots import ROBOTS
from whole_robot_witness import PinocchioChain

from kane_dynamics_ros.description import Chain, DescriptionError, Robot, load_robot, serial_chain
from kane_dynamics_ros.description.model import MOVING
from kane_dynamics_ros.description.tree import path_to

Torques = Callable[..., np.ndarray]  # of (chain, q, qd, qdd)
FILES = sorted(path.relative_to(ROBOTS).as_posix() for path in ROBOTS.rglob("*.urdf"))


class Tried(NamedTuple):
    """What became of one chain: the chain, or why it was refused."""

    tip: str
    chain: Chain | None
    refusal: DescriptionError | None


def tips(robot: Robot) -> Iterator[str]:
    """The leaves that moving joints lead to; of several at the end of the same joints only the first."""
    below = robot.below
    seen: set[tuple[str, ...]] = set()
    for link in robot.links:
        if link.name not in below:
            moving = tuple(joint.name for joint in path_to(robot, link.name) if joint.kind in MOVING)
            if moving and moving not in seen:
                seen.add(moving)
                yield link.name


def tried(robot: Robot) -> Iterator[Tried]:
    """Every chain of a robot."""
    for tip in tips(robot):
        try:
            yield Tried(tip, serial_chain(robot, tip), None)
        except DescriptionError as error:
            yield Tried(tip, None, error)


def disagreement(text: str, robot: Robot, chain: Chain, torques: Torques, states: int = 3) -> float:
    """Largest difference of torques to Pinocchio's at random states, over the largest torque of the state."""
    witness = PinocchioChain(text, robot, chain)
    random = np.random.default_rng(len(chain.joints))
    worst = 0.0
    for _ in range(states):
        state = random.uniform(-1.5, 1.5, (3, len(chain.coordinates)))
        expected = witness.inverse_dynamics(*state)
        difference = np.abs(torques(chain, *state) - expected).max()
        worst = max(worst, difference / max(np.abs(expected).max(), 1e-12))
    return worst


def robot_and_text(file: str) -> tuple[Robot, str]:
    return load_robot(ROBOTS / file), (ROBOTS / file).read_text()
