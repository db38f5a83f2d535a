"""The thin classes of a package between stand-ins of ROS: what they take, refuse and command."""

import itertools
import platform
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from compilers import CPP_COMPILERS
from packages import (
    PARTS,
    WARNINGS,
    compile_controller,
    compile_solver,
    compiled,
    own_headers,
    written,
)
from recorded_loop import flat
from small_urdf import joint, link, robot

from kane_dynamics_ros.runtime import DynamicsModel, load_model
from kane_dynamics_ros.share import share_directory

URDF = share_directory() / "urdf" / "manipulator_5dof.urdf"
Drive = Callable[..., list[str]]

pytestmark = [
    pytest.mark.skipif(not CPP_COMPILERS, reason="no C++ compiler on this machine"),
    pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the allocation counter needs glibc"),
]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(URDF, None, "arm_dynamics", tmp_path_factory.mktemp("packages"))


@pytest.fixture(scope="module")
def model() -> DynamicsModel:
    return load_model("manipulator_5dof")


@pytest.fixture(scope="module")
def drive(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Drive:
    """Run a scenario of drive_controller.cpp; what it printed."""
    program = compile_controller(package, tmp_path_factory.mktemp("controller") / "drive", CPP_COMPILERS[0])

    def run(scenario: str, urdf: Path = URDF) -> list[str]:
        done = subprocess.run([program, scenario, urdf], capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stderr
        return done.stdout.splitlines()

    return run


def numbers(lines: Sequence[str], what: str) -> np.ndarray:
    """The numbers of the line that begins so."""
    (line,) = (line for line in lines if line.startswith(f"{what}:"))
    return np.array(line.partition(":")[2].split(), dtype=float)


# What compiles


@pytest.mark.parametrize(
    ("compiler", "standard", "control"),
    [
        (compiler, standard, control)
        for (compiler, standard), control in zip(
            itertools.product(CPP_COMPILERS, (17, 20)), itertools.cycle((4, 5, 5, 4))
        )
    ],
)
def test_classes_compile_without_a_warning(
    package: Path, tmp_path: Path, compiler: str, standard: int, control: int
) -> None:
    """With gcc and clang, C++17 and C++20, the interfaces of ros2_control 4 and 5."""
    flags = [f"-std=c++{standard}", *WARNINGS, f"-DROS2_CONTROL={control}", *own_headers(package, tmp_path)]
    parts = (*PARTS, "solver") if standard == 20 else PARTS  # Eigen takes as long as all the others
    sources = [package / "src" / f"{part}.cpp" for part in parts]
    compiled([compiler, "-fsyntax-only", *flags, *sources])


def test_what_crosses_threads_arrives_whole_and_newest(package: Path, tmp_path: Path) -> None:
    name = package.name
    robot_of = [f"-DROBOT={name}", f'-DTRIPLE_BUFFER="{name}/triple_buffer.hpp"', "-I", package / "include"]
    source, program = Path(__file__).with_name("triple_buffer_test.cpp"), tmp_path / "threads"
    compiled([CPP_COMPILERS[0], "-std=c++17", "-O2", *WARNINGS, *robot_of, "-pthread", source, "-o", program])
    compiled([program])


# What the controller does


def test_a_chain_is_followed_without_an_allocation(drive: Drive, model: DynamicsModel) -> None:
    lines = drive("chained")
    references = [line.removeprefix("reference ") for line in lines if line.startswith("reference ")]
    names = [
        f"dynamics_controller/{name}/{interface}"
        for interface in ("position", "velocity", "acceleration")
        for name in model.joint_names
    ]
    assert references == names
    assert "status 0: commanding" in lines
    (counted,) = (line for line in lines if line.startswith("allocations"))
    assert counted.startswith("allocations in 1000 cycles: 0 of "), counted
    assert not counted.endswith(" 0"), "configuring allocates: a counter at 0 counts nothing"
    assert np.allclose(numbers(lines, "held"), model.gravity(np.zeros(5)), atol=1e-12)
    assert np.allclose(numbers(lines, "followed"), model.gravity(np.full(5, 0.01)), atol=1e-9)


def test_gravity_stays_where_states_cannot_be_had_and_at_the_end(drive: Drive, model: DynamicsModel) -> None:
    lines = drive("chained")
    assert "status 2: stale_state: reaction is hold" in lines
    assert "value fault stale_state = 1" in lines
    for what in ("without states", "left"):
        assert np.allclose(numbers(lines, what), model.gravity(np.full(5, 0.01)), atol=1e-9)


def test_a_reference_by_topic_is_followed_until_it_is_stale(drive: Drive) -> None:
    lines = drive("topic")
    assert "value refused no_reference = 1" in lines
    (refused,) = (number for number, line in enumerate(lines) if "found [1, 2]" in line)
    assert lines[refused + 1] == "log: the settings stay as they were"
    assert "value mode = gravity_compensation" in lines


def test_drives_with_their_own_loops_get_the_reference_beside_the_effort(
    drive: Drive, model: DynamicsModel
) -> None:
    q, qd, effort = numbers(drive("drives"), "held").reshape(3, 5)
    assert not q.any()
    assert not qd.any()
    assert np.allclose(effort, model.gravity(np.zeros(5)), atol=1e-12)


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        ("no effort", "effort is missing"),
        (
            "wrong length",
            "parameter 'limits.effort': found [1, 2]; allowed is 1 value, or 5: one for each joint",
        ),
        ("impossible payload", "parameter 'payload.inertia'"),
        ("other joints", "parameter 'joints'"),
        ("some references", "parameter 'reference_interfaces': allowed is position"),
        ("required", "no robot_description has come yet"),
    ],
)
def test_bad_parameters_fail_the_configuration(drive: Drive, scenario: str, said: str) -> None:
    lines = drive(scenario)
    assert lines[0] == "configure: error"
    assert said in lines[1]


