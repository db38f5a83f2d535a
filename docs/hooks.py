"""Fills the site's pages from the code: ``<!-- help: NAME -->`` becomes the help of that command."""

import re
import subprocess
import sys

MARK = re.compile(r"<!-- help: ?(\w*) -->")


def on_page_markdown(markdown: str, **_: object) -> str:
    """Called by MkDocs for each page."""
    return MARK.sub(lambda match: help_text(match.group(1)), markdown)


def help_text(command: str) -> str:
    """The command's own ``--help`` as a code block."""
    words = [sys.executable, "-m", "kane_dynamics_ros", *command.split(), "--help"]
    run = subprocess.run(words, capture_output=True, text=True, check=True, env={"COLUMNS": "100"})
    return f"```text\n$ kane_dynamics {command} --help\n{run.stdout}```"
