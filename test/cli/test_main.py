"""The command's frame: exit codes, messages, and that a command is imported only when it is called."""

import shlex
import sys
import types

import pytest

from kane_dynamics_ros import __version__
from kane_dynamics_ros.cli import main as cli
from kane_dynamics_ros.errors import KaneDynamicsError


@pytest.fixture
def command(monkeypatch):
    """A command ``try`` whose ``run`` the test sets."""
    module = types.ModuleType("kane_dynamics_ros.cli.attempt")
    module.add_arguments = lambda parser: parser.add_argument("--number", type=int, default=0)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(cli.COMMANDS, "try", cli.Command("attempt", "try it", "try --number 1"))
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


def test_path_that_the_system_refuses_is_one_message_and_exit_code_2(command, capsys, tmp_path):
    command.run = lambda arguments: tmp_path.write_text("a page where there is a folder")
    assert cli.main(["try"]) == 2
    assert capsys.readouterr() == (
        "",
        f"error: {tmp_path}: Is a directory; give another path, or mend this one\n",
    )


def test_other_errors_of_the_system_are_not_hidden(command):
    def fail(arguments):
        raise OSError("no descriptor left")

    command.run = fail
    with pytest.raises(OSError, match=r"^no descriptor left$"):
        cli.main(["try"])


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
