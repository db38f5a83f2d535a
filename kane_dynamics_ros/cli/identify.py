"""``kane_dynamics identify``: from recorded motion to a URDF whose numbers are the arm's."""

import argparse
import math
import shlex
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.cli import arguments as cli
from kane_dynamics_ros.cli.generate import compilation
from kane_dynamics_ros.cli.inspect import warning_lines
from kane_dynamics_ros.cli.progress import Progress
from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import checked_name, module_name, write_module
from kane_dynamics_ros.description import Chain, Robot, geometry, load_robot, serial_chain
from kane_dynamics_ros.description.load import urdf_content
from kane_dynamics_ros.files import claim_files, refuse_foreign, refuse_unwritable, whole_results, write_file
from kane_dynamics_ros.friction import wrong_coupling
from kane_dynamics_ros.identification import urdf_text, verdict, writing
from kane_dynamics_ros.identification.choosing import LAMBDAS
from kane_dynamics_ros.identification.fitting import Constraints, Nominal
from kane_dynamics_ros.identification.identify import Identified, Settings, identify
from kane_dynamics_ros.identification.link_boxes import link_boxes
from kane_dynamics_ros.identification.recordings import MotionStore, Request, read_bags
from kane_dynamics_ros.identification.regression import FAMILIES, tip_columns
from kane_dynamics_ros.replay import recording
from kane_dynamics_ros.replay.errors import BagError, joint_mismatch
from kane_dynamics_ros.replay.jobs import executor, find_bags
from kane_dynamics_ros.runtime import DynamicsModel, Payload, load_model
from kane_dynamics_ros.text import json_text
from kane_dynamics_ros.yaml_text import parameter_file, rounded

COMMAND = "identify"
DO_NOT_USE = 1  # exit code
HOLDOUT = "1/3"
FAMILY_OF = {"damping": "viscous", "friction": "coulomb", "rotor_inertia": "rotor"}  # a URDF joint's numbers
LOAD = Payload(1.0, (0.0, 0.0, 0.0), (0.02, 0.0, 0.0, 0.02, 0.0, 0.02))  # where the search for a load begins
LOAD_FAMILIES = ("viscous", "coulomb", "offset")  # what may have changed beside it
LOAD_NAMES = ("mass", "x", "y", "z", "ixx", "ixy", "ixz", "iyy", "iyz", "izz")


# Options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """BAG..., the URDF, and what may be left to choose."""
    add = parser.add_argument
    cli.add_bags(parser)
    add("--urdf", required=True, metavar="FILE", help="the URDF or xacro file to correct")
    cli.add_chain_arguments(parser, tip="the last link that the bag's joints lead to")
    # how the bags are read, and which part of them judges
    several: dict[str, Any] = {"action": "extend", "default": [], "nargs": "+"}
    add("--validate", **several, type=Path, metavar="BAG", help="bags only to judge by")
    text = "of each bag's end to judge by; default: %(default)s"
    add("--holdout", default=HOLDOUT, type=holdout, metavar="PART", help=text)
    text = "a joint that the bag calls otherwise; one * on both sides: 'left_*=*'"
    add("--rename", **several, metavar="BAG_NAME=MODEL_NAME", help=text)
    cli.add_workers(parser)
    # what is known of the arm and its efforts
    text = "N m or N a recorded unit, for efforts in ampere or per cent"
    add("--effort-scale", action="append", default=[], metavar="[JOINT=]X", help=text)
    text = "by which the recorded efforts are later than the positions of their stamps [s]; default: 0"
    seconds = cli.number("--effort-delay", "give a number of seconds")
    add("--effort-delay", type=seconds, default=0.0, metavar="S", help=text)
    text = (
        "the drive of JOINT turns with OTHER, too, by X for each rad or m of it, as in many wrists; none: no "
        "drive does; default: such couplings are looked for"
    )
    add("--couple", action="append", default=[], metavar="JOINT=OTHER:X", help=text)
    text = "the recorded efforts are the drives', referred to the joints by their gears; needs --couple"
    add("--motor-efforts", action="store_true", help=text)
    text = (
        "a body of known mass at the tip during that bag [kg, m], whose centre is found where none is given; "
        "the drives' gains are estimated from it"
    )
    add("--payload", action="append", default=[], metavar="BAG=MASS[,X,Y,Z]", help=text)
    text = "the arm is as the URDF says: find the body at its tip, for the node's payload parameters"
    add("--payload-only", action="store_true", help=text)
    add("--gravity", metavar="X,Y,Z", help="free fall in the root link [m/s^2]; default: 0,0,-9.81")
    mass, text = cli.positive("--total-mass", "kg"), "of everything that moves, if it is known"
    add("--total-mass", type=mass, metavar="KG", help=text)
    text = "keep centres of mass in the boxes of the links' shapes"
    add("--com-in-geometry", action="store_true", help=text)
    # what is written, and the bound that the exit code tells
    part = cli.positive("--max-residual", "a part of the effort: 0.05 is 5 %")
    text = "exit code 1 when the held-out residual is above; 0.05 is 5 %% of the effort"
    add("--max-residual", type=part, metavar="X", help=text)
    add("--add-dynamics", action="store_true", help="add <dynamics> attributes that the URDF lacks")
    add("--name", help="of the generated module; default: the robot's and _identified")
    add("--no-compile", action="store_true", help="do not call the C compiler for it")
    cli.add_output_argument(parser, "DIR", "identified", "where the results go")


