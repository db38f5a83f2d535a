"""The package as ROS and pip see it: manifest, installed data, executables, declared dependencies."""

import ast
import configparser
import importlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

import kane_dynamics_ros
from kane_dynamics_ros.errors import EXTRAS, missing_package
from kane_dynamics_ros.share import ShareNotFoundError, share_directory

ROOT = Path(__file__).parents[1]
MANIFEST = ElementTree.parse(ROOT / "package.xml").getroot()


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What git tracks here, to copy from: a build leaves files behind."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    folder = tmp_path_factory.mktemp("copy")
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def wheel(copy: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Names of the files in a wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    source = str(shutil.copytree(copy, folder / "source"))
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder), source]
    subprocess.run(command, check=True)
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path).namelist()


def test_version_is_the_one_of_package_xml():
    assert kane_dynamics_ros.__version__ == MANIFEST.findtext("version")


def test_the_citation_states_the_version_and_licence_of_package_xml():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == MANIFEST.findtext("version")
    assert citation["license"] == MANIFEST.findtext("license")
    assert {"cff-version", "message", "title", "authors"} <= set(citation)


def test_manifest_is_an_ament_python_package_of_format_3():
    assert MANIFEST.attrib["format"] == "3"
    assert MANIFEST.findtext("export/build_type") == "ament_python"
    assert MANIFEST.findtext("license") == "Apache-2.0"


def test_wheel_holds_the_ament_marker_the_manifest_and_every_data_file(wheel):
    share = {name.partition(".data/data/share/")[2] for name in wheel if ".data/data/share/" in name}
    folders = [ROOT / name for name in ("launch", "config", "urdf")]
    data = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    expected = {f"kane_dynamics_ros/{path.relative_to(ROOT).as_posix()}" for path in data}
    marker = "ament_index/resource_index/packages/kane_dynamics_ros"
    assert share == expected | {marker, "kane_dynamics_ros/package.xml"}


def test_wheel_holds_every_tracked_file_of_the_package(wheel):
    command = ["git", "-C", str(ROOT), "ls-files", "kane_dynamics_ros"]
    tracked = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert set(tracked) - set(wheel) == set()


def test_every_console_script_names_a_function():
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    scripts = parser["options.entry_points"]["console_scripts"].split("\n")[1:]
    targets = dict(map(str.strip, line.split("=")) for line in scripts)
    nodes = {"feedforward_node", "simulated_hardware_node", "trajectory_recorder_node"}
    assert set(targets) == nodes | {"kane_dynamics"}
    for module, _, function in (target.partition(":") for target in targets.values()):
        if ".nodes." in module:
            pytest.importorskip("rclpy", reason="the nodes need ROS 2")
        assert callable(getattr(importlib.import_module(module), function))


def test_share_directory_of_a_checkout_is_the_checkout():
    assert share_directory() == ROOT


@pytest.mark.parametrize("library", ["lib/python3.12/site-packages", "local/lib/python3.12/dist-packages"])
def test_share_directory_of_an_installation_is_in_its_prefix(tmp_path, library):
    code = tmp_path / library / "kane_dynamics_ros"
    share = tmp_path / "share" / "kane_dynamics_ros"
    for folder in (code, share):
        folder.mkdir(parents=True)
    (share / "package.xml").touch()
    assert share_directory(code) == share


def test_code_without_its_data_says_where_it_looked_and_what_to_do(tmp_path):
    with pytest.raises(ShareNotFoundError) as caught:
        share_directory(tmp_path)
    assert caught.value.start == tmp_path
    assert "install the package" in str(caught.value)


# Import name: distribution on PyPI. ROS's own packages have rosdep keys, and wheels in the extras `ros`.
DISTRIBUTIONS = {
    "ruamel": "ruamel.yaml",
    "yaml": "PyYAML",
    "jinja2": "Jinja2",
    "urdf_parser_py": "urdf-parser-py",
    "collada": "pycollada",
    "fast_simplification": "fast-simplification",
}
WITHOUT_IMPORT = {
    "distributed",
    "mujoco",
}  # dask's client imports the first; the other has its name as a string
OF_ROS = ("ament_index_python", "launch_ros")
ROS_PACKAGES = ("rclpy", "launch", "_msgs", "_srvs", "_interfaces")


def third_party() -> set[str]:
    """Top-level names that the package imports and that are neither ours nor Python's."""
    names = set()
    for path in (ROOT / "kane_dynamics_ros").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names.add(str(node.module).partition(".")[0])
    return names - sys.stdlib_module_names - {"kane_dynamics_ros"}


