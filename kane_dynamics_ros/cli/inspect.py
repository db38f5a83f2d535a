"""``kane_dynamics inspect``: what a URDF's chain is made of, and every finding about it."""

import argparse
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from kane_dynamics_ros.algebra import add, cross
from kane_dynamics_ros.cli import arguments as cli
from kane_dynamics_ros.cli.progress import Progress
from kane_dynamics_ros.description import Chain, ChainJoint, DescriptionError, Finding, physics_hash
from kane_dynamics_ros.description.geometry import principal_moments
from kane_dynamics_ros.description.load import urdf_content
from kane_dynamics_ros.description.model import Vector
from kane_dynamics_ros.description.text_edits import repair_inertias
from kane_dynamics_ros.files import write_file
from kane_dynamics_ros.formulation.dual import sine_cosine
from kane_dynamics_ros.formulation.kane import dynamics
from kane_dynamics_ros.formulation.kane.kinematics import placements_at
from kane_dynamics_ros.formulation.kane.partial_velocities import partial_velocities
from kane_dynamics_ros.formulation.kane.segments import segments_of
from kane_dynamics_ros.text import aligned, counted, listed, named

SEVERITIES = ("error", "warning", "info")  # the worst first
SHORT = 4  # coordinates up to which the equations are a matter of seconds, whatever the geometry
ROUNDING = 1e-12  # of a vector's largest number: what is less is 0
DIGITS = 9  # after the decimal point
# What a robot has by the dozen, each with a place and figures of its own: one line names them all.
GROUPED = ("KD404", "KD405", "KD407", "KD408", "KD604")
MOST_OTHERS = 8  # named in such a line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    option = parser.add_argument
    option("urdf", metavar="URDF", help="a URDF or xacro file")
    cli.add_chain_arguments(parser)
    cli.add_strict_argument(parser)
    repaired = "write the URDF with the nearest possible inertia for each impossible one, and nothing else "
    option("--repair", metavar="FILE", type=Path, help=f"{repaired}changed")
    option("--json", action="store_true", help="print JSON instead of text")
    option(
        "--equations",
        nargs="?",
        const="text",
        choices=("text", "latex"),
        help="print the equations of motion in symbols instead, by default as text",
    )
    option("--warnings-as-errors", action="store_true", help="exit code 1 when there is a warning")


def run(arguments: argparse.Namespace) -> int:
    """Print the chain; 0, or 1 for a warning where warnings are errors."""
    if arguments.repair:
        return repair(arguments)
    try:
        with Progress("reading the URDF"):
            robot = cli.robot_of(arguments)
            chain = cli.chain_of(arguments, robot)
    except DescriptionError as error:
        if arguments.json:
            errors = [asdict(one.finding) for one in error.errors]
            noted = [asdict(finding) for finding in error.noted]
            print(json.dumps({"error": errors[0], "errors": errors, "findings": noted}, indent=2))
        elif error.noted:
            print("\n".join([*finding_lines(error.noted), summary(error.noted)]), flush=True)
        raise
    if arguments.equations:
        print(equations_of(chain, arguments.equations))
    elif arguments.json:
        print(json.dumps(as_data(chain), indent=2, ensure_ascii=True))
    else:
        print("\n".join([*as_text(chain), *cli.gripper_lines(arguments, robot, chain)]))
    doubtful = any(finding.severity != "info" for finding in chain.findings)
    return 1 if arguments.warnings_as_errors and doubtful else 0


def as_data(chain: Chain) -> dict[str, object]:
    """The chain as plain data."""
    return {
        **asdict(chain),
        "moving_mass": moving_mass(chain),
        "physics_hash": physics_hash(chain),
        "partial_velocities": [partial._asdict() for partial in partials(chain)],
    }


def as_text(chain: Chain) -> list[str]:
    """The sections, as lines."""
    return [
        cli.coloured(f"{chain.robot!r}: from root {chain.root!r} to {named('tip', chain.tips)}", "bold"),
        f"{len(chain.joints)} moving joints, {len(chain.coordinates)} coordinates, "
        f"{moving_mass(chain):.6g} kg in motion, physics hash {physics_hash(chain)[:16]}",
        "",
        cli.coloured("Joints", "bold"),
        *joint_lines(chain),
        "Torques hold rotor inertia always, damping and friction only where they are switched on.",
        gravity_line(chain),
        "",
        cli.coloured("Bodies (each with what is fixed to it; in the frame of its first link)", "bold"),
        *body_lines(chain),
        "",
        cli.coloured("Partial velocities at q = 0 (in the body's axes; those that are not zero)", "bold"),
        *partial_lines(chain),
        "",
        cli.coloured("Findings", "bold"),
        *(finding_lines(chain.findings) or ["none"]),
        summary(chain.findings),
    ]


