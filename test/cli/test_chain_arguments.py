"""``--tip`` and ``--lock`` as every command reads them."""

import argparse

import pytest

from kane_dynamics_ros.cli.chain_arguments import LockArgumentError, add_chain_arguments, read_chain
from kane_dynamics_ros.share import share_directory

URDF = str(share_directory() / "urdf" / "manipulator_5dof.urdf")


def parse(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_chain_arguments(parser)
    return parser.parse_args(words)


def test_without_arguments_the_whole_chain_is_taken():
    arguments = parse()
    chain = read_chain(URDF, arguments.tip, arguments.lock)
    assert chain.coordinates == ("gamma_1", "alpha_2", "alpha_3", "beta_4", "gamma_4")


def test_locks_and_tip_reach_the_chain():
    arguments = parse("--tip", "hand", "--lock", "beta_4=0.5", "--lock", "gamma_4=-1e-1")
    chain = read_chain(URDF, arguments.tip, arguments.lock)
    assert (chain.tip, chain.coordinates) == ("hand", ("gamma_1", "alpha_2", "alpha_3"))
    assert chain.locked == (("beta_4", 0.5), ("gamma_4", -0.1))


@pytest.mark.parametrize("text", ["beta_4", "beta_4=", "=0.5", "beta_4=half", "beta_4=nan", "beta_4=inf"])
def test_a_lock_that_is_no_number_is_refused(text):
    with pytest.raises(LockArgumentError) as error:
        read_chain(URDF, None, [text])
    assert str(error.value) == (
        f"--lock {text!r}: found no joint name and finite number; write --lock JOINT=VALUE, with the "
        "position in rad or m"
    )