# From bags to results


@dataclass(frozen=True)
class Inputs:
    """What is identified, and from what: ``validated``, the last bags of the store, are only judged.

    ``carriers``: of each body of the chain, the link that carries what is found; ``loads``: at the tip, of
    each bag; ``notes``: on the choice of the chain.
    """

    arguments: argparse.Namespace
    robot: Robot
    chain: Chain
    carriers: Sequence[urdf_text.Carrier]
    model: DynamicsModel
    store: MotionStore
    validated: int
    loads: Sequence["Load | None"]
    notes: Sequence[str]


def run(arguments: argparse.Namespace) -> int:
    """Identify, print, write; 1 when the result is not to be used, or exceeds ``--max-residual``."""
    for path in (*arguments.bags, *arguments.validate):
        if not path.exists():
            raise BagError(f"{path}: no such file or folder; give the path of a bag", "not_found", bag=path)
    fitted = [bag for path in arguments.bags for bag in find_bags(path)]
    judged = [bag for path in arguments.validate for bag in find_bags(path)]
    renamings = recording.read_renamings(arguments.rename)
    loads = loads_of(arguments.payload, fitted + judged)  # before bags are read, which may take minutes
    robot = cli.robot_of(arguments)
    chain, notes = chain_for(robot, fitted[0], arguments, renamings)
    files = output_files(arguments, chain)
    refuse_foreign(arguments.output, [path.name for path in files.values()], COMMAND)
    refuse_unwritable(arguments.output)
    with tempfile.TemporaryDirectory(prefix="kane_dynamics_identify_") as folder:
        with Progress("deriving the equations") as progress:
            model = nominal_model(chain, arguments.gravity, Path(folder))
            progress.doing("reading the bags", unit="messages")
            with read(model, fitted + judged, arguments, renamings, progress) as store:
                bodies = urdf_text.carriers(robot, chain)
                inputs = Inputs(arguments, robot, chain, bodies, model, store, len(judged), loads, notes)
                found = identified(inputs, progress)
                urdf = None if arguments.payload_only else identified_urdf(inputs, found)
                result = result_of(inputs, found, files, notes_on_urdf(inputs, found, urdf) if urdf else ())
        lines = writing.lines(result) if urdf else payload_lines(inputs, result)
        print("\n".join([*warning_lines(chain), *lines]), flush=True)
        with Progress("writing the results"):
            if urdf:
                write_results(inputs, result, files, urdf)
            else:
                write_payload(inputs, result, files)
    if "module" in files and not arguments.no_compile:
        with Progress("compiling"):
            compiled = compilation(files["module"])
        print(compiled)
    print("written: " + ", ".join(map(str, files.values())))
    if "module" in files and result.verdict.usable and not arguments.effort_scale:  # replay scales nothing
        words = [(judged or fitted)[0], "--model", files["module"], "--parameters", files["parameters"]]
        words += ["--topic", arguments.topic] if arguments.topic else []
        words += [word for renaming in arguments.rename for word in ("--rename", renaming)]
        print(f"judge it: kane_dynamics replay {shlex.join(map(str, words))}")
    held = found.judged.held
    residual = held.relative(found.found.written.node_errors)
    if arguments.max_residual is not None and residual > arguments.max_residual:
        bound = f"--max-residual {arguments.max_residual:g}"
        print(f"held-out residual {residual:.4g} exceeds {bound}", file=sys.stderr)
        return DO_NOT_USE
    return 0 if result.verdict.usable else DO_NOT_USE


