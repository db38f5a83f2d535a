"""A cycle of the generated C++ control core: computed torque with all terms on seven joints."""

from pathlib import Path

from benchmark.arms import arms, write_reduced_urdf
from benchmark.line import Line, below
from benchmark.measured import BUILD
from benchmark.native_build import C_FLAGS, NATIVE, run
from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.description import load_robot, serial_chain
from kane_dynamics_ros.packaging.package import write_package

ARM = "panda"
BOUND = 500.0  # [ns]
REPEATS = 51


def cycle_time(folder: Path = BUILD) -> float:
    """Processor time of a cycle [ns]. Raises ``RuntimeError`` where the core did not follow."""
    folder.mkdir(parents=True, exist_ok=True)
    arm = next(arm for arm in arms() if arm.name == ARM)
    name = f"{ARM}_cycle"
    write_package(derive(serial_chain(load_robot(write_reduced_urdf(arm, folder)), arm.tip)), name, folder)
    package, model, program = folder / name, folder / f"{name}.o", folder / f"{name}_speed"
    run(["gcc", *C_FLAGS, "-I", package / "include", "-c", package / "src" / f"{name}.c", "-o", model])
    robot = [f"-DROBOT={name}", f'-DCORE_HEADER="{name}/control_core.hpp"', "-I", package / "include"]
    sources = [NATIVE / "core_speed.cpp", package / "src" / "control_core.cpp"]
    run(["g++", "-std=c++17", "-O3", *robot, *sources, model, "-lm", "-o", program])
    found = float(run([program, REPEATS]))
    if found < 0.0:
        raise RuntimeError("the core did not follow its reference to the end")
    return found


def lines() -> list[Line]:
    """The one figure."""
    work = "control core in C++, a cycle of 7 joints, all terms"
    return [below(work, cycle_time(), BOUND, "DESIGN.md's bound", "ns")]
