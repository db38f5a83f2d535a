"""``kane_dynamics identify``: from recorded motion to a URDF whose numbers are the arm's."""

import argparse
import math
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.cli.arguments import (
    EXPANDED,
    add_chain_arguments,
    chain_of,
    loading,
    optional_number,
    positive_number,
    robot_of,
)
from kane_dynamics_ros.cli.generate import compilation
from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import checked_name, module_name, write_module
from kane_dynamics_ros.description import Chain, Robot, load_robot, serial_chain
from kane_dynamics_ros.description.load import urdf_content
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.files import claim_files, refuse_foreign, write_file
from kane_dynamics_ros.identification.estimation import FAMILIES, Constraints, Nominal
from kane_dynamics_ros.identification.identify import Identified, Settings, identify
from kane_dynamics_ros.identification.link_boxes import link_boxes
from kane_dynamics_ros.identification.motion_store import MotionStore, Request, read_bags
from kane_dynamics_ros.identification.report import write_report
from kane_dynamics_ros.identification.results import Subject, as_data, lines, parameters_text
from kane_dynamics_ros.identification.urdf_text import (
    Carrier,
    JointNumbers,
    Rewritten,
    carrier_inertia,
    carriers,
    rewritten,
)
from kane_dynamics_ros.replay.errors import joint_mismatch
from kane_dynamics_ros.replay.jobs import executor, find_bags
from kane_dynamics_ros.replay.recording import (
    Renaming,
    names_in_bag,
    proposal,
    read_renamings,
    recorded_joints,
)
from kane_dynamics_ros.runtime import DynamicsModel, Payload, load_model
from kane_dynamics_ros.text import json_text

COMMAND = "identify"
EXCEEDED = 1  # exit code
HOLDOUT = "1/3"
FAMILY_OF = {"damping": "viscous", "friction": "coulomb", "rotor_inertia": "rotor"}  # a URDF joint's numbers


class EffortScaleError(KaneDynamicsError):
    """An effort scale that cannot be used."""

    def __init__(self, found: str, joints: Sequence[str]) -> None:
        super().__init__(
            f"--effort-scale {found!r}: give one number for all joints, or JOINT=NUMBER with a number other "
            f"than 0 and a joint of {', '.join(map(repr, joints))}"
        )


class PayloadError(KaneDynamicsError):
    """A payload of a bag that cannot be read."""

    def __init__(self, found: str) -> None:
        super().__init__(
            f"--payload {found!r}: give BAG=MASS or BAG=MASS,X,Y,Z, with the mass in kg and its centre in "
            "the tip frame in m"
        )


class HoldoutError(KaneDynamicsError):
    """``--holdout`` is no part of a bag."""

    def __init__(self, found: str) -> None:
        super().__init__(f"--holdout {found!r}: give the part of each bag to be judged, above 0 and below 1")


class VectorArgumentError(KaneDynamicsError):
    """An option is not three numbers."""

    def __init__(self, option: str, found: str) -> None:
        super().__init__(f"{option} {found!r}: give three finite numbers, X,Y,Z")


# Options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """BAG..., the URDF, and what may be left to choose."""
    add = parser.add_argument
    add("bags", nargs="+", type=Path, metavar="BAG", help="bag folder or file, or a folder of bags")
    add("--urdf", required=True, metavar="FILE", help="the URDF or xacro file to correct")
    add_chain_arguments(parser, tip="the last link that the bag's joints lead to")
    _add_bag_arguments(parser)
    _add_knowledge_arguments(parser)
    _add_result_arguments(parser)