def chain_for(
    robot: Robot, bag: Path, arguments: argparse.Namespace, renamings: Sequence[recording.Renaming]
) -> tuple[Chain, list[str]]:
    """The chain, to the tip that was asked for, or else as far as the bag knows its joints; notes on that.

    Raises ``JointMismatchError`` with a proposal where other names are the likely reason.
    """
    topic, found = recording.recorded_joints(bag, arguments.topic)
    chain = cli.chain_of(arguments, robot)
    names = recording.names_in_bag(chain.coordinates, renamings)
    missing = [k for k, name in enumerate(names) if name not in found]
    if not missing:
        return chain, []
    known = chain.coordinates[: missing[0]]
    proposed = recording.proposal(chain.coordinates, found)
    if arguments.tip is None and proposed is None and missing == list(range(missing[0], len(names))):
        if known:
            tip = robot.joint_named[chain.coordinates[missing[0]]].parent
            last = ", ".join(chain.coordinates[k] for k in missing)
            note = f"tip {tip!r} was chosen, for the bag has no {last}; --tip chooses another"
            return serial_chain(robot, tip, root=chain.root, lock=dict(chain.locked)), [note]
        # a renaming with which the bag has the joints before the last ones: a gripper's may be missing
        parts = (chain.coordinates[:count] for count in range(len(chain.coordinates) - 1, 1, -1))
        proposed = next((each for part in parts if (each := recording.proposal(part, found))), None)
    part = recorded_part(robot, chain, missing)
    raise joint_mismatch(bag, topic, [names[k] for k in missing], found, proposed, part=part)


def recorded_part(robot: Robot, chain: Chain, missing: Sequence[int]) -> str:
    """The options of the stretch of a chain of which no joint is missing; "" where it is in pieces."""
    kept = sorted(set(range(len(chain.coordinates))) - set(missing))
    if len(kept) < 2 or kept[-1] - kept[0] >= len(kept):
        return ""
    parents = [robot.joint_named[name].parent for name in chain.coordinates]
    options = [f"--root {parents[kept[0]]}"] if kept[0] else []
    options += [f"--tip {tip}" for tip in parents[kept[-1] + 1 :][:1]]
    return " ".join(options)


def nominal_model(chain: Chain, gravity: str | None, folder: Path) -> DynamicsModel:
    """The equations of the chain as the URDF describes it."""
    module, *_ = write_module(derive(chain), "nominal", folder)
    model = load_model(module)
    return model if gravity is None else model.with_parameters(gravity=gravity_of(gravity))


