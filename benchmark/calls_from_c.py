"""One call of inverse dynamics from C and C++."""

from pathlib import Path

from benchmark.line import Line, faster
from benchmark.measured import BUILD, Measured, measured_arms
from benchmark.mujoco_model import save_model
from benchmark.native_build import link_program, run

REPEATS = 101
AGREEMENT = 1e-9  # relative: rivals that compute something else are not compared
RIVALS = {  # title, and DESIGN.md's factor for the reference robot
    "pinocchio": ("Pinocchio C++ rnea", 14.0),
    "casadi_ours": ("CasADi, our frames", 1.0),
    "casadi_urdf": ("CasADi, URDF frames", None),
    "mujoco": ("MuJoCo mj_inverse", None),
}
CASADI_CALL = """\
    const double *arg[3] = {{q, qd, qdd}};
    double *res[1] = {{tau}};
    extern int {name}(const double **, double **, long long *, double *, int);
    {name}(arg, res, 0, 0, 0);"""


def call_times(measured: Measured, folder: Path = BUILD) -> dict[str, float]:
    """Median time of a call [ns] by rival's name. Raises ``RuntimeError`` where torques differ."""
    name = measured.arm.name
    model = save_model(measured.urdf, folder / f"{name}.mjb")
    adapters = {
        "ours": f"    {name}_inverse_dynamics(q, qd, qdd, tau);",
        "casadi_urdf": CASADI_CALL.format(name=measured.casadi_urdf.stem),
        "casadi_ours": CASADI_CALL.format(name=measured.casadi_ours.stem),
    }
    sources = [measured.source, measured.casadi_urdf, measured.casadi_ours]
    program = link_program(folder, name, adapters, sources)
    times: dict[str, float] = {}
    for row in run([program, measured.urdf, model, REPEATS]).splitlines():
        rival, nanoseconds, difference = row.split()
        if float(difference) > AGREEMENT:
            raise RuntimeError(
                f"{name}: the torques of {rival} differ from Pinocchio's by {difference} relative"
            )
        times[rival] = float(nanoseconds)
    return times


def lines() -> list[Line]:
    """Every arm's call from C; DESIGN.md has bounds for the reference robot's, the first."""
    reference, *others = measured_arms()
    return [*_compared(reference, required=True), *(line for arm in others for line in _compared(arm))]


def _compared(measured: Measured, *, required: bool = False) -> list[Line]:
    """Ours against Pinocchio, both CasADi programs and MuJoCo."""
    times = call_times(measured)
    work, ours = f"{measured.arm.name}, a call from C", times["ours"]
    result = []
    for rival, (title, factor) in RIVALS.items():
        if required and factor is not None:
            result.append(faster(work, ours, times[rival], title, "ns", factor))
        else:
            result.append(Line(work, ours, times[rival], title, "ns"))
    return result
