"""What a package consists of: the same bytes each time, no name as code, the node's parameters."""

import ast
import ctypes
import platform
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml
from compilers import CPP_COMPILERS
from packages import (
    CMEEL,
    HOSTILE,
    STAND_INS,
    X86_64_V3,
    all_kinds,
    compile_c,
    compile_check,
    compiled,
    hostile_urdf,
    own_headers,
    written,
)

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import OutputError
from kane_dynamics_ros.description import load_robot, serial_chain
from kane_dynamics_ros.files import ForeignFileError
from kane_dynamics_ros.packaging.package import (
    NODE_TABLE,
    PackageNameError,
    package_name,
    package_texts,
)
from kane_dynamics_ros.share import share_directory

URDF = share_directory() / "urdf" / "manipulator_5dof.urdf"
X86_64_LINUX = platform.machine() == "x86_64" and platform.system() == "Linux"
needs_a_compiler = pytest.mark.skipif(not CPP_COMPILERS, reason="no C++ compiler on this machine")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(URDF, None, "arm_dynamics", tmp_path_factory.mktemp("packages"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The package of a robot whose names want to be code, and its URDF."""
    folder = tmp_path_factory.mktemp("hostile")
    urdf = hostile_urdf(folder)
    return written(urdf, None, "hostile_dynamics", folder), urdf


def texts_of(package: Path) -> dict[str, str]:
    """All but the list of what may be replaced."""
    files = (path for path in package.rglob("[!.]*") if path.is_file())
    return {str(path.relative_to(package)): path.read_text(encoding="utf-8") for path in files}


def test_the_same_robot_gives_the_same_bytes() -> None:
    chain = serial_chain(load_robot(URDF))
    assert package_texts(derive(chain), "arm_dynamics") == package_texts(derive(chain), "arm_dynamics")


def test_names_differ_from_one_package_to_another_and_nothing_else(package: Path, tmp_path: Path) -> None:
    """The name is where it is filled in, and there alone."""
    other = written(URDF, None, "leg_dynamics", tmp_path)
    renamed = {
        path.replace("leg", "arm"): text.replace("leg_dynamics", "arm_dynamics").replace("LEG_D", "ARM_D")
        for path, text in texts_of(other).items()
    }
    assert renamed == texts_of(package)


def test_the_command_writes_the_package_and_again_over_its_own_files_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["package", str(URDF), "--name", "my_robot_dynamics", "-o", str(tmp_path / "src")]
    assert main(words) == 0
    assert "my_robot_dynamics" in capsys.readouterr().out
    folder = tmp_path / "src" / "my_robot_dynamics"
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    assert main(words) == 0
    assert (folder / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_a_file_of_the_users_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "arm_dynamics").mkdir()
    (tmp_path / "arm_dynamics" / "README.md").write_text("mine", encoding="utf-8")
    with pytest.raises(ForeignFileError):
        written(URDF, None, "arm_dynamics", tmp_path)
    assert [path.name for path in (tmp_path / "arm_dynamics").iterdir()] == ["README.md"]


@pytest.mark.parametrize(
    "name", ["Arm", "a", "arm__two", "2arm", "arm-two", "arm_", "double", "namespace", "std"]
)
def test_a_name_that_cannot_be_a_packages_is_refused(name: str) -> None:
    with pytest.raises(PackageNameError) as caught:
        package_name(name)
    assert (caught.value.code, caught.value.name) == ("bad_name", name)


@pytest.mark.parametrize("name", ["import", "kd_arm", "numpy"])
def test_a_name_that_the_c_functions_cannot_have_is_refused(name: str) -> None:
    with pytest.raises(OutputError):
        package_name(name)


# Hostile names


def test_names_are_in_no_file_but_as_escaped_literals(hostile: tuple[Path, Path]) -> None:
    package, _ = hostile
    literals = re.compile(r'"(?:\\.|[^"\\\n])*"')
    for path, text in texts_of(package).items():
        code = literals.sub("", text) if path.endswith(("pp", ".c", ".h")) else text
        for name in set(HOSTILE) - {"double"} if path != "config/controllers.yaml" else ():
            assert name not in code, path
    controllers = yaml.safe_load((package / "config" / "controllers.yaml").read_text(encoding="utf-8"))
    assert controllers["joint_trajectory_controller"]["ros__parameters"]["joints"] == HOSTILE[1:]


@needs_a_compiler
def test_a_package_with_hostile_names_compiles_and_knows_its_robot(
    hostile: tuple[Path, Path], tmp_path: Path
) -> None:
    package, urdf = hostile
    for compiler in CPP_COMPILERS:
        flags = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
        sources = [package / "src" / "control_core.cpp", package / "src" / "status.cpp"]
        compiled([compiler, *flags, "-I", package / "include", *sources])
    assert said_of(package, [urdf], tmp_path, CPP_COMPILERS[0]) == [""]


STANDING = """
#include <cstdio>
#include "arm_dynamics/status.hpp"
int main()
{
  arm_dynamics::Settings settings;
  settings.kp = arm_dynamics::of_each(100.0);
  settings.tolerance = arm_dynamics::of_each(0.5);
  arm_dynamics::ControlCore core(settings);
  arm_dynamics::Input input;
  input.reference_given = true;
  double asked = 0.0;
  for (int k = 0; core.condition().lost_allowed == 0.0 && k < 600; ++k) {
    input.time = 0.001 * k;
    input.reference.q[0] = 0.19 * input.time;
    input.reference.qd[0] = 0.19;
    const arm_dynamics::Command command = core.update(input);
    asked = core.condition().lost_still ? asked : command.effort[0];
  }
  std::printf("%.3g %s", asked, status_of(core.condition(), {}, 1.0, settings).message.c_str());
}
"""


@needs_a_compiler
def test_commands_without_effect_are_told_with_the_effort_and_its_limit(
    package: Path, tmp_path: Path
) -> None:
    (tmp_path / "standing.cpp").write_text(STANDING)
    sources = [
        package / "src" / "control_core.cpp",
        package / "src" / "status.cpp",
        tmp_path / "standing.cpp",
    ]
    program, flags = tmp_path / "standing", ["-std=c++17", "-I", package / "include"]
    compiled([CPP_COMPILERS[0], *flags, *sources, compile_c(package, tmp_path / "arm.o"), "-o", program])
    said = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    asked, _, message = said.partition(" ")
    assert 1.0 < float(asked) < 250.0  # gamma_1's limit in the URDF
    assert message.startswith("tracking_error: joint 'gamma_1' has not moved for ")
    assert f"; commanded are {asked} N m of at most 250 N m: a brake or friction holds it" in message


# The check of robot_description


def said_of(package: Path, urdfs: list[Path], folder: Path, compiler: str) -> list[str]:
    """What a package says of each URDF."""
    program = compile_check(package, folder / "check", compiler)
    done = subprocess.run([program, *urdfs], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


CAMERA = '<joint name="mount" type="fixed"><parent link="hand"/><child link="camera"/></joint></robot>'
HEAVY = (
    '<link name="camera"><inertial><mass value="0.3"/><inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" '
    'izz="1e-4"/></inertial></link>'
)
CHANGES = {  # of the reference robot's URDF: what is changed, and what the check says
    "nothing": ("", "", ""),
    "a mass": (
        '<mass value="60"/>',
        '<mass value="61"/>',
        "mass of body 'limb_1' is 60, the description's 61",
    ),
    "an axis": ('<axis xyz="0 1 0"/>', '<axis xyz="0 -1 0"/>', "the placement or axis of joint"),
    "a kind": (
        'name="gamma_1" type="revolute"',
        'name="gamma_1" type="continuous"',
        "kind of joint 'gamma_1'",
    ),
    "a limit": ('effort="250"', 'effort="251"', ""),
    "damping": ('damping="0.8"', 'damping="0.9"', "damping of joint 'alpha_3' is 0.8, the description's 0.9"),
    "a camera": ("</robot>", f'<link name="camera"/>{CAMERA}', ""),
    "a heavy camera": ("</robot>", HEAVY + CAMERA, "mass of body 'hand'"),
    "what has no mass": (
        '<link name="limb_1">',
        '<link name="limb_1"><!-- a note --><visual><geometry><mesh filename="package://a/b.stl"/></geometry>'
        '<material name="red"><color rgba="1 0 0 1"/></material></visual>',
        "",
    ),
    "control": ("</robot>", '<gazebo/><ros2_control name="arm" type="system"/></robot>', ""),
    "white space and digits": ('<mass value="60"/>', '<mass\n   value = "6.00e1"\t/>', ""),
    "the order of attributes": (
        'ixx="2.3" ixy="0" ixz="0" iyy="2.3" iyz="0" izz="3"',
        'izz="3" iyz="0" iyy="2.3" ixz="0" ixy="0" ixx="2.3"',
        "",
    ),
    "a namespace": (
        "<robot name=",
        '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" version="1.0" name=',
        "",
    ),
    "the robot's name": ('<robot name="manipulator_5dof">', '<robot name="arm">', ""),
    "a ninth digit": ('<mass value="60"/>', '<mass value="60.00001"/>', "mass of body 'limb_1' is 60"),
    "a place": ('rpy="0 0 0" xyz="0 0 -0.2"', 'rpy="0 0 1e-4" xyz="0 0 -0.21"', "of body 'limb_1'"),
    "a name": (
        '"gamma_1"',
        '"gamma_0"',
        "its joints are gamma_1, alpha_2, alpha_3, beta_4, gamma_4, the desc",
    ),
    "a body's name": ('"hand"', '"fist"', ""),
    "the tip's name": (
        '"tool"',
        '"tip"',
        "generated from another robot than this robot_description: there is no",
    ),
}


@needs_a_compiler
def test_what_moves_another_way_is_another_robot(package: Path, tmp_path: Path) -> None:
    text = URDF.read_text(encoding="utf-8")
    urdfs = []
    for what, (old, new, _) in CHANGES.items():
        assert old in text, what
        urdfs.append(tmp_path / f"{what}.urdf")
        urdfs[-1].write_text(text.replace(old, new), encoding="utf-8")
    for (what, (_, _, expected)), said in zip(
        CHANGES.items(), said_of(package, urdfs, tmp_path, CPP_COMPILERS[0]), strict=True
    ):
        assert expected in said, what
        assert bool(expected) == bool(said), what


# The parameters


def leaves(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """The declarations of generate_parameter_library by their full names."""
    found: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value.get("type"), str):
            found[prefix + key] = value
        else:
            found |= leaves(value, f"{prefix}{key}.")
    return found


def test_shared_parameters_are_the_nodes(package: Path) -> None:
    """Name, default, description, bounds and choices; two have one choice less."""
    ours = leaves(
        yaml.safe_load((package / "src" / "parameters.yaml").read_text())["arm_dynamics_parameters"]
    )
    nodes = yaml.safe_load(NODE_TABLE.read_text(encoding="utf-8"))
    shared = ours.keys() & nodes.keys()
    assert len(shared) > 40
    fewer = {"safety.on_deactivate": "stop_and_hold", "trajectory.limits": "retime"}
    for name, left_out in fewer.items():
        assert ours[name]["validation"]["one_of<>"][0] == [
            each for each in nodes[name]["choices"] if each != left_out
        ]
    for name in shared - fewer.keys():
        declared, validation = nodes[name], ours[name].get("validation", {})
        assert ours[name]["default_value"] == declared["default"], name
        assert ours[name]["description"].startswith(declared["description"]), name
        assert declared.get("unit", "") in ours[name]["description"], name
        assert validation.get("one_of<>", [[]])[0] == declared.get("choices", []), name
        kinds = ("bounds<>", "element_bounds<>", "lower_element_bounds<>")
        bounds = next((validation[kind] for kind in kinds if kind in validation), [])
        assert bounds == [declared[key] for key in ("minimum", "maximum") if key in declared], name


def test_every_parameter_and_every_choice_is_known_to_the_code(package: Path) -> None:
    """A parameter that the node gains is not declared by a controller that does nothing with it."""
    ours = leaves(
        yaml.safe_load((package / "src" / "parameters.yaml").read_text())["arm_dynamics_parameters"]
    )
    code = "".join((package / "src" / f"{part}.cpp").read_text() for part in ("settings", "controller"))
    words = (package / "include" / "arm_dynamics" / "control_core.hpp").read_text() + code
    for name, declared in ours.items():
        assert re.search(rf"[.>]{name.rpartition('.')[2]}\b", code), name
        for choice in declared.get("validation", {}).get("one_of<>", [[]])[0]:
            assert f'"{choice}"' in words or (name, choice) == ("description_check", "required"), (
                name,
                choice,
            )


def test_the_tolerance_of_a_joint_is_the_nodes(package: Path) -> None:
    parameters = pytest.importorskip("kane_dynamics_ros.nodes.feedforward.parameters", reason="ROS 2")
    ours = leaves(
        yaml.safe_load((package / "src" / "parameters.yaml").read_text())["arm_dynamics_parameters"]
    )
    (node,) = (each for each in parameters.joint_table(["j"]) if each.name == "constraints.j.trajectory")
    tolerance = ours["constraints.__map_joints.trajectory"]
    assert tolerance["default_value"] == node.default
    assert tolerance["validation"]["bounds<>"] == [node.minimum, node.maximum]


# What else is in the package


def test_the_readme_names_files_and_commands_that_are_there(package: Path) -> None:
    text = (package / "README.md").read_text(encoding="utf-8")
    for path in re.findall(r"`((?:include|src|config|launch|test)/[^`]+)`", text):
        assert (package / path).is_file(), path
    assert "ros2 launch arm_dynamics arm_dynamics.launch.py" in text
    assert (package / "launch" / "arm_dynamics.launch.py").is_file()
    for plugin in re.findall(r"`(arm_dynamics/\w+)`", text):
        files = [ET.parse(path).getroot() for path in package.glob("arm_dynamics_*.xml")]
        assert plugin in [each.get("name") for file in files for each in file.iter("class")], plugin


def test_manifest_plugins_and_launch_file_are_well_formed(package: Path) -> None:
    manifest = ET.parse(package / "package.xml").getroot()
    assert manifest.findtext("name") == "arm_dynamics"
    needed = {element.text for element in manifest.iter("depend")}
    cmake = (package / "CMakeLists.txt").read_text(encoding="utf-8")
    for dependency in cmake.partition("set(DEPENDENCIES")[2].partition(")")[0].split():
        assert dependency in needed
    classes = {
        element.get("type"): element.get("base_class_type")
        for path in package.glob("arm_dynamics_*.xml")
        for element in ET.parse(path).getroot().iter("class")
    }
    assert classes == {
        "arm_dynamics::Controller": "controller_interface::ChainableControllerInterface",
        "arm_dynamics::Solver": "inverse_dynamics_solver::InverseDynamicsSolver",
    }
    sources = "".join(path.read_text(encoding="utf-8") for path in (package / "src").glob("*.cpp"))
    for plugin, base in classes.items():
        assert f"PLUGINLIB_EXPORT_CLASS({plugin}, {base})" in sources
    ast.parse((package / "launch" / "arm_dynamics.launch.py").read_text(encoding="utf-8"))


@needs_a_compiler
@pytest.mark.skipif(shutil.which("cmake") is None, reason="no CMake on this machine")
@pytest.mark.parametrize("native", ["ON", "OFF"])
def test_the_library_builds_without_ros_and_other_packages_find_it(
    package: Path, tmp_path: Path, native: str
) -> None:
    """For this processor alone, or twice: then the loader takes the one of x86-64-v3 where it can.

    The functions for many states are there where they are asked for: with the first.
    """
    build, prefix, user = tmp_path / "build", tmp_path / "prefix", tmp_path / "user"
    options = [f"-DARM_DYNAMICS_{name}={native}" for name in ("NATIVE", "BATCHES")]
    compiled(["cmake", "-S", package, "-B", build, "-DCMAKE_BUILD_TYPE=Debug", *options])
    compiled(["cmake", "--build", build])
    compiled(["cmake", "--install", build, "--prefix", prefix])
    user.mkdir()
    (user / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(user CXX)\nfind_package(arm_dynamics REQUIRED)\n"
        "add_executable(user main.cpp)\ntarget_link_libraries(user arm_dynamics::arm_dynamics)\n"
    )
    example = (package / "README.md").read_text(encoding="utf-8")
    include, code = re.search(r'    (#include ".+")\n\n((?:    .+\n|\n)+)', example).groups()
    (user / "main.cpp").write_text(
        f"{include}\nint main() {{\n{code}  return !(command.given && tau[0] == tau[0]);\n}}\n"
    )
    compiled(["cmake", "-S", user, "-B", user / "build", f"-DCMAKE_PREFIX_PATH={prefix}"])
    compiled(["cmake", "--build", user / "build"])
    compiled([user / "build" / "user"])
    second = prefix / "lib" / "glibc-hwcaps" / "x86-64-v3" / "libarm_dynamics.so"
    assert second.is_file() == (native == "OFF" and X86_64_LINUX)
    loaded = subprocess.run(["ldd", user / "build" / "user"], capture_output=True, text=True, check=False)
    assert (str(second) in loaded.stdout) == (native == "OFF" and X86_64_V3)
    library = ctypes.CDLL(str(prefix / "lib" / "libarm_dynamics.so"))
    assert hasattr(library, "arm_dynamics_inverse_dynamics_batch") == (native == "ON")


@needs_a_compiler
@pytest.mark.parametrize("robot_name", ["the reference robot", "joints of all kinds"])
def test_the_packages_own_tests_pass(package: Path, tmp_path: Path, robot_name: str) -> None:
    """With a stand-in of GoogleTest."""
    if robot_name == "joints of all kinds":
        package = written(all_kinds(tmp_path), None, "kinds_dynamics", tmp_path)
    model = compile_c(package, tmp_path / "model.o")
    for test in ("functions", "control_core"):
        own = [package / "test" / f"test_{test}.cpp", package / "src" / "control_core.cpp", model]
        flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-I", package / "include"]
        stand_in = ["-isystem", Path(__file__).parent / "stand_ins"]
        compiled([CPP_COMPILERS[0], *flags, *stand_in, *own, "-lm", "-o", tmp_path / test])
        compiled([tmp_path / test])


def test_eigen_and_urdfdom_of_the_stand_ins_are_the_real_ones() -> None:
    assert (CMEEL / "include" / "eigen3" / "Eigen" / "Core").is_file()
    assert (CMEEL / "include" / "urdfdom" / "urdf_parser" / "urdf_parser.h").is_file()


@needs_a_compiler
@pytest.mark.skipif(shutil.which("cmake") is None, reason="no CMake on this machine")
def test_cmake_knows_every_target_of_the_ros_package(package: Path, tmp_path: Path) -> None:
    """Between stand-ins of ament and of the packages that it needs."""
    stand_in = STAND_INS / "ament_cmake" / "ament_cmakeConfig.cmake"
    text = (package / "CMakeLists.txt").read_text(encoding="utf-8")
    wanted = text.partition("set(DEPENDENCIES")[2].partition(")")[0].split()
    for name in ("ament_cmake", "ament_cmake_gtest", "inverse_dynamics_solver", "Eigen3", *wanted):
        folder = tmp_path / "share" / name
        folder.mkdir(parents=True)
        shutil.copy(stand_in, folder / f"{name}Config.cmake")
    own_headers(package, tmp_path / "made")
    given = {
        "STAND_INS": STAND_INS,
        "CMEEL": CMEEL,
        "PARAMETER_HEADERS": tmp_path / "made",
        "BUILD_TESTING": "ON",
    }
    words = [f"-D{key}={value}" for key, value in given.items()]
    compiled(
        [
            "cmake",
            "-S",
            package,
            "-B",
            tmp_path / "build",
            f"-DCMAKE_PREFIX_PATH={tmp_path}",
            *words,
            "-DBUILD_TESTING=ON",
        ]
    )
    run = ["cmake", "--build", tmp_path / "build", "--target", "help"]
    listed = subprocess.run([str(word) for word in run], capture_output=True, text=True, check=True).stdout
    for target in ("", "_controller", "_solver"):
        assert f"arm_dynamics{target}\n" in listed
    assert "test_functions\n" in listed
