"""Packages of robots in a folder, and their compilation with the compilers of this machine."""

import re
import subprocess
import sysconfig
from collections.abc import Sequence
from html import escape
from pathlib import Path

from parameter_header import header
from small_urdf import joint, link, robot

from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.description import load_robot, serial_chain
from kane_dynamics_ros.packaging.package import write_package

REPOSITORY = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
COUNTER = REPOSITORY / "examples" / "realtime_controller"  # allocations.hpp and .cpp
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
ARITHMETIC = ("-fno-math-errno", "-fno-trapping-math")  # as the package's CMakeLists.txt compiles
CPUINFO = Path("/proc/cpuinfo")
X86_64_V3 = CPUINFO.is_file() and {"avx2", "fma", "bmi2"} <= set(
    CPUINFO.read_text().split()
)  # this processor
PARTS = ("control_core", "controller", "description_check", "settings", "status")
C_OF_CPP = {"g++": "gcc", "clang++": "clang"}


def compiled(command: Sequence[object]) -> None:
    """Run a compiler; what it says is the test's failure."""
    run = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def compile_c(package: Path, target: Path, compiler: str = "gcc", march: Sequence[str] = ()) -> Path:
    """The generated C as an object file."""
    source = package / "src" / f"{package.name}.c"
    flags = ["-std=c99", "-O1", *march, *WARNINGS, "-I", package / "include"]
    compiled([compiler, *flags, "-c", source, "-o", target])
    return target


def compile_replay(
    package: Path, target: Path, compiler: str = "g++", standard: str = "c++17", march: Sequence[str] = ()
) -> Path:
    """``replay.cpp`` with a package's core, which counts its allocations."""
    model = compile_c(package, target.with_suffix(".o"), C_OF_CPP[compiler], march)
    name = package.name
    robot = [f"-DROBOT={name}", f'-DROBOT_HEADER="{name}/control_core.hpp"']
    sources = [HERE / "replay.cpp", package / "src" / "control_core.cpp", COUNTER / "allocations.cpp"]
    flags = [
        f"-std={standard}",
        "-O2",
        *march,
        *ARITHMETIC,
        *WARNINGS,
        "-I",
        package / "include",
        "-I",
        COUNTER,
    ]
    compiled([compiler, *flags, *robot, *sources, model, "-o", target])
    return target


CMEEL = Path(sysconfig.get_paths()["purelib"]) / "cmeel.prefix"  # the real Eigen and urdfdom, from PyPI
HOSTILE = [
    'a "joint" */',
    "line\nbreak // \\",
    '"); std::abort(); //',
    "double",
    "{{ name }} {% raw %}",
    "`id`; $HOME @name@ @PROJECT_NAME@",
    "??/ %s %n",
    "\u03b3\u2081 \u673a\u68b0\u81c2 \U0001f9be",
    "]]> <!-- & -->",
]
STAND_INS = HERE / "stand_ins"


def compile_controller(
    package: Path, target: Path, compiler: str = "g++", standard: int = 17, control: int = 4
) -> Path:
    """``drive_controller.cpp`` with a package's controller, between stand-ins of ros2_control 4 or 5."""
    name = package.name
    model = compile_c(package, target.with_suffix(".o"), C_OF_CPP[compiler])
    sources = [package / "src" / f"{part}.cpp" for part in PARTS]
    flags = [f"-std=c++{standard}", "-O0", *WARNINGS, f"-DROS2_CONTROL={control}"]
    robot = [f"-DROBOT={name}", f"-DPARAMETERS={name}_parameters"]
    own = [*own_headers(package, target.with_name(f"{target.name}.include")), "-I", COUNTER]
    command = [compiler, *flags, *robot, *own, HERE / "drive_controller.cpp", COUNTER / "allocations.cpp"]
    compiled([*command, *sources, model, *urdfdom(), "-o", target])
    return target


def own_headers(package: Path, made: Path) -> list[object]:
    """Where a package's headers are, the one of its parameters included, which is made in a folder."""
    name = package.name
    text = (package / "src" / "parameters.yaml").read_text(encoding="utf-8")
    (made / name).mkdir(parents=True, exist_ok=True)
    (made / name / f"{name}_parameters.hpp").write_text(header(text), encoding="utf-8")
    return ["-I", package / "include", "-I", package / "src", "-I", made, *other_headers()]


def other_headers() -> list[object]:
    """Where others' headers are: not ours to warn of."""
    urdf = CMEEL / "include" / "urdfdom_headers", CMEEL / "include" / "urdfdom", CMEEL / "include" / "eigen3"
    return [word for folder in (STAND_INS, *urdf, CMEEL / "include") for word in ("-isystem", folder)]


def urdfdom() -> list[object]:
    """The library that reads URDFs."""
    return ["-L", CMEEL / "lib", f"-Wl,-rpath,{CMEEL / 'lib'}", "-lurdfdom_model", "-lurdfdom_world"]


def compile_solver(package: Path, target: Path, compiler: str = "g++", standard: int = 17) -> Path:
    """``solver_test.cpp`` with a package's solver."""
    model = compile_c(package, target.with_suffix(".o"), C_OF_CPP[compiler])
    joints = re.search(
        r"_JOINTS (\d+)", (package / "include" / package.name / f"{package.name}.h").read_text()
    )
    assert joints is not None
    flags = [f"-std=c++{standard}", "-O0", *WARNINGS, f"-DJOINTS={joints[1]}", "-I", package / "include"]
    sources = [
        package / "src" / "solver.cpp",
        package / "src" / "description_check.cpp",
        HERE / "solver_test.cpp",
    ]
    compiled([compiler, *flags, *other_headers(), *sources, model, *urdfdom(), "-o", target])
    return target


def compile_check(package: Path, target: Path, compiler: str = "g++") -> Path:
    """``check_description.cpp`` with a package's check."""
    name = package.name
    robot = [f"-DROBOT={name}", "-I", package / "src"]
    sources = [package / "src" / "description_check.cpp", HERE / "check_description.cpp"]
    flags = ["-std=c++17", "-O0", *WARNINGS, "-I", package / "include", *other_headers()]
    compiled([compiler, *flags, *robot, *sources, *urdfdom(), "-o", target])
    return target


def written(urdf: Path | str, tip: str | None, name: str, folder: Path) -> Path:
    """The package of a robot in a folder, as the command writes it."""
    write_package(derive(serial_chain(load_robot(urdf), tip)), name, folder)
    return folder / name


def hostile_urdf(folder: Path) -> Path:
    """The URDF of a robot whose names want to be code."""
    names = [escape(name).replace("\n", "&#10;") for name in HOSTILE]
    links = [link(name) for name in names]
    joints = [joint(names[k], names[k - 1], names[k]) for k in range(1, len(names))]
    urdf = folder / "hostile.urdf"
    urdf.write_text(robot(*links, *joints, attributes=f'name="{names[1]}"'), encoding="utf-8")
    return urdf


def all_kinds(folder: Path) -> Path:
    """The URDF of a continuous, a prismatic and a revolute joint, the first without a velocity limit."""
    axis, slide = (
        '<axis xyz="0 1 0"/>',
        '<axis xyz="1 0 0"/><limit lower="-1" upper="1" velocity="1" effort="90"/>',
    )
    urdf = folder / "kinds.urdf"
    joints = (
        joint("turn", "base", "one", "continuous", f'{axis}<limit effort="80" velocity="0"/>'),
        joint("slide", "one", "two", "prismatic", slide),
        joint("bend", "two", "three"),
    )
    urdf.write_text(robot(*map(link, ("base", "one", "two", "three")), *joints), encoding="utf-8")
    return urdf
