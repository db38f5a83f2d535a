"""``kane_dynamics torque``: the joint torques of one state, term by term."""

import argparse
import json
import math
import sys

import numpy as np

from kane_dynamics_ros.cli import arguments as cli
from kane_dynamics_ros.cli.progress import Progress
from kane_dynamics_ros.control.limits import far_outside
from kane_dynamics_ros.runtime import Payload, load_model
from kane_dynamics_ros.runtime.node_parameters import with_parameter_file
from kane_dynamics_ros.text import aligned


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    cli.add_model_argument(parser)
    add = parser.add_argument
    for option, unit in (("--q", "rad or m"), ("--qd", "rad/s or m/s"), ("--qdd", "rad/s^2 or m/s^2")):
        add(option, metavar="A,B,...", default="", help=f"one number a joint [{unit}]; default: zeros")
    free_fall = "free-fall acceleration in the root frame [m/s^2]; default: the model's"
    add("--gravity", metavar="X,Y,Z", help=free_fall)
    mass = "at a tip's origin [kg], the first tip where none is named; once for each; default: 0"
    add("--payload-mass", metavar="[TIP=]MASS", action="append", default=[], help=mass)
    cli.add_friction_argument(parser)
    cli.add_parameters_argument(parser)
    add("--json", action="store_true", help="print JSON")


def _payload(text: str, first: str) -> tuple[str, Payload]:
    """The payload of ``--payload-mass`` and its tip, the first where none is named."""
    tip, _, mass = text.rpartition("=")
    if math.isnan(cli.number_in(mass)):
        raise cli.unusable("--payload-mass", text, "a mass in kg is needed, or TIP=MASS")
    return tip or first, Payload(cli.number_in(mass))


def run(arguments: argparse.Namespace) -> int:
    """Evaluate and print a row for each joint, in N m (revolute) or N (prismatic)."""
    with Progress("loading the module"):  # which may compile it
        model = load_model(cli.named_model(arguments))
        model, beyond = with_parameter_file(model, arguments.parameters, arguments.urdf_friction)
    joints = model.joint_names
    if arguments.gravity is not None:
        model = model.with_parameters(gravity=cli.numbers_of("--gravity", arguments.gravity, ("x", "y", "z")))
    model = model.with_parameters(payload=dict(_payload(text, model.tip) for text in arguments.payload_mass))
    q, qd, qdd = (cli.numbers_of(f"--{x}", getattr(arguments, x), joints) for x in ("q", "qd", "qdd"))
    terms = model.terms(q, qd, qdd)
    torque = model.inverse_dynamics(q, qd, qdd)
    if beyond is not None:
        load = terms.inertia + terms.coriolis + terms.gravity
        more = beyond.effort(np.array(qd), load, model.parameters.coulomb_velocity)
        torque, terms = torque + more, terms._replace(friction=terms.friction + more)
    columns = {"torque": torque, **terms._asdict()}
    for outside in far_outside(np.array(q), model.joints):
        print(f"warning: {outside}", file=sys.stderr)
    if arguments.json:
        values = {name: (np.asarray(column) + 0.0).tolist() for name, column in columns.items()}
        print(json.dumps({"joint_names": joints, "backend": model.backend, **values}))
        return 0
    rows = [("", *columns, "unit")]
    for i, joint in enumerate(model.joints):
        cells = (f"{round(column[i], 6) + 0.0:.6f}" for column in columns.values())
        rows.append((joint.name, *cells, joint.effort_unit))
    print("\n".join(aligned(rows, left={0, len(columns) + 1})))
    return 0
