"""``kane_dynamics torque``: the joint torques of one state, term by term."""

import argparse
import json
import sys

import numpy as np

from kane_dynamics_ros.cli.arguments import add_model_argument, named_model, numbers_of
from kane_dynamics_ros.control.limits import far_outside
from kane_dynamics_ros.runtime import DynamicsModel, Payload, Terms, load_model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add_model_argument(parser)
    for option, unit in (("q", "rad or m"), ("qd", "rad/s or m/s"), ("qdd", "rad/s^2 or m/s^2")):
        parser.add_argument(
            f"--{option}", metavar="A,B,...", default="", help=f"one number a joint [{unit}]; default: zeros"
        )
    parser.add_argument(
        "--gravity",
        metavar="X,Y,Z",
        help="free-fall acceleration in the root frame [m/s^2]; default: the model's",
    )
    parser.add_argument(
        "--payload-mass", metavar="MASS", type=float, default=0.0, help="at the tip's origin [kg]; default: 0"
    )
    parser.add_argument("--friction", action="store_true", help="with the URDF's damping and friction")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Evaluate and print."""
    model = load_model(named_model(arguments))
    joints = model.joint_names
    if arguments.gravity is not None:
        model = model.with_parameters(gravity=numbers_of("--gravity", arguments.gravity, ("x", "y", "z")))
    model = model.with_parameters(payload=Payload(mass=arguments.payload_mass))
    if arguments.friction:
        model = model.with_urdf_friction()
    q, qd, qdd = (numbers_of(f"--{name}", getattr(arguments, name), joints) for name in ("q", "qd", "qdd"))
    tau = model.inverse_dynamics(q, qd, qdd)
    terms = model.terms(q, qd, qdd)
    for outside in far_outside(np.array(q), model.joints):
        print(f"warning: {outside} [rad or m]: degrees written for radians?", file=sys.stderr)
    if arguments.json:
        columns = {"torque": tau, **terms._asdict()}
        values = {name: (np.asarray(column) + 0.0).tolist() for name, column in columns.items()}
        print(json.dumps({"joint_names": joints, "backend": model.backend, **values}))
    else:
        print_table(model, np.asarray(tau), terms)
    return 0


def print_table(model: DynamicsModel, tau: np.ndarray, terms: Terms) -> None:
    """One row a joint, in N m (revolute) or N (prismatic)."""
    width = max(map(len, model.joint_names)) + 2
    head = ("torque", *Terms._fields)
    print(" " * width + "".join(f"{name:>14}" for name in head) + "  unit")
    for i, joint in enumerate(model.joints):
        row = (tau[i], *(term[i] for term in terms))
        unit = "N" if joint.kind == "prismatic" else "N m"
        print(
            f"{joint.name:<{width}}"
            + "".join(f"{round(value, 6) + 0.0:14.6f}" for value in row)
            + f"  {unit}"
        )