def _add_bag_arguments(parser: argparse.ArgumentParser) -> None:
    """How the bags are read, and which part of them judges."""
    add = parser.add_argument
    add(
        "--validate",
        nargs="+",
        action="extend",
        default=[],
        type=Path,
        metavar="BAG",
        help="bags only to judge by",
    )
    add(
        "--holdout",
        default=HOLDOUT,
        metavar="PART",
        help="of each bag's end to judge by; default: %(default)s",
    )
    add(
        "--rename",
        nargs="+",
        action="extend",
        default=[],
        metavar="BAG_NAME=MODEL_NAME",
        help="a joint that the bag calls otherwise; one * on both sides: 'left_*=*'",
    )
    add("--topic", help="the joint states, when a bag has several topics of them")
    add("--cutoff", metavar="HZ", help="of the low-pass; chosen from the recording by default")
    add("--jobs", default=str(os.cpu_count() or 1), metavar="N", help="bags read at once; default: all cores")
    add("--dask", metavar="ADDRESS", help="read the bags on this Dask cluster")


def _add_knowledge_arguments(parser: argparse.ArgumentParser) -> None:
    """What is known of the arm and its efforts."""
    add = parser.add_argument
    add(
        "--effort-scale",
        action="append",
        default=[],
        metavar="[JOINT=]X",
        help="N m or N a recorded unit, for efforts in ampere or per cent",
    )
    add(
        "--payload",
        action="append",
        default=[],
        metavar="BAG=MASS[,X,Y,Z]",
        help="a known body at the tip during that bag [kg, m]; the drives' gains are estimated from it",
    )
    add("--gravity", metavar="X,Y,Z", help="free fall in the root link [m/s^2]; default: 0,0,-9.81")
    add("--total-mass", metavar="KG", help="of everything that moves, if it is known")
    add(
        "--com-in-geometry",
        action="store_true",
        help="keep centres of mass in the boxes of the links' shapes",
    )


def _add_result_arguments(parser: argparse.ArgumentParser) -> None:
    """What is written, and the bound that the exit code tells."""
    add = parser.add_argument
    add(
        "--max-residual",
        metavar="X",
        help="exit code 1 when the held-out residual is above; 0.05 is 5 %% of the effort",
    )
    add("--add-dynamics", action="store_true", help="add <dynamics> attributes that the URDF lacks")
    add("--name", help="of the generated module; default: the robot's and _identified")
    add("--no-compile", action="store_true", help="do not call the C compiler for it")
    add(
        "-o",
        "--output",
        type=Path,
        default=Path("identified"),
        metavar="DIR",
        help="where the results go; default: %(default)s",
    )


# From bags to results


@dataclass(frozen=True)
class Inputs:
    """What is identified, and from what: ``validated``, the last bags of the store, are only judged.

    ``carriers``: of each body of the chain, the link that carries what is found; ``notes``: on the choice of
    the chain.
    """

    arguments: argparse.Namespace
    robot: Robot
    chain: Chain
    carriers: Sequence[Carrier]
    model: DynamicsModel
    store: MotionStore
    validated: int
    notes: Sequence[str]


def run(arguments: argparse.Namespace) -> int:
    """Identify, write, print; 1 when the held-out residual exceeds ``--max-residual``."""
    bound = optional_number("--max-residual", arguments.max_residual, "a part of the effort: 0.05 is 5 %")
    fitted = [bag for path in arguments.bags for bag in find_bags(path)]
    judged = [bag for path in arguments.validate for bag in find_bags(path)]
    renamings = read_renamings(arguments.rename)
    robot = robot_of(arguments)
    chain, notes = chain_for(robot, fitted[0], arguments, renamings)
    refuse_foreign(arguments.output, [path.name for path in output_files(arguments, chain)], COMMAND)
    with tempfile.TemporaryDirectory(prefix="kane_dynamics_identify_") as folder:
        model = nominal_model(chain, arguments.gravity, Path(folder))
        with read(model, fitted + judged, arguments, renamings) as store:
            inputs = Inputs(arguments, robot, chain, carriers(robot, chain), model, store, len(judged), notes)
            found = identified(inputs)
            output = write_results(inputs, found)
    if not arguments.no_compile:
        print(compilation(output.module))
    print("written: " + ", ".join(map(str, output)))
    residual = found.held.relative(found.held.identified)
    if bound is not None and residual > bound:
        print(f"held-out residual {residual:.4g} exceeds --max-residual {bound:g}", file=sys.stderr)
        return EXCEEDED
    return 0


