"""Written modules: same bytes, hostile names, all or nothing, and what the header says."""

import ast
import ctypes
import importlib.util
import re
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import casadi
import numpy as np
import pytest
from compilers import C_COMPILER, CPP_COMPILER
from random_chains import random_chain, random_state

from kane_dynamics_ros.checksum import RECORD
from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import (
    OutputError,
    checked_name,
    module_name,
    write_module,
)
from kane_dynamics_ros.description import load_robot, serial_chain
from kane_dynamics_ros.formulation.dual import sine_cosine
from kane_dynamics_ros.formulation.kane.dynamics import segment_efforts
from kane_dynamics_ros.formulation.kane.segments import segments_of

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "kane_dynamics_ros/generated"
REFERENCE = ROOT / "urdf/manipulator_5dof.urdf"


def import_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("suffix", ["py", "h", "c"])
def test_generating_the_reference_robot_again_gives_the_committed_bytes(tmp_path: Path, suffix: str) -> None:
    """Rewritten only by hand: kane_dynamics generate urdf/manipulator_5dof.urdf --name ... -o ..."""
    write_module(derive(serial_chain(load_robot(REFERENCE))), "manipulator_5dof", tmp_path)
    found, golden = (
        [line for line in text.splitlines() if not line.startswith(RECORD)]  # written by verify --record
        for text in ((folder / f"manipulator_5dof.{suffix}").read_text() for folder in (tmp_path, GOLDEN))
    )
    different = [(k, a, b) for k, (a, b) in enumerate(zip(golden, found, strict=False), 1) if a != b]
    assert different[:3] == []
    assert len(found) == len(golden)


def test_two_processes_with_other_hash_seeds_write_the_same_bytes(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kane_dynamics_ros", "generate", str(REFERENCE), "--no-compile", "-o"]
    for seed in ("1", "2"):
        environment = {"PYTHONHASHSEED": seed, "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
        subprocess.run([*command, str(tmp_path / seed)], env=environment, check=True, capture_output=True)
    for file in (tmp_path / "1").iterdir():
        assert file.read_bytes() == (tmp_path / "2" / file.name).read_bytes()


HOSTILE = [
    '"""\nimport os\nos.abort()\n"""',
    "*/ int main(void) { abort(); } /*",
    "joint-1",
    "Revolute 2",
    "class",
    "1",
    "γ\\u000a\\",
    "{0}%s{{q}}",
]


def test_names_in_the_urdf_never_become_code(tmp_path: Path) -> None:
    chain = random_chain(np.random.default_rng(0), len(HOSTILE))
    joints = [replace(j, name=name, body=name) for j, name in zip(chain.joints, HOSTILE, strict=True)]
    hostile = replace(
        chain, robot=HOSTILE[0], root=HOSTILE[1], joints=tuple(joints), coordinates=tuple(HOSTILE)
    )
    files = write_module(derive(hostile), "arm", tmp_path)
    module = import_file(files[0])
    assert module.MODEL["joint_names"] == tuple(HOSTILE)
    tree = ast.parse(files[0].read_text(encoding="utf-8"))
    allowed = (ast.Expr, ast.ImportFrom, ast.Assign, ast.FunctionDef)
    assert all(isinstance(statement, allowed) for statement in tree.body)
    assert "abort" not in files[1].read_text() + files[2].read_text()
    state = random_state(np.random.default_rng(1), len(HOSTILE))
    expected = segment_efforts(segments_of(chain), *state, (0.0, 0.0, -9.81), sine_cosine)
    found = module.inverse_dynamics(*(x.tolist() for x in state))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("UR5", "ur5"),
        ("my arm (v2)", "my_arm_v2"),
        ("class", "robot_class"),
        ("7dof", "robot_7dof"),
        ("", "robot"),
        ("机械臂", "robot"),
        ("../../etc/passwd", "etc_passwd"),
    ],
)
def test_a_module_name_is_made_from_any_text(text: str, name: str) -> None:
    assert module_name(text) == name


@pytest.mark.parametrize("name", ["a b", "9", "class", "../x", "", "x;y"])
def test_a_chosen_name_must_be_an_identifier(name: str) -> None:
    with pytest.raises(OutputError) as raised:
        checked_name(name)
    assert (raised.value.code, raised.value.name) == ("bad_name", name)


@pytest.mark.parametrize("name", ["math", "numpy", "Float", "stdint", "json", "kd", "KD", "kd_arm"])
def test_a_name_that_would_hide_another_library_or_meet_our_own_c_functions_is_refused(name: str) -> None:
    with pytest.raises(OutputError) as raised:
        checked_name(name)
    assert (raised.value.code, raised.value.name) == ("bad_name", name)
    assert module_name(name) == f"robot_{name.lower()}"