def read(
    model: DynamicsModel,
    bags: Sequence[Path],
    arguments: argparse.Namespace,
    renamings: Sequence[recording.Renaming],
    progress: Progress,
) -> MotionStore:
    """The filtered motion of all bags. Raises ``BagError`` with code "units" for positions in degrees."""
    scale = effort_scale(arguments.effort_scale, model.joint_names)
    unknown_units = bool(arguments.payload) and not arguments.effort_scale
    limits = tuple(math.inf if unknown_units else joint.effort or math.inf for joint in model.joints)
    names = recording.names_in_bag(model.joint_names, renamings)
    sliding = tuple(joint.name for joint in model.joints if joint.kind == "prismatic")
    C = couplings(arguments.couple, model.joint_names)
    if arguments.motor_efforts and C is None:
        raise cli.unusable("--motor-efforts", "", "say with --couple which joints turn which drives")
    if arguments.payload and C is not None and not arguments.motor_efforts:
        needed = "with --couple the gains are those of the drives: give --motor-efforts, too"
        raise cli.unusable("--payload", arguments.payload[0], needed)
    same = (model.joint_names, arguments.topic, arguments.cutoff, scale, limits, sliding)
    drives = C if arguments.motor_efforts else None
    requests = [Request(bag, names, *same, drives, arguments.effort_delay) for bag in bags]
    many = len(bags) > 1 and (arguments.jobs > 1 or arguments.dask is not None)
    with executor(arguments.jobs, arguments.dask) if many else nullcontext() as pool:
        store = read_bags(requests, pool, progress.advance)
    for track in store.tracks:
        for piece in store.pieces(track):
            recording.check_units(track.bag, track.topic, piece.q, model.joints)
    return store


def identified(inputs: Inputs, progress: Progress) -> Identified:
    """The estimate, by what the options say is known."""
    arguments, chain, model, loads = inputs.arguments, inputs.chain, inputs.model, inputs.loads
    nominal = nominal_of(chain, model, inputs.carriers)
    settings = Settings(
        holdout=0.0 if inputs.validated else arguments.holdout,
        validate=inputs.validated,
        payloads=tuple(
            tip_body(model, Payload(load.mass, load.com)) if load and load.com else np.zeros(10)
            for load in loads
        ),
        loaded=tuple(load is not None and load.com is None for load in loads),
        constraints=Constraints(
            arguments.total_mass,
            boxes_of(arguments, chain) if arguments.com_in_geometry else (),
        ),
        gains=bool(arguments.payload),
        coupling=couplings(arguments.couple, model.joint_names),
        sought=not (arguments.couple or arguments.payload or arguments.payload_only),
    )
    masses = {load.mass for load in loads if load is not None and load.com is None}
    if arguments.payload_only:
        nominal = with_load(nominal, tip_body(model, LOAD), known=True)
        settings = replace(
            settings, loaded=(True,) * len(loads), weight=LAMBDAS[0], families=LOAD_FAMILIES, gains=False
        )
    elif masses:
        (mass,) = masses
        moment = mass * LOAD.inertia[0]
        ball = Payload(mass, LOAD.com, (moment, 0.0, 0.0, moment, 0.0, moment))
        nominal = with_load(nominal, tip_body(model, ball), known=False)._replace(load_mass=mass)
    return identify(inputs.store, model, nominal, settings, progress.doing)


# What the options say


def gravity_of(text: str) -> tuple[float, float, float]:
    """Free fall in the root link. Raises ``ArgumentError``."""
    x, y, z = cli.numbers_of("--gravity", text, "XYZ")
    return x, y, z


def effort_scale(texts: Sequence[str], joints: Sequence[str]) -> tuple[float, ...]:
    """N m or N a recorded unit of each joint. Raises ``ArgumentError``."""
    scale = dict.fromkeys(joints, 1.0)
    for text in texts:
        joint, equals, value = text.rpartition("=")
        factor = cli.number_in(value)
        if math.isnan(factor) or factor == 0.0 or (equals and joint not in scale):
            needed = "give one number other than 0 for all joints, or JOINT=NUMBER with a joint of "
            raise cli.unusable("--effort-scale", text, needed + ", ".join(map(repr, joints)))
        scale.update({joint: factor} if equals else dict.fromkeys(joints, factor))
    return tuple(scale.values())


