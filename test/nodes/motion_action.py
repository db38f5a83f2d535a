"""An action of FollowJointTrajectory's shape, made with the generators of the ROS wheels: no wheel has one.

``build`` writes the Python package ``motion_test`` from ``motion_test_idl``, and compiles its type support
into one library; it takes some seconds of a C and a C++ compiler. There are two implementations: the one by
which messages are serialized, and the one by which Jazzy's middleware describes a type to other participants.
Where there are several, ROS opens a library of each one's name: these are empty, depend on the one library,
and are loaded with the package.
"""

import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

PACKAGE = "motion_test"
INTERFACES = Path(__file__).with_name("motion_test_idl")
FILES = ("msg/Tolerance.idl", "action/FollowJointTrajectory.idl")
USED = (
    "trajectory_msgs",
    "std_msgs",
    "builtin_interfaces",
    "action_msgs",
    "unique_identifier_msgs",
    "service_msgs",
)
IMPLEMENTATIONS = ("rosidl_typesupport_fastrtps_c", "rosidl_typesupport_introspection_c")
INTROSPECTION = f"introspection/{PACKAGE}"
KINDS = ("rosidl_generator_c", "rosidl_generator_py", "rosidl_typesupport_c", *IMPLEMENTATIONS)
LIBRARIES = (
    *(f"{package}__{kind}" for package in USED for kind in KINDS),
    *("rosidl_runtime_c", "rosidl_typesupport_c", *IMPLEMENTATIONS),
    *("rosidl_typesupport_fastrtps_cpp", "rmw", "rcutils", "fastcdr"),
)
LOAD = """from ctypes import CDLL
from pathlib import Path

for library in sorted(Path(__file__).parent.glob("lib*.so")):
    CDLL(str(library))
"""


def build(folder):
    """The folder to import ``motion_test`` from."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AMENT_PREFIX_PATH", sys.prefix)  # where the generators find their templates
        _generate(folder / PACKAGE)
    return _compile(folder)


def _generate(output):
    """The sources of the package, in Python, C and C++."""
    from rosidl_generator_c.cli import GenerateC
    from rosidl_generator_py.cli import GeneratePython
    from rosidl_typesupport_c.cli import GenerateCTypesupport
    from rosidl_typesupport_fastrtps_c.cli import GenerateFastRTPSCTypesupport
    from rosidl_typesupport_introspection_c.cli import GenerateIntrospectionCTypesupport

    files = [f"{INTERFACES}:{name}" for name in FILES]
    for generator, where in (
        (GenerateC("c"), output),
        (GenerateFastRTPSCTypesupport("fastrtps_c"), output),
        (
            GenerateIntrospectionCTypesupport("introspection_c"),
            output / INTROSPECTION,
        ),  # names as GenerateC's
        (GenerateCTypesupport("c", typesupport_implementations=list(IMPLEMENTATIONS)), output),
        (GeneratePython("py", typesupport_implementations=["rosidl_typesupport_c"]), output),
    ):
        generator.generate(PACKAGE, files, [str(Path(sys.prefix) / "share")], where)
    (output / "__init__.py").write_text(LOAD)


def _compile(folder):
    """Its type support, as one extension; the folder."""
    output, prefix = folder / PACKAGE, Path(sys.prefix)
    include = prefix / "include"
    folders = [
        folder,
        (output / INTROSPECTION).parent,
        include,
        *(each for each in include.iterdir() if each.is_dir()),
    ]
    folders += [np.get_include(), sysconfig.get_paths()["include"]]
    flags = ["-O0", "-fPIC", "-w", *(f"-I{each}" for each in folders)]

    def compiled(source):
        target = output / f"{'_'.join(source.relative_to(output).parts)}.o"
        compiler = "gcc" if source.suffix == ".c" else "g++"
        subprocess.run([compiler, *flags, "-c", str(source), "-o", str(target)], check=True)
        return str(target)

    with ThreadPoolExecutor(2) as workers:
        objects = list(workers.map(compiled, sorted([*output.rglob("*.c"), *output.rglob("*.cpp")])))
    folders = [f"-L{each}" for each in (output, prefix / "lib")]
    folders += [f"-Wl,-rpath,{each}" for each in (output, prefix / "lib")]

    def linked(name, *words):
        words = "-shared", *words, "-o", str(output / name), f"-Wl,-soname,{name}", *folders
        subprocess.run(["g++", "-Wl,--no-as-needed", *words], check=True)

    linked(f"lib{PACKAGE}.so", *objects, *(f"-l{name}" for name in LIBRARIES))
    for name in IMPLEMENTATIONS:
        linked(f"lib{PACKAGE}__{name}.so", f"-l{PACKAGE}")
    linked(f"{PACKAGE}_s__rosidl_typesupport_c.so", f"-l{PACKAGE}")
    return folder