@pytest.mark.skipif(C_COMPILER is None, reason="no C compiler on this machine")
def test_a_robot_that_is_named_as_our_own_c_functions_begin_compiles(tmp_path: Path) -> None:
    chain = replace(random_chain(np.random.default_rng(0), 2), robot="KD")
    source = write_module(derive(chain), module_name(chain.robot), tmp_path)[2]
    subprocess.run([C_COMPILER, "-std=c99", "-fsyntax-only", source], check=True)


def test_a_folder_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    derived = derive(random_chain(np.random.default_rng(0), 1))
    with pytest.raises(OutputError) as raised:
        write_module(derived, "arm", tmp_path / "file")
    assert (raised.value.code, raised.value.folder) == ("unwritable", tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_file_that_cannot_be_replaced_leaves_the_others(tmp_path: Path) -> None:
    derived = derive(random_chain(np.random.default_rng(0), 1))
    (tmp_path / "arm.c").mkdir()
    with pytest.raises(OutputError) as raised:
        write_module(derived, "arm", tmp_path)
    assert (raised.value.code, raised.value.reason) == ("unwritable", "arm.c is a folder")
    assert [path.name for path in tmp_path.iterdir()] == ["arm.c"]


@pytest.mark.parametrize("suffix", [".py", ".c", ".h"])
def test_a_file_that_was_not_generated_is_never_replaced(suffix: str, tmp_path: Path) -> None:
    derived = derive(random_chain(np.random.default_rng(0), 1))
    own = tmp_path / f"arm{suffix}"
    own.write_text("a day's work\n")
    with pytest.raises(OutputError) as raised:
        write_module(derived, "arm", tmp_path)
    assert (raised.value.code, raised.value.folder) == ("not_generated", tmp_path)
    assert own.name in raised.value.reason
    assert own.read_text() == "a day's work\n"
    assert list(tmp_path.iterdir()) == [own]
    own.unlink()
    for _ in range(2):
        assert len(write_module(derived, "arm", tmp_path)) == 3


def test_many_may_write_one_module_at_once(tmp_path: Path) -> None:
    derived = derive(random_chain(np.random.default_rng(0), 1))
    with ThreadPoolExecutor(4) as pool:
        written = list(pool.map(lambda _: write_module(derived, "arm", tmp_path), range(12)))
    assert len(set(written)) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["arm.c", "arm.h", "arm.py"]


@pytest.mark.skipif(C_COMPILER is None, reason="no C compiler on this machine")
def test_the_c_files_are_plain_c99_and_clean_for_cpp(tmp_path: Path) -> None:
    _, header, source = write_module(derive(serial_chain(load_robot(REFERENCE))), "arm", tmp_path)
    strict = ["-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic", "-fsyntax-only"]
    subprocess.run([C_COMPILER, "-std=c99", *strict, source], check=True)
    if CPP_COMPILER:
        subprocess.run([CPP_COMPILER, "-std=c++11", *strict, "-x", "c++", header], check=True)
    text = source.read_text()
    assert re.findall(r"\b(malloc|calloc|static (?!inline|void))", text) == []


@pytest.mark.skipif(C_COMPILER is None, reason="no C compiler on this machine")
def test_the_c_file_compiles_in_units_that_hold_each_function_once(tmp_path: Path) -> None:
    """As the runtime does: what a program needs first, alone."""
    derived = derive(random_chain(np.random.default_rng(0), 3))
    source = write_module(derived, "arm", tmp_path)[2]
    names = [function.name for function in derived.equations.functions]
    units = [["parameters", "inverse_dynamics", "mass_matrix_with"], ["forward_dynamics_derivatives"]]
    units.append([name for name in names if name not in units[0] + units[1]])
    for k, unit in enumerate(units):
        without = [f"-DKD_WITHOUT_{name}" for name in ["parameters", *names] if name not in unit]
        target = tmp_path / f"{k}.o"
        strict = ["-std=c99", "-Wall", "-Wextra", "-Werror"]
        subprocess.run([C_COMPILER, *strict, *without, "-c", source, "-o", target], check=True)
        found = subprocess.run(["nm", target], capture_output=True, text=True, check=True).stdout
        defined = {line.split()[-1] for line in found.splitlines() if " T " in line}
        expected = {f"arm_{name}{form}" for name in unit for form in ("", "_batch") if name != "parameters"}
        assert defined == expected | ({"arm_prepare", "arm_default_parameters"} if k == 0 else set())


def test_the_header_states_parameters_shapes_and_operation_counts(tmp_path: Path) -> None:
    derived = derive(serial_chain(load_robot(REFERENCE)))
    _, header, _ = write_module(derived, "arm", tmp_path)
    text = header.read_text()
    assert "#define ARM_JOINTS 5\n" in text
    assert "   [0 .. 2] gravity\n" in text
    assert f"SHA-256: {derived.urdf_hash}\n" in text
    total = derived.operations()["mass_matrix"].total
    assert f"/* M(q), rotor inertia included; out: 5 x 5; {total} operations. */\n" in text


def test_generated_code_holds_no_symbols_of_the_derivation(tmp_path: Path) -> None:
    """Field reports 72 to 76: no time, no Derivative, nothing that needs SymPy is left."""
    module = write_module(derive(random_chain(np.random.default_rng(2), 4)), "arm", tmp_path)[0]
    tree = ast.parse(module.read_text())
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    known = re.compile(
        r"(q|qd|qdd|tau|wrench|t)\d*|prepared|parameters|sin|cos|tanh|MODEL|VERIFIED|CONTENT_SHA256"
        r"|type|float|_numbers|function|values?|all|isinstance|Real|TypeError"
    )
    assert [name for name in names if not known.fullmatch(name)] == []


@pytest.mark.parametrize("place", [0, 4])
def test_a_symbol_meets_no_sine_of_numbers(place: int) -> None:
    """``math.sin`` of CasADi's symbols is NaN, and of a tensor a number without a gradient."""
    module = import_file(GOLDEN / "manipulator_5dof.py")
    q = [0.1, 0.2, 0.3, 0.4, 0.5]
    mixed = [casadi.SX.sym("x") if k == place else value for k, value in enumerate(q)]
    with pytest.raises(TypeError, match=r"sin=.*cos="):
        module.inverse_dynamics(mixed, q, q)
    prepared = module.prepare(module.MODEL["defaults"])
    with pytest.raises(TypeError, match=r"sin=.*cos="):
        module.friction(prepared, mixed)
    symbol = next(value for value in mixed if isinstance(value, casadi.SX))
    tau = casadi.vertcat(*module.inverse_dynamics(mixed, q, q, sin=casadi.sin, cos=casadi.cos))
    found = casadi.Function("tau", [symbol], [tau])(q[place])
    assert found.full().ravel() == pytest.approx(module.inverse_dynamics(q, q, q), rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("number", [int, np.float32, np.float64, Fraction])
def test_every_kind_of_real_number_is_taken(number: type) -> None:
    module = import_file(GOLDEN / "manipulator_5dof.py")
    q = [number(1), number(0), number(2), number(1), number(3)]
    expected = module.inverse_dynamics([1.0, 0.0, 2.0, 1.0, 3.0], [0.0] * 5, [0.0] * 5)
    tolerance = 1e-5 if number is np.float32 else 1e-14
    assert module.inverse_dynamics(q, [0.0] * 5, [0.0] * 5) == pytest.approx(
        expected, rel=tolerance, abs=tolerance
    )


def test_generation_costs_some_times_what_python_takes_to_read_the_result() -> None:
    """Field report 62: a bound on generation that holds on every machine."""
    chain = serial_chain(load_robot(REFERENCE))
    text = (ROOT / "kane_dynamics_ros/generated/manipulator_5dof.py").read_text(encoding="utf-8")

    def seconds(work: Callable[[], object]) -> float:
        start = time.process_time()
        work()
        return time.process_time() - start

    pairs = [
        (seconds(lambda: derive(chain)), seconds(lambda: compile(text, "model", "exec"))) for _ in range(3)
    ]
    assert min(ours for ours, _ in pairs) < 30 * min(python for _, python in pairs)


@pytest.mark.skipif(C_COMPILER is None, reason="no C compiler on this machine")
@pytest.mark.parametrize("offset", [0, 1])  # the results' place in a line of the caches
@pytest.mark.parametrize(("function", "size"), [("mass_matrix", 25), ("inverse_dynamics_derivatives", 50)])
def test_results_of_many_states_that_go_past_the_caches_are_those_of_one(
    tmp_path: Path, function: str, size: int, offset: int
) -> None:
    derived = derive(serial_chain(load_robot(REFERENCE)))
    source = write_module(derived, "arm", tmp_path)[2]
    others = [f.name for f in derived.equations.functions if f.name != function]
    without = [f"-DKD_WITHOUT_{name}" for name in others]
    command = [C_COMPILER, "-O2", "-march=native", "-shared", "-fPIC", *without, source]
    subprocess.run([*command, "-o", tmp_path / "arm.so", "-lm"], check=True)
    library = ctypes.CDLL(str(tmp_path / "arm.so"))
    count = 2_000_000 // size + 9  # beyond KD_FAR, and no whole number of blocks
    inputs = np.random.default_rng(3).uniform(-3.0, 3.0, (3, count, 5))
    states = inputs[:1] if function == "mass_matrix" else inputs
    room, one = np.full(count * size + offset + 1, np.nan), np.empty(size)
    many = getattr(library, f"arm_{function}_batch")
    many(*map(_pointer, states), _pointer(room[offset:]), ctypes.c_size_t(count))
    for k in (0, 1, 7, 8, count // 2, count - 9, count - 1):
        getattr(library, f"arm_{function}")(*map(_pointer, states[:, k]), _pointer(one))
        found = room[offset + size * k :][:size]
        assert np.allclose(found, one, rtol=1e-13, atol=1e-15)  # contraction may differ
    assert np.isnan(room).sum() == offset + 1


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