def chain_for(
    robot: Robot, bag: Path, arguments: argparse.Namespace, renamings: Sequence[Renaming]
) -> tuple[Chain, list[str]]:
    """The chain, to the tip that was asked for, or else as far as the bag knows its joints; notes on that.

    Raises ``JointMismatchError`` with a proposal where other names are the likely reason.
    """
    topic, found = recorded_joints(bag, arguments.topic)
    chain = chain_of(arguments, robot)
    names = names_in_bag(chain.coordinates, renamings)
    missing = [k for k, name in enumerate(names) if name not in found]
    if not missing:
        return chain, []
    known = chain.coordinates[: missing[0]]
    proposed = proposal(chain.coordinates, found)
    if arguments.tip is None and proposed is None and missing == list(range(missing[0], len(names))):
        proposed = None if known else _proposal_of_part(chain, found)
        if known:
            joints = {joint.name: joint for joint in robot.joints}
            tip = joints[chain.coordinates[missing[0]]].parent
            last = ", ".join(chain.coordinates[k] for k in missing)
            note = f"tip {tip!r} was chosen, for the bag has no {last}; --tip chooses another"
            return serial_chain(robot, tip, root=chain.root, lock=dict(chain.locked)), [note]
    raise joint_mismatch(bag, topic, [names[k] for k in missing], found, proposed)


def _proposal_of_part(chain: Chain, found: Sequence[str]) -> Renaming | None:
    """A renaming with which the bag has the joints before the last ones: a gripper's may be missing."""
    for count in range(len(chain.coordinates) - 1, 1, -1):
        proposed = proposal(chain.coordinates[:count], found)
        if proposed is not None:
            return proposed
    return None


def nominal_model(chain: Chain, gravity: str | None, folder: Path) -> DynamicsModel:
    """The equations of the chain as the URDF describes it."""
    module, *_ = write_module(derive(chain), "nominal", folder)
    model = load_model(module)
    return model if gravity is None else model.with_parameters(gravity=vector("--gravity", gravity))


def read(
    model: DynamicsModel, bags: Sequence[Path], arguments: argparse.Namespace, renamings: Sequence[Renaming]
) -> MotionStore:
    """The filtered motion of all bags."""
    workers = int(positive_number("--jobs", arguments.jobs, "a number of processes, 1 or more", 1.0))
    cutoff = optional_number("--cutoff", arguments.cutoff, "Hz")
    scale = effort_scale(arguments.effort_scale, model.joint_names)
    unknown_units = bool(arguments.payload) and not arguments.effort_scale
    limits = tuple(math.inf if unknown_units else joint.effort or math.inf for joint in model.joints)
    names = names_in_bag(model.joint_names, renamings)
    revolving = tuple(joint.name for joint in model.joints if joint.kind != "prismatic")
    requests = [
        Request(bag, names, model.joint_names, arguments.topic, cutoff, scale, limits, revolving)
        for bag in bags
    ]
    many = len(bags) > 1 and (workers > 1 or arguments.dask is not None)
    with (
        executor(workers, arguments.dask) if many else nullcontext() as pool,
        tqdm(unit=" messages", unit_scale=True, disable=None, leave=False) as bar,
    ):
        return read_bags(requests, pool, bar.update)


def identified(inputs: Inputs) -> Identified:
    """The estimate, by what the options say is known."""
    arguments, chain, model = inputs.arguments, inputs.chain, inputs.model
    bags = [track.bag for track in inputs.store.tracks]
    settings = Settings(
        holdout=0.0 if inputs.validated else holdout(arguments.holdout),
        validate=inputs.validated,
        payloads=payloads_of(arguments.payload, bags, model),
        constraints=Constraints(
            optional_number("--total-mass", arguments.total_mass, "kg"),
            boxes_of(arguments, chain) if arguments.com_in_geometry else (),
        ),
        gains=bool(arguments.payload),
    )
    nominal = nominal_of(chain, model, inputs.carriers)
    with tqdm(bar_format="{desc}", disable=None, leave=False) as bar:
        return identify(inputs.store, model, nominal, settings, bar.set_description_str)


