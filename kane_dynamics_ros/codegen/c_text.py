"""C text from templates that read like C: the files in ``templates``, in sections, filled line by line."""

from pathlib import Path
from string import Template

TEMPLATES = Path(__file__).with_name("templates")


def sections(file: str) -> dict[str, str]:
    """The templates in a file: a line ``//# name`` begins each; blank lines around it do not count."""
    _, *parts = (TEMPLATES / file).read_text(encoding="utf-8").split("//# ")
    named = (part.split("\n", 1) for part in parts)
    return {name: text.strip("\n") + "\n" for name, text in named}


def c_text(template: str, *kept: str, **values: object) -> str:
    """A template with its values for ``$name``.

    A line that ends in ``//? word`` stays only where the word is among ``kept``, one in ``//! word`` only
    where it is not. A line whose value is empty goes.

    >>> c_text("f($x); //! checked\\nreturn f($x); //? checked", "checked", x=1)
    'return f(1);'
    """
    lines = []
    for line in template.split("\n"):
        text, mark, word = line.partition(" //?") if " //?" in line else line.partition(" //!")
        if mark and (word.strip() in kept) != mark.endswith("?"):
            continue
        filled = Template(text).substitute(values) if "$" in text else text
        if filled.strip() or not text:
            lines.append(filled)
    return "\n".join(lines)
