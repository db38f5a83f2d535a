"""What is unusual about the text of a URDF, before its elements are read."""

import codecs
import re

from kane_dynamics_ros.description.notes import Notes
from kane_dynamics_ros.description.xml_tree import Element

_BYTE_ORDER_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def note_text(text: str | bytes, notes: Notes) -> None:
    """Note a byte-order mark, and an encoding declaration in text that is decoded already."""
    if isinstance(text, bytes):
        marked = text.startswith(_BYTE_ORDER_MARKS)
    else:
        marked = text.startswith("\ufeff")
        declared = re.match(r"\ufeff?<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.-]{1,40})", text)
        if declared:
            notes.add(
                "KD109", f"the declared encoding {declared[1]!r} is ignored: the text is decoded already", 1
            )
    if marked:
        notes.add("KD108", "byte-order mark skipped", 1)


def strip_namespace(root: Element, notes: Notes) -> None:
    """Take URDF's elements out of a default namespace, or out of the outermost element's prefix."""
    prefix, colon, tag = root.tag.rpartition(":")
    if tag != "robot" or (not colon and "xmlns" not in root.attributes):
        return
    namespace = root.attributes.get("xmlns", "")[:90]
    where = f"prefix {prefix!r}" if colon else f"default namespace {namespace!r}"
    notes.add("KD110", f"URDF elements are read without their {where}", root.line, "robot")
    waiting = [root] if colon else []
    while waiting:
        element = waiting.pop()
        element.tag = element.tag.removeprefix(f"{prefix}:")
        waiting.extend(element.children)
