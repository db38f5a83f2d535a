"""docs/diagnostics.md explains every code, and only codes that there are."""

import re
from pathlib import Path

from kane_dynamics_ros.description.findings import CODES

ROOT = Path(__file__).parents[2]


def test_every_code_is_explained_with_its_title_and_severity():
    text = (ROOT / "docs" / "diagnostics.md").read_text(encoding="utf-8")
    explained = re.findall(r"^### (KD\d{3}) (.+) \((\w+)\)$", text, re.MULTILINE)
    assert explained == [(name, title, severity) for name, (severity, title) in CODES.items()]


def test_every_code_is_used():
    sources = (ROOT / "kane_dynamics_ros" / "description").glob("*.py")
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    assert set(re.findall(r'"(KD\d{3})"', text)) == set(CODES)


def test_codes_are_in_order():
    assert list(CODES) == sorted(CODES)
