"""``kane_dynamics generate``: a URDF becomes a module in Python and C, compiled where that can be done."""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from kane_dynamics_ros import __version__
from kane_dynamics_ros.cli import arguments as cli
from kane_dynamics_ros.cli.inspect import warning_lines
from kane_dynamics_ros.cli.progress import Progress
from kane_dynamics_ros.codegen.derive import Derived, derive
from kane_dynamics_ros.codegen.module import check_replaceable, checked_name, module_name, write_module
from kane_dynamics_ros.codegen.print_single import single_costs, single_sources
from kane_dynamics_ros.description import Chain
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.files import write_file
from kane_dynamics_ros.formulation.kane.partial_velocities import inverse_dynamics_by_body
from kane_dynamics_ros.formulation.witnesses.loads import Actuation
from kane_dynamics_ros.runtime.casadi_functions import casadi_source
from kane_dynamics_ros.runtime.compilation import CompileError
from kane_dynamics_ros.runtime.load import compile_model, load_model
from kane_dynamics_ros.systems.closed_chain import ClosedChain, closed_chain, follower_lines
from kane_dynamics_ros.systems.closed_functions import derive_closed

STATES = 4
LARGEST_DIFFERENCE = 1e-10  # of an effort, relative to the largest joint reaction of the state


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add = parser.add_argument
    add("urdf", metavar="URDF", help="a URDF or xacro file")
    cli.add_chain_arguments(parser)
    cli.add_strict_argument(parser)
    add("--name", help="name of the module; default: the robot's, cleaned")
    cli.add_output_argument(parser, "DIR", ".", "where to write")
    add("--casadi", action="store_true", help="write NAME_casadi.c too: NAME.c for CasADi's external()")
    add(
        "--precision",
        choices=("double", "single"),
        default="double",
        help="single: write NAME_single.c and .h too, on float, with their errors; default: %(default)s",
    )
    add("--no-compile", action="store_true", help="do not call the C compiler")
    add(
        "--loops",
        type=Path,
        metavar="FILE",
        help="a YAML file with loops between links, which URDF cannot say: the module's joints are the "
        "independent ones, the others follow",
    )
    add(
        "--inertial",
        choices=("fixed", "runtime"),
        default="fixed",
        help="runtime: keep every inertial parameter an argument, to load an identified set later; "
        "default: %(default)s",
    )


def run(arguments: argparse.Namespace) -> int:
    """Derive, write, compile; print times and operation counts."""
    start = time.perf_counter()
    folder: Path = arguments.output
    with Progress("reading the URDF") as progress:
        closed = closed_of(arguments)
        if closed is None:
            robot = cli.robot_of(arguments)
            chain = cli.chain_of(arguments, robot)
            told = cli.gripper_lines(arguments, robot, chain)
        else:
            chain, told = closed.reduced, follower_lines(closed)
        name = module_name(chain.robot) if arguments.name is None else checked_name(arguments.name)
        progress.doing("deriving the equations")
        if closed is None:
            derived = derive(chain, inertial=arguments.inertial)
            progress.doing("writing the module and comparing it with the unfactored equations")
            files = write_module(derived, name, folder, accept=lambda text: check_module(text, name, chain))
        else:
            derived = derive_closed(closed, inertial=arguments.inertial)
            files = write_module(derived, name, folder)
        seconds = time.perf_counter() - start
        lines = [
            *warning_lines(chain),
            f"joints (root to tip): {', '.join(chain.coordinates)}",
            *told,
            f"{'function':<30}{'+ -':>8}{'*':>8}{'/':>6}{'total':>8}{'calls':>7}",
            *(
                f"{function:<30}{count.additions:>8}{count.multiplications:>8}{count.divisions:>6}"
                f"{count.total:>8}{count.calls:>7}"
                for function, count in derived.operations().items()
            ),
            f"read, derived and written in {seconds:.2f} s: {', '.join(map(str, files))}",
        ]
        if arguments.precision == "single":
            progress.doing("measuring single precision")
            lines += single_lines(derived, write_single(derived, name, folder))
        if arguments.casadi:
            source = folder / f"{name}_casadi.c"
            write_file(source, casadi_source(load_model(files[0], backend="python")))
            lines.append(f"for CasADi, to be compiled with {files[2].name}: {source}")
        if not arguments.no_compile:
            progress.doing("compiling")
            lines.append(compilation(files[0]))
    print("\n".join(lines))
    return 0