# What the options say


def vector(option: str, text: str) -> tuple[float, float, float]:
    """Three numbers. Raises ``VectorArgumentError``."""
    try:
        x, y, z = (float(part) for part in text.split(","))
    except ValueError:
        raise VectorArgumentError(option, text) from None
    if not all(map(math.isfinite, (x, y, z))):
        raise VectorArgumentError(option, text)
    return x, y, z


def effort_scale(texts: Sequence[str], joints: Sequence[str]) -> tuple[float, ...]:
    """N m or N a recorded unit of each joint. Raises ``EffortScaleError``."""
    scale = dict.fromkeys(joints, 1.0)
    for text in texts:
        joint, equals, value = text.rpartition("=")
        try:
            factor = float(value)
        except ValueError:
            factor = 0.0
        if not math.isfinite(factor) or factor == 0.0 or (equals and joint not in scale):
            raise EffortScaleError(text, joints)
        scale.update({joint: factor} if equals else dict.fromkeys(joints, factor))
    return tuple(scale.values())


def payloads_of(texts: Sequence[str], bags: Sequence[Path], model: DynamicsModel) -> tuple[Array, ...]:
    """The known body's parameters (10,) for each bag, in the last body's frame. Raises ``PayloadError``."""
    known = [np.zeros(10) for _ in bags]
    for text in texts:
        name, _, numbers = text.rpartition("=")
        places = [
            i for i, bag in enumerate(bags) if bag == Path(name) or bag.resolve() == Path(name).resolve()
        ]
        try:
            mass, *com = (float(part) for part in numbers.split(","))
        except ValueError:
            raise PayloadError(text) from None
        if not places or len(com) not in (0, 3) or not all(map(math.isfinite, (mass, *com))) or mass < 0.0:
            raise PayloadError(text)
        for i in places:
            known[i] = tip_body(model, mass, tuple(com) or (0.0, 0.0, 0.0))
    return tuple(known)


def tip_body(model: DynamicsModel, mass: float, com: tuple[float, ...]) -> Array:
    """A point mass in the tip frame as parameters of the last body: (10,)."""
    x, y, z = com
    loaded = model.with_parameters(payload=Payload(mass, (x, y, z)))
    return np.asarray(loaded.inertial_parameters - model.inertial_parameters)[-10:]


def holdout(text: str) -> float:
    """A part, as a number or a fraction. Raises ``HoldoutError``."""
    top, _, bottom = text.partition("/")
    try:
        part = float(top) / float(bottom or 1)
    except (ValueError, ZeroDivisionError):
        part = 0.0
    if not 0.0 < part < 1.0:
        raise HoldoutError(text)
    return part


def nominal_of(chain: Chain, model: DynamicsModel, bodies: Sequence[Carrier]) -> Nominal:
    """What the URDF says of the bodies and joints."""
    terms = np.zeros((len(chain.coordinates), len(FAMILIES)))
    for family, values in (
        ("rotor", chain.rotor_inertia),
        ("viscous", chain.damping),
        ("coulomb", chain.friction),
    ):
        terms[:, FAMILIES.index(family)] = values
    return Nominal(
        model.inertial_parameters.reshape(-1, 10), terms, np.stack([body.others for body in bodies])
    )


def boxes_of(arguments: argparse.Namespace, chain: Chain) -> tuple[tuple[int, Array], ...]:
    """The boxes of the links' shapes, by the number of the body."""
    boxes = link_boxes(urdf_bytes(arguments), Path(arguments.urdf).parent)
    return tuple((b, boxes[joint.body]) for b, joint in enumerate(chain.joints) if joint.body in boxes)


def urdf_bytes(arguments: argparse.Namespace) -> bytes:
    """The URDF's text, expanded where ``load_robot`` expands it."""
    return urdf_content(arguments.urdf, **loading(arguments))


# What is written


class Output(NamedTuple):
    """The files that are written, by their role."""

    urdf: Path
    parameters: Path
    data: Path
    report: Path
    module: Path


