"""The pages of docs/systems: their Python is run, and what they print is compared with what they show."""

import contextlib
import functools
import io
import os
import re
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "docs" / "systems"
PAGES = sorted(path.stem for path in FOLDER.glob("*.md"))
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@functools.cache
def run_page(name: str) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """The names that a page's Python defines, and each shown output with the one that was printed."""
    names: dict[str, Any] = {}
    printed, compared = "", []
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        os.chdir(folder)
        stack.callback(os.chdir, before)
        for language, text in BLOCK.findall((FOLDER / f"{name}.md").read_text(encoding="utf-8")):
            if language == "text":
                compared.append((text, printed))
                continue
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile(text, f"{name}.md", "exec"), names)
            printed = output.getvalue()
    return names, compared