def couplings(texts: Sequence[str], joints: Sequence[str]) -> Array | None:
    """C of the drives, or None where no coupling is given. Raises ``ArgumentError``.

    >>> couplings(["wrist_2=wrist_1:0.5"], ("wrist_1", "wrist_2")).tolist()
    [[1.0, 0.0], [0.5, 1.0]]
    """
    C = np.eye(len(joints))
    for text in () if list(texts) == ["none"] else texts:
        joint, _, rest = text.partition("=")
        other, _, factor = rest.rpartition(":")
        if joint not in joints or other not in joints or joint == other or math.isnan(cli.number_in(factor)):
            needed = "none, or JOINT=OTHER:NUMBER with two of the joints "
            raise cli.unusable("--couple", text, needed + ", ".join(map(repr, joints)))
        C[joints.index(joint), joints.index(other)] = cli.number_in(factor)
    if wrong := wrong_coupling(C.ravel().tolist(), joints):
        raise cli.unusable("--couple", " ".join(texts), wrong[1])
    return None if np.array_equal(C, np.eye(len(joints))) else C


class Load(NamedTuple):
    """A body at the tip [kg], with its centre in the tip frame [m] where that is known."""

    mass: float
    com: tuple[float, float, float] | None


def loads_of(texts: Sequence[str], bags: Sequence[Path]) -> tuple[Load | None, ...]:
    """The body at the tip during each bag, named by its path or its name. Raises ``ArgumentError``."""
    loads: list[Load | None] = [None for _ in bags]
    for text in texts:
        name, _, numbers = text.rpartition("=")
        own = Path(name).resolve()
        places = [i for i, bag in enumerate(bags) if name == bag.name or bag.resolve() == own]
        mass, *com = map(cli.number_in, numbers.split(","))
        usable = len(com) in (0, 3) and all(map(math.isfinite, com)) and mass >= 0.0
        if not places or not usable or (not com and mass == 0.0):
            raise cli.unusable(
                "--payload",
                text,
                "give BAG=MASS or BAG=MASS,X,Y,Z, with the mass in kg and its centre in the tip frame in m; "
                f"the bags are {', '.join(map(str, bags))}",
            )
        for i in places:
            loads[i] = Load(mass, (com[0], com[1], com[2]) if com else None)
    if len({load.mass for load in loads if load is not None and load.com is None}) > 1:
        raise cli.ArgumentError(
            "--payload: the centre of one body can be found; give the centres of the others: BAG=MASS,X,Y,Z",
            "payload",
            found=list(texts),
        )
    return tuple(loads)


def tip_body(model: DynamicsModel, payload: Payload) -> Array:
    """A body in the tip frame as parameters of the last body: (10,)."""
    loaded = model.with_parameters(payload=payload)
    return np.asarray(loaded.inertial_parameters - model.inertial_parameters)[tip_columns(model)]


def with_load(nominal: Nominal, load: Array, known: bool) -> Nominal:
    """The nominal arm with a body at its tip, one more than it has; ``known``: the arm is not identified."""
    return nominal._replace(
        inertial=np.vstack([nominal.inertial, load]),
        carried=np.vstack([nominal.carried, np.zeros(10)]),
        known=tuple(range(len(nominal.inertial))) if known else (),
    )


def holdout(text: str) -> float:
    """A part, as a number or a fraction. Raises ``ArgumentError``."""
    top, _, bottom = text.partition("/")
    part = cli.number_in(top) / (cli.number_in(bottom or "1") or math.nan)
    if not 0.0 < part < 1.0:
        raise cli.unusable("--holdout", text, "give the part of each bag to be judged, above 0 and below 1")
    return part


def nominal_of(chain: Chain, model: DynamicsModel, bodies: Sequence[urdf_text.Carrier]) -> Nominal:
    """What the URDF says of the bodies and joints."""
    terms = np.zeros((len(chain.coordinates), len(FAMILIES)))
    values = {"rotor": chain.rotor_inertia, "viscous": chain.damping, "coulomb": chain.friction}
    for family, column in values.items():
        terms[:, FAMILIES.index(family)] = column
    inertial = model.inertial_parameters.reshape(-1, 10)
    return Nominal(inertial, terms, np.stack([body.others for body in bodies]))


