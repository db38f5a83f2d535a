"""The checksum of a generated module: its last line holds the hash of the text before it.

It shows that a file was changed after it was generated, by accident or by hand. It is no signature: whoever
can write the file can write a fitting checksum. A model is code, run with the rights of who loads it.
"""

import ast
import hashlib

MARK = "CONTENT_SHA256 = "
FORMAT = 3  # of generated modules; another number where the runtime asks for other facts or functions
RECORD = "VERIFIED = "  # the line that `kane_dynamics verify --record` may rewrite


def content_hash(text: str) -> str:
    """SHA-256 of a module's text without its checksum and without its record of verification."""
    lines = [line for line in text.split("\n") if not line.startswith((MARK, RECORD))]
    return hashlib.sha256("\n".join(lines).rstrip("\n").encode()).hexdigest()


def with_checksum(text: str) -> str:
    """The text with its checksum appended."""
    return f'{text.rstrip()}\n\n\n{MARK}"{content_hash(text)}"\n'


def stated_checksum(text: str) -> str | None:
    """The hash that a module's last line states; ``None`` where the last line states none.

    "", which no text has, where a line that the hash leaves out holds more than one literal: there is one
    such line for the checksum, the last, and at most one for the record of verification.
    """
    lines = text.rstrip("\n").split("\n")
    records = [line for line in lines if line.startswith(RECORD)]
    if not lines[-1].startswith(MARK):
        return None
    if sum(line.startswith(MARK) for line in lines) > 1 or len(records) > 1:
        return ""
    try:
        stated = ast.literal_eval(lines[-1].removeprefix(MARK))
        for line in records:
            ast.literal_eval(line.removeprefix(RECORD))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ""
    return stated if isinstance(stated, str) else ""
