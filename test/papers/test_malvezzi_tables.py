"""[Malvezzi2017] tables 1 to 3: the joints, the numbers, and figures under the grades."""

from pathlib import Path

import pytest
import sympy

from kane_dynamics_ros.description import load_robot, serial_chain
from kane_dynamics_ros.formulation.symbolic.equations import coordinate_symbols, symbolic_chain
from kane_dynamics_ros.papers.assessment import (
    FORMULATIONS,
    as_table,
    assess,
    assess_manipulator,
    assessed_chain,
    count_operations,
    efforts,
    manipulator_in_symbols,
    own_table,
)
from kane_dynamics_ros.papers.differentiation_counts import Differentiator
from kane_dynamics_ros.share import share_directory

CHAIN = serial_chain(load_robot(share_directory() / "urdf" / "manipulator_5dof.urdf"))


def test_table_1_names_the_joints_and_their_axes():
    found = [(joint.name, joint.axis) for joint in CHAIN.joints]
    x, y, z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    assert found == [("gamma_1", z), ("alpha_2", x), ("alpha_3", x), ("beta_4", y), ("gamma_4", z)]


def test_table_2_numbers_are_the_urdfs():
    limbs = [joint.inertia for joint in CHAIN.joints[:3]]
    assert limbs[0].tensor[2][2] == 3.0
    for limb in limbs[1:]:
        assert limb.mass == 3.0
        assert tuple(limb.tensor[i][i] for i in range(3)) == (0.36, 0.07, 0.36)
        assert limb.com == (0.0, 0.5, 0.0)  # half of l_2 and l_3
    assert [joint.p_PoJo_P for joint in CHAIN.joints[2:4]] == [(0.0, 1.0, 0.0)] * 2
    assert sum(joint.inertia.mass for joint in CHAIN.joints[3:]) == 1.0


@pytest.fixture(scope="module")
def costs():
    return {cost.formulation: cost for cost in assess((3,))}


def test_table_3_kane_has_the_fewest_operations_and_no_differentiation(costs):
    """The paper gives Kane's derivation the lowest grade; shared, its equations are the shortest."""
    for name in ("Kane", "Kane, body by body"):
        others = [cost.shared for other, cost in costs.items() if not other.startswith("Kane")]
        assert costs[name].shared < min(others)
        assert costs[name].differentiations == 0
    assert all(cost.joints == 3 and cost.seconds > 0 and cost.kept <= 1 for cost in costs.values())


@pytest.mark.parametrize("name", FORMULATIONS)
def test_the_derivations_whose_derivatives_are_counted_give_the_same_efforts(name):
    """At random numbers of 30 digits: what is counted is a derivation of the same equations."""
    chain = symbolic_chain(assessed_chain(3))
    counted = FORMULATIONS[name].differentiated(chain, Differentiator())
    q, u, du = coordinate_symbols(3)
    t = sympy.Symbol("t")
    functions = [sympy.Function(f"q_{i + 1}")(t) for i in range(3)]
    motion = list(zip([f.diff(t, 2) for f in functions], du, strict=True))
    motion += [*zip([f.diff(t) for f in functions], u, strict=True), *zip(functions, q, strict=True)]
    differences = [
        sympy.sympify(found).subs(motion) - expected
        for found, expected in zip(counted, efforts(FORMULATIONS[name], 3), strict=True)
    ]
    symbols = sorted(set().union(*(d.free_symbols for d in differences)), key=str)
    at = {symbol: sympy.Rational(k + 2, 2 * k + 7) for k, symbol in enumerate(symbols)}
    assert all(abs(d.evalf(30, subs=at)) < 1e-25 for d in differences)


@pytest.fixture(scope="module")
def own_costs():
    return {cost.formulation: cost for cost in assess_manipulator(*manipulator_in_symbols())}


def test_table_3_the_papers_maggi_is_the_shortest_as_derived_and_as_shared(own_costs):
    """With C' Phi multiplied out, and no A and b: as ODEs, the paper's choice of coordinates pays."""
    maggi = own_costs["Maggi, 13 coordinates"]
    for name in ("Kane", "Lagrange"):
        assert maggi.written_out < own_costs[name].written_out / 2
        assert maggi.shared < own_costs[name].shared


def test_table_3_as_a_dae_maggi_is_longer_than_kane_when_shared(own_costs):
    assert own_costs["the same, with A and b"].shared > own_costs["Kane"].shared


def test_table_3_of_maggis_redundant_equations_all_stay_when_the_end_effector_is_added(own_costs):
    """The paper's modularity: the new body has coordinates of its own."""
    assert own_costs["the same, C and Phi apart"].kept == 1.0
    assert all(own_costs[name].kept < 1.0 for name in ("Kane", "Lagrange"))


def test_the_manipulators_counts_of_the_page_are_those_measured(own_costs):
    page = (Path(__file__).resolve().parents[2] / "docs" / "papers.md").read_text(encoding="utf-8")
    assert own_table(own_costs.values()) in page


def test_table_3_kane_body_by_body_and_lagrange_written_out(costs, own_costs):
    """Without the end-effector Lagrange's equations are the shortest; with it the papers' Kane beats them."""
    assert costs["Lagrange"].as_derived == min(cost.as_derived for cost in costs.values())
    assert costs["Kane, body by body"].as_derived < costs["Kane"].as_derived  # the engine's recursion
    assert own_costs["Kane, body by body"].written_out < own_costs["Lagrange"].written_out


def test_table_3_modularity_is_no_privilege_of_maggi(costs):
    """The paper gives Maggi 5 and the others 2; of all four most of the formulas stay."""
    assert min(cost.kept for cost in costs.values()) > 0.7


def test_table_3_no_formulation_holds_constraint_forces():
    """Efforts, coordinates and the chain's own symbols are all that the equations hold."""
    for formulation in FORMULATIONS.values():
        names = {
            str(symbol).rstrip("0123456789").rstrip("_")
            for e in efforts(formulation, 3)
            for symbol in e.free_symbols
        }
        assert names <= {"q", "u", "du", "g", "m", "r_y", "l_y", "J_x", "J_y", "J_z"}


def test_the_counts_of_the_page_are_those_measured(costs):
    page = (
        (Path(__file__).resolve().parents[2] / "docs" / "papers.md").read_text(encoding="utf-8").splitlines()
    )
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page if line.startswith("| 3 |")
    ]
    found = {row[1]: (int(row[3]), int(row[4]), row[5], int(row[6])) for row in cells}
    assert found == {
        name: (cost.as_derived, cost.shared, f"{cost.kept:.0%}", cost.differentiations)
        for name, cost in costs.items()
    }


def test_the_table_is_markdown(costs):
    lines = as_table(costs.values()).splitlines()
    assert (
        lines[0]
        == "| joints | formulation | derivation [s] | as derived | shared | kept | differentiations |"
    )
    assert [line.split(" | ")[1] for line in lines[2:]] == list(FORMULATIONS)


def test_operations_are_counted_with_and_without_sharing():
    a, b, c = sympy.symbols("a b c")
    shared = sympy.sin(a + b) * c
    total, parts = count_operations([shared + a**3, -shared])
    assert total == 2 * 3 + 1 + 2  # twice (+, sin, *), the sum, the cube
    assert sum(parts.values()) == 3 + 1 + 2 + 1  # the sign stands in a product of its own
