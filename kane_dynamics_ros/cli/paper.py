"""``kane_dynamics paper``: a paper's simulations, run again, with what can be checked of its claims."""

import argparse
import math
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

from kane_dynamics_ros.description import load_robot
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.papers.assessment import (
    as_table,
    assess,
    assess_manipulator,
    manipulator_in_symbols,
    own_table,
)
from kane_dynamics_ros.papers.manipulator_figures import draw_forward, draw_inverse
from kane_dynamics_ros.papers.manipulator_simulation import (
    AMPLITUDES,
    FASTER,
    STROKE,
    Forward,
    Inverse,
    Manipulator,
    forward_simulation,
    inverse_simulation,
    manipulator,
    static_torques,
)
from kane_dynamics_ros.papers.three_link_chain import derivation, effort_table
from kane_dynamics_ros.papers.wind_pump_figures import wind_pump
from kane_dynamics_ros.papers.wind_pump_mechanism import Mechanism
from kane_dynamics_ros.runtime.interface import Array
from kane_dynamics_ros.share import share_directory

PAPERS = ("three_link_chain", "manipulator_5dof", "wind_pump")
SAMPLES = 201
DIMENSIONS = tuple(field.name for field in fields(Mechanism))


class NoAssessmentError(KaneDynamicsError):
    """``--assessment`` belongs to [Malvezzi2017] alone."""

    def __init__(self, paper: str) -> None:
        super().__init__(
            f"{paper} has no assessment of its own: without --assessment it prints what it counts; "
            "write paper manipulator_5dof --assessment for table 3 of [Malvezzi2017]"
        )


class DimensionError(KaneDynamicsError):
    """``--set`` does not name a dimension, or not with a number."""

    def __init__(self, text: str, allowed: str) -> None:
        super().__init__(f"--set {text}: {allowed}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "paper",
        choices=PAPERS,
        help="which paper: three_link_chain, [Hussain2016]; manipulator_5dof, [Malvezzi2017]; "
        "wind_pump, [WindPump]",
    )
    parser.add_argument(
        "--assessment", action="store_true", help="measure the formulations on 3, 5 and 7 joints instead"
    )
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help=f"a dimension of the wind pump, whose paper prints none: {', '.join(DIMENSIONS)}",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=Path,
        default=Path("."),
        help="where the figures go; default: here",
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the paper's figures and print what is behind its statements, or measure table 3's."""
    if arguments.assessment and arguments.paper != "manipulator_5dof":
        raise NoAssessmentError(arguments.paper)
    if arguments.set and arguments.paper != "wind_pump":
        raise DimensionError(arguments.set[0], f"{arguments.paper} takes its numbers from its URDF")
    if arguments.paper == "wind_pump":
        return wind_pump(arguments.output, pump_with(arguments.set))
    if arguments.paper == "three_link_chain":
        return three_link_chain(arguments.output)
    if arguments.assessment:
        print(as_table(assess()))
        print()
        print(own_table(assess_manipulator(*manipulator_in_symbols())))
        return 0
    arm = manipulator(load_robot(share_directory() / "urdf" / f"{arguments.paper}.urdf"))
    slow = inverse_simulation(arm, AMPLITUDES, STROKE, SAMPLES)
    fast = inverse_simulation(arm, AMPLITUDES, STROKE / FASTER, SAMPLES)
    forward = forward_simulation(arm, SAMPLES)
    arguments.output.mkdir(parents=True, exist_ok=True)
    paths = [arguments.output / f"{arguments.paper}_figure_{number}.png" for number in (2, 3, 4)]
    draw_inverse(
        slow, static_along(arm, slow), "Figure 2. First inverse simulation: slow prescribed motion", paths[0]
    )
    draw_inverse(
        fast, static_along(arm, fast), f"Figure 3. Second inverse simulation: {FASTER} times faster", paths[1]
    )
    draw_forward(forward, "Figure 4. Forward simulation: static torques, slightly varied", paths[2])
    print("\n".join(report(arm, slow, fast, forward)))
    print("\n".join(f"wrote {path}" for path in paths))
    return 0


def pump_with(settings: list[str]) -> Mechanism:
    """The pump with dimensions of the command line. Raises ``DimensionError``."""
    values = {}
    for text in settings:
        name, _, value = text.partition("=")
        if name not in DIMENSIONS:
            raise DimensionError(text, f"names are {', '.join(DIMENSIONS)}")
        try:
            values[name] = float(value)
        except ValueError:
            values[name] = math.nan
        if not math.isfinite(values[name]):
            raise DimensionError(text, "the value must be a finite number, as in l2=0.5")
    return replace(Mechanism(), **values)


def three_link_chain(output: Path) -> int:
    """Print and write the paper's derivation, and what it and Lagrange's cost."""
    text = derivation()
    output.mkdir(parents=True, exist_ok=True)
    path = output / "three_link_chain_equations.txt"
    path.write_text(text + "\n", encoding="utf-8")
    print(f"{text}\n\nEffort, operations and scalar derivatives:\n\n{effort_table()}\n\nwrote {path}")
    return 0


def report(arm: Manipulator, slow: Inverse, fast: Inverse, forward: Forward) -> list[str]:
    """What the simulations show of the paper's statements, a line each."""
    slow_inertial, fast_inertial = inertial_torques(arm, slow), inertial_torques(arm, fast)
    ratio = np.max(np.abs(fast_inertial), axis=0) / np.max(np.abs(slow_inertial), axis=0)
    return [
        f"static torques at zero [N m]:                 {_row(static_torques(arm))}",
        f"largest inertial torques, slow [N m]:         {_row(np.max(np.abs(slow_inertial), axis=0))}",
        f"largest inertial torques, faster [N m]:       {_row(np.max(np.abs(fast_inertial), axis=0))}",
        f"their ratio ({FASTER} squared is {FASTER**2}):           {_row(ratio)}",
        f"Maggi (DAE) less Kane, inverse, largest:      {_gap(slow.maggi, slow.kane):.1e} N m (slow), "
        f"{_gap(fast.maggi, fast.kane):.1e} N m (faster)",
        f"Maggi (DAE) less Kane (ODE), forward:         {_gap(forward.maggi, forward.kane):.1e} rad; "
        f"constraints drift by {forward.drift:.1e}",
        f"motion at the end of the forward simulation:  {_row(forward.kane[-1])} rad",
    ]


def inertial_torques(arm: Manipulator, result: Inverse) -> Array:
    """The torques (N, 3) less what holds the arm still in each posture."""
    return np.asarray(result.kane - static_along(arm, result))


def static_along(arm: Manipulator, result: Inverse) -> Array:
    """The torques (N, 3) [N m] that hold the arm still in each posture of a motion."""
    still = np.zeros(3)
    return np.array([arm.inverse_dynamics(q, still, still) for q in result.motion.position])


def _row(values: Array) -> str:
    return "  ".join(f"{value:9.4f}" for value in values)


def _gap(a: Array, b: Array) -> float:
    return float(np.max(np.abs(a - b)))
