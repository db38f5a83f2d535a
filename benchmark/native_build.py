"""Compile the C++ program that times Pinocchio, MuJoCo and C functions in one process."""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import mujoco

from benchmark.arms import site_file
from kane_dynamics_ros.runtime import compilation

NATIVE = Path(__file__).parent / "native"
EIGEN = ("/usr/include/eigen3", "/usr/local/include/eigen3")  # Debian: libeigen3-dev
DEFINITIONS = (
    "NDEBUG",
    "BOOST_MPL_LIMIT_LIST_SIZE=30",
    "BOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "BOOST_FUSION_INVOKE_MAX_ARITY=12",
    "EIGEN_MAX_ALIGN_BYTES=16",
    "EIGEN_MAX_STATIC_ALIGN_BYTES=16",
)
PINOCCHIO_FLAGS = ["-O3", "-std=c++17", "-w", *(f"-D{definition}" for definition in DEFINITIONS)]
C_FLAGS = ["-O3", *compilation.NATIVE, "-DNDEBUG", "-w"]  # for ours and the rivals' C alike
SIGNATURE = "(const double *q, const double *qd, const double *third, double *out)"


def run(command: Sequence[object]) -> str:
    """Run a command; its output, or ``RuntimeError`` with what it said on the error stream."""
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{result.stderr}")
    return result.stdout


def timing_program_object(folder: Path) -> Path:
    """``call_speed.cpp`` compiled, once for all arms: half a minute, hence kept until something changes."""
    source = NATIVE / "call_speed.cpp"
    target = folder / f"call_speed_pin{version('pin')}_mujoco{version('mujoco')}.o"
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        includes = [flag for path in _includes() for flag in ("-isystem", path)]
        run(["g++", *PINOCCHIO_FLAGS, *includes, "-I", NATIVE, "-c", source, "-o", target])
    return target


Adapters = Mapping[tuple[str, str], str]


def link_program(folder: Path, name: str, adapters: Adapters, sources: Sequence[Path]) -> Path:
    """The timing program of one arm with C functions in it.

    ``adapters``: for each (work, rival), the C text of a function body: out from q, qd and third.
    ``sources``: C files whose functions the bodies call; their headers are next to them.
    """
    table = folder / f"{name}_candidates.c"
    table.write_text(_candidates(adapters, [source.with_suffix(".h") for source in sources]))
    objects = []
    for source in [table, *sources]:
        objects.append(folder / f"{source.stem}.o")
        run(["gcc", *C_FLAGS, "-I", NATIVE, "-c", source, "-o", objects[-1]])
    program = folder / f"{name}_call_speed"
    run(["g++", timing_program_object(folder), *objects, *_libraries(), "-o", program])
    return program


def _libraries() -> list[str]:
    """Linker options for Pinocchio and MuJoCo, found again at run time where the wheels put them."""
    mujoco_library = next(Path(mujoco.__file__).parent.glob("libmujoco.so*"))
    folders = (site_file("cmeel.prefix/lib"), mujoco_library.parent)
    search = [flag for path in folders for flag in (f"-L{path}", f"-Wl,-rpath,{path}")]
    return [*search, "-lpinocchio_parsers", "-lpinocchio_default", f"-l:{mujoco_library.name}", "-lm"]


def _includes() -> list[Path]:
    wheels = site_file("cmeel.prefix/include")
    eigen = next((path for path in (wheels / "eigen3", *map(Path, EIGEN)) if path.exists()), None)
    if eigen is None or shutil.which("g++") is None:
        raise FileNotFoundError("the C++ rivals need g++ and Eigen's headers (the wheel cmeel-eigen)")
    urdfdom = [wheels / name for name in ("urdfdom", "urdfdom_headers") if (wheels / name).exists()]
    return [eigen, wheels, *urdfdom, Path(mujoco.__file__).parent / "include"]


def _candidates(adapters: Adapters, headers: Sequence[Path]) -> str:
    includes = ["candidates.h", *(str(header) for header in headers if header.exists())]
    functions = [
        f"static void {work}_{name}{SIGNATURE}\n{{\n{body}\n}}\n" for (work, name), body in adapters.items()
    ]
    rows = "".join(f'    {{"{work}", "{name}", {work}_{name}}},\n' for work, name in adapters)
    return (
        "".join(f'#include "{header}"\n' for header in includes)
        + "".join(functions)
        + f"const struct candidate candidates[] = {{\n{rows}}};\n"
        + f"const int candidate_count = {len(adapters)};\n"
    )
