"""``kane_dynamics verify``: every witness against a generated module, at random states."""

import argparse

from kane_dynamics_ros.cli.chain_arguments import add_chain_arguments, read_chain
from kane_dynamics_ros.cli.verification import largest_differences
from kane_dynamics_ros.cli.verification_record import write_record
from kane_dynamics_ros.description import physics_hash
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.runtime.load import find_module, load_model

LARGEST_DIFFERENCE = 1e-9  # relative; rounding stays well below it


class AnotherRobotError(KaneDynamicsError):
    """The module was generated from other physics than the URDF holds."""

    def __init__(self, module: str, urdf: str, found: str, expected: str) -> None:
        self.module, self.urdf, self.found, self.expected = module, urdf, found, expected
        super().__init__(
            f"{module}: it was generated from a chain with hash {found[:16]}, but {urdf} with the same tip "
            f"and locks has {expected[:16]}; generate it again, or give the URDF that it was made from"
        )


def positive(text: str) -> int:
    """A whole number above 0, for argparse."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


def not_negative(text: str) -> int:
    """A whole number from 0 on, for argparse."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is below 0")
    return number


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("module", metavar="MODULE", help="a generated NAME.py, or a shipped model's name")
    parser.add_argument("--urdf", required=True, help="the URDF that it was generated from")
    add_chain_arguments(parser, tip="the module's", lock="the module's")
    parser.add_argument("--states", type=positive, default=20, metavar="N", help="random states (default 20)")
    parser.add_argument(
        "--seed", type=not_negative, default=0, metavar="S", help="of the random states (default 0)"
    )
    parser.add_argument("--backend", choices=("auto", "c", "python"), default="auto", help="what is verified")
    parser.add_argument(
        "--record",
        action="store_true",
        help="write date and largest difference into the module, if it passed",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the largest relative difference of each check; 0 when all are below the limit, else 1."""
    model = load_model(arguments.module, backend=arguments.backend)
    locks = arguments.lock or [f"{joint}={position!r}" for joint, position in model.locked.items()]
    chain = read_chain(arguments.urdf, arguments.tip or model.tip, locks, arguments.xacro)
    expected = physics_hash(chain)
    if model.urdf_hash != expected:
        raise AnotherRobotError(arguments.module, arguments.urdf, model.urdf_hash, expected)
    largest = largest_differences(model, chain, arguments.states, arguments.seed)
    print(f"{model.name}, backend {model.backend}: largest relative difference at {arguments.states} states")
    print("\n".join(lines_of(largest)))
    if max(largest.values()) >= LARGEST_DIFFERENCE:
        print(f"NOT verified: the limit is {LARGEST_DIFFERENCE:.0e}")
        return 1
    if arguments.record:
        write_record(find_module(arguments.module), largest, arguments.states, arguments.seed)
    print("verified")
    return 0


def lines_of(largest: dict[str, float]) -> list[str]:
    """A line for each check, the ones that fail marked."""
    return [
        f"  {name:<26}{difference:.1e}{'' if difference < LARGEST_DIFFERENCE else '  TOO LARGE'}"
        for name, difference in largest.items()
    ]
