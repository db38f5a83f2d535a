"""``kane_dynamics paper``: a paper's simulations, run again, with what can be checked of its claims."""

import argparse
from dataclasses import fields
from pathlib import Path

from kane_dynamics_ros.cli.progress import Progress
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
from kane_dynamics_ros.papers.wind_pump_mechanism import Mechanism, PaperError

PAPERS = ("three_link_chain", "manipulator_5dof", "wind_pump")
DIMENSIONS = tuple(field.name for field in fields(Mechanism))


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
    paper: str = arguments.paper
    if arguments.assessment and paper != "manipulator_5dof":
        raise PaperError(
            f"{paper} has no assessment of its own: without --assessment it prints what it counts; "
            "write paper manipulator_5dof --assessment for table 3 of [Malvezzi2017]",
            "no_assessment",
        )
    if arguments.set and paper != "wind_pump":
        raise PaperError(f"--set {arguments.set[0]}: {paper} takes its numbers from its URDF", "dimension")
    with Progress() as progress:
        progress.doing(f"computing {paper}")
        if arguments.assessment:
            lines = [as_table(assess()), "", own_table(assess_manipulator(*manipulator_in_symbols()))]
        elif paper == "wind_pump":
            lines = wind_pump(arguments.output, pump_with(arguments.set), progress.doing)
        elif paper == "three_link_chain":
            lines = three_link_chain(arguments.output)
        else:
            lines = manipulator_5dof(arguments.output)
    print("\n".join(lines))
    return 0


def pump_with(settings: list[str]) -> Mechanism:
    """The pump with dimensions of the command line. Raises ``PaperError``."""
    values = {}
    for text in settings:
        name, _, value = text.partition("=")
        if name not in DIMENSIONS:
            raise PaperError(f"--set {text}: names are {', '.join(DIMENSIONS)}", "dimension", name=name)
        try:
            values[name] = float(value)
        except ValueError:
            raise PaperError(
                f"--set {text}: the value must be a finite number, as in l2=0.5", "dimension", name=name
            ) from None
    return Mechanism(**values)