def test_a_description_need_not_come_unless_it_is_required(drive: Drive) -> None:
    assert drive("none")[0] == "configure: success"


def test_settings_of_the_last_configuration_hold(drive: Drive, model: DynamicsModel) -> None:
    q = np.array([0.1, 0.2, 0.2, 0.2, 0.2])
    assert np.allclose(numbers(drive("configured again"), "again"), model.gravity(q), atol=1e-12)


def test_a_missing_interface_fails_the_activation(drive: Drive) -> None:
    lines = drive("lacking")
    assert "activate: error" in lines
    assert "log: the hardware has no interface 'gamma_1/effort'" in lines


def test_another_robot_fails_the_configuration_unless_it_is_not_checked(drive: Drive, tmp_path: Path) -> None:
    other = tmp_path / "other.urdf"
    text = URDF.read_text(encoding="utf-8")
    assert '<mass value="60"/>' in text
    other.write_text(text.replace('<mass value="60"/>', '<mass value="61"/>'), encoding="utf-8")
    lines = drive("checked", other)
    assert lines[0] == "configure: error"
    assert "mass of body 'limb_1' is 60, the description's 61" in lines[1]
    assert drive("unchecked", other)[0] == "configure: success"


def test_a_robot_without_effort_limits_needs_them_as_a_parameter(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("unlimited")
    urdf = folder / "two.urdf"
    unlimited = '<axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="1" effort="0"/>'
    joints = (joint(f"j{k}", f"l{k - 1}", f"l{k}", inside=unlimited) for k in (1, 2))
    urdf.write_text(robot(*map(link, ("l0", "l1", "l2")), *joints), encoding="utf-8")
    program = compile_controller(
        written(urdf, None, "two_dynamics", folder), folder / "drive", CPP_COMPILERS[0]
    )
    without, given = (
        subprocess.run([program, scenario, urdf], capture_output=True, text=True, check=False).stdout
        for scenario in ("checked", "given limits")
    )
    assert "the URDF gives no effort limit, or 0, for joints 'j1', 'j2': not clamped" in without
    assert "configure: success" in given
    assert "set: error\nlog: the URDF gives no effort limit, or 0, for joints 'j1', 'j2'" in given


@pytest.mark.parametrize("scenario", ["default settings", "changed settings"])
def test_parameters_make_the_settings_that_the_node_makes_of_them(
    drive: Drive, model: DynamicsModel, scenario: str
) -> None:
    parameters = pytest.importorskip("kane_dynamics_ros.nodes.feedforward.parameters", reason="ROS 2")
    values = {each.name: each.default for each in parameters.TABLE}
    if scenario == "changed settings":
        values |= {
            "mode": "feedforward_pd",
            "feedforward_pd.kd": [3.0],
            "terms.coriolis": False,
            "gravity": [0.0, 0.0, -1.62],
            "payload.mass": 2.0,
            "payload.com": [0.0, 0.01, 0.1],
            "payload.inertia": [0.02, 0.001, 0.0, 0.03, 0.002, 0.025],
            "friction.urdf_friction": False,
            "friction.viscous": [0.5],
            "friction.stribeck": [0.1],
            "limits.effort": [50.0],
            "limits.effort_rate": [400.0],
            "trajectory.limits": "clamp",
            "safety.on_saturation": "stop",
        }
    expected = flat(parameters.build_settings(values, model), model)[1:]
    assert np.allclose(numbers(drive(scenario), "settings"), expected, rtol=1e-12)


# The solver


@pytest.fixture(scope="module")
def solver(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_solver(package, tmp_path_factory.mktemp("solver") / "solver", CPP_COMPILERS[0])


def test_the_solver_gives_the_terms_of_the_model(solver: Path, model: DynamicsModel) -> None:
    done = subprocess.run([solver, URDF, "-1.62"], capture_output=True, text=True, check=False)
    first, *rows, last = done.stdout.splitlines()
    assert "not initialized" in first
    assert "a vector has 6 values; the model has 5 joints" in last
    q = np.linspace(0.1, 0.5, 5)
    on_the_moon = model.with_parameters(gravity=(0.0, 0.0, -1.62))
    terms = on_the_moon.with_urdf_friction().terms(q, q + 0.2, q + 0.4)
    found = np.array([row.split() for row in rows], dtype=float)
    assert np.allclose(found[:5], on_the_moon.mass_matrix(q), rtol=1e-12)
    assert np.allclose(found[5], terms.coriolis, atol=1e-12)
    assert np.allclose(found[6], terms.gravity, atol=1e-12)
    assert np.allclose(found[7], terms.friction, rtol=1e-12)
    assert np.allclose(found[8], on_the_moon.inverse_dynamics(q, q + 0.2, q + 0.4), rtol=1e-12)


def test_the_solver_refuses_another_robot(solver: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.urdf"
    other.write_text(robot(link("a"), link("b"), joint("j", "a", "b")), encoding="utf-8")
    done = subprocess.run([solver, other], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "generated from another robot than this robot_description" in done.stdout