def declared() -> dict[str, set[str]]:
    """Distributions that setup.cfg asks for, in lower case: always, and by extra, with those it includes."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    lists = {"always": parser["options"]["install_requires"], **parser["options.extras_require"]}
    asked = {name: set(filter(None, map(str.strip, text.splitlines()))) for name, text in lists.items()}

    def whole(name: str) -> set[str]:
        found = set()
        for line in asked[name]:
            included = re.fullmatch(r"kane_dynamics_ros\[(.*)\]", line)
            if included:
                found |= set().union(*map(whole, included[1].split(",")))
            else:
                found.add(re.split(r"[<>=\[;]", line)[0].strip().lower())
        return found

    return {name: whole(name) for name in asked}


def test_what_the_package_imports_is_declared_and_what_is_declared_is_imported():
    imported = {name for name in third_party() if not name.endswith((*ROS_PACKAGES, *OF_ROS))}
    needed = {DISTRIBUTIONS.get(name, name).lower() for name in imported}
    asked = declared()
    ours = asked["always"] | asked["all"] | asked["mujoco"] | asked["dask"] | asked["casadi"]
    assert needed - ours == set()
    assert ours - needed - WITHOUT_IMPORT == set()


def test_a_missing_package_is_told_with_an_extra_that_brings_it():
    asked = declared()
    packages = {name for name in third_party() if not name.endswith((*ROS_PACKAGES, *OF_ROS))}
    assert packages - set(EXTRAS) == set()
    for package in packages:
        distribution = DISTRIBUTIONS.get(package, package).lower()
        assert all(distribution in asked[extra] for extra in EXTRAS[package] or ["always"]), package
    said = str(missing_package(ModuleNotFoundError(name="rosbags.highlevel")))
    assert "'rosbags'" in said
    assert "pip install '.[bags]'" in said


HIDE = """
import importlib.abc, sys
class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Hidden())
"""


def run_without(packages: set[str], script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script in a Python that lacks these packages."""
    return subprocess.run(
        [sys.executable, "-c", HIDE.format(names=packages) + script],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_a_model_runs_with_numpy_alone(tmp_path):
    script = (
        "from kane_dynamics_ros.runtime import load_model; "
        "print(load_model('manipulator_5dof', backend='python').gravity([0.0] * 5))"
    )
    run = run_without(third_party() - {"numpy"}, script, tmp_path)
    assert (run.returncode, run.stderr) == (0, "")


def of_extras() -> set[str]:
    """Import names of what an installation without extras lacks."""
    return {name for name, extras in EXTRAS.items() if extras}


def test_commands_on_models_need_no_extra(tmp_path):
    urdf = str(ROOT / "urdf" / "manipulator_5dof.urdf")
    commands = [
        ["inspect", urdf],
        ["generate", urdf, "--name", "arm", "--no-compile"],
        ["verify", "arm.py", "--urdf", urdf, "--states", "1", "--backend", "python"],
        ["torque", "arm.py", "--q", "0,0,0,0,0"],
        ["trajectory", urdf],
        ["annotate", "arm.py", "trajectory.yaml", "-o", "annotated.yaml"],
    ]
    script = (
        "from kane_dynamics_ros.cli.main import main\n"
        f"for words in {commands!r}:\n"
        "    assert main(words) == 0, words"
    )
    run = run_without(of_extras(), script, tmp_path)
    assert run.returncode == 0, run.stderr


def test_a_command_that_needs_an_extra_names_it(tmp_path):
    urdf = str(ROOT / "urdf" / "manipulator_5dof.urdf")
    commands = {
        "generate": ["inspect", urdf, "--equations"],
        "bags": ["replay", "bag", "--model", "manipulator_5dof"],
        "identify": ["identify", "bag", "--urdf", urdf],
        "papers": ["paper", "wind_pump"],
    }
    script = (
        "from kane_dynamics_ros.cli.main import main\n"
        f"for words in {list(commands.values())!r}:\n"
        "    assert main(words) == 2, words"
    )
    run = run_without(of_extras(), script, tmp_path)
    assert run.returncode == 0, run.stderr
    for extra, line in zip(commands, run.stderr.splitlines(), strict=True):
        assert f"pip install '.[{extra}]'" in line


def test_ros_packages_that_are_imported_have_rosdep_keys():
    keys = {element.text for element in MANIFEST.iter("exec_depend")}
    assert {name for name in third_party() if name.endswith(ROS_PACKAGES)} - keys == set()


def test_the_source_distribution_holds_what_a_checkout_holds(copy: Path, tmp_path: Path) -> None:
    """Tests, docs, examples and the changelog."""
    names = {path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file()}
    shutil.copytree(copy, tmp_path / "copy")
    command = [sys.executable, "setup.py", "--quiet", "sdist", "--dist-dir", str(tmp_path)]
    subprocess.run(command, cwd=tmp_path / "copy", check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as content:
        held = {name.partition("/")[2] for name in content.getnames()}
    assert {name for name in names if not name.endswith(".gitignore")} - held == set()