def closed_of(arguments: argparse.Namespace) -> ClosedChain | None:
    """The robot with the loops of ``--loops``; None without.

    Raises ``KaneDynamicsError``: "with_loops" for an option that does not go with it.
    """
    if arguments.loops is None:
        return None
    others = {
        "--root": arguments.root is not None,
        "--lock": bool(arguments.lock),
        "a second --tip": len(arguments.tip or ()) > 1,
        "--precision single": arguments.precision == "single",
    }
    for option, given in others.items():
        if given:
            raise KaneDynamicsError(f"{option} does not go with --loops; leave one out", "with_loops")
    tip = arguments.tip[0] if arguments.tip else None
    return closed_chain(cli.robot_of(arguments), arguments.loops, tip)


def check_module(text: str, name: str, chain: Chain) -> None:
    """Hold a module's inverse dynamics against the unfactored equations, which share none of its steps.

    Raises:
        KaneDynamicsError: code "disagreement": they differ by more than rounding explains, by our own fault.
    """
    with tempfile.TemporaryDirectory(prefix="kane_dynamics-") as folder:
        module = Path(folder) / f"{name}.py"
        module.write_text(text, encoding="utf-8", newline="\n")
        model = load_model(module, backend="python")
    p = model.parameters
    actuation = Actuation(p.rotor_inertia, p.viscous, p.coulomb, p.coulomb_velocity)
    rng = np.random.default_rng(0)
    for _ in range(STATES):
        q, qd, qdd = rng.uniform(-np.pi, np.pi, (3, len(chain.coordinates)))
        bodies, size = inverse_dynamics_by_body(chain, q.tolist(), qd.tolist(), qdd.tolist(), p.gravity)
        actuators = actuation.effort(qd, qdd)
        size = max(size, float(np.max(np.abs(actuators))))
        difference = np.abs(model.inverse_dynamics(q, qd, qdd) - (np.array(bodies, dtype=float) + actuators))
        worst = int(np.argmax(difference))
        if not difference[worst] <= LARGEST_DIFFERENCE * size:
            joint = chain.coordinates[worst]
            raise KaneDynamicsError(
                f"module {name!r} was not written: its effort of joint {joint!r} differs from the unfactored "
                f"equations of motion by {difference[worst]:.2g} where joint reactions are {size:.2g}: more "
                "than rounding; please report the URDF as a fault of this package",
                "disagreement",
                joint=joint,
                difference=float(difference[worst]),
                size=size,
            )


def write_single(derived: Derived, name: str, folder: Path) -> list[Path]:
    """Write NAME_single.h and NAME_single.c."""
    files = []
    for file, text in single_sources(name, derived, __version__).items():
        files.append(folder / file)
        check_replaceable(files[-1])
        write_file(files[-1], text)
    return files


def single_lines(derived: Derived, files: list[Path]) -> list[str]:
    """What each function costs on float, and how far it is from double."""
    return [
        f"{'in single precision':<36}{'operations':>11}{'stack bytes':>12}{'error':>9}",
        *(
            f"{name:<36}{cost.operations:>11}{cost.stack:>12}{cost.error:>9.0e}"
            for name, cost in single_costs(derived).items()
        ),
        f"written: {', '.join(map(str, files))}",
    ]


def compilation(module: Path) -> str:
    """Compile, and say how that went and where the library is; the module works without."""
    start = time.perf_counter()
    try:
        library = compile_model(module)
    except CompileError as error:
        return f"not compiled: {error}. Pure Python gives the same answers, slower"
    return f"compiled in {time.perf_counter() - start:.1f} s: {library}"
