"""[Hussain2016]'s planar three-link chain: the procedure in the paper's symbols, and what it costs."""

from pathlib import Path

import sympy

from kane_dynamics_ros.description import Chain, load_robot, serial_chain
from kane_dynamics_ros.files import write_file
from kane_dynamics_ros.formulation.symbolic.equations import coordinate_symbols, renamed, symbolic_chain
from kane_dynamics_ros.formulation.symbolic.procedure import kane_procedure, procedure_text
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


def derivation() -> str:
    """Steps 1 to 5 of the paper's section V for its chain, in its symbols; u_r for the rates of q_r."""
    gravity = (0, 0, -sympy.Symbol("g", positive=True))  # n_2 is the root frame's z
    return procedure_text(kane_procedure(chain_in_symbols(), bodies=BODIES, gravity=gravity))


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


def three_link_chain(output: Path) -> int:
    """Print and write the paper's derivation, and what it and Lagrange's cost."""
    text = derivation()
    path = output / "three_link_chain_equations.txt"
    write_file(path, text + "\n")
    print(f"{text}\n\nEffort, operations and scalar derivatives:\n\n{effort_table()}\n\nwrote {path}")
    return 0
