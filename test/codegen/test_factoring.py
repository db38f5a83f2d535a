"""Functions written with fewer operations: the same values, and how few."""

from pathlib import Path

import numpy as np
import pytest
from random_chains import random_chain

from benchmark.arms import arms, write_reduced_urdf
from kane_dynamics_ros.algebra import apply
from kane_dynamics_ros.codegen.factoring import simplified
from kane_dynamics_ros.codegen.functions import ArrangedChain, best_arrangement, factored, state_symbols
from kane_dynamics_ros.codegen.graph import Expression, Graph, operations
from kane_dynamics_ros.codegen.passes import list_statements
from kane_dynamics_ros.description import load_robot, serial_chain
from kane_dynamics_ros.description.model import Chain
from kane_dynamics_ros.formulation.kane.frames import reframe


def values(outputs: tuple[Expression, ...], state: dict[str, list]) -> np.ndarray:
    return np.array(list_statements(outputs[0].graph, outputs, {}).evaluated(state))


def symbols(count: int) -> list[Expression]:
    graph = Graph()
    return [graph.symbol(f"q[{k}]") for k in range(count)]


def test_what_an_operand_added_is_not_taken_away_again():
    a, b, c = symbols(3)
    total = a + b
    found = simplified((total * c, a - total))
    assert operations(found).total == 2
    np.testing.assert_array_equal(values(found, {"q": [2.0, 3.0, 5.0]}), [25.0, -3.0])


def test_a_common_factor_is_taken_out_where_the_rest_is_there_already():
    """a b - a c + d and 3 (b - c) are 3 operations with b - c formed once, and one addition."""
    a, b, c, d = symbols(4)
    found = simplified((a * b - a * c + d, 3.0 * b - 3.0 * c))
    assert operations(found).total == 4
    np.testing.assert_array_equal(values(found, {"q": [2.0, 3.0, 5.0, 7.0]}), [3.0, -6.0])


def test_constants_that_a_common_factor_leaves_become_one():
    a, b, c = symbols(3)
    found = simplified(((a * b + 3.0) * c - (a * b - 4.0) * c,))
    assert operations(found).total == 1
    np.testing.assert_array_equal(values(found, {"q": [2.0, 3.0, 5.0]}), [35.0])


def test_a_product_of_two_factors_is_formed_once():
    a, b, c, d = symbols(4)
    found = simplified(((a * c) * b, (a * d) * b))
    assert operations(found).total == 3


def test_outputs_that_cancel_are_zero_and_quotients_stay():
    a, b, c = symbols(3)
    found = simplified((a + b - b - a, (a * b + a * c) / (b + c - b), a))
    np.testing.assert_array_equal(values(found, {"q": [2.0, 3.0, 5.0]}), [0.0, 16.0 / 5.0, 2.0])


def inverse_dynamics(chain: Chain) -> tuple[Expression, ...]:
    reframed, n = reframe(chain), len(chain.coordinates)
    numbers = reframed.segments, apply(reframed.R_0R, chain.gravity), chain.rotor_inertia
    best = best_arrangement(*numbers)
    return ArrangedChain(state_symbols(Graph(), n), best, *numbers).inverse_dynamics


@pytest.mark.parametrize("seed", range(8))
def test_torques_of_random_chains_keep_their_digits(seed: int):
    """Against extended precision: at most twice the error of the torques as derived, or 1e-15."""
    rng = np.random.default_rng(seed)
    chain = random_chain(rng, 1 + seed % 6, prismatic=0.3)
    before = inverse_dynamics(chain)
    after = simplified(before)
    assert operations(after).total <= operations(before).total
    state = {name: list(rng.uniform(-3.0, 3.0, len(before))) for name in ("q", "qd", "qdd")}
    exact = values(before, {name: list(np.array(x, np.longdouble)) for name, x in state.items()})
    worst = [np.abs(values(way, state) - exact).max() / np.abs(exact).max() for way in (before, after)]
    assert worst[1] <= max(2.0 * worst[0], 1e-15)


COUNTS = {"manipulator_5dof": 134, "ur5": 217, "so101": 403, "panda": 515}


def test_known_arms_need_few_operations(tmp_path: Path):
    for arm in arms():
        chain = serial_chain(load_robot(write_reduced_urdf(arm, tmp_path)), tip=arm.tip)
        count = operations(factored(inverse_dynamics(chain))).total
        assert count == COUNTS[arm.name], arm.name
