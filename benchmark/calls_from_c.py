"""One call from C and C++: inverse and forward dynamics, the mass matrix and the derivatives."""

import re
import sys
from pathlib import Path

from benchmark.line import Line, below, faster
from benchmark.measured import BUILD, Measured, measured_arms
from benchmark.mujoco_model import save_model
from benchmark.native_build import link_program, run
from benchmark.operations import count_operations
from benchmark.timing import one_core, spreads

REPEATS = 101
AGREEMENT = 1e-9  # relative: rivals that compute something else are not compared
RIVALS = {  # of inverse dynamics: title, and DESIGN.md's factor for the reference robot
    "pinocchio": ("Pinocchio C++ rnea", 14.0),
    "casadi_ours": ("CasADi, our frames", 1.0),
    "casadi_urdf": ("CasADi, URDF frames", None),
    "mujoco": ("MuJoCo mj_inverse", None),
}
PINOCCHIO = {
    "mass_matrix": "Pinocchio C++ crba",
    "forward_dynamics": "Pinocchio C++ aba",
    "inverse_dynamics_derivatives": "Pinocchio C++ computeRNEADerivatives",
    "forward_dynamics_derivatives": "Pinocchio C++ computeABADerivatives",
}
TITLES = {
    "mass_matrix": "M",
    "forward_dynamics": "forward dynamics",
    "inverse_dynamics_derivatives": "d tau",
    "forward_dynamics_derivatives": "d qdd",
}
OPERATIONS = {  # DESIGN.md: most operations of each work, by arm
    "forward_dynamics": {"manipulator_5dof": 333, "ur5": 655, "so101": 1116, "panda": 2118},
    "inverse_dynamics_derivatives": {"manipulator_5dof": 800, "ur5": 1675, "so101": 2655, "panda": 5344},
    "forward_dynamics_derivatives": {"manipulator_5dof": 1300, "ur5": 3019, "so101": 4191, "panda": 7000},
}
CASADI_TIME = {  # DESIGN.md: at least so many times as fast as CasADi's code
    "forward_dynamics": dict.fromkeys(("manipulator_5dof", "ur5", "so101", "panda"), 1.0),
    "inverse_dynamics_derivatives": {"manipulator_5dof": 1.25, "ur5": 1.0, "so101": 1.0, "panda": 1.0},
    "forward_dynamics_derivatives": dict.fromkeys(("manipulator_5dof", "ur5", "so101", "panda"), 1.25),
}
CASADI_CALL = """\
    const double *arg[3] = {{q, qd, third}};
    double *res[1] = {{out}};
    extern int {name}(const double **, double **, long long *, double *, int);
    {name}(arg, res, 0, 0, 0);"""
OUR_CALL = {
    "inverse_dynamics": "(q, qd, third, out)",
    "mass_matrix": "(q, out)",
    "forward_dynamics": "(q, qd, third, out)",
    "inverse_dynamics_derivatives": "(q, qd, third, out)",
    "forward_dynamics_derivatives": "(q, qd, third, out)",
}


Times = dict[tuple[str, str], float]  # [ns] by work and rival


def call_times(measured: Measured, folder: Path = BUILD) -> Times:
    """Median time of a call [ns] by work and rival. Raises ``RuntimeError`` where results differ."""
    name = measured.arm.name
    model = save_model(measured.urdf, folder / f"{name}.mjb")
    adapters = {(work, "ours"): f"    {name}_{work}{call};" for work, call in OUR_CALL.items()}
    adapters["inverse_dynamics", "casadi_urdf"] = CASADI_CALL.format(name=measured.casadi_urdf.stem)
    adapters["inverse_dynamics", "casadi_ours"] = CASADI_CALL.format(name=measured.casadi_ours.stem)
    for work, source in measured.casadi_derived.items():
        adapters[work, "casadi_ours"] = CASADI_CALL.format(name=source.stem)
    casadi = [measured.casadi_urdf, measured.casadi_ours, *measured.casadi_derived.values()]
    print(f"  {name}: compiled, then called {REPEATS} times a rival", file=sys.stderr, flush=True)
    program = link_program(folder, name, adapters, [measured.source, *casadi])
    times: Times = {}
    with one_core():
        said = run([program, measured.urdf, model, REPEATS])
    for row in said.splitlines():
        work, rival, nanoseconds, difference, spread = row.split()
        spreads.append(float(spread))
        if float(difference) > AGREEMENT:
            raise RuntimeError(f"{name}: {work} of {rival} differs from Pinocchio's by {difference} relative")
        times[work, rival] = float(nanoseconds)
    return times


def lines() -> list[Line]:
    """Every arm's calls from C; inverse dynamics has bounds for the reference robot, the first."""
    result = []
    for k, measured in enumerate(measured_arms()):
        times = call_times(measured)
        result += _inverse_dynamics(measured, times, required=k == 0)
        result += _other_functions(measured, times)
    return result


def _inverse_dynamics(
    measured: Measured, times: dict[tuple[str, str], float], *, required: bool
) -> list[Line]:
    """Ours against Pinocchio, both CasADi programs and MuJoCo."""
    work, ours = f"{measured.arm.name}, a call from C", times["inverse_dynamics", "ours"]
    result = []
    for rival, (title, factor) in RIVALS.items():
        theirs = times["inverse_dynamics", rival]
        if required and factor is not None:
            result.append(faster(work, ours, theirs, title, "ns", factor))
        else:
            result.append(Line(work, ours, theirs, title, "ns"))
    return result


def _other_functions(measured: Measured, times: Times) -> list[Line]:
    """Ours against Pinocchio's algorithm and CasADi's derivatives, in time and in operations."""
    arm = measured.arm.name
    result = []
    for work, title in TITLES.items():
        ours = times[work, "ours"]
        result.append(Line(f"{arm}, {title}", ours, times[work, "pinocchio"], PINOCCHIO[work], "ns"))
        name, theirs = "CasADi, our frames", times[work, "casadi_ours"]
        factor = CASADI_TIME.get(work, {}).get(arm)
        if factor is None:
            result.append(Line(f"{arm}, {title}", ours, theirs, name, "ns"))
        else:
            result.append(faster(f"{arm}, {title}", ours, theirs, name, "ns", factor))
        others = set(re.findall(r"KD_WITHOUT_\w+", measured.source.read_text()))
        without = sorted(others - {f"KD_WITHOUT_{work}", "KD_WITHOUT_STATES"})
        count = count_operations(measured.source, f"{arm}_{work}", without=without).binary
        program = measured.casadi_derived[work]
        rival = count_operations(program, program.stem).binary
        result.append(Line(f"{arm}, {title}, operations", count, rival, name, ""))
        bound = OPERATIONS.get(work, {}).get(arm)
        if bound is not None:
            result.append(below(f"{arm}, {title}, operations", count, bound + 1, "bound + 1", ""))
    return result