def moving_mass(chain: Chain) -> float:
    """The mass of all that the joints move [kg]."""
    return sum(joint.inertia.mass for joint in chain.joints)


def gravity_line(chain: Chain) -> str:
    """How gravity acts in the root's axes."""
    size = math.hypot(*chain.gravity)
    axes = {f"{'+-'[value < 0.0]}{axis}": value for axis, value in zip("xyz", chain.gravity, strict=True)}
    along = next((axis for axis, value in axes.items() if abs(value) == size), vector(chain.gravity))
    return (
        f"Gravity is {size:.6g} m/s^2 along {along} of {chain.root!r}, unless the model's parameter says "
        "otherwise."
    )


# Findings, as compilers write them


def finding_lines(findings: Iterable[Finding]) -> list[str]:
    """``file:line: severity: element: message [code]``; the worst first, then in the order of the file.

    One line for each finding; of the codes ``GROUPED`` one, at the first place, for all that differ in
    figures.
    """
    kinds: dict[tuple[str | None, ...], list[Finding]] = {}
    for finding in sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity)):
        same = re.sub(r"\d[\d.e+-]*", "#", finding.message) if finding.code in GROUPED else str(len(kinds))
        kinds.setdefault((finding.severity, finding.code, finding.file, same), []).append(finding)
    lines = []
    for first, *others in kinds.values():
        where = ":".join(str(part) for part in (first.file, first.line) if part is not None) or "<text>"
        element = "" if first.element is None else f"{first.element}: "
        severity = cli.coloured(first.severity, first.severity)
        names = ", ".join(f"{one.element} (line {one.line})" for one in others[:MOST_OTHERS])
        likewise = f"; likewise {names}" if others else ""
        rest = len(others) - MOST_OTHERS
        more = f" and {rest} more; --json has each" if rest > 0 else ""
        lines.append(f"{where}: {severity}: {element}{first.message} [{first.code}]{likewise}{more}")
    return lines


def warning_lines(chain: Chain) -> list[str]:
    """The warnings about the URDF, which every command prints that derives equations from it."""
    return finding_lines(finding for finding in chain.findings if finding.severity == "warning")


def summary(findings: Iterable[Finding]) -> str:
    """How many of each severity; the codes are explained in docs/diagnostics.md."""
    counts = Counter[str](finding.severity for finding in findings)
    warnings = counted(counts["warning"], "warning")
    return f"{warnings}, {counts['info']} info (docs/diagnostics.md explains the codes)"


# A chain's joints and bodies as tables of text


def joint_lines(chain: Chain) -> list[str]:
    """Each joint: coordinate, kind, axis, position in the frame before it, limits, friction, rotor."""
    head = ("joint", "coordinate", "kind", "axis", "position [m]", "range", "velocity", "effort", "damping")
    rows: list[Sequence[str]] = [(*head, "friction", "rotor inertia")]
    for joint in chain.joints:
        limits = joint.limits
        bounds = known(limits.lower), known(limits.upper)
        rows.append(
            (
                repr(joint.name),
                coordinate(joint, chain),
                joint.kind,
                vector(joint.axis),
                vector(joint.p_PoJo_P),
                "none" if bounds == ("?", "?") else " .. ".join(bounds),
                *map(known, (limits.velocity, limits.effort)),
                *map(known, (joint.damping, joint.friction, joint.rotor_inertia)),
            )
        )
    return aligned(rows)


def coordinate(joint: ChainJoint, chain: Chain) -> str:
    """``q1``, or ``-1 q1 + 0.02`` for a follower."""
    q = f"q{joint.coordinate + 1}"
    if chain.coordinates[joint.coordinate] == joint.name:
        return q
    return f"{joint.multiplier:.6g} {q}" + (f" + {joint.offset:.6g}" if joint.offset else "")


