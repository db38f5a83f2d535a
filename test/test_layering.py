"""Each room imports only what the design allows it to; see the table in CONTRIBUTING.md."""

import ast
import importlib.util
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = "kane_dynamics_ros"
ROOT = Path(__file__).parents[1] / PACKAGE

# What each room may import of the others. Every room may also import what EVERYWHERE names.
ROOMS = {
    "description": set(),
    "formulation": {"description"},
    "codegen": {"formulation", "description"},
    "generated": set(),
    "systems": {"description", "formulation", "codegen"},
    "packaging": {"description", "formulation", "codegen", "runtime"},
    "runtime": {"generated"},
    "control": {"runtime"},
    "simulation": {"runtime", "elastic"},
    "replay": {"runtime", "description", "viewing"},
    "viewing": {"description", "runtime"},
    "identification": {"replay", "viewing", "runtime", "description"},
    "contact": {"control", "replay", "runtime"},
    "elastic": {"description", "runtime"},
    "nodes": {"control", "simulation", "runtime", "description", "elastic"},
    "cli": {
        "description",
        "formulation",
        "codegen",
        "packaging",
        "runtime",
        "control",
        "simulation",
        "replay",
        "viewing",
        "contact",
        "elastic",
        "identification",
        "papers",
        "systems",
    },
    "papers": {
        "systems",
        "description",
        "formulation",
        "codegen",
        "runtime",
        "control",
        "simulation",
        "replay",
        "elastic",
    },
    "algebra": set(),
    "errors": set(),
    "friction": set(),
    "pages": set(),
    "share": set(),
    "this_python": set(),
    "ros_domain": set(),
    "checksum": set(),
    "files": set(),
    "low_pass": set(),
    "text": set(),
    "yaml_text": set(),
    "__init__": set(),
    "__main__": {"cli"},
}
EVERYWHERE = {
    "algebra",
    "pages",
    "errors",
    "friction",
    "files",
    "low_pass",
    "text",
    "yaml_text",
    "this_python",
    "share",
    "checksum",
    "ros_domain",
    "__init__",
}
SYMPY_ROOMS = {"formulation", "papers"}
SYMPY_MODULES = {"kane_dynamics_ros.systems.symbolic"}  # read by people, imported by name
RUN_TIME_ROOMS = ["runtime", "control", "simulation", "replay", "contact", "nodes", "description"]


def module_name(path: Path) -> str:
    """The dotted name of a file of the package."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


def imports(path: Path) -> set[str]:
    """Dotted names that a file imports anywhere in it, also inside functions."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = resolve_base(path, node)
            names |= {full if (full := f"{base}.{alias.name}") in FILES else base for alias in node.names}
    return names


def resolve_base(path: Path, node: ast.ImportFrom) -> str:
    """The absolute module of a ``from`` import."""
    if not node.level:
        return str(node.module)
    folder = module_name(path) if path.name == "__init__.py" else module_name(path).rpartition(".")[0]
    return importlib.util.resolve_name("." * node.level + (node.module or ""), folder)


def room(module: str) -> str:
    """The first name under the package: a folder, or a file of the top level."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def top_levels(path: Path) -> set[str]:
    return {name.partition(".")[0] for name in imports(path)}


def test_every_room_is_in_the_table():
    assert {room(module) for module in FILES} <= set(ROOMS)


@pytest.mark.parametrize("module", FILES)
def test_module_imports_only_the_rooms_that_the_design_allows(module):
    allowed = ROOMS[room(module)] | EVERYWHERE | {room(module)}
    ours = {name for name in imports(FILES[module]) if name.partition(".")[0] == PACKAGE}
    assert {name for name in ours if room(name) not in allowed} == set()


def test_there_are_no_import_cycles():
    graph = {module: imports(path) & set(FILES) - {module} for module, path in FILES.items()}
    assert set(TopologicalSorter(graph).static_order()) == set(FILES)  # raises CycleError with the cycle


def test_sympy_is_imported_only_where_equations_are_derived():
    users = {module for module, path in FILES.items() if "sympy" in top_levels(path)}
    assert {module for module in users - SYMPY_MODULES if room(module) not in SYMPY_ROOMS} == set()


def test_rclpy_and_messages_are_imported_only_by_nodes():
    def of_ros(name: str) -> bool:
        return name.startswith("rclpy") or name.endswith(("_msgs", "_interfaces"))

    users = {module for module, path in FILES.items() if any(map(of_ros, top_levels(path)))}
    assert {module for module in users if room(module) != "nodes"} == set()


@pytest.mark.parametrize("run_time_room", RUN_TIME_ROOMS)
def test_room_needs_no_sympy_at_run_time(run_time_room):
    if run_time_room == "nodes":
        pytest.importorskip("rclpy", reason="the nodes need ROS 2")
    modules = [module for module in FILES if room(module) == run_time_room]
    if importlib.util.find_spec("launch_ros") is None:  # only an installation of ROS has it
        modules = [module for module in modules if module != "kane_dynamics_ros.nodes.launch"]
    hide = "import sys; sys.modules['sympy'] = None; import "  # None makes `import sympy` fail
    run = subprocess.run([sys.executable, "-c", hide + ", ".join(modules)], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")


def test_commands_on_numbers_need_no_sympy(tmp_path):
    """SymPy's import takes longer than all of theirs, and a robot's computer may lack it."""
    urdf = str(ROOT.parent / "urdf" / "manipulator_5dof.urdf")
    script = (
        "import sys; sys.modules['sympy'] = None; from kane_dynamics_ros.cli.main import main; "
        f"codes = [main(['inspect', {urdf!r}]), "
        f"main(['generate', {urdf!r}, '--name', 'arm', '-o', {str(tmp_path)!r}, '--no-compile']), "
        f"main(['verify', {str(tmp_path / 'arm.py')!r}, '--urdf', {urdf!r}, '--states', '1', "
        "'--backend', 'python'])]; sys.exit(any(codes))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    told = [line for line in run.stderr.splitlines() if not re.search(r", \d+ s$", line)]  # but for progress
    assert (run.returncode, told) == (0, [])