def boxes_of(arguments: argparse.Namespace, chain: Chain) -> tuple[tuple[int, Array], ...]:
    """The boxes of the links' shapes, by the number of the body."""
    boxes = link_boxes(urdf_bytes(arguments), Path(arguments.urdf).parent)
    return tuple((b, boxes[joint.body]) for b, joint in enumerate(chain.joints) if joint.body in boxes)


def urdf_bytes(arguments: argparse.Namespace) -> bytes:
    """The URDF's text, expanded where ``load_robot`` expands it."""
    return urdf_content(arguments.urdf, **cli.loading(arguments))


# What is written


def output_files(arguments: argparse.Namespace, chain: Chain) -> dict[str, Path]:
    """Where everything goes, by role."""
    folder: Path = arguments.output
    if arguments.payload_only:
        return {"parameters": folder / "parameters.yaml"}
    stem = Path(arguments.urdf).name.removesuffix(".xacro").removesuffix(".urdf")
    own = f"{module_name(chain.robot)}_identified" if arguments.name is None else checked_name(arguments.name)
    return {
        "urdf": folder / f"{stem}.identified.urdf",
        "parameters": folder / "parameters.yaml",
        "data": folder / "identified.json",
        "report": folder / "report.html",
        "module": folder / f"{own}.py",
        "header": folder / f"{own}.h",
        "source": folder / f"{own}.c",
    }


def result_of(
    inputs: Inputs, found: Identified, files: Mapping[str, Path], notes: Iterable[str] = ()
) -> writing.Result:
    """What was found, of which robot and recordings, and the verdict."""
    arguments = inputs.arguments
    scaled = bool(arguments.effort_scale or arguments.payload or arguments.payload_only)
    scale = np.array(effort_scale(arguments.effort_scale, inputs.model.joint_names))
    return writing.Result(
        found,
        verdict.verdict_on(found, inputs.store, inputs.model, scaled, scale),
        inputs.model,
        arguments.urdf,
        inputs.store.tracks,
        inputs.validated,
        scale,
        arguments.effort_delay,
        None if arguments.gravity is None else gravity_of(arguments.gravity),
        {role: path.name for role, path in files.items()},
        [*inputs.notes, *found.notes, *notes],
    )


def write_results(
    inputs: Inputs, result: writing.Result, files: Mapping[str, Path], identified: urdf_text.Rewritten
) -> None:
    """Write the files, all or none."""
    arguments, chain = inputs.arguments, inputs.chain
    with whole_results(arguments.output, [path.name for path in files.values()], COMMAND) as part:
        urdf = part / files["urdf"].name
        write_file(urdf, identified.text)
        again = serial_chain(load_robot(str(urdf)), chain.tips, root=chain.root, lock=dict(chain.locked))
        write_module(derive(again), files["module"].stem, part)
        write_file(part / files["data"].name, json_text(writing.as_data(result)))
        parameters = writing.parameters_text(result, files["module"].name)
        write_file(part / files["parameters"].name, parameters)
        writing.write_report(result, part / files["report"].name)


def identified_urdf(inputs: Inputs, found: Identified) -> urdf_text.Rewritten:
    """The URDF's text with the numbers that were found."""
    arguments = inputs.arguments
    links = {
        carrier.link: urdf_text.carrier_inertia(found.found.inertial[b], carrier)
        for b, carrier in enumerate(inputs.carriers)
        if carrier.link is not None
    }
    joints = joint_numbers(inputs.chain, found)
    return urdf_text.rewritten(urdf_bytes(arguments), links, joints, arguments.urdf, arguments.add_dynamics)


