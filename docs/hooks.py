"""Fills the site's pages from the code, and says where long names in tables may break."""

import re
import subprocess
import sys

from kane_dynamics_ros.cli.main import COMMANDS

MARK = "<!-- commands -->"


LONG = 28  # characters of a name that a column may have to break
CODE_IN_TABLE = re.compile(r"(?<=<code>)[^<>]+(?=</code>)")
CELL = re.compile(r"<td\b.*?</td>", re.DOTALL)


def on_page_markdown(markdown: str, **_: object) -> str:
    """Called by MkDocs for each page; ``<!-- commands -->`` becomes the help of every command."""
    return markdown.replace(MARK, all_commands()) if MARK in markdown else markdown


def on_page_content(html: str, **_: object) -> str:
    """Called by MkDocs for each page: long names in cells may break behind a separator, and nowhere else."""
    return CELL.sub(lambda cell: CODE_IN_TABLE.sub(lambda name: breakable(name[0]), cell[0]), html)


def breakable(name: str) -> str:
    """A name with break opportunities behind ``/``, ``.``, ``:`` and ``_``, when it is long."""
    return name if len(name) < LONG else re.sub(r"(?<=[/.:_])(?=\w)", "<wbr>", name)


def all_commands() -> str:
    """The command's own help, then each subcommand's under its name."""
    return help_text("") + "".join(f"\n\n## {name}\n\n{help_text(name)}" for name in COMMANDS)


def help_text(command: str) -> str:
    """The output of ``--help`` as a code block."""
    words = [sys.executable, "-m", "kane_dynamics_ros", *command.split(), "--help"]
    run = subprocess.run(words, capture_output=True, text=True, check=True, env={"COLUMNS": "80"})
    return f"```text\n$ {' '.join(['kane_dynamics', *command.split(), '--help'])}\n{run.stdout}```"
