"""Fills the site's pages from the code: ``<!-- commands -->`` becomes the help of every command."""

import subprocess
import sys

from kane_dynamics_ros.cli.main import COMMANDS

MARK = "<!-- commands -->"


def on_page_markdown(markdown: str, **_: object) -> str:
    """Called by MkDocs for each page."""
    return markdown.replace(MARK, all_commands()) if MARK in markdown else markdown


def all_commands() -> str:
    """The command's own help, then each subcommand's under its name."""
    return help_text("") + "".join(f"\n\n## {name}\n\n{help_text(name)}" for name in COMMANDS)


def help_text(command: str) -> str:
    """The output of ``--help`` as a code block."""
    words = [sys.executable, "-m", "kane_dynamics_ros", *command.split(), "--help"]
    run = subprocess.run(words, capture_output=True, text=True, check=True, env={"COLUMNS": "80"})
    return f"```text\n$ {' '.join(['kane_dynamics', *command.split(), '--help'])}\n{run.stdout}```"