def notes_on_urdf(inputs: Inputs, found: Identified, urdf: urdf_text.Rewritten) -> Iterator[str]:
    """What the identified URDF leaves out, and which of its links deserve a second look."""
    if any(finding.code == cli.EXPANDED for finding in inputs.robot.findings):
        name = Path(inputs.arguments.urdf).name
        yield f"{name} is xacro: the identified URDF is its expansion, with other numbers"
    if found.found.coupling is not None:
        yield (
            "coupled drives have no place in the URDF, whose friction and rotors are the drives': "
            "friction.coupling is in parameters.yaml only"
        )
    for each in urdf.not_written:
        yield f"{each} has no place in the URDF: in parameters.yaml only (--add-dynamics adds it)"
    for b in found.found.at_bound:
        joint = inputs.chain.joints[b] if b < len(inputs.chain.joints) else None
        if joint is not None and joint.lumped and inputs.carriers[b].others.any():
            yield (
                f"link {joint.body!r} is at the edge of what a body can be: does {', '.join(joint.lumped)}, "
                "which the URDF fixes to it, carry its true mass?"
            )


def joint_numbers(chain: Chain, found: Identified) -> dict[str, urdf_text.JointNumbers]:
    """What each joint of the file must say, so that its coordinate has what was found.

    The joints that follow another keep their share of it.
    """
    numbers = {}
    nominal = {"damping": chain.damping, "friction": chain.friction, "rotor_inertia": chain.rotor_inertia}
    for joint in chain.joints:
        values = {}
        for key, family in FAMILY_OF.items():
            wanted = float(found.found.written.urdf[joint.coordinate, FAMILIES.index(family)])
            old = nominal[key][joint.coordinate]
            leads = joint.name in chain.coordinates
            values[key] = float(getattr(joint, key)) * wanted / old if old > 0.0 else wanted * leads
        numbers[joint.name] = urdf_text.JointNumbers(**values)
    return numbers


# The body at the tip


def in_tip_frame(chain: Chain, parameters: Array) -> Array:
    """Mass, centre and central inertia in the tip frame, as ``LOAD_NAMES``, of the last body's parameters."""
    tip = geometry.inverse(geometry.Pose(chain.R_BT, chain.p_BoTo_B))
    load = geometry.moved_inertia(tip, geometry.central_inertia(parameters))
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = load.tensor
    return np.array([load.mass, *load.com, xx, xy, xz, yy, yz, zz])


def load_and_errors(inputs: Inputs, found: Identified) -> tuple[Array, Array]:
    """The body at the tip as ``LOAD_NAMES``, and standard errors, both (10,): through central differences."""
    parameters = found.found.inertial[-1]
    step = 1e-6
    ends = [[in_tip_frame(inputs.chain, parameters + d) for d in sign * np.eye(10)] for sign in (step, -step)]
    J = ((np.array(ends[0]) - np.array(ends[1])) / (2 * step)).T
    variances = [np.diag(J @ M @ J.T) for M in found.certainty.last_body]
    return in_tip_frame(inputs.chain, parameters), np.sqrt(np.max(variances, axis=0))


def write_payload(inputs: Inputs, result: writing.Result, files: Mapping[str, Path]) -> None:
    """Write the node's payload parameters."""
    values, _ = load_and_errors(inputs, result.identified)
    mass, *rest = rounded(values)
    content = {"payload": {"mass": mass, "com": rest[:3], "inertia": rest[3:]}}
    head = [
        f"the body at {inputs.chain.tip!r}, which kane_dynamics identify --payload-only found",
        *writing.warning(result.verdict),
    ]
    claim_files(inputs.arguments.output, [path.name for path in files.values()], COMMAND)
    write_file(files["parameters"], parameter_file(content, head))


def payload_lines(inputs: Inputs, result: writing.Result) -> Iterator[str]:
    """What is printed of the body at the tip."""
    values, errors = load_and_errors(inputs, result.identified)
    yield f"the body at {inputs.chain.tip!r}, in its frame:"
    for name, value, error in zip(LOAD_NAMES, values, errors, strict=True):
        unit = "kg" if name == "mass" else "m" if len(name) == 1 else "kg m^2"
        yield f"  {name:4} {value:10.4g} ± {error:.2g} {unit}"
    yield from writing.verdict_lines(result)
