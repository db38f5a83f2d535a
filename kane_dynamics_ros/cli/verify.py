"""``kane_dynamics verify``: every witness against a generated module, at random states."""

import argparse
from collections import defaultdict

from kane_dynamics_ros.cli.chain_arguments import add_chain_arguments, read_chain
from kane_dynamics_ros.cli.verification import differences, random_trials
from kane_dynamics_ros.description import Chain, physics_hash
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.runtime.interface import DynamicsModel

LARGEST_DIFFERENCE = 1e-9  # relative; rounding stays well below it


class AnotherRobotError(KaneDynamicsError):
    """The module was generated from other physics than the URDF holds."""

    def __init__(self, module: str, urdf: str, found: str, expected: str) -> None:
        self.module, self.urdf, self.found, self.expected = module, urdf, found, expected
        super().__init__(
            f"{module}: it was generated from a chain with hash {found}, but {urdf} (with this --tip and "
            f"--lock) has {expected}; generate it again, or give the URDF, tip and locks it was made from"
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("module", metavar="MODULE.py", help="generated module, or the name of a shipped one")
    parser.add_argument("--urdf", required=True, help="the URDF that it was generated from")
    add_chain_arguments(parser)
    parser.add_argument("--states", type=int, default=20, metavar="N", help="random states (default 20)")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="S", help="seed of the random states (default 0)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the largest relative difference of each check; 0 when all are below the limit, else 1."""
    model = load_model(arguments.module)
    chain = read_chain(arguments.urdf, arguments.tip or model.tip, arguments.lock)
    expected = physics_hash(chain)
    if model.urdf_hash != expected:
        raise AnotherRobotError(arguments.module, arguments.urdf, model.urdf_hash, expected)
    largest = largest_differences(model, chain, arguments.states, arguments.seed)
    print(f"{model.name}, {model.backend}: largest relative difference at {arguments.states} random states")
    for name, difference in largest.items():
        verdict = "" if difference < LARGEST_DIFFERENCE else "  TOO LARGE"
        print(f"  {name:28} {difference:.1e}{verdict}")
    agreed = all(difference < LARGEST_DIFFERENCE for difference in largest.values())
    print("verified" if agreed else f"NOT verified: the limit is {LARGEST_DIFFERENCE:.0e}")
    return 0 if agreed else 1


def largest_differences(model: DynamicsModel, chain: Chain, states: int, seed: int) -> dict[str, float]:
    """Of each witness and consistency check, over ``states`` random trials."""
    largest: dict[str, float] = defaultdict(float)
    for trial in random_trials(model, chain, states, seed):
        for name, difference in differences(trial).items():
            largest[name] = max(largest[name], difference)
    return dict(largest)