def body_lines(chain: Chain) -> list[str]:
    """Each body: mass, centre of mass, principal moments, and what is lumped into it."""
    rows = [("body", "mass [kg]", "centre of mass [m]", "principal moments [kg m^2]", "lumped into it")]
    for joint in chain.joints:
        mass, com, tensor = joint.inertia.mass, joint.inertia.com, joint.inertia.tensor
        lumped = listed(joint.lumped) if joint.lumped else "-"
        rows.append((repr(joint.body), known(mass), vector(com), vector(principal_moments(tensor)), lumped))
    return aligned(rows)


def vector(values: Sequence[float]) -> str:
    """Numbers separated by spaces."""
    least = ROUNDING * max(map(abs, values), default=0.0)
    return " ".join(f"{value if abs(value) > least else 0.0:.5g}" for value in values)


def known(value: float | None) -> str:
    """A number, or ? where it is unknown."""
    return "?" if value is None else f"{value:.6g}"


# Partial velocities at q = 0


class Partial(NamedTuple):
    """Partial velocities of a body for speed u_r at q = 0, body axes: omega_r, v_r of its centre of mass G.

    [Malvezzi2017] eq. (2).
    """

    body: str
    speed: str
    omega: Vector
    v_G: Vector


def partials(chain: Chain) -> Iterator[Partial]:
    """Those that are not zero, body by body from the root."""
    n = len(chain.coordinates)
    placements = placements_at(segments_of(chain), [0.0] * n, sine_cosine)
    for joint, row in zip(chain.joints, partial_velocities(placements, n), strict=True):
        for name, partial in zip(chain.coordinates, row, strict=True):
            v_G = add(partial.v_Bo, cross(partial.omega, joint.inertia.com))
            omega, v_G = cleaned(partial.omega), cleaned(v_G)
            if any(omega) or any(v_G):
                yield Partial(joint.body, name, omega, v_G)


def cleaned(v: Any) -> Vector:
    """Without the traces that quarter turns written with twelve digits leave."""
    x, y, z = (round(float(entry), DIGITS) for entry in v)
    return (x, y, z)


def partial_lines(chain: Chain) -> list[str]:
    """A table of the partial velocities."""
    head = ("body", "speed", "partial angular velocity", "partial velocity of the centre of mass")
    rows = ((repr(p.body), repr(p.speed), vector(p.omega), vector(p.v_G)) for p in partials(chain))
    return aligned([head, *rows])


# ``--equations`` and ``--repair``


def equations_of(chain: Chain, form: str) -> str:
    """Kane's method on ``chain`` step by step, then M, V and G; in ``latex`` partial velocities alone."""
    from kane_dynamics_ros.formulation.symbolic import equations, procedure  # spares the others SymPy
    from kane_dynamics_ros.formulation.symbolic.trigonometry import parallel_groups

    if len(chain.coordinates) > SHORT:
        print(
            f"deriving the equations of {len(chain.coordinates)} coordinates in symbols: seconds where axes "
            "are parallel or at right angles, many minutes in general; --lock or --tip make the chain "
            "shorter",
            file=sys.stderr,
        )
    with Progress("deriving the equations in symbols") as progress:
        found = equations.derive(chain, dynamics.inverse_dynamics)
        if form == "latex":
            return equations.as_latex(found, equations.partial_velocity_table(chain))
        progress.doing("writing Kane's method step by step")
        steps = procedure.kane_procedure(equations.symbolic_chain(chain), groups=parallel_groups(chain))
        return equations.as_text(found, procedure.procedure_text(steps[:-1]))


def repair(arguments: argparse.Namespace) -> int:
    """Write the URDF with the nearest possible inertias, and say what was changed.

    Of a xacro file the expansion is repaired. Nothing is written where nothing is to be repaired. Raises
    ``ArgumentError`` where the file to write is the URDF itself.
    """
    urdf, target = arguments.urdf, arguments.repair
    if target.exists() and target.samefile(urdf):
        message = f"--repair {urdf}: this is the URDF itself; give another file to write"
        raise cli.ArgumentError(message, "repair", found=urdf)
    text, repairs = repair_inertias(urdf_content(urdf, **cli.loading(arguments)), urdf)
    if not repairs:
        print(f"{urdf}: every inertia is possible: nothing to repair, nothing written")
        return 0
    write_file(target, text)
    print("\n".join(map(str, repairs)))
    print(f"{counted(len(repairs), 'inertia')} replaced by the nearest possible: {target}")
    return 0
