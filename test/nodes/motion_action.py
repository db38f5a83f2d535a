"""An action of FollowJointTrajectory's shape, made with the generators of the ROS wheels: no wheel has one.

``build`` writes the Python package ``motion_test`` from ``motion_test_idl``, and compiles its type support
into one extension; it takes some seconds of a C and a C++ compiler.
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
KINDS = ("rosidl_generator_c", "rosidl_generator_py", "rosidl_typesupport_c", "rosidl_typesupport_fastrtps_c")
LIBRARIES = (
    *(f"{package}__{kind}" for package in USED for kind in KINDS),
    *("rosidl_runtime_c", "rosidl_typesupport_c", "rosidl_typesupport_fastrtps_c"),
    *("rosidl_typesupport_fastrtps_cpp", "rmw", "rcutils", "fastcdr"),
)


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

    files = [f"{INTERFACES}:{name}" for name in FILES]
    for generator in (
        GenerateC("c"),
        GenerateFastRTPSCTypesupport("fastrtps_c"),
        GenerateCTypesupport("c", typesupport_implementations=["rosidl_typesupport_fastrtps_c"]),
        GeneratePython("py", typesupport_implementations=["rosidl_typesupport_c"]),
    ):
        generator.generate(PACKAGE, files, [str(Path(sys.prefix) / "share")], output)
    (output / "__init__.py").touch()


def _compile(folder):
    """Its type support, as one extension; the folder."""
    output, prefix = folder / PACKAGE, Path(sys.prefix)
    include = prefix / "include"
    folders = [folder, include, *(each for each in include.iterdir() if each.is_dir())]
    folders += [np.get_include(), sysconfig.get_paths()["include"]]
    flags = ["-O0", "-fPIC", "-w", *(f"-I{each}" for each in folders)]

    def compiled(source):
        target = output / f"{source.stem}{source.suffix[1:]}_{source.parent.name}.o"
        compiler = "gcc" if source.suffix == ".c" else "g++"
        subprocess.run([compiler, *flags, "-c", str(source), "-o", str(target)], check=True)
        return str(target)

    with ThreadPoolExecutor(2) as workers:
        objects = list(workers.map(compiled, sorted([*output.rglob("*.c"), *output.rglob("*.cpp")])))
    extension = output / f"{PACKAGE}_s__rosidl_typesupport_c.so"
    libraries = [f"-l{name}" for name in LIBRARIES]
    folders = [f"-L{prefix / 'lib'}", f"-Wl,-rpath,{prefix / 'lib'}"]
    subprocess.run(["g++", "-shared", *objects, "-o", str(extension), *folders, *libraries], check=True)
    return folder
