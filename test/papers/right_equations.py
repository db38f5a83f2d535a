"""The equations that the papers misprint, as they should stand: what docs/papers.md quotes."""

import hussain_print as hussain
import malvezzi_print as malvezzi

from kane_dynamics_ros.formulation.kane import dynamics
from kane_dynamics_ros.formulation.symbolic.equations import coordinate_symbols, equation_lines
from kane_dynamics_ros.formulation.symbolic.trigonometry import compact
from kane_dynamics_ros.papers.assessment import manipulator_in_symbols
from kane_dynamics_ros.papers.three_link_chain import chain_in_symbols

Q, U, DU = coordinate_symbols(3)


def hussain_torques() -> dict:
    """(39) to (41), the same as (46) to (48), with u for the rates of q."""
    tau = dynamics.inverse_dynamics(chain_in_symbols(), Q, U, DU, (0, 0, -hussain.g))
    return {f"T_{i}": compact(effort, Q, U + DU) for i, effort in enumerate(tau, 1)}


def malvezzi_bias() -> dict:
    """(7), with q = (gamma_1, alpha_2, alpha_3) and u its rates."""
    chain, end_effector = manipulator_in_symbols()
    tau = dynamics.inverse_dynamics(chain, Q, U, (0, 0, 0), (0, 0, -malvezzi.g), end_effector)
    return {f"V_{i}": compact(effort, Q, U, ((0,), (1, 2))) for i, effort in enumerate(tau, 1)}


def as_block(equations: dict) -> str:
    """As the page quotes them."""
    return "\n".join(line for name, value in equations.items() for line in equation_lines(name, value))
