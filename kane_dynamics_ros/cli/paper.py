"""``kane_dynamics paper``: a paper's simulations, run again, with what can be checked of its claims."""

import argparse
import math
from dataclasses import fields, replace
from pathlib import Path

from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.papers.assessment import (
    as_table,
    assess,
    assess_manipulator,
    manipulator_in_symbols,
    own_table,
)
from kane_dynamics_ros.papers.manipulator_figures import manipulator_5dof
from kane_dynamics_ros.papers.three_link_chain import three_link_chain
from kane_dynamics_ros.papers.wind_pump_figures import wind_pump
from kane_dynamics_ros.papers.wind_pump_mechanism import Mechanism

PAPERS = ("three_link_chain", "manipulator_5dof", "wind_pump")
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
    return manipulator_5dof(arguments.output)


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
