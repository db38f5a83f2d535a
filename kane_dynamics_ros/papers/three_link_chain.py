"""[Hussain2016]'s planar three-link chain: the procedure in the paper's symbols, and what it costs."""

from dataclasses import replace
from pathlib import Path

import sympy

from kane_dynamics_ros.description import Chain, load_robot, serial_chain
from kane_dynamics_ros.description.model import IDENTITY
from kane_dynamics_ros.files import write_file
from kane_dynamics_ros.formulation.symbolic.equations import coordinate_symbols, renamed, symbolic_chain
from kane_dynamics_ros.formulation.symbolic.procedure import DerivationStep, kane_procedure, procedure_text
from kane_dynamics_ros.papers.assessment import FORMULATIONS, GRAVITY, count_operations
from kane_dynamics_ros.papers.differentiation_counts import Differentiator
from kane_dynamics_ros.share import share_directory

BODIES = ("A", "B", "C")
# The generic symbols of body k's numbers, and the paper's: rho to the mass centre, l to the next joint, I
# about the mass centre.
NAMES = {
    **{f"m_{k}": f"m_{body}" for k, body in enumerate(BODIES, 1)},
    **{f"r_x{k}": f"rho_{body}" for k, body in enumerate(BODIES, 1)},
    **{f"l_x{k}": f"l_{body}" for k, body in enumerate(BODIES, 1)},
    **{f"J_z{k}": f"I_{body}" for k, body in enumerate(BODIES, 1)},
}


def chain_in_symbols() -> Chain:
    """The chain of urdf/three_link_chain.urdf with the paper's symbols, all of them positive."""
    robot = load_robot(share_directory() / "urdf" / "three_link_chain.urdf")
    names = {old: sympy.Symbol(new, positive=True) for old, new in NAMES.items()}
    return renamed(symbolic_chain(serial_chain(robot)), names)


def chain_in_the_papers_axes() -> Chain:
    """The same chain on the paper's frame N: n_1 and n_2 in the drawing, n_3 out of it, as a_3 is."""
    chain = chain_in_symbols()
    first, *others = chain.joints
    return replace(chain, joints=(replace(first, R_PJ=IDENTITY), *others))


def procedure() -> tuple[DerivationStep, ...]:
    """The paper's section V for its chain, in its symbols and axes; u_r for the rates of q_r."""
    gravity = (0, -sympy.Symbol("g", positive=True), 0)  # along -n_2
    return kane_procedure(chain_in_the_papers_axes(), bodies=BODIES, gravity=gravity, every_pair=True)


def effort_table() -> str:
    """Operations and derivatives of Kane's and Lagrange's derivation, which the paper compares in words."""
    chain = chain_in_symbols()
    q, u, du = coordinate_symbols(len(chain.coordinates))
    lines = ["formulation   written out   shared   differentiations"]
    for name in ("Kane", "Lagrange"):
        count = Differentiator()
        FORMULATIONS[name].differentiated(chain, count)
        efforts = FORMULATIONS[name].inverse_dynamics(chain, q, u, du, GRAVITY)
        written_out, parts = count_operations(efforts)
        lines.append(f"{name:<13} {written_out:11d} {sum(parts.values()):8d} {count.scalars:18d}")
    return "\n".join(lines)


# ``kane_dynamics paper three_link_chain``


def three_link_chain(output: Path) -> list[str]:
    """Write the paper's derivation; its lines, and what it and Lagrange's cost."""
    text = procedure_text(procedure())
    path = output / "three_link_chain_equations.txt"
    write_file(path, text + "\n")
    cost = effort_table()
    return [text, "", "Effort, operations and scalar derivatives:", "", cost, "", f"wrote {path}"]
