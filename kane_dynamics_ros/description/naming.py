"""Names that tools trip over; here they are data, and all of them work."""

import keyword
import re
from collections.abc import Iterable

from kane_dynamics_ros.description.model import Joint, Link
from kane_dynamics_ros.description.notes import Notes

_C_KEYWORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int "
    "long register restrict return short signed sizeof static struct switch typedef union unsigned void "
    "volatile while"
)


def note_names(links: Iterable[Link], joints: Iterable[Joint], notes: Notes) -> None:
    """Note names that other tools refuse or change, and names that become one after such a change."""
    for kind, things in (("link", list(links)), ("joint", list(joints))):
        cleaned: dict[str, str] = {}
        for thing in things:
            element = f"{kind} {thing.name!r}"
            why = unusual(thing.name)
            if why:
                message = f"its name {why}: used as written here, but other tools may trip"
                notes.add("KD214", message, thing.line, element)
            other = cleaned.setdefault(clean(thing.name), thing.name)
            if other != thing.name:
                message = (
                    f"its name and {other!r} become the same word in tools that replace special characters"
                )
                notes.add("KD215", message, thing.line, element)


def clean(name: str) -> str:
    """A name as tools clean it: letters, digits and underscores only."""
    return re.sub(r"[^0-9A-Za-z_]", "_", name).lower()


def unusual(name: str) -> str | None:
    """What is unusual about a name; None when it is a plain word."""
    if not name.isascii():
        return "has characters beyond ASCII"
    if keyword.iskeyword(name) or name in _C_KEYWORDS.split():
        return "is a keyword of Python or C"
    if name[0].isdigit():
        return "begins with a digit"
    if clean(name) != name.lower():
        return "has spaces, hyphens or other special characters"
    return None
