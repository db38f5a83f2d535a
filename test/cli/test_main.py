"""The command's frame: exit codes, messages, and that a command is imported only when it is called."""

import os
import shlex
import signal
import subprocess
import sys
import time
import types
from pathlib import Path

import numpy as np
import pytest

from kane_dynamics_ros import __version__
from kane_dynamics_ros.cli import main as cli
from kane_dynamics_ros.cli.arguments import ArgumentError
from kane_dynamics_ros.errors import KaneDynamicsError


@pytest.fixture
def command(monkeypatch):
    """A command ``try`` whose ``run`` the test sets."""
    module = types.ModuleType("kane_dynamics_ros.cli.try")
    module.add_arguments = lambda parser: parser.add_argument("--number", type=int, default=0)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(cli.COMMANDS, "try", cli.Command("try it", "try --number 1"))
    return module


def test_exit_code_is_what_the_command_returns(command):
    command.run = lambda arguments: arguments.number
    assert cli.main(["try", "--number", "3"]) == 3


def test_error_of_ours_is_one_message_and_exit_code_2(command, capsys):
    def fail(arguments):
        raise KaneDynamicsError("robot.urdf:3: found no joint")

    command.run = fail
    assert cli.main(["try"]) == 2
    assert capsys.readouterr() == ("", "error: robot.urdf:3: found no joint\n")


def test_interrupt_ends_quietly_with_exit_code_130(command, capsys):
    def interrupt(arguments):
        raise KeyboardInterrupt

    command.run = interrupt
    assert cli.main(["try"]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_signal_that_ends_a_command_leaves_no_folder(tmp_path):
    """SIGTERM, as `timeout` and services send it, while it works in a folder of its own."""
    root = Path(cli.__file__).parents[2]
    words = ["excite", root / "urdf/manipulator_5dof.urdf", "-o", tmp_path / "x.yaml"]
    process = subprocess.Popen(
        [sys.executable, "-m", "kane_dynamics_ros", *words],
        env=os.environ | {"TMPDIR": str(tmp_path), "PYTHONPATH": str(root)},
    )
    while not list(tmp_path.glob("kane_dynamics_excite_*")):
        assert process.poll() is None
        time.sleep(0.01)
    process.terminate()
    assert process.wait() == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_while_the_command_is_imported_ends_quietly_too(tmp_path):
    """Whatever ``cli/main.py`` imports: here a stand-in that interrupts."""
    (tmp_path / "argparse.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)")
    package = Path(cli.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "kane_dynamics_ros", "--version"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_too_little_memory_is_told_with_exit_code_2(command, capsys):
    command.run = lambda arguments: np.zeros(1 << 50)
    assert cli.main(["try"]) == 2
    assert "memory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("trajectory", "--duration", "1e6"), "duration"),
        (("excite", "--period", "1e7"), "period"),
        (("excite", "--harmonics", "100000"), "harmonics"),
        (("excite", "--harmonics", "6", "--period", "1"), "harmonics"),
        (("excite", "--repeat", "1000"), "repeat"),
        (("retime", "--urdf", "robot.urdf", "--points", "1000000000"), "points"),
    ],
)
def test_what_would_take_all_memory_is_refused_at_once_with_the_bound(words, option):
    """By the options' readers, or by the command before it looks for the URDF."""

    def run(words):
        arguments = cli.parse(words)
        arguments.run(arguments)

    with pytest.raises(ArgumentError) as caught:
        run([words[0], "robot.urdf", *words[1:]])
    assert caught.value.code == option


def test_path_that_the_system_refuses_is_one_message_and_exit_code_2(command, capsys, tmp_path):
    command.run = lambda arguments: tmp_path.write_text("a page where there is a folder")
    assert cli.main(["try"]) == 2
    assert capsys.readouterr() == (
        "",
        f"error: {tmp_path}: Is a directory; give another path, or fix this one\n",
    )


def test_unexpected_fault_is_shown_whole_and_has_an_exit_code_of_its_own(command, capsys):
    def fail(arguments):
        raise OSError("no descriptor left")

    command.run = fail
    assert cli.main(["try"]) == cli.FAULT
    assert "Traceback" in (found := capsys.readouterr().err)
    assert "no descriptor left" in found


