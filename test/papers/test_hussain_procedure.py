"""[Hussain2016] section V as ``kane_dynamics paper three_link_chain`` prints it, step by step."""

import hussain_print as printed
import pytest
import sympy
from paper_chains import same

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.description import parse_robot, serial_chain
from kane_dynamics_ros.formulation.kane import dynamics
from kane_dynamics_ros.formulation.symbolic.equations import symbolic_chain
from kane_dynamics_ros.formulation.symbolic.procedure import kane_procedure
from kane_dynamics_ros.formulation.symbolic.trigonometry import definitions
from kane_dynamics_ros.papers.three_link_chain import chain_in_symbols, procedure

ANGLES = sympy.symbols("q_1:4")
OURS = dict(
    zip(
        sympy.symbols("u_1:4 du_1:4"),
        (printed.qd1, printed.qd2, printed.qd3, printed.qdd1, printed.qdd2, printed.qdd3),
        strict=True,
    )
)
GRAVITY = (0, 0, -printed.g)
# Axes of A, B and C in N; the chain's root has n_2 along z.
AXES = {
    "A": (printed.a_1, printed.a_2, printed.a_3),
    "B": (printed.b_1, printed.b_2, printed.b_3),
    "C": (printed.c_1, printed.c_2, printed.c_3),
}


@pytest.fixture(scope="module")
def steps():
    """Entries by name, abbreviations resolved, in the print's rates."""
    found = {}
    for step in procedure():
        for name, value in step.entries:
            entry = sympy.Matrix(value) if isinstance(value, tuple) else sympy.Matrix([value])
            found[name] = entry.subs(definitions(entry, ANGLES)).subs(OURS)
    return found


def in_N(vector, body):
    return sum(
        (component * axis for component, axis in zip(vector, AXES[body], strict=True)), sympy.zeros(3, 1)
    )


def test_direction_cosines_are_those_of_table_2_in_the_papers_axes(steps):
    """N_R_C and A_R_C are misprinted in the table: test_hussain_kinematics.py says how."""
    for name in ("N_R_A", "A_R_B", "B_R_C", "N_R_B"):
        assert same(steps[name], printed.TABLE_2[name], ANGLES)
    assert same(steps["A_R_C"], steps["A_R_B"] * steps["B_R_C"], ANGLES)
    assert same(steps["N_R_C"], steps["N_R_B"] * steps["B_R_C"], ANGLES)


def test_velocities_agree_with_the_printed_ones(steps):
    for k, body in enumerate("ABC"):
        assert same(in_N(steps[f"omega_{body}"], body), printed.ANGULAR_VELOCITY[k], ANGLES)
        assert same(in_N(steps[f"v_{body}*"], body), printed.VELOCITY[k], ANGLES)


def test_accelerations_agree_with_the_printed_11_and_12(steps):
    """(11) and (12); (10) and (18) lack a dot, (20) is destroyed: the other tests of this paper say how."""
    for k, body in ((1, "B"), (2, "C")):
        assert same(in_N(steps[f"alpha_{body}"], body), printed.ANGULAR_ACCELERATION[k], ANGLES)
    assert same(in_N(steps["a_B*"], "B"), printed.ACCELERATION[1], ANGLES)


def test_partial_velocities_agree_with_the_printed_ones(steps):
    nothing = sympy.zeros(3, 1)
    for k, body in enumerate("ABC"):
        for r in range(3):
            omega, v = steps.get(f"omega_{r + 1}^{body}", nothing), steps.get(f"v_{r + 1}^{body}*", nothing)
            assert same(in_N(omega, body), printed.PARTIAL_ANGULAR_VELOCITY[k][r], ANGLES)
            assert same(in_N(v, body), printed.PARTIAL_VELOCITY[k][r], ANGLES)


def test_generalized_active_forces_add_up_to_34_36_37(steps):
    for r, F in enumerate((printed.F_1, printed.F_2, printed.F_3), 1):
        weights = sum((steps.get(f"F_{r}({body})", sympy.zeros(1, 1)) for body in "ABC"), sympy.zeros(1, 1))
        torque = getattr(printed, f"T_{r}")
        assert same(weights, F - torque, ANGLES)
        assert same(steps[f"F_{r}"], F, ANGLES)  # with the joint's torque, as the paper's step 7 has it


CART_WITH_TWO_RODS = """<robot name="cart"><link name="rail"/>{links}
<joint name="slide" type="prismatic"><parent link="rail"/><child link="cart"/><axis xyz="1 0 0"/>
  <limit lower="-1" upper="1" effort="9" velocity="9"/></joint>
<joint name="first" type="continuous"><parent link="cart"/><child link="rod_1"/><axis xyz="0 1 0"/></joint>
<joint name="second" type="continuous"><parent link="rod_1"/><child link="rod_2"/><origin xyz="0.4 0 0"/>
  <axis xyz="0 1 0"/></joint></robot>"""
LINK = """<link name="{}"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>"""


def test_no_body_is_listed_with_a_force_that_is_zero():
    """Weights do no work when the cart moves along its level rail."""
    links = "".join(map(LINK.format, ("cart", "rod_1", "rod_2")))
    chain = symbolic_chain(serial_chain(parse_robot(CART_WITH_TWO_RODS.format(links=links))))
    entries = [entry for step in kane_procedure(chain) for entry in step.entries]
    assert [name for name, value in entries if "(" in name and value == 0] == []
    names = {name for name, _ in entries}
    assert "F_2(3)" in names
    assert not {"F_1(1)", "F_1(2)", "F_1(3)"} & names


def test_torques_are_the_engines_and_the_sum_of_the_forces_body_by_body(steps):
    rates = (printed.qd1, printed.qd2, printed.qd3)
    accelerations = (printed.qdd1, printed.qdd2, printed.qdd3)
    expected = dynamics.inverse_dynamics(chain_in_symbols(), ANGLES, rates, accelerations, GRAVITY)
    for r in range(3):
        parts = [steps.get(f"{letter}_{r + 1}({body})") for letter in ("F", "F*") for body in "ABC"]
        total = sum((part for part in parts if part is not None), sympy.zeros(1, 1))
        assert same(steps[f"T_{r + 1}"], [expected[r]], ANGLES)
        assert same(-total, [expected[r]], ANGLES)


def test_the_command_prints_the_derivation_in_the_papers_symbols_and_what_it_costs(tmp_path, capsys):
    assert main(["paper", "three_link_chain", "--output", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "   v_3^C* = (0, rho_C, 0)" in lines
    assert "   F_3(C) = -c_123*g*m_C*rho_C" in lines
    written = (tmp_path / "three_link_chain_equations.txt").read_text().splitlines()
    assert lines[: len(written)] == written
    kane, lagrange = (line.split() for line in lines[-4:-2])
    assert (kane[0], lagrange[0]) == ("Kane", "Lagrange")
    assert int(kane[2]) < int(lagrange[2])  # shared operations, as the paper argues
    assert int(kane[3]) == 0 < int(lagrange[3])
