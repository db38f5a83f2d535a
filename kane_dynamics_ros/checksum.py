"""The seal of a generated module: its last line holds the hash of all before it."""

import hashlib

MARK = "CONTENT_SHA256 = "
RECORD = "VERIFIED = "  # the line that `kane_dynamics verify --record` may rewrite


def content_hash(text: str) -> str:
    """SHA-256 of a module's text without its seal and without its record of verification."""
    lines = [line for line in text.split("\n") if not line.startswith((MARK, RECORD))]
    return hashlib.sha256("\n".join(lines).rstrip("\n").encode()).hexdigest()


def sealed(text: str) -> str:
    """The text with its seal appended."""
    return f'{text.rstrip()}\n\n\n{MARK}"{content_hash(text)}"\n'


def seal_of(text: str) -> str | None:
    """The hash that a module's last line states; ``None`` where it states none."""
    last = text.rstrip().rsplit("\n", 1)[-1]
    return last[len(MARK) :].strip('"') if last.startswith(MARK) else None