@pytest.mark.parametrize(
    ("word", "hint"), [("inspekt", "did you mean inspect?"), ("brew", "the commands are inspect, generate,")]
)
def test_unknown_command_is_answered_with_the_nearest_or_with_all(word, hint, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([word, "x"])
    assert ended.value.code == 2
    assert hint in capsys.readouterr().err


def test_help_ends_with_an_example(command, capsys):
    command.run = lambda arguments: 0
    with pytest.raises(SystemExit):
        cli.main(["try", "--help"])
    assert capsys.readouterr().out.endswith("example:\n  kane_dynamics try --number 1\n")


def test_version_is_printed(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert capsys.readouterr().out == f"{__version__}\n"


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_example_of_the_command_is_one_that_its_parser_takes(name):
    words = shlex.split(cli.COMMANDS[name].example)
    assert words[0] == name
    assert callable(cli.parse(words).run)


def test_without_a_command_all_of_them_are_listed(capsys):
    assert cli.main([]) == 0
    listed = capsys.readouterr().out
    assert [name for name in cli.COMMANDS if f"\n    {name}" not in listed] == []


def test_an_unknown_option_ends_with_the_commands_own_usage_and_the_nearest_option(command, capsys):
    command.run = lambda arguments: 0
    with pytest.raises(SystemExit) as caught:
        cli.main(["try", "--numbr", "3"])
    assert caught.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("usage: kane_dynamics try ")
    assert "did you mean --number?" in error


@pytest.mark.parametrize(
    ("package", "remedy"), [("rosbags", "pip install '.[bags]'"), ("yaml", "rosdep install")]
)
def test_a_package_that_is_missing_is_one_line_with_the_way_to_get_it(command, capsys, package, remedy):
    def fail(arguments):
        raise ModuleNotFoundError(f"No module named '{package}.reader'", name=f"{package}.reader")

    command.run = fail
    assert cli.main(["try"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert package in error
    assert remedy in error


def test_a_missing_module_of_ours_is_a_fault(command):
    def fail(arguments):
        raise ModuleNotFoundError("no", name="kane_dynamics_ros.nowhere")

    command.run = fail
    assert cli.main(["try"]) == cli.FAULT


@pytest.mark.parametrize("words", [["torque"], ["annotate", "t.yaml"], ["verify", "--urdf", "a.urdf"]])
def test_a_module_is_named_once_as_argument_or_as_option(words, capsys):
    assert cli.main(words) == 2
    assert "--model" in capsys.readouterr().err
    parsed = cli.parse([words[0], *words[1:], "--model", "m.py"])
    assert (parsed.module, parsed.model) == (None, "m.py")


@pytest.mark.parametrize(
    "name", ["annotate", "demo", "excite", "generate", "identify", "paper", "trajectory", "view"]
)
def test_whatever_writes_takes_its_target_as_o(name):
    words = {"annotate": ["m.py", "t.yaml"], "paper": ["wind_pump"]}.get(name, ["a.urdf"] * (name != "demo"))
    if name == "identify":
        words += ["--urdf", "a.urdf"]
    parsed = vars(cli.parse([name, *words, "-o", "somewhere"]))
    assert "somewhere" in map(str, parsed.values())


@pytest.mark.parametrize("package", ["rosbags", "lz4", "zstandard"])
@pytest.mark.parametrize("words", [["replay", "a_bag", "--model", "manipulator_5dof"], ["view", "a_bag"]])
def test_commands_on_bags_say_which_of_pips_packages_is_missing(package, words, tmp_path):
    (tmp_path / "a_bag").mkdir()
    hide = f"import sys; sys.modules[{package!r}] = None; from kane_dynamics_ros.cli.main import main; "
    run = subprocess.run(
        [sys.executable, "-c", f"{hide}sys.exit(main({words!r}))"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 2
    assert "Traceback" not in run.stderr
    assert run.stderr.count("\n") == 1


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one processor has one thread in any case")
@pytest.mark.parametrize(("asked", "threads"), [({}, 1), ({"OMP_NUM_THREADS": "2"}, 2)])
def test_blas_has_one_thread_unless_the_user_asks_for_more(asked, threads):
    count = "import os, kane_dynamics_ros.cli.main, numpy; print(len(os.listdir('/proc/self/task')))"
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    run = subprocess.run(
        [sys.executable, "-c", count], env=environment | asked, capture_output=True, text=True, check=True
    )
    assert int(run.stdout) == threads
