"""The README and the tutorial do what they say: ``sh`` and ``python`` blocks are run, ``text`` is compared.

``bash`` blocks need a machine with ROS, and are not run here.
"""

import contextlib
import io
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from own_domain import own_domain

from kane_dynamics_ros.ros_domain import private_variables

ROOT = Path(__file__).parents[1]
SCRIPTS = Path(sys.executable).parent
DOCUMENTS = ["README.md", "docs/tutorial.md"]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXIT_CODE = re.compile(r"# exit code (\d)\s*$")
MEASURED = re.compile(r"[-+]?\d+\.\d+(e[-+]\d+)?")


def blocks(document: str) -> list[tuple[str, str]]:
    """Language and text of every code block, in order."""
    return BLOCK.findall((ROOT / document).read_text(encoding="utf-8"))


def run(command: list[str], folder: Path) -> tuple[int, str]:
    """Exit code and output; whatever it started is ended with it."""
    environment = {
        **os.environ,
        "PATH": f"{SCRIPTS}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        **private_variables(own_domain()),
    }
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=100)
    finally:
        with contextlib.suppress(ProcessLookupError):  # all have ended by themselves
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, output


def run_block(language: str, text: str, folder: Path) -> str:
    """Run a block as a user would paste it; its exit code must be the one that it announces."""
    command = ["bash", "-e", "-c", text] if language == "sh" else [sys.executable, "-c", text]
    code, output = run(command, folder)
    announced = EXIT_CODE.search(text)
    assert code == (int(announced[1]) if announced else 0), f"{text}\n{output}"
    return output


def normal(line: str) -> str:
    """A line without what differs from machine to machine: decimals, the width of columns."""
    return " ".join(MEASURED.sub("#", line).split())


def assert_documented(text: str, output: str) -> None:
    """Every line that the document shows was printed; ``...`` stands for lines that it leaves out."""
    printed = {normal(line) for line in output.splitlines()}
    shown = {normal(line) for line in text.splitlines() if line.strip() not in ("", "...")}
    assert shown - printed == set()


@pytest.fixture
def folder(tmp_path, demo_output):
    """A folder as a user of the document has it: the demo has run, and there is a URDF."""
    shutil.copy(ROOT / "urdf" / "manipulator_5dof.urdf", tmp_path / "my_robot.urdf")
    (tmp_path / "demo_output").symlink_to(demo_output)
    return tmp_path


@pytest.mark.timeout(300)
@pytest.mark.skipif(
    not (SCRIPTS / "kane_dynamics").exists(), reason="the package is not installed: make venv"
)
@pytest.mark.parametrize("document", DOCUMENTS)
def test_commands_run_and_print_what_the_document_shows(document, folder):
    output = ""
    for language, text in blocks(document):
        if language == "sh" and text.startswith("make "):  # CI itself runs make; the demo has run before
            output = (folder / "demo_output" / "output.txt").read_text()
        elif language in ("sh", "python"):
            output = run_block(language, text, folder)
        elif language == "text":
            assert_documented(text, output)


def test_symbolic_session_prints_letter_by_letter_what_its_page_shows():
    """Its blocks are one session. Printed numbers are exact or rounded: nothing differs between machines."""
    session: dict[str, object] = {}
    output, compared = "", 0
    for language, text in blocks("docs/symbolic.md"):
        if language == "python":
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                exec(text, session)
            output = said.getvalue()
        else:
            assert (language, text) == ("text", output)
            compared += 1
    assert compared == 5


def test_documented_make_targets_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    documents = [ROOT / name for name in (*DOCUMENTS, "CONTRIBUTING.md")]
    named = {
        name for path in documents for name in re.findall(r"(?m)(?:^|`)make ([a-z-]+)", path.read_text())
    }
    assert {"demo", "test", "lint"} <= named <= targets


PAGES = [path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", sorted(PAGES))
def test_links_of_every_page_lead_to_files(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", text)
    assert [link for link in links if not ((ROOT / page).parent / link).exists()] == []


def test_every_file_in_the_tables_of_the_readme_exists():
    """In the table of what is made where, a bare name lies beside the path before it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    missing = []
    for line in text.splitlines():
        folder = ROOT / "kane_dynamics_ros"
        for name in re.findall(r"`([\w/]+\.(?:py|c|yaml))`", line) if line.startswith("| ") else ():
            path = folder / name if "/" not in name else ROOT / "kane_dynamics_ros" / name
            missing += [] if path.is_file() else [name]
            folder = path.parent
    assert missing == []


def test_every_room_is_in_the_tables_of_readme_and_contributing():
    rooms = [path.name for path in (ROOT / "kane_dynamics_ros").iterdir() if (path / "__init__.py").is_file()]
    for document in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / document).read_text(encoding="utf-8")
        assert [room for room in rooms if not re.search(rf"`{room}/?`", text)] == []
