"""A cycle of the generated C++ control core: computed torque with all terms on seven joints."""

import statistics
from pathlib import Path

from benchmark.arms import arms, write_reduced_urdf
from benchmark.line import Line, below
from benchmark.measured import BUILD
from benchmark.native_build import NATIVE, run
from benchmark.timing import one_core
from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.description import load_robot, serial_chain
from kane_dynamics_ros.packaging.package import write_package

ARM = "panda"
BOUND = 500.0  # [ns]
REPEATS = 51  # rounds of a run
RUNS = 7  # of both builds in turn


def cycle_times(folder: Path = BUILD) -> tuple[float, float]:
    """Processor time of a cycle [ns], as it is built by default and for any processor alone.

    Raises ``RuntimeError`` where the core did not follow.
    """
    folder.mkdir(parents=True, exist_ok=True)
    arm = next(arm for arm in arms() if arm.name == ARM)
    name = f"{ARM}_cycle"
    write_package(derive(serial_chain(load_robot(write_reduced_urdf(arm, folder)), arm.tip)), name, folder)
    programs = [built(folder / name, v3) for v3 in ("ON", "OFF")]
    with one_core():
        times = [[float(run([program, REPEATS])) for program in programs] for _ in range(RUNS)]
    if min(map(min, times)) < 0.0:
        raise RuntimeError("the core did not follow its reference to the end")
    default, portable = (statistics.median(each) for each in zip(*times, strict=True))
    return default, portable


def built(package: Path, v3: str) -> Path:
    """The timing program with what the package's own CMakeLists.txt builds, with x86-64-v3 or without."""
    build = package.with_name(f"{package.name}_build_{v3}")
    run(["cmake", "-S", package, "-B", build, f"-D{package.name.upper()}_X86_64_V3={v3}"])
    run(["cmake", "--build", build, "--target", package.name])
    robot = [f"-DROBOT={package.name}", f'-DCORE_HEADER="{package.name}/control_core.hpp"']
    library = ["-L", build, f"-l{package.name}", f"-Wl,-rpath,{build}"]
    program = build / "speed"
    run(
        [
            *("g++", "-std=c++17", "-O3", *robot, "-I", package / "include"),
            *(NATIVE / "core_speed.cpp", *library, "-o", program),
        ]
    )
    return program


def lines() -> list[Line]:
    """Both figures; the one of the default is bounded."""
    work = "control core in C++, a cycle of 7 joints, all terms"
    default, portable = cycle_times()
    return [
        below(work, default, BOUND, "DESIGN.md's bound", "ns"),
        Line(f"{work}, without x86-64-v3", portable, default, "with it", "ns"),
    ]