def write_results(inputs: Inputs, found: Identified) -> Output:
    """Write the files and print the table."""
    arguments, chain = inputs.arguments, inputs.chain
    output = output_files(arguments, chain)
    urdf = identified_urdf(inputs, found)
    claim_files(arguments.output, [path.name for path in output], COMMAND)
    write_file(output.urdf, urdf.text)
    again = serial_chain(load_robot(str(output.urdf)), chain.tips, root=chain.root, lock=dict(chain.locked))
    write_module(derive(again), output.module.stem, arguments.output)
    notes = [*inputs.notes, *found.notes, *notes_on_urdf(inputs, found, urdf, output)]
    subject = Subject(
        inputs.model,
        arguments.urdf,
        inputs.store.tracks,
        inputs.validated,
        np.array(effort_scale(arguments.effort_scale, inputs.model.joint_names)),
        None if arguments.gravity is None else vector("--gravity", arguments.gravity),
    )
    names = {role: path.name for role, path in output._asdict().items()}
    write_file(output.data, json_text(as_data(subject, found, names, notes)))
    write_file(output.parameters, parameters_text(subject, found, output.module.name))
    write_report(subject, found, notes, output.report)
    print("\n".join(lines(subject, found, notes)))
    return output


def output_files(arguments: argparse.Namespace, chain: Chain) -> Output:
    """Where everything goes."""
    stem = Path(arguments.urdf).name.removesuffix(".xacro").removesuffix(".urdf")
    name = (
        checked_name(arguments.name)
        if arguments.name is not None
        else f"{module_name(chain.robot)}_identified"
    )
    folder: Path = arguments.output
    return Output(
        urdf=folder / f"{stem}.identified.urdf",
        parameters=folder / "parameters.yaml",
        data=folder / "identified.json",
        report=folder / "report.html",
        module=folder / f"{name}.py",
    )


def identified_urdf(inputs: Inputs, found: Identified) -> Rewritten:
    """The URDF's text with the numbers that were found."""
    arguments = inputs.arguments
    links = {
        carrier.link: carrier_inertia(found.inertial[b], carrier)
        for b, carrier in enumerate(inputs.carriers)
        if carrier.link is not None
    }
    joints = joint_numbers(inputs.chain, found)
    return rewritten(urdf_bytes(arguments), links, joints, arguments.urdf, arguments.add_dynamics)


def notes_on_urdf(inputs: Inputs, found: Identified, urdf: Rewritten, output: Output) -> Iterator[str]:
    """What the identified URDF leaves out, and which of its links deserve a second look."""
    if any(finding.code == EXPANDED for finding in inputs.robot.findings):
        yield (
            f"{Path(inputs.arguments.urdf).name} is xacro: the identified URDF is its expansion, with other "
            "numbers"
        )
    for each in urdf.not_written:
        yield f"{each} has no place in the URDF: in {output.parameters.name} only (--add-dynamics adds it)"
    for b in found.at_bound:
        joint = inputs.chain.joints[b]
        if joint.lumped and inputs.carriers[b].others.any():
            yield (
                f"link {joint.body!r} is at the edge of what a body can be: does {', '.join(joint.lumped)}, "
                "which the URDF fixes to it, carry its true mass?"
            )


def joint_numbers(chain: Chain, found: Identified) -> dict[str, JointNumbers]:
    """What each joint of the file must say, so that its coordinate has what was found.

    The joints that follow another keep their share of it.
    """
    numbers = {}
    nominal = {"damping": chain.damping, "friction": chain.friction, "rotor_inertia": chain.rotor_inertia}
    for joint in chain.joints:
        values = {}
        for key, family in FAMILY_OF.items():
            wanted = float(found.plain[joint.coordinate, FAMILIES.index(family)])
            old = nominal[key][joint.coordinate]
            leads = joint.name in chain.coordinates
            values[key] = float(getattr(joint, key)) * wanted / old if old > 0.0 else wanted * leads
        numbers[joint.name] = JointNumbers(**values)
    return numbers
