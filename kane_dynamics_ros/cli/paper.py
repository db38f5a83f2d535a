"""``kane_dynamics paper``: a paper's simulations, run again, with what can be checked of its claims."""

import argparse
from dataclasses import fields

from kane_dynamics_ros.cli import arguments as cli
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
    add = parser.add_argument
    add(
        "paper",
        choices=PAPERS,
        help="which paper: three_link_chain, [Hussain2016]; manipulator_5dof, [Malvezzi2017]; "
        "wind_pump, [WindPump]",
    )
    assessment = "measure the formulations on 3, 5 and 7 joints instead"
    add("--assessment", action="store_true", help=assessment)
    add(
        "--set",
        metavar="NAME=VALUE",
        type=cli.named_number("--set", "the value must be a finite number, as in l2=0.5"),
        action="append",
        default=[],
        help=f"a dimension of the wind pump, whose paper prints none: {', '.join(DIMENSIONS)}",
    )
    cli.add_output_argument(parser, "DIR", ".", "where the figures go")


def run(arguments: argparse.Namespace) -> int:
    """Write the paper's figures and print what is behind its statements, or measure table 3's."""
    paper, dimensions = arguments.paper, dict(arguments.set)
    if arguments.assessment and paper != "manipulator_5dof":
        raise PaperError(
            f"{paper} has no assessment of its own: without --assessment it prints what it counts; "
            "write paper manipulator_5dof --assessment for table 3 of [Malvezzi2017]",
            "no_assessment",
        )
    for name in dimensions:
        if paper != "wind_pump":
            raise PaperError(f"--set {name}: {paper} takes its numbers from its URDF", "dimension", name=name)
        if name not in DIMENSIONS:
            raise PaperError(f"--set {name}: names are {', '.join(DIMENSIONS)}", "dimension", name=name)
    with Progress(f"computing {paper}") as progress:
        if arguments.assessment:
            lines = [as_table(assess()), "", own_table(assess_manipulator(*manipulator_in_symbols()))]
        elif paper == "wind_pump":
            lines = wind_pump(arguments.output, Mechanism(**dimensions), progress.doing)
        elif paper == "three_link_chain":
            lines = three_link_chain(arguments.output)
        else:
            lines = manipulator_5dof(arguments.output)
    print("\n".join(lines))
    return 0
