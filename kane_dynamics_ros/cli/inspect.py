"""``kane_dynamics inspect``: what a URDF's chain is made of, and every doubt about it."""

import argparse
import json
import sys
from dataclasses import asdict

from kane_dynamics_ros.cli.chain_arguments import add_chain_arguments, read_chain
from kane_dynamics_ros.cli.colour import Palette, palette_for, printable
from kane_dynamics_ros.cli.inspect_findings import finding_lines, summary
from kane_dynamics_ros.cli.inspect_partials import partial_lines, partials
from kane_dynamics_ros.cli.inspect_tables import body_lines, joint_lines
from kane_dynamics_ros.description import Chain, DescriptionError, Finding, physics_hash


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("urdf", metavar="URDF", help="a URDF or xacro file")
    add_chain_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.add_argument(
        "--equations",
        nargs="?",
        const="text",
        choices=("text", "latex"),
        help="print the equations of motion in symbols instead, by default as text",
    )
    parser.add_argument(
        "--warnings-as-errors", action="store_true", help="exit code 1 when there is a warning"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the chain; 0, or 1 for a warning where warnings are errors."""
    try:
        chain = read_chain(arguments.urdf, arguments.tip, arguments.lock, arguments.xacro)
    except DescriptionError as error:
        if arguments.json:
            print(json.dumps({"error": asdict(error.finding)}, indent=2))
        raise
    if arguments.equations:
        print(equations_in_symbols(chain, arguments.equations))
    elif arguments.json:
        print(json.dumps(as_data(chain), indent=2, ensure_ascii=True))
    else:
        print(printable("\n".join(as_text(chain, palette_for(sys.stdout))), sys.stdout))
    return 1 if arguments.warnings_as_errors and any(map(is_doubt, chain.findings)) else 0


def equations_in_symbols(chain: Chain, form: str) -> str:
    """The equations of motion; SymPy is loaded only for them."""
    from kane_dynamics_ros.cli.equations import equations_of

    return equations_of(chain, form)


def is_doubt(finding: Finding) -> bool:
    """Whether a finding is more than information."""
    return finding.severity != "info"


def as_text(chain: Chain, palette: Palette) -> list[str]:
    """The sections, as lines."""
    return [
        palette.bold(f"{chain.robot!r}: from root {chain.root!r} to tip {chain.tip!r}"),
        f"{sum(not j.back for j in chain.joints)} moving joints, {len(chain.coordinates)} coordinates, "
        f"{moving_mass(chain):.6g} kg in motion, physics hash {physics_hash(chain)[:16]}",
        "",
        palette.bold("Joints"),
        *joint_lines(chain),
        "Torques hold rotor inertia always, damping and friction only where they are switched on.",
        f"Gravity is 9.81 m/s^2 along -z of {chain.root!r}, unless the model's parameter says otherwise.",
        "",
        palette.bold("Bodies (each with what is fixed to it; in the frame of its first link)"),
        *body_lines(chain),
        "",
        palette.bold("Partial velocities at q = 0 (in the body's axes; those that are not zero)"),
        *partial_lines(chain),
        "",
        palette.bold("Findings"),
        *finding_lines(chain.findings, palette),
        summary(chain.findings),
    ]


def moving_mass(chain: Chain) -> float:
    """[kg]"""
    return sum(joint.inertia.mass for joint in chain.joints)


def as_data(chain: Chain) -> dict[str, object]:
    """The same as plain data."""
    return {
        **asdict(chain),
        "moving_mass": moving_mass(chain),
        "physics_hash": physics_hash(chain),
        "partial_velocities": [partial._asdict() for partial in partials(chain)],
    }
